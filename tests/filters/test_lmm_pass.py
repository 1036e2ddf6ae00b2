"""The filter `lmm-pass`: passes of one's own within pandoc."""

from pathlib import Path

import pytest

from tests.commands import run, text, write

NOTES = "---\ntitle: T\n---\n\n# Aa\n\nA residual is a distance.\n"
PASSES = """
from dataclasses import replace
from pathlib import Path

from lmm_core.markdown import HeadingBlock


def louder(blocks):
    Path("ran").touch()
    return [replace(b, source=b.source.upper()) if isinstance(b, HeadingBlock) else b for b in blocks]


async def quieter(blocks):
    return [replace(b, source=b.source.lower()) if isinstance(b, HeadingBlock) else b for b in blocks]


def nothing(blocks):
    return None
"""


@pytest.fixture(autouse=True)
def _passes():
    write("passes.py", PASSES)
    write("notes.md", NOTES)


@pytest.mark.parametrize(
    "options", ["-F lmm-pass -M lmm-pass=passes:louder notes.md -o notes.md", "--defaults own.yaml"]
)
def test_a_pass_named_by_the_person(options, pandoc):
    files = "input-file: notes.md\noutput-file: notes.md\n"
    write("own.yaml", f"{files}filters: [lmm-pass]\nmetadata: {{lmm-pass: 'passes:louder'}}\n")
    done = run(f"pandoc {options}", pandoc)
    assert (done.returncode, done.stderr) == (0, b"")
    assert text("notes.md") == NOTES.replace("# Aa", "# AA")


@pytest.mark.parametrize("name", ["pases:louder", "passes:nothing"])
def test_what_is_no_pass_stops_pandoc(name, pandoc):
    done = run(f"pandoc -F lmm-pass -M lmm-pass={name} notes.md -o notes.md", pandoc)
    assert done.returncode != 0
    assert b"lmm-pass: " in done.stderr
    assert b"Traceback" not in done.stderr
    assert text("notes.md") == NOTES


@pytest.mark.parametrize(
    ("key", "option"),
    [
        ("lmm: {pass: 'passes:louder'}", ""),
        ("lmm_pass: passes:louder", "--metadata-file=more.yaml"),
    ],
)
def test_a_document_cannot_name_the_pass(key, option, pandoc):
    """A document may come from somebody else."""
    if option:
        write("more.yaml", f"{key}\n")
    else:
        write("notes.md", NOTES.replace("title: T", f"title: T\n{key}"))
    done = run(f"pandoc -F lmm-pass {option} notes.md -o out.md", pandoc)
    assert done.returncode != 0
    assert b"Name the pass on the command line" in done.stderr
    assert not Path("ran").exists()
    assert not Path("out.md").exists()


def test_a_document_cannot_name_another_pass_than_the_command_line(pandoc):
    write("notes.md", NOTES.replace("title: T", "title: T\nlmm-pass: passes:louder"))
    done = run("pandoc -F lmm-pass -M lmm-pass=passes:quieter notes.md -t markdown", pandoc)
    assert done.returncode == 0
    assert b"# aa" in done.stdout
    assert not Path("ran").exists()
