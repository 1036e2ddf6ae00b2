"""`pandoc -F lmm-rag` on a text that needs nothing: what is put aside, refused and said."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from lmm_core.files.recovery import put_aside
from tests.commands import BIN, run, text, write

TEXT = "---\ntitle: Means\n---\n\n# What is the mean?\n\nThe **mean** is the sum of all values, divided by their number, and moves with each of them.\n"
COMMAND = "pandoc -F lmm-rag notes.md -t markdown"
IN_PLACE = "pandoc -F lmm-rag notes.md -o notes.md"
KNITTED = "pandoc -F lmm-rag -F lmm-knit notes.md -o notes.html"
OUTPUTS = {COMMAND: None, IN_PLACE: "notes.md", KNITTED: "notes.html"}


@pytest.fixture
def annotated(tmp_path, monkeypatch, pandoc):
    """A document in the working folder that needs nothing."""
    write("course/.git/HEAD", "")
    monkeypatch.chdir("course")
    write("notes.md", TEXT)
    assert run(IN_PLACE, pandoc).returncode == 0
    assert "~docid: notes.md" in text("notes.md")
    return text("notes.md")


def answer(pandoc, command=COMMAND):
    """What a run gives: its status, what it writes and what it says."""
    done = run(command, pandoc)
    output = OUTPUTS.get(command)
    written = done.stdout.decode() if output is None else text(output)
    return done.returncode, written, done.stderr.decode()


@pytest.mark.parametrize("command", OUTPUTS)
def test_a_run_that_changes_nothing_gives_the_same_again(command, annotated, pandoc):
    first = answer(pandoc, command)
    assert answer(pandoc, command) == first
    assert text("notes.md") == annotated


def test_a_run_puts_the_text_aside_that_pandoc_writes_over(annotated, pandoc):
    for count in (2, 3, 4):  # the fixture has made the first
        assert answer(pandoc, IN_PLACE) == (0, annotated, "")
        records = [path.read_bytes() for path in Path(".lmm/recover").glob("*.rec")]
        assert len(records) == count
        assert sum(record.endswith(2 * annotated.encode()) for record in records) == count - 1


def test_an_input_of_any_name_is_put_aside_each_time_that_pandoc_writes_over_it(annotated, pandoc):
    shutil.rmtree(".lmm")
    write("notes.txt", annotated.replace("notes.md", "notes.txt"))
    for count in (1, 2, 3):
        assert run("pandoc -F lmm-rag notes.txt -t markdown -o notes.txt", pandoc).returncode == 0
        assert len([*Path(".lmm/recover").glob("*.rec")]) == count


@pytest.mark.skipif(not Path("/proc/self/mem").is_file(), reason="Linux alone has a file that nobody can read")
def test_a_folder_above_the_project_whose_settings_cannot_be_read_says_nothing(annotated, pandoc):
    write("config.toml", "")
    Path("../config.toml").symlink_to("/proc/self/mem")
    assert answer(pandoc) == (0, annotated, "")


@pytest.mark.skipif(sys.platform == "win32", reason="no folder can be removed there in which a program works")
def test_a_working_folder_that_is_gone_is_told_in_a_sentence(annotated, pandoc):
    Path("gone").mkdir()
    write("lmm-rag", f'#!/bin/sh\nrmdir "$PWD"\nexec {BIN}/lmm-rag "$@"\n').chmod(0o755)
    os.chdir("gone")
    done = run("pandoc -F ../lmm-rag ../notes.md -t markdown", pandoc)
    assert done.returncode != 0
    assert b"lmm-rag: [Errno" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("command", [COMMAND, IN_PLACE])
def test_a_file_that_pandoc_has_torn_is_refused(command, annotated, pandoc):
    answer(pandoc, command)
    write("notes.md", f"{annotated}\nMore.\n")
    put_aside(Path("notes.md"), Path(), f"{annotated}\nMuch more.\n".encode())
    write("notes.md", annotated)
    status, _, said = answer(pandoc, command)
    assert status != 0
    assert "torn: pandoc was ended while it wrote this file" in said


def test_an_output_that_has_become_a_link_to_the_source_is_not_written_over(annotated, pandoc):
    answer(pandoc, KNITTED)
    Path("notes.html").unlink()
    Path("notes.html").symlink_to("notes.md")
    status, _, said = answer(pandoc, KNITTED)
    assert status != 0
    assert "Refused" in said
    assert text("notes.md") == annotated


def test_another_file_of_the_same_text_has_an_id_of_its_own(annotated, pandoc):
    answer(pandoc)
    write("other.md", annotated)
    assert "~docid: other.md" in answer(pandoc, COMMAND.replace("notes.md", "other.md"))[1]
