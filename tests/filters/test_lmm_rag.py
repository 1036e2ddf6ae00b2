"""`pandoc -F lmm-rag` on a text that needs nothing: what is put aside, refused and said."""

import os
import sys
from pathlib import Path

import pytest

from lmm_core.files.recovery import put_aside
from tests.commands import BIN, run, text, write
from tests.filter_texts import NATIVE, ok
from tests.talk import lmm

TEXT = (
    "---\ntitle: Means\n---\n\n# What is the mean?\n\n"
    "The **mean** is the sum of all values, divided by their number, and moves with each of them.\n"
)
TO_STDOUT = "pandoc -F lmm-rag notes.md -t markdown"
IN_PLACE = "pandoc -F lmm-rag notes.md -t markdown -o notes.md"


@pytest.fixture
def annotated(monkeypatch):
    """A document in the working folder that needs nothing."""
    write("course/.git/HEAD", "")
    monkeypatch.chdir("course")
    write("notes.md", TEXT)
    lmm("lmm rag notes.md")
    assert "~docid: notes.md" in text("notes.md")
    return text("notes.md")


def test_a_run_gives_the_same_again_and_puts_the_text_aside_that_pandoc_writes_over(annotated, pandoc):
    done = run(TO_STDOUT, pandoc)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, annotated, b"")
    for count in (1, 2):
        done = run(IN_PLACE, pandoc)
        assert (done.returncode, text("notes.md"), done.stderr) == (0, annotated, b"")
        records = [path.read_bytes() for path in Path(".lmm/recover").glob("*.rec")]
        assert len(records) == count
        assert all(record.endswith(2 * annotated.encode()) for record in records)


def test_an_input_of_any_name_is_put_aside_and_has_an_id_of_its_own(annotated, pandoc):
    write("notes.txt", annotated)
    assert run("pandoc -F lmm-rag notes.txt -t markdown -o notes.txt", pandoc).returncode == 0
    assert len([*Path(".lmm/recover").glob("*.rec")]) == 1
    assert "~docid: notes.txt" in text("notes.txt")


@pytest.mark.skipif(sys.platform == "win32", reason="no folder can be removed there in which a program works")
def test_a_working_folder_that_is_gone_is_told_in_a_sentence(annotated, pandoc):
    Path("gone").mkdir()
    write("lmm-rag", f'#!/bin/sh\nrmdir "$PWD"\nexec {BIN}/lmm-rag "$@"\n').chmod(0o755)
    os.chdir("gone")
    done = run("pandoc -F ../lmm-rag ../notes.md -t markdown", pandoc)
    assert done.returncode != 0
    assert b"lmm-rag: [Errno" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_file_that_pandoc_has_torn_is_refused(annotated, pandoc):
    write("notes.md", f"{annotated}\nMore.\n")
    put_aside(Path("notes.md"), Path(), f"{annotated}\nMuch more.\n".encode())
    write("notes.md", annotated)
    done = run(IN_PLACE, pandoc)
    assert done.returncode != 0
    assert b"torn: pandoc was ended while it wrote this file" in done.stderr


def test_nothing_keeps_annotations_in_html_and_that_is_said(pandoc):
    write("notes.md", NATIVE)
    done = ok("pandoc -F lmm-rag notes.md -t html", pandoc)
    assert b"Nothing keeps annotations in html" in done.stderr
    assert b"lmm" not in done.stdout
