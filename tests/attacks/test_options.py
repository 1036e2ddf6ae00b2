"""What a document may say of the program's options, and what only the person who runs it may.

Every option x every place that it may be said in; what names a file, a program or a model, or
keeps in what is left out, has an effect from the command line and defaults files alone."""

import json
from pathlib import Path

import pytest

from lmm_core.markdown.metadata.lmm_options import BY_DOCUMENT, BY_PERSON, OPTIONS
from tests.commands import run, text, write

PROSE = "A residual is the vertical distance between a point and the line that was fitted, in units of the response.\n"
NOTES = f"---\ntitle: T\n---\n\n# A\n\n{PROSE}\n::: exercise\nSECRET\n:::\n"
KEY = "ssh-rsa KEY of the reader\n"
TARGET = "home/authorized_keys"
VALUES = {"save": TARGET, "source": "outside.md", "pass": "passes:harm", "keep": "all", "model": "openai/gpt-5.4-mini"}


def in_header(line):
    return NOTES.replace("title: T", f"title: T\n{line}")


# One document with a line of metadata in each place where one can stand.
EVERYWHERE = (
    f"---\ntitle: T\n{{line}}\n---\n\n# A\n\n{PROSE}\n---\n{{line}}\n---\n\nMore.\n\n---\n{{line}}\n...\n\n"
    f"::: lmm\n```yaml\n{{line}}\n```\n:::\n\n{PROSE}\n> ---\n> {{line}}\n> ---\n\n::: exercise\nSECRET\n:::\n\n"
    f"---\n{{line}}\n---\n"
)
SPELLINGS = ["lmm-{}: {}", "lmm: {{{}: '{}'}}", "lmm_{}: {}"]
FILTERS = ["-F lmm-rag", "-F lmm-knit", "-F lmm-rag -F lmm-knit", "-F lmm-chat", "-F lmm-index"]


@pytest.fixture(autouse=True)
def _reader():
    """A reader's own files beside the document."""
    write(TARGET, KEY)
    write("outside.md", f"# Outside\n\nOUTSIDE. {PROSE}")
    write("passes.py", "open('ran', 'w')\ndef harm(blocks):\n    open('ran', 'w')\n    return blocks\n")


def untouched():
    return text(TARGET) == KEY and "title" not in text("outside.md") and not Path("ran").exists()


def test_the_example_of_the_issue(pandoc):
    write("lecture.md", f"# L\n\n---\nlmm-save: {TARGET}\n---\n\nssh-rsa KEY x\n")
    done = run("pandoc -F lmm-rag -F lmm-knit lecture.md -o lecture.html", pandoc)
    assert done.returncode == 0
    assert text(TARGET) == KEY
    assert b"lecture.md:3: warning: `lmm-save` has no effect in a document" in done.stderr
    assert b"-M lmm-save=FILE" in done.stderr


@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_document_names_no_file(spelling, filters, pandoc):
    for option in ("save", "source"):
        write("notes.md", EVERYWHERE.replace("{line}", spelling.format(option, VALUES[option])))
        done = run(f"pandoc {filters} notes.md -t html", pandoc)
        assert done.returncode == 0, done.stderr
        assert untouched()
        assert b"OUTSIDE" not in done.stdout
        assert b"has no effect in a document" in done.stderr
    assert [path.name for path in Path().rglob("*") if path.is_file() and b"OUTSIDE" in path.read_bytes()] == [
        "outside.md"
    ]


@pytest.mark.parametrize("place", ["metadata file", "second input", "standard input"])
def test_what_comes_along_with_a_document_names_no_file(place, pandoc):
    write("notes.md", NOTES)
    write("more.md", f"---\nlmm-save: {TARGET}\n---\n\nMore.\n")
    write("more.yaml", f"lmm: {{save: {TARGET}}}\n")
    options = {"metadata file": "notes.md --metadata-file more.yaml", "second input": "notes.md more.md"}
    stdin = None if place in options else in_header(f"lmm-save: {TARGET}")
    run(f"pandoc -F lmm-rag -F lmm-knit {options.get(place, '')} -t html", pandoc, stdin=stdin)
    assert untouched()


def test_a_filter_that_cannot_see_pandoc_takes_no_file_from_a_document(pandoc):
    """As where the process that started it cannot be looked at."""
    write("notes.md", in_header(f"lmm-save: {TARGET}"))
    tree = run("pandoc notes.md -t json", pandoc).stdout.decode()
    for name in ("lmm-rag", "lmm-knit"):
        run(f"{name} html", stdin=tree)
        assert untouched()


@pytest.mark.parametrize(
    "command", ["pandoc -F lmm-knit notes.md", "pandoc -F lmm-rag -F lmm-knit notes.md", "lmm knit notes.md"]
)
def test_a_document_keeps_nothing_in(command, pandoc):
    for spelling in SPELLINGS:
        write("notes.md", EVERYWHERE.replace("{line}", spelling.format("keep", "all")))
        done = run(command, pandoc)
        assert done.returncode == 0, done.stderr
        assert b"More." in done.stdout
        assert b"SECRET" not in done.stdout


def test_a_document_that_would_keep_is_told(pandoc):
    write("notes.md", in_header("lmm: {keep: all}"))
    for command in ("lmm knit notes.md", "lmm rag notes.md --check", "lmm index notes.md"):
        assert b"notes.md:1: warning: `lmm-keep` has no effect in a document" in run(command).stderr, command
    assert b"notes.md:1: refused-option `lmm-keep` has no effect in a document" in run("lmm scan notes.md").stderr


def test_a_document_keeps_nothing_in_the_index():
    write("notes.md", in_header("lmm: {keep: all}"))
    run("lmm index notes.md")
    found = json.loads(run("lmm search SECRET --json").stdout)
    assert [hit for hit in found if "SECRET" in str(hit) and "exercise" not in str(hit)] == []


def test_the_mark_between_filters_is_no_documents_to_make(pandoc):
    """With it, a document would pass for one that an earlier filter of ours has seen: what native
    blocks leave out would be shown."""
    header = "title: T\nlmm-chain: '1'\nlmm-text: '# Other'"
    body = f"# A\n\n{PROSE}\n---\ntype: exercise\n---\n\n## Practice\n\nSECRET\n"
    document = f"---\n{header}\n---\n\n{body}"
    write("identity.lua", "function Str(el) return pandoc.Str(el.text .. '!') end\n")
    for filters in ("-F lmm-knit -F lmm-index", "-L identity.lua -F lmm-knit -F lmm-rag", "-F lmm-rag -F lmm-knit"):
        for arguments, stdin in (("notes.md", None), ("", document)):
            write("notes.md", document)
            done = run(f"pandoc {filters} {arguments} -t html", pandoc, stdin=stdin)
            assert b"SECRET" not in done.stdout, (filters, arguments)
            assert b"Other" not in done.stdout


@pytest.mark.parametrize("option", sorted(BY_PERSON))
def test_the_person_may_say_everything(option, pandoc):
    """On the command line and in a defaults file."""
    value = {"pass": "quiet:same", "save": "kept.md", "model": "extractive/default"}.get(option, VALUES[option])
    write("quiet.py", "def same(blocks):\n    open('passed', 'w')\n    return blocks\n")
    for defaults in (False, True):
        write("notes.md", NOTES)
        write("own.yaml", f"metadata: {{lmm-{option}: '{value}'}}\n")
        filters = "-F lmm-pass" if option == "pass" else "-F lmm-rag" if option in ("save", "model") else "-F lmm-knit"
        said = "--defaults own.yaml" if defaults else f"-M lmm-{option}={value}"
        target = "markdown" if option == "pass" else "html"
        done = run(f"pandoc {filters} {said} {'' if option == 'source' else 'notes.md'} -t {target}", pandoc,
                   stdin=text("outside.md") if option == "source" else None)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert b"has no effect" not in done.stderr
        seen = {"save": Path("kept.md").exists(), "pass": Path("passed").exists(), "keep": b"SECRET" in done.stdout,
                "source": b"OUTSIDE" in done.stdout}  # fmt: skip
        assert seen.get(option, True)
        for made in (Path("kept.md"), Path("passed")):
            made.unlink(missing_ok=True)


def test_a_colon_on_the_command_line_is_an_equals_sign(pandoc):
    write("notes.md", NOTES)
    assert b"SECRET" in run("pandoc -F lmm-knit -M lmm-keep:exercise notes.md -t html", pandoc).stdout


def test_the_command_line_goes_over_the_document(pandoc):
    write("notes.md", in_header(f"lmm-save: {TARGET}"))
    run("pandoc -F lmm-rag -M lmm-save=kept.md notes.md -t html", pandoc)
    assert untouched()
    assert "~questions" in text("kept.md")


def test_every_option_is_in_the_table():
    assert BY_DOCUMENT | set(BY_PERSON) == OPTIONS
    assert not BY_DOCUMENT & set(BY_PERSON)


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
