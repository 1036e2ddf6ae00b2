"""`lmm toc` and `lmm cards`, on the sample book."""

import json
import sys
from pathlib import Path

import pytest

from lmm_core.installation import install_command
from tests.commands import write
from tests.indexing import lmm


def test_a_table_of_contents(indexed_book, monkeypatch):
    shown = lmm("toc")[0].splitlines()
    assert shown[0].strip() == "1 min  About this course  (index.md)"
    assert " 2 min      When the mean misleads  [2 × exercise]" in shown
    assert " 1 min    Exercise: name the kind  [exercise]" in shown
    assert "            A z-score says how many standard deviations a value lies above" in lmm("toc --summaries")[0]
    entries = json.loads(lmm("toc --json")[0])
    assert {"id", "title", "level", "place", "anchor", "minutes", "types", "summary"} == set(entries[0])
    monkeypatch.chdir(indexed_book.parent)  # the index is found from above
    chapters = [line.rpartition("(")[2] for line in lmm("toc --level 1")[0].splitlines()]
    assert [chapter.rpartition("/")[2] for chapter in chapters[1:3]] == ["01-data.md)", "02-describing.md)"]


# Cards


@pytest.mark.parametrize("form", ["csv", "md"])
def test_cards_of_files_and_of_the_index_are_the_same(indexed_book, form):
    read = lmm(f"cards . --format {form}")[0]
    assert read == lmm(f"cards --format {form}")[0]
    lmm(f"cards --format {form} -o made.{form}")
    assert (indexed_book / f"made.{form}").read_text(encoding="utf-8") == read


def test_cards_need_no_index_and_are_named_after_the_course(sample_book):
    """A file is not: a title may be somebody else's, and hold a path."""
    told = lmm("cards sample-book --format anki")[1]
    assert told.endswith("\nsample-book.apkg: 51 cards (32 questions, 6 definitions, 13 exercises)\n")
    assert not (sample_book / ".lmm").exists()
    assert "01-data.apkg: 8 cards" in lmm("cards sample-book/01-data.md --format anki")[1]
    assert lmm("cards sample-book --format md")[0].startswith("# A short course in introductory statistics\n")
    write("course/notes.md", "::: exercise\nWhat is it?\n:::\n")
    assert lmm("cards course --format md")[0].startswith("# course\n")
    write("course/index.md", "---\ntitle: ../../Woods::Oaks\n---\n")
    assert lmm("cards course --format md")[0].startswith("# ../../Woods::Oaks\n")
    assert lmm("cards course --format anki")[1].startswith("course.apkg: 1 card")


def test_cards_that_cannot_be_made(monkeypatch):
    write("plain.md", "# T\n\nText alone.\n")
    assert "No cards: there are no annotated questions" in lmm("cards plain.md", status=1)[1]
    write("notes.md", "::: exercise\nWhat is it?\n:::\n")
    assert "its own source" in lmm("cards notes.md -o notes.md", status=2)[1]
    monkeypatch.delitem(sys.modules, "lmm_core.study.anki", raising=False)
    monkeypatch.setitem(sys.modules, "genanki", None)
    told = lmm("cards notes.md --format anki", status=1)[1]
    assert install_command("cards") in told and "Traceback" not in told


def test_the_contents_of_files_need_no_index():
    write("oaks.md", "# Oaks\n\nAn oak is a tree.\n\n## Roots\n\nThey are deep.\n")
    shown = lmm("toc oaks.md")[0]
    assert "Oaks" in shown and "Roots" in shown and not Path(".lmm").exists()
