"""A pass that runs in a filter, and what becomes of its result."""

from tests.commands import text, write
from tests.filter_texts import NATIVE, NOTES, ok


def test_save_annotations_while_writing_html(pandoc):
    write("notes.md", NATIVE)
    ok("pandoc -F lmm-rag -F lmm-knit -M lmm-save=saved.md notes.md -o notes.html", pandoc)
    assert "~questions" in text("saved.md") and "SECRET" in text("saved.md")
    assert "SECRET" not in text("notes.html")


def test_save_over_the_source_that_is_also_the_output(pandoc):
    write("notes.md", NATIVE)
    ok("pandoc -F lmm-rag -M lmm-save=notes.md notes.md -o notes.md", pandoc)
    assert text("notes.md").count("~questions") == 1


def test_save_that_cannot_be_written_is_reported(pandoc):
    write("notes.md", NOTES)
    done = ok("pandoc -F lmm-rag -M lmm-save=no/such/folder.md notes.md -o out.md", pandoc)
    assert b"lmm-save" in done.stderr
    assert "~questions" in text("out.md")


def test_nothing_keeps_annotations_in_html_and_that_is_said(pandoc):
    write("notes.md", NATIVE)
    done = ok("pandoc -F lmm-rag notes.md -t html", pandoc)
    assert b"lmm-save" in done.stderr
    assert b"lmm" not in done.stdout
