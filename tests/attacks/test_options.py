"""What a document may say of the program's options, and what only the person who runs it may.

Every option x every place that it may be said in; what names a file, a program or a model, or
keeps in what is left out, has an effect from the command line and defaults files alone."""

from pathlib import Path

import pytest

from tests.commands import run, text, write

PROSE = "A residual is the vertical distance between a point and the line that was fitted, in units of the response.\n"
NOTES = f"---\ntitle: T\n---\n\n# A\n\n{PROSE}\n::: exercise\nSECRET\n:::\n"
KEY = "ssh-rsa KEY of the reader\n"
TARGET = "home/authorized_keys"


# One document with a line of metadata in each place where one can stand.
EVERYWHERE = (
    f"---\ntitle: T\n{{line}}\n---\n\n# A\n\n{PROSE}\n---\n{{line}}\n---\n\nMore.\n\n---\n{{line}}\n...\n\n"
    f"::: lmm\n```yaml\n{{line}}\n```\n:::\n\n{PROSE}\n> ---\n> {{line}}\n> ---\n\n::: exercise\nSECRET\n:::\n\n"
    f"---\n{{line}}\n---\n"
)


@pytest.fixture(autouse=True)
def _reader():
    """A reader's own files beside the document."""
    write(TARGET, KEY)
    write("outside.md", f"# Outside\n\nOUTSIDE. {PROSE}")
    write("passes.py", "open('ran', 'w')\ndef harm(blocks):\n    open('ran', 'w')\n    return blocks\n")


def untouched():
    return text(TARGET) == KEY and "title" not in text("outside.md") and not Path("ran").exists()


@pytest.mark.parametrize(
    ("filters", "spelling"),
    [("-F lmm-rag -F lmm-knit", "lmm: {{{}: '{}'}}"), ("-F lmm-index", "lmm_{}: {}")],
)
def test_a_document_names_no_file(filters, spelling, pandoc):
    write("notes.md", EVERYWHERE.replace("{line}", spelling.format("source", "outside.md")))
    done = run(f"pandoc {filters} notes.md -t html", pandoc)
    assert done.returncode == 0, done.stderr
    assert untouched()
    assert b"OUTSIDE" not in done.stdout
    assert "notes.md:1: warning: `lmm-source` has no effect in a document" in done.stderr.decode()


@pytest.mark.parametrize(
    ("command", "line"), [("pandoc -F lmm-knit notes.md", "lmm-keep: all"), ("lmm knit notes.md", "lmm: {keep: all}")]
)
def test_a_document_keeps_nothing_in(command, line, pandoc):
    write("notes.md", EVERYWHERE.replace("{line}", line))
    done = run(command, pandoc)
    assert done.returncode == 0, done.stderr
    assert b"More." in done.stdout
    assert b"SECRET" not in done.stdout
    assert b"`lmm-keep` has no effect in a document" in done.stderr
    assert b"notes.md:1: refused-option `lmm-keep` has no effect in a document" in run("lmm scan notes.md").stderr


def test_a_document_does_not_pass_for_one_that_an_earlier_filter_has_seen(pandoc):
    """What native blocks leave out would be shown."""
    body = f"# A\n\n{PROSE}\n---\ntype: exercise\n---\n\n## Practice\n\nSECRET\n"
    forged = f"---\ntitle: T\nlmm-chain: '1'\nlmm-text: '# Other'\n---\n\n{body}"
    write("identity.lua", "function Str(el) return pandoc.Str(el.text .. '!') end\n")
    write("notes.md", forged)
    for filters in (
        "-F lmm-knit -F lmm-index notes.md",
        "-L identity.lua -F lmm-knit -F lmm-rag",
        "-F lmm-rag -F lmm-knit",
    ):
        done = run(f"pandoc {filters} -t html", pandoc, stdin=None if "notes.md" in filters else forged)
        assert b"SECRET" not in done.stdout, filters
        assert b"Other" not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("defaults", [False, True])
def test_the_person_may_say_everything(defaults, pandoc):
    """On the command line and in a defaults file; it goes over what the document says."""

    def shown(filters, option, value, stdin=None):
        write("own.yaml", f"metadata: {{lmm-{option}: '{value}'}}\n")
        said = "--defaults own.yaml" if defaults else f"-M lmm-{option}={value}"
        done = run(f"pandoc {filters} {said} {'' if stdin else 'notes.md'} -t html", pandoc, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    write("notes.md", NOTES)
    assert b"SECRET" in shown("-F lmm-knit", "keep", "all")
    assert b"OUTSIDE" in shown("-F lmm-knit", "source", "outside.md", text("outside.md"))


QUARTO = "---\ntitle: T\nquarto-version: 1.11\n{header}---\n\n# A\n\n::: exercise\nSECRET\n:::\n"


@pytest.mark.parametrize("where", ["header", "block", "_quarto.yml", "_quarto-instructor.yml"])
def test_in_quarto_the_project_alone_keeps(where, pandoc):
    """Quarto merges what `_quarto.yml` says into the metadata that it hands over."""
    said = "lmm:\n  keep: exercise\n"
    own = said if where == "header" else ""
    more = f"\n---\n{said}---\n\nMore.\n" if where == "block" else ""
    write("notes.qmd", f"---\ntitle: T\n{own}---\n\n# A\n\n::: exercise\nSECRET\n:::\n{more}")
    write("_quarto.yml", f"project: {{type: website}}\n{said if where == '_quarto.yml' else ''}")
    write("_quarto-instructor.yml", said if where == "_quarto-instructor.yml" else "")
    tree = run("pandoc -f markdown -t json", pandoc, stdin=QUARTO.format(header=said)).stdout.decode()
    env = {"QUARTO_DOCUMENT_FILE": "notes.qmd", "QUARTO_DOCUMENT_PATH": str(Path.cwd()), "QUARTO_PROFILE": "instructor",
           "QUARTO_PROJECT_DIR": str(Path.cwd())}  # fmt: skip
    done = run("lmm-knit html", stdin=tree, env=env)
    assert done.returncode == (where == "block"), done.stderr  # whose place Quarto forgets: no page is made
    assert (b"SECRET" in done.stdout) == where.startswith("_quarto")
