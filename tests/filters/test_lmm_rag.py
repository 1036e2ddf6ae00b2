"""`pandoc -F lmm-rag` on a text that is known to need nothing, and on one that is not."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from lmm_core.files.recovery import put_aside
from lmm_core.workflows.known.cache import Known
from tests.commands import BIN, run, text, write

TEXT = "---\ntitle: Means\n---\n\n# What is the mean?\n\nThe **mean** is the sum of all values, divided by their number, and moves with each of them.\n"
COMMAND = "pandoc -F lmm-rag notes.md -t markdown"
IN_PLACE = "pandoc -F lmm-rag notes.md -o notes.md"
KNITTED = "pandoc -F lmm-rag -F lmm-knit notes.md -o notes.html"
OUTPUTS = {COMMAND: None, IN_PLACE: "notes.md", KNITTED: "notes.html"}


@pytest.fixture
def annotated(tmp_path, monkeypatch, pandoc):
    """A document in the working folder that needs nothing, and is not yet known."""
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


def known():
    return Known().size().findings


@pytest.mark.parametrize("command", OUTPUTS)
def test_a_run_that_changes_nothing_is_known_and_gives_the_same(command, annotated, pandoc):
    first = answer(pandoc, command)
    assert known() == 1
    assert answer(pandoc, command) == first
    assert known() == 1
    assert text("notes.md") == annotated


LIGHT = ["yaml", "dataclasses", "lmm_core.logging", "lmm_core.markdown", "lmm_core.settings", "lmm_core.scan"]


@pytest.mark.parametrize(("command", "most"), [(COMMAND, 125), (IN_PLACE, 125), (KNITTED, 125)])
def test_a_known_run_imports_little(command, most, annotated, pandoc):
    """`most`: of modules together, with those of Python itself and of its site-packages."""
    code = (
        f"#!{sys.executable}\nimport atexit, sys\nfrom lmm_filters.lmm_rag import main\n"
        "atexit.register(lambda: open('seen', 'w').write(' '.join(sys.modules)))\nmain()\n"
    )
    write("lmm-rag", code).chmod(0o755)
    for _ in range(2):
        assert run(command.replace("lmm-rag", "./lmm-rag"), pandoc).returncode == 0
    seen = text("seen").split()
    assert [name for name in LIGHT if name in seen] == []
    assert len(seen) <= most


def test_a_known_run_puts_the_text_aside_that_pandoc_writes_over(annotated, pandoc):
    for count in (2, 3, 4):  # the fixture has made the first
        assert answer(pandoc, IN_PLACE) == (0, annotated, "")
        records = [path.read_bytes() for path in Path(".lmm/recover").glob("*.rec")]
        assert len(records) == count
        assert sum(record.endswith(2 * annotated.encode()) for record in records) == count - 1


def _shorten():
    write("notes.md", TEXT)


def _lead_elsewhere():
    write("other/notes.md", text("notes.md"))
    Path("notes.md").unlink()
    Path("notes.md").symlink_to("other/notes.md")


CHANGES = {
    "the text": _shorten,
    "a link": _lead_elsewhere,
    "a setting": lambda: write("config.toml", "[RAG]\ntitles = true\n"),
    "a wrong setting": lambda: write("config.toml", "[RAG]\ntitle = true\n"),
    "a setting of the folder above": lambda: write("../config.toml", "[RAG]\ntitles = true\n"),
    "no project": lambda: shutil.rmtree(".git"),
    "a variable": lambda: os.environ.update(LMM_RAG__TITLES="true"),
    "a wrong variable": lambda: os.environ.update(LMM_RAG__TITLE="true"),
    "a model": lambda: os.environ.update(LMM_MODEL="nowhere/x"),
}


@pytest.mark.parametrize("command", OUTPUTS)
@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_a_run_gives_what_it_gives_to_those_who_know_nothing(
    change, command, annotated, pandoc, monkeypatch
):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    answer(pandoc, command)
    assert known() == 1
    CHANGES[change]()
    before = Path("notes.md").read_bytes()
    with_memory = answer(pandoc, command)
    write("notes.md", before)
    Known().clear()
    assert answer(pandoc, command) == with_memory


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
    assert known() == 0


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
def test_a_file_that_pandoc_has_torn_is_refused_although_the_rest_was_known_to_need_nothing(command, annotated, pandoc):
    answer(pandoc, command)
    write("notes.md", f"{annotated}\nMore.\n")
    put_aside(Path("notes.md"), Path(), f"{annotated}\nMuch more.\n".encode())
    write("notes.md", annotated)
    status, _, said = answer(pandoc, command)
    assert status != 0
    assert "torn: pandoc was ended while it wrote this file" in said


def test_other_options_are_another_question(annotated, pandoc):
    command = f"{COMMAND} -M lmm-mode=x"
    answer(pandoc)
    assert "There is no option lmm-mode." in answer(pandoc, command)[2]
    assert known() == 1


def test_an_output_that_has_become_a_link_to_the_source_is_not_written_over(annotated, pandoc):
    answer(pandoc, KNITTED)
    Path("notes.html").unlink()
    Path("notes.html").symlink_to("notes.md")
    status, _, said = answer(pandoc, KNITTED)
    assert status != 0
    assert "Refused" in said
    assert text("notes.md") == annotated


def test_another_version_of_the_filters_knows_nothing(annotated, pandoc):
    """Without a change of what they make: `lmm_core` is looked at by every finding."""
    from lmm_filters.pandoc.runs import known as module

    answer(pandoc)
    code = Path(module.__file__)
    stamp = code.stat()
    os.utime(code, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    try:
        answer(pandoc)
    finally:
        os.utime(code, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert known() == 2


def test_another_file_of_the_same_text_has_an_id_of_its_own(annotated, pandoc):
    answer(pandoc)
    write("other.md", annotated)
    assert "~docid: other.md" in answer(pandoc, COMMAND.replace("notes.md", "other.md"))[1]


def test_what_is_warned_of_is_warned_of_again(annotated, pandoc):
    write("notes.md", annotated.replace("title: Means\n", "title: Means\nmodel: {minor: nowhere/x}\n"))
    first = answer(pandoc)
    assert "nowhere" in first[2]
    assert answer(pandoc) == first
    assert known() == 0


@pytest.mark.parametrize("more", ["-M lmm-save=saved.md", "-o other.md", "-f markdown-smart"])
def test_a_run_that_hangs_on_more_is_not_known(more, annotated, pandoc):
    first = run(f"{COMMAND} {more}", pandoc)
    assert first.returncode == 0
    assert known() == 0
