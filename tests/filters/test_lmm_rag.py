"""`pandoc -F lmm-rag` on a text that is known to need nothing, and on one that is not."""

import pytest

from lmm_core.workflows.known.cache import Known
from tests.commands import run, text, write

TEXT = "---\ntitle: Means\n---\n\n# The mean\n\nThe **mean** is the sum of all values, divided by their number.\n"
COMMAND = "pandoc -F lmm-rag notes.md -t markdown"


@pytest.fixture
def annotated(tmp_path, monkeypatch, pandoc):
    """A document in the working folder that needs nothing, and is not yet known."""
    monkeypatch.chdir(tmp_path)
    write(".git/HEAD", "")
    write("notes.md", TEXT)
    assert run("pandoc -F lmm-rag notes.md -o notes.md", pandoc).returncode == 0
    assert "~docid: notes.md" in text("notes.md")
    return text("notes.md")


def made(pandoc, command=COMMAND):
    done = run(command, pandoc)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode(), done.stderr.decode()


def known():
    return Known().size().findings


def test_a_text_that_needs_nothing_is_known_and_stays_as_it_is(annotated, pandoc):
    assert made(pandoc) == (annotated, "")
    assert known() == 1
    assert made(pandoc) == (annotated, "")
    assert known() == 1


def test_another_text_is_annotated(annotated, pandoc):
    made(pandoc)
    write("notes.md", TEXT)
    assert made(pandoc)[0] == annotated


def test_other_settings_are_another_question(annotated, pandoc):
    made(pandoc)
    write("config.toml", "[RAG]\ntitles = true\n")
    assert "~titles:" in made(pandoc)[0]


def test_another_file_of_the_same_text_has_an_id_of_its_own(annotated, pandoc):
    made(pandoc)
    write("other.md", annotated)
    assert "~docid: other.md" in made(pandoc, COMMAND.replace("notes.md", "other.md"))[0]


def test_what_is_warned_of_is_warned_of_again(annotated, pandoc):
    write("notes.md", annotated.replace("title: Means\n", "title: Means\nmodel: {minor: nowhere/x}\n"))
    first = made(pandoc)
    assert "nowhere" in first[1]
    assert made(pandoc) == first
    assert known() == 0
