"""`pandoc -F lmm-rag notes.md -o notes.md`, ended while pandoc writes: the text survives, and no
command works on what is left of it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.commands import run, text, write

PROSE = "A residual is the vertical distance between a point and the line that was fitted, in units of the response.\n"
NOTES = f"# Ä\n\n{PROSE}\n## B\n\n{PROSE}\n## C\n\n{PROSE}"
COMMANDS = [
    "lmm scan notes.md",
    "lmm rag notes.md",
    "lmm knit notes.md",
    "lmm convert --to native notes.md",
    "lmm chat notes.md",
    "lmm accept notes.md",
    "lmm clear notes.md",
    "lmm index notes.md",
    "lmm chunks notes.md",
    "pandoc -F lmm-rag notes.md -o notes.md",
    "pandoc -F lmm-knit notes.md -o notes.html",
    "pandoc -F lmm-index notes.md -t html",
]


def tear(size, path="notes.md"):
    """What a kill leaves: pandoc has emptied the file, and has written so many bytes."""
    with open(path, "r+b") as file:
        file.truncate(size)


@pytest.fixture
def annotated(pandoc):
    write("notes.md", NOTES)
    done = run("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert done.returncode == 0, done.stderr
    return text("notes.md")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_works_on_a_torn_text(command, annotated, pandoc):
    left = annotated.encode()[:200]
    tear(len(left))
    done = run(command, pandoc)
    assert done.returncode != 0
    assert b"notes.md: torn: " in done.stderr
    assert b"lmm recover " in done.stderr
    assert Path("notes.md").read_bytes() == left
    assert not Path("notes.html").exists()
    assert run("lmm recover notes.md").returncode == 0
    assert text("notes.md") == annotated


@pytest.mark.parametrize(
    ("source", "flags"),
    [
        (NOTES.rstrip(), ""),
        (f"{NOTES}\n\n\n", "-M lmm-source=notes.md"),
        (NOTES.replace("\n", "\r\n"), ""),
        ("\ufeff" + NOTES, "--eol=crlf"),
    ],
)
def test_what_is_recovered_is_what_pandoc_writes(source, flags, pandoc):
    """Byte for byte, its line ends and the one that it adds at the end included."""
    write("notes.md", source)
    inputs = "" if "source" in flags else "notes.md"
    done = run(f"pandoc -F lmm-rag {flags} {inputs} -o notes.md", pandoc, stdin=None if inputs else source)
    assert done.returncode == 0, done.stderr
    written = Path("notes.md").read_bytes()
    tear(len(written) - 5)
    assert run("lmm recover notes.md").returncode == 0
    assert Path("notes.md").read_bytes() == written


@pytest.mark.parametrize(
    "filters", ["-F lmm-rag -F lmm-chat", "-F lmm-pass -M lmm-pass=own:same -F lmm-rag", "-F lmm-index"]
)
def test_the_last_filter_of_ours_puts_the_text_aside(filters, pandoc):
    write("notes.md", NOTES)
    write("own.py", "def same(blocks):\n    return blocks\n")
    done = run(f"pandoc {filters} notes.md -o notes.md", pandoc)
    assert done.returncode == 0, done.stderr
    written = text("notes.md")
    assert len(list(Path(".lmm/recover").glob("*.rec"))) == 1
    tear(0)
    assert run("lmm recover notes.md").returncode == 0
    assert text("notes.md") == written


def test_nothing_is_put_aside_for_a_new_output(pandoc):
    write("notes.md", NOTES)
    assert run("pandoc -F lmm-rag notes.md -o out.md", pandoc).returncode == 0
    assert run("pandoc -F lmm-rag notes.md -t markdown", pandoc).returncode == 0
    assert not Path(".lmm").exists()


def test_what_stood_in_another_output_can_be_recovered(pandoc):
    write("notes.md", NOTES)
    write("out.md", f"{NOTES}\nMine, at the end.\n")
    assert run("pandoc -F lmm-rag notes.md -o out.md", pandoc).returncode == 0
    assert run("lmm recover --before out.md").returncode == 0
    assert text("out.md").endswith("Mine, at the end.\n")


def test_standard_input_that_is_the_output(pandoc):
    """As `pandoc -F lmm-rag -o notes.md < notes.md`: which file it is cannot be seen."""
    write("notes.md", NOTES)
    assert run("pandoc -F lmm-rag -o notes.md", pandoc, stdin=NOTES).returncode == 0
    tear(0)
    assert run("lmm recover --before notes.md").returncode == 0
    assert text("notes.md") == NOTES


@pytest.mark.parametrize("option", ["-B pre.md", "--template=pre.md", "--defaults=more.yaml"])
def test_nothing_is_put_around_the_text_of_an_input(option, pandoc):
    write("notes.md", NOTES)
    write("pre.md", "Before all.\n")
    write("more.yaml", "include-before-body: pre.md\nstandalone: true\n")
    done = run(f"pandoc {option} -F lmm-rag notes.md -o notes.md", pandoc)
    assert done.returncode != 0
    assert b"would put more text into" in done.stderr
    assert text("notes.md") == NOTES


def test_no_defaults_file_hides_what_is_overwritten(pandoc, monkeypatch, tmp_path):
    """Wherever pandoc looks for them; where we cannot find one, the filter stops."""
    write("notes.md", NOTES + "\n::: exercise\nSECRET\n:::\n")
    before = text("notes.md")
    write("data/pandoc/defaults/own.yaml", "filters: [lmm-knit]\ninput-files: [notes.md]\noutput-file: notes.md\n")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for arguments in ("-d own", "--data-dir=data/pandoc -d own"):
        done = run(f"pandoc {arguments}", pandoc)
        assert done.returncode != 0
        assert b"Refused: lmm-knit takes out" in done.stderr
        assert text("notes.md") == before


def test_where_nothing_can_be_put_aside_pandoc_leaves_the_file_alone(pandoc):
    write("notes.md", NOTES)
    write(".lmm", "a file in the folder's place")
    done = run("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert done.returncode != 0
    assert b"lmm-rag: " in done.stderr
    assert b"Traceback" not in done.stderr
    assert text("notes.md") == NOTES


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at the file as pandoc writes it")
def test_a_kill_while_pandoc_writes(pandoc):
    """A real one, at whatever moment it comes: the text is whole, or is recovered."""
    source = NOTES * 600
    for _ in range(3):
        write("notes.md", source)
        size = os.path.getsize("notes.md")
        started = subprocess.Popen(
            [pandoc, "-F", "lmm-rag", "-M", "lmm-model=extractive/default", "notes.md", "-o", "notes.md"]
        )
        while started.poll() is None and os.path.getsize("notes.md") == size:
            time.sleep(0)
        started.send_signal(signal.SIGKILL)
        started.wait()
        whole = run("lmm scan notes.md").returncode == 0
        assert whole or b"torn" in run("lmm rag notes.md").stderr
        assert whole or run("lmm recover notes.md").returncode == 0
        assert text("notes.md").count(f"\n\n{PROSE}") == source.count(PROSE)  # in summaries it stands as well


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of a process's files")
def test_a_full_disk_while_pandoc_writes(pandoc):
    """A limit on what pandoc alone may write: it empties the file, and writes so much of it."""
    write("notes.md", NOTES * 200)
    before = text("notes.md")
    limit = write("limited", f"#!{sys.executable}\nimport resource, signal, sys, os\n"
                  "resource.setrlimit(resource.RLIMIT_FSIZE, (40960, resource.RLIM_INFINITY))\n"
                  "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                  f"os.execv({pandoc!r}, ['pandoc', *sys.argv[1:]])\n")  # fmt: skip
    limit.chmod(0o755)
    unlimited = write("lmm-rag", f"#!{sys.executable}\nimport resource, sys\n"
                      "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
                      "from lmm_filters.lmm_rag import main\nmain()\n")  # fmt: skip
    unlimited.chmod(0o755)
    done = run("./limited -F ./lmm-rag notes.md -o notes.md")
    assert done.returncode != 0
    assert os.path.getsize("notes.md") == 40960
    assert b"torn" in run("lmm rag notes.md").stderr
    assert run("lmm recover --before notes.md").returncode == 0
    assert text("notes.md") == before


# Outputs that are sources


@pytest.mark.parametrize(
    ("filters", "output"),
    [
        ("-F lmm-knit", "notes.md"),
        ("-F lmm-rag -F lmm-knit", "link.md"),
        ("-F lmm-knit", "hard.md"),
        ("-F lmm-index -F lmm-knit", "sub/../notes.md"),
    ],
)
def test_knitting_does_not_write_over_its_input(filters, output, pandoc):
    write("notes.md", NOTES + "\n::: exercise\nSECRET\n:::\n")
    Path("sub").mkdir()
    Path("link.md").symlink_to("notes.md")
    os.link("notes.md", "hard.md")
    before = text("notes.md")
    for inputs, stdin in (("notes.md", None), ("-M lmm-source=notes.md", before)):
        done = run(f"pandoc {filters} {inputs} -o {output}", pandoc, stdin=stdin)
        assert done.returncode != 0
        assert b"Refused: lmm-knit takes out" in done.stderr
        assert text("notes.md") == before


def test_knitting_does_not_write_over_another_source(pandoc):
    write("notes.md", NOTES)
    write("other.md", NOTES)
    run("lmm rag other.md")
    before = text("other.md")
    done = run("pandoc -F lmm-knit notes.md -o other.md", pandoc)
    assert done.returncode != 0
    assert b"other.md has annotations" in done.stderr
    assert text("other.md") == before


OTHER = "# Other\n\nQuite another chapter.\n\nOf which nothing stands in the first.\n"


@pytest.mark.parametrize(
    ("command", "other"),
    [
        ("-F lmm-rag", OTHER),
        ("-F lmm-knit", f"{OTHER}\n::: exercise\nDo it.\n:::\n"),
        ("-F lmm-rag -F lmm-knit", f"---\ntitle: O\n---\n\n{OTHER}"),
    ],
)
def test_no_filter_writes_over_another_text(command, other, pandoc):
    write("notes.md", NOTES)
    write("other.md", other)
    done = run(f"pandoc {command} notes.md -o other.md", pandoc)
    assert done.returncode != 0
    assert b"Refused: " in done.stderr
    assert text("other.md") == other


def test_one_output_serves_many_documents(pandoc):
    """As in a loop of a script: what a run of ours has made may go."""
    for other in (NOTES, OTHER, NOTES):
        write("notes.md", other)
        for command in ("-F lmm-rag", "-F lmm-knit"):
            done = run(f"pandoc {command} notes.md -o {command[3:]}.md", pandoc)
            assert done.returncode == 0, done.stderr
    write("lmm-rag.md", text("lmm-rag.md") + "Mine.\n")
    write("notes.md", OTHER)
    assert b"holds another text" in run("pandoc -F lmm-rag notes.md -o lmm-rag.md", pandoc).stderr


def test_no_page_goes_over_markdown(pandoc):
    """pandoc takes `-o other.qmd` for HTML."""
    write("notes.md", NOTES)
    write("other.qmd", OTHER)
    done = run("pandoc -F lmm-knit notes.md -o other.qmd", pandoc)
    assert done.returncode != 0
    assert b"Add -t markdown" in done.stderr
    assert text("other.qmd") == OTHER


@pytest.mark.parametrize("target", ["ch2.md", "config.toml"])
def test_what_lmm_save_names_is_no_other_text(target, pandoc):
    write("notes.md", NOTES)
    write(target, OTHER if target.endswith("md") else "")
    before = text(target)
    done = run(f"pandoc -F lmm-rag -F lmm-knit notes.md -M lmm-save={target} -t html", pandoc)
    assert b"lmm-save: " in done.stderr
    assert text(target) == before


def test_what_lmm_save_has_written_is_written_again(pandoc):
    for prose in (PROSE, PROSE.replace("line", "curve")):
        write("notes.md", NOTES + prose)
        done = run("pandoc -F lmm-rag notes.md -M lmm-save=kept.md -t html", pandoc)
        assert b"lmm-save: " not in done.stderr
        assert prose in text("kept.md")


def test_knitting_again_writes_over_its_own_notes(pandoc):
    write("notes.md", "---\ntitle: T\n---\n\n" + NOTES)
    run("lmm rag notes.md")
    for _ in range(2):
        done = run("pandoc -F lmm-knit notes.md -o out.md", pandoc)
        assert done.returncode == 0, done.stderr


def test_two_inputs_are_not_written_into_one_of_them(pandoc):
    write("one.md", NOTES)
    write("two.md", NOTES)
    done = run("pandoc -F lmm-rag one.md two.md -o one.md", pandoc)
    assert done.returncode != 0
    assert b"all 2 inputs into" in done.stderr
    assert text("one.md") == NOTES


def test_no_llmd_document_takes_in_a_torn_text(annotated):
    done = run("lmm llmd new P.md notes.md")
    assert done.returncode == 0, done.stderr
    whole, left = text("P.md"), annotated.encode()[:200]
    tear(len(left))
    done = run("lmm llmd sync P.md")
    assert b"notes.md: torn: " in done.stderr and b"lmm recover " in done.stderr
    assert done.returncode != 0 and text("P.md") == whole
    done = run("lmm llmd check P.md")
    assert b"notes.md: torn: " in done.stderr + done.stdout and done.returncode != 0
    done = run("lmm llmd new Q.md notes.md")
    assert b"notes.md: torn: " in done.stderr
    assert not Path("Q.md").exists() or "residual" not in text("Q.md")
    assert Path("notes.md").read_bytes() == left
