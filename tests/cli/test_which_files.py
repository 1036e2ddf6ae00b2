"""Which documents of a folder each command takes, and the commands that go on at every save."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.commands import in_process, text, write
from tests.effort import wait_for
from tests.indexing import LONG, counts, lmm, section, stored
from tests.terminal import Terminal

BOOK = "project: {type: book}\nbook:\n  title: Woods\n  chapters: [index.md, oak.md]\n"
EXERCISE = "\n::: exercise\nWhat is it?\n:::\n"
COMMANDS = [
    "scan .", "rag . --check", "chunks .", "cards . --format md", "knit . -o out", "accept .", "index . --dry-run",
    "pass lmm_core.scan.knit:knit . --check",
]  # fmt: skip


def chapter(name):
    """A chapter whose heading is a question, which is annotated without a model."""
    return section(name).replace(f"# About {name}", f"# What is an {name}?") + EXERCISE


@pytest.fixture
def book():
    """A book of two chapters, and a README."""
    write("_quarto.yml", BOOK)
    for name in ("index", "oak", "README"):
        write(f"{name}.md", chapter(name))


def sources():
    """The documents that are in the index."""
    return {one["source"] for one in stored().values()}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_takes_folders_takes_the_same(book, command):
    Path("out").mkdir()
    done = in_process(f"{command} --exclude index.md")
    assert done.exit_code in ((0, 1) if "--check" in command else (0,)), done.output
    assert done.stderr.count("_quarto.yml: 1 document left out that is no page (README.md)") == 1
    shown = done.output.replace("(README.md)", "") + " ".join(os.listdir("out"))
    assert "README" not in shown and "index.md" not in shown
    if command.split()[0] in ("scan", "rag", "chunks", "cards", "knit", "pass"):
        assert "oak" in shown.lower()


def test_the_settings_of_a_project_hold_for_every_command(book):
    write("config.toml", '[files]\ninclude = ["*"]\nexclude = ["index.md"]\n')
    chunks = lmm("chunks .")[0]
    assert "README.md:" in chunks and "oak.md:" in chunks and "index.md" not in chunks
    assert counts(". --dry-run")[4] == 2
    assert "About index" not in lmm("cards . --format md")[0]
    assert "'../x' leads out" in lmm("scan . --exclude ../x", status=2)[1]


def test_a_leak_check_looks_at_every_source_it_is_given(book):
    write("config.toml", '[files]\nexclude = ["*"]\n')
    write("site.html", "<p>What is it?</p>")
    assert "README.md" in "".join(lmm("leak-check site.html .", status=1))


# The index


def test_an_index_forgets_what_is_no_page(book):
    lmm("index . README.md")
    assert sources() == {"index.md", "oak.md", "README.md"}
    assert counts("oak.md")[2] == 0  # a run on a file says nothing about the others
    assert counts(". --dry-run") == counts(".") == (0, 0, 2, 4, 0)
    assert sources() == {"index.md", "oak.md"}


def test_an_index_forgets_what_is_excluded(book):
    lmm("index .")
    assert counts(". --exclude oak.md")[2] == 2
    assert sources() == {"index.md"}


# At every save


@pytest.mark.parametrize("command", ["rag . --watch --check", "rag . --watch --json"])
def test_work_at_every_save_excludes_what_ends(command):
    write("notes.md", "# A\n")
    assert "--watch excludes" in lmm(command, status=2)[1]


@pytest.mark.slow
def test_rag_annotates_at_every_save_and_errors_do_not_end_it(book):
    terminal = Terminal("lmm rag . --watch")
    wait_for(lambda: "Waiting" in terminal.read())
    assert "~docid" in text("oak.md") and text("README.md") == chapter("README")
    write("config.toml", "[files")
    write("oak.md", f"# Oak\n\n## What is an oak?\n\nAn oak is a tree {LONG}\n\n::: exercise\nWhat is left out\n")
    wait_for(lambda: "not TOML" in terminal.read())
    write("config.toml", "")
    write("index.md", f"# Index\n\n## What is an index?\n\nAn index is a list {LONG}\n")
    wait_for(lambda: terminal.read() and all("~docid" in text(name) for name in ("oak.md", "index.md")))
    wait_for(lambda: "is not closed" in terminal.read())
    terminal.press_ctrl_c()
    assert terminal.end() == 0, terminal.seen
    assert "Traceback" not in terminal.seen
    assert [terminal.seen.count(f"annotated: {name}") for name in ("oak.md", "index.md")] == [2, 2]


# What is in the index


def test_the_index_tells_what_it_holds(book):
    assert "Nothing is indexed" in lmm("index --info")[0]
    write("oak.md", "---\nlang: de\n---\n\n" + section("oak"))
    lmm("index .")
    shown = lmm("index --info")[0].splitlines()
    assert re.fullmatch(r"\S+/\.lmm/index: 2 documents, [\d.]+ MB, last written \d+ seconds? ago", shown[0])
    assert shown[1:] == [
        "  chunks: 3 points; bm25 (words alone); German 1, English 2",
        "  documents: 3 points; without vectors",
    ]
    info = json.loads(lmm("index --info --json")[0])
    assert (info["documents"], [one["name"] for one in info["collections"]]) == (2, ["chunks", "documents"])
    assert "Missing argument" in lmm("index", status=2)[1]
