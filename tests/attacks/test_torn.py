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
from tests.indexing import lmm

PROSE = "A residual is the vertical distance between a point and the line that was fitted, in units of the response.\n"
NOTES = f"# Ä\n\n{PROSE}\n## B\n\n{PROSE}\n## C\n\n{PROSE}"


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


@pytest.mark.slow
def test_no_command_works_on_a_torn_text(annotated, pandoc):
    lmm("llmd new P.md notes.md")
    left, project = annotated.encode()[:200], text("P.md")
    tear(len(left))
    for command in ("rag", "knit", "convert --to native", "chat", "index"):
        assert "notes.md: torn: " in lmm(f"{command} notes.md", 1)[1], command
    for command in ("pandoc -F lmm-rag notes.md -o notes.md", "lmm llmd sync P.md"):
        done = run(command, pandoc)
        assert done.returncode != 0, command
        assert b"notes.md: torn: " in done.stderr and b"lmm recover " in done.stderr
    assert Path("notes.md").read_bytes() == left and text("P.md") == project
    lmm("recover notes.md")
    assert text("notes.md") == annotated


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "flags"),
    [
        (f"{NOTES}\n\n\n", "-M lmm-source=notes.md"),
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
    lmm("recover notes.md")
    assert Path("notes.md").read_bytes() == written


def test_only_what_is_written_over_is_put_aside(pandoc):
    write("notes.md", NOTES)
    assert run("pandoc -F lmm-rag notes.md -o out.md", pandoc).returncode == 0
    assert not Path(".lmm").exists()
    write("out.md", f"{NOTES}\nMine, at the end.\n")
    assert run("pandoc -F lmm-rag notes.md -o out.md", pandoc).returncode == 0
    lmm("recover --before out.md")
    assert text("out.md").endswith("Mine, at the end.\n")


def test_no_defaults_file_hides_what_is_overwritten(pandoc, monkeypatch, tmp_path):
    write("notes.md", NOTES + "\n::: exercise\nSECRET\n:::\n")
    before = text("notes.md")
    write("data/pandoc/defaults/own.yaml", "filters: [lmm-knit]\ninput-files: [notes.md]\noutput-file: notes.md\n")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    done = run("pandoc -d own", pandoc)
    assert done.returncode != 0
    assert b"Refused: lmm-knit takes out" in done.stderr
    assert text("notes.md") == before


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

OTHER = "# Other\n\nQuite another chapter.\n\nOf which nothing stands in the first.\n"
EXERCISE = "\n::: exercise\nSECRET\n:::\n"


def refused(arguments, said, pandoc, victim="notes.md", stdin=None):
    """pandoc leaves a file alone, and we say why."""
    before = text(victim)
    done = run(f"pandoc {arguments}", pandoc, stdin=stdin)
    assert done.returncode != 0
    assert said in done.stderr.decode() and b"Traceback" not in done.stderr
    assert text(victim) == before


@pytest.mark.parametrize(("filters", "output"), [("-F lmm-rag -F lmm-knit", "link.md"), ("-F lmm-knit", "hard.md")])
def test_knitting_does_not_write_over_its_input(filters, output, pandoc):
    write("notes.md", NOTES + EXERCISE)
    Path("link.md").symlink_to("notes.md")
    os.link("notes.md", "hard.md")
    refused(f"{filters} notes.md -o {output}", "Refused: lmm-knit takes out", pandoc)
    refused(f"{filters} -M lmm-source=notes.md -o {output}", "lmm-knit takes out", pandoc, stdin=text("notes.md"))


@pytest.mark.parametrize(
    ("arguments", "victim", "said"),
    [
        ("-B pre.md -F lmm-rag notes.md -o notes.md", "notes.md", "would put more text into"),
        ("-F lmm-rag notes.md -o other.md", "other.md", "Refused: "),
        ("-F lmm-knit notes.md -o annotated.md", "annotated.md", "annotated.md has annotations"),
        ("-F lmm-knit notes.md -o other.qmd", "other.qmd", "Add -t markdown"),  # pandoc takes it for HTML
    ],
)
def test_no_filter_writes_over_another_text(arguments, victim, said, pandoc):
    for name, content in {"notes.md": NOTES, "other.md": OTHER + EXERCISE, "other.qmd": OTHER}.items():
        write(name, content)
    write("annotated.md", "---\n~docid: x\n---\n\n" + NOTES)
    write("pre.md", "Before all.\n")
    refused(arguments, said, pandoc, victim)


def test_where_nothing_can_be_put_aside_pandoc_leaves_the_file_alone(pandoc):
    write("notes.md", NOTES)
    write(".lmm", "a file in the folder's place")
    refused("-F lmm-rag notes.md -o notes.md", "lmm-rag: ", pandoc)
