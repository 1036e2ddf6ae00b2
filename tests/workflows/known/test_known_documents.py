"""A document that has not changed is not read again by the commands that only tell something; whatever may have changed
is."""

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from lmm_core.markdown.files import read_markdown
from lmm_core.workflows.indexing import run as index_run
from lmm_core.workflows.known import digests, documents, remember, settled
from lmm_core.workflows.known.cache import Known
from lmm_core.workflows.known.digests import FileDigests, digest_of
from lmm_core.workflows.known.documents import find_in_documents, see_documents
from tests.commands import write
from tests.workflows.known.test_known_findings import counting, lmm

LONG = "The mean of a sample is the sum of its values divided by their number, which every student knows by heart.\n"
COMMANDS = [("scan", "."), ("rag", ".", "--check"), ("index", ".")]


@pytest.fixture(autouse=True)
def many(tmp_path, monkeypatch):
    """However few the documents of a course are, they count as many, and as files that have rested for long."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(documents, "FEW", 0)
    monkeypatch.setattr(remember, "WORTH", 0)
    monkeypatch.setattr(settled, "ENOUGH", 1)
    monkeypatch.setattr(digests, "RESTED", -(10**15))
    monkeypatch.setattr(digests, "HAS_CHANGE_TIMES", True)


@pytest.fixture
def course(tmp_path):
    """Two annotated documents in a project, which each command has seen."""
    write(".git/HEAD", "")
    for name in ("one", "two"):
        write(f"{name}.md", f"---\ntitle: {name}\n---\n\n# The mean\n\nA xxmeanxx is a measure of centre.\n\n{LONG}\n")
    lmm("rag", ".")
    for words in COMMANDS:
        lmm(*words)
    return tmp_path


@pytest.fixture
def reads(monkeypatch):
    """The names of the documents that are read."""
    names, read = [], Path.read_bytes

    def counted(path):
        names.extend([path.name] if path.suffix == ".md" else [])
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", counted)
    return names


def found(words):
    done = lmm(*words)
    return done.exit_code, done.stdout


def put_in_place(name, old, new):
    """Put a text of the same length and time in the place of another."""
    text, state = Path(name).read_text(), os.stat(name)
    assert old in text and len(old) == len(new)
    write("new", text.replace(old, new))
    os.utime("new", ns=(state.st_atime_ns, state.st_mtime_ns))
    os.replace("new", name)


@pytest.mark.parametrize("words", COMMANDS)
def test_what_has_not_changed_is_not_read(course, reads, words):
    before = found(words)
    assert (found(words), reads) == (before, [])


@pytest.mark.parametrize("words", COMMANDS)
def test_an_edited_document_alone_is_read(course, reads, words):
    write("one.md", Path("one.md").read_text() + "\n# More\n\nIt is added.\n")
    lmm(*words)
    assert {*reads} == {"one.md"}


def test_a_text_of_the_same_length_and_time_in_the_place_of_another_is_seen(course):
    put_in_place("one.md", "title: one", "title: own")
    put_in_place("one.md", "xxmeanxx", "**mean**")
    assert "one.md: own" in lmm("scan", ".").stdout
    assert "its text has changed since" in lmm("rag", ".", "--check").stderr
    assert "\n1 document, " in lmm("index", ".").stderr


@pytest.mark.parametrize("words", COMMANDS)
def test_an_edit_within_the_same_moment_is_seen(course, monkeypatch, reads, words):
    monkeypatch.setattr(digests, "RESTED", 10**15)
    write("one.md", Path("one.md").read_text() + "\n")
    for _ in range(2):
        reads.clear()
        lmm(*words)
        assert {*reads} == {"one.md"}


def test_what_cannot_be_read_is_told_each_time(course):
    write("one.md", b"\xff")
    told = {words: lmm(*words).stderr for words in COMMANDS}
    assert all("one.md:1: not UTF-8" in said for said in told.values())
    assert "one.md:1: not UTF-8" in lmm("scan", ".").stderr


def test_a_file_that_may_not_be_read_any_more_is_told_of(course):
    if os.name == "nt" or os.geteuid() == 0:
        pytest.skip("whoever may read everything")
    Path("one.md").chmod(0)
    assert "one.md: Permission denied" in lmm("scan", ".").stderr


def test_few_documents_are_read_and_not_looked_up(course, monkeypatch, reads):
    monkeypatch.setattr(documents, "FEW", 3)
    looked = counting(monkeypatch, FileDigests, "look")
    lmm("scan", ".")
    assert (reads, looked) == (["one.md", "two.md"], [])


# What is found


def load(path):
    return read_markdown(path) if path.exists() else None


def find(word, *names, told=None):
    """Return what is found in documents: whether they hold a word."""
    told = [] if told is None else told
    with closing(Known()) as known:
        seen = see_documents([Path(name) for name in names], load, known)
        return find_in_documents(
            "test", word.encode(), seen, lambda file: told.append(file.path.name) or word in file.text, known
        )


def test_what_is_found_is_filed_under_the_content_that_was_read(monkeypatch):
    """On a file system that makes the times of files up, a change leaves no trace."""
    monkeypatch.setattr(digests, "_stamp", lambda path: [1, 2, 3, 4])
    write("one.md", "a mean\n")
    assert find("mean", "one.md") == {Path("one.md"): True}
    write("one.md", "a sum\n")
    assert find("sum", "one.md") == {Path("one.md"): True}
    monkeypatch.setattr(documents, "FEW", 10)  # so that all are read
    write("two.md", "a mean\n")
    told = []
    assert find("sum", "one.md", "two.md", told=told) == {Path("one.md"): True, Path("two.md"): False}
    assert told == ["two.md"]


def test_a_document_that_is_gone_when_it_is_to_be_read_is_left_out():
    for name in ("one.md", "two.md"):
        write(name, "a mean\n" + name)
    with closing(Known()) as known:
        see_documents([Path("one.md"), Path("two.md")], load, known)
        seen = see_documents([Path("one.md"), Path("two.md")], load, known)
        Path("one.md").unlink()
        assert [*find_in_documents("test", b"", seen, lambda file: file.text, known)] == [Path("two.md")]


def test_a_notebook_and_a_text_of_the_same_bytes_are_two_texts():
    book = json.dumps({"cells": [{"cell_type": "markdown", "source": "a mean", "metadata": {}}], "metadata": {},
                       "nbformat": 4, "nbformat_minor": 5})  # fmt: skip
    for name in ("one.md", "one.ipynb"):
        write(name, book)
    assert find("nbformat", "one.md", "one.ipynb") == {Path("one.md"): True, Path("one.ipynb"): False}


def test_what_is_no_file_has_no_stamp(tmp_path):
    assert digests._stamp(tmp_path) == digests._stamp(Path("nowhere")) == []


def test_what_a_run_was_not_asked_about_stays_known(reads):
    for name in ("one.md", "two.md"):
        write(name, "a mean\n")
    find("mean", "one.md", "two.md")
    reads.clear()
    find("mean", "one.md")
    find("mean", "one.md", "two.md")
    assert reads == []
    Path("two.md").unlink()
    with FileDigests(b"documents\0" + os.fsencode(Path.cwd())) as known:
        known.look(Path("one.md"), Path.read_bytes)
    with FileDigests(b"documents\0" + os.fsencode(Path.cwd())) as known:
        assert [*known._before] == ["one.md"]


def test_another_folder_has_documents_of_its_own(monkeypatch):
    for folder, text in (("a", "a mean\n"), ("b", "the sum\n")):
        write(f"{folder}/one.md", text)
        monkeypatch.setattr(digests, "_stamp", lambda path: [1, 2, 3, 4])
        monkeypatch.chdir(folder)
        assert find("mean", "one.md") == {Path("one.md"): folder == "a"}
        monkeypatch.chdir("..")


def test_a_document_is_hashed_once(monkeypatch):
    write("one.md", "a mean\n")
    hashed = [counting(monkeypatch, module, "digest_of") for module in (digests, documents)]
    with closing(Known()) as known:
        seen = see_documents([Path("one.md")], load, known)
        for kind in ("one", "two"):
            find_in_documents(kind, b"", seen, lambda file: 1, known)
    assert hashed == [[(b"a mean\n",)], []]
    assert seen[0].key == digest_of(b"a mean\n")


# What an index knows of files


def test_records_are_read_once_and_files_that_are_taken_not_looked_at_again(course, monkeypatch):
    records = counting(monkeypatch, index_run, "read_records")
    lmm("index", ".")
    assert len(records) == 1


def test_what_is_left_out_by_a_later_pattern_is_removed_though_nothing_has_changed(course):
    write("config.toml", '[files]\nexclude = ["two.md"]\n')
    assert "1 removed" in lmm("index", ".").stderr
    assert "0 removed" in lmm("index", ".").stderr


def test_what_is_left_out_is_removed_although_a_link_leads_to_it(course):
    write("_drafts/three.md", f"---\ntitle: three\n---\n\n# C\n\n{LONG}\n")
    write("config.toml", '[files]\nexclude = ["_drafts/"]\n')
    try:
        Path("three.md").symlink_to("_drafts/three.md")
    except OSError:
        pytest.skip("no links here")
    assert "1 removed" in lmm("index", ".").stderr
