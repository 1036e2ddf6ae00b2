import os
from pathlib import Path

from lmm_core.files.walk import (
    Choice,
    Link,
    Skipped,
    WalkedFile,
    find_documents,
    is_document,
    is_entered,
    is_inside,
    walk,
)
from tests.commands import write


def names(**options):
    choice = Choice(is_document, is_entered, **options)
    return [(type(one), getattr(one, "name", None) or one.doc_path) for one in walk(Path(), choice)]


def test_files_by_their_names_before_those_of_subfolders():
    for name in ("b.md", "a/c.md", "a.md", "_x/d.md", "a/no.txt"):
        write(name, "x")
    assert names() == [(WalkedFile, "a.md"), (WalkedFile, "b.md"), (WalkedFile, "a/c.md")]
    assert [str(path) for path in find_documents(Path())[0]] == ["a.md", "b.md", "a/c.md"]


def test_links_are_told_apart():
    write("a/b.md", "x")
    for name, target in (("in.md", "a/b.md"), ("up", "."), ("out.md", "/etc/hostname"), ("dead.md", "none")):
        os.symlink(target, name)
    links = {one.name: one for one in walk(Path(), Choice(is_document, is_entered)) if isinstance(one, Link)}
    assert {name: (one.leads_out, one.leads_nowhere) for name, one in links.items()} == {
        "dead.md": (False, True), "in.md": (False, False), "out.md": (True, not Path("/etc/hostname").exists()),
        "up": (False, False),
    }  # fmt: skip
    assert links["in.md"].where_to() == "a link to a/b.md"
    assert links["up"].where_to() == "a link to a folder around it"


def test_what_is_no_regular_file_is_named():
    os.mkfifo("pipe.md")
    assert list(walk(Path(), Choice(is_document, is_entered))) == [Skipped("pipe.md", "not a regular file")]


def test_inside(tmp_path):
    write("a/b.md", "x")
    os.symlink(tmp_path.parent, "out")
    assert is_inside("a/b.md", ".") and is_inside("a/new/c.md", "a") and is_inside(".", ".")
    assert not is_inside("a/../b", "a") and not is_inside("out/x", ".") and not is_inside("..", ".")
