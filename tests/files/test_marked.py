"""Folders of ours: made, known again, and removed, even when a removal is stopped on its way."""

import os
from pathlib import Path

import pytest

from lmm_core.errors import FolderError
from lmm_core.files.marked import (
    MARK,
    check_inside,
    is_ours,
    make_marked,
    own_place,
    remove_marked,
)
from lmm_core.files.names import name_problem
from lmm_core.markdown.files import ROOT_MARKS
from tests.commands import tree, write

FOLDER = Path("made/here")


class Killed(BaseException):
    """The process ends: nothing is tidied up."""


def filled(folder=FOLDER, kind="collection"):
    """A folder of ours with all that a collection has."""
    make_marked(folder, kind)
    for name in ("collection.json", "shard/segments/1/data", "shard/wal/first", "shard/config"):
        write(folder / name, name)
    return folder


# Making


def test_a_folder_is_made_with_its_mark_and_known_by_it():
    make_marked(FOLDER, "index")
    assert (FOLDER / MARK).read_text() == "lmm-folder 1 index\n"
    assert is_ours(FOLDER, "index")
    write(FOLDER / "more", "x")
    make_marked(FOLDER, "index")
    assert (FOLDER / "more").exists()


@pytest.mark.parametrize("beginning", [None, "lmm-fol", "lmm-folder 1 index"])
def test_an_empty_folder_is_taken_also_if_its_marking_was_stopped(beginning):
    FOLDER.mkdir(parents=True)
    if beginning is not None:
        write(FOLDER / MARK, beginning)
    assert not is_ours(FOLDER, "index")
    make_marked(FOLDER, "index")
    assert is_ours(FOLDER, "index")


@pytest.mark.parametrize("mark", [None, "lmm-folder 1 collection\n", "lmm-folder 2 index\n"])
def test_a_folder_that_holds_something_and_is_not_ours_is_refused(mark):
    write(FOLDER / "notes.md", "# Mine\n")
    if mark is not None:
        write(FOLDER / MARK, mark)
    before = tree()
    for work in (is_ours, make_marked):
        with pytest.raises(FolderError, match=r"made/here .*nothing in it is touched; name a new or empty folder"):
            work(FOLDER, "index")
    assert tree() == before


def test_a_mark_has_to_be_a_file(tmp_path):
    FOLDER.mkdir(parents=True)
    (FOLDER / MARK).symlink_to(write(tmp_path / "real", "lmm-folder 1 index\n"))
    with pytest.raises(FolderError, match="lmm has not made it"):
        make_marked(FOLDER, "index")


# Removing


def test_a_folder_is_removed_with_all_that_is_in_it():
    write("made/other", "stays")
    write(filled() / ".DS_Store", "of a file manager")
    remove_marked(FOLDER, "collection")
    assert tree() == {"made": None, "made/other": b"stays"}
    remove_marked(FOLDER, "collection")  # it is not there: no error


@pytest.mark.parametrize("other", [".hidden", "shard2/x"])
def test_a_folder_of_ours_that_holds_what_is_not_ours_is_kept(other):
    write(filled() / other, "mine")
    before = tree()
    with pytest.raises(FolderError, match=r"is not removed: .* is not lmm's; move it away"):
        remove_marked(FOLDER, "collection")
    assert tree() == before


@pytest.mark.parametrize("name", sorted(name for names in ROOT_MARKS for name in names))
def test_a_folder_that_holds_a_project_is_kept(name):
    write(filled() / "shard/deep" / name, "")
    before = tree()
    with pytest.raises(FolderError, match=r"the project .* lies in it"):
        remove_marked(FOLDER, "collection")
    assert tree() == before


def test_a_folder_that_holds_the_working_or_the_home_folder_is_kept(monkeypatch, tmp_path):
    folder = filled().resolve()
    (tmp_path / "home").symlink_to(folder / "shard")
    with monkeypatch.context() as patched, pytest.raises(FolderError, match="the home folder lies in it"):
        patched.setenv("HOME", str(tmp_path / "home"))
        patched.setenv("USERPROFILE", str(tmp_path / "home"))
        remove_marked(folder, "collection")
    monkeypatch.chdir(folder / "shard/wal")
    with pytest.raises(FolderError, match="the working folder lies in it"):
        remove_marked(folder, "collection")
    assert (folder / "shard/wal/first").exists()


def test_no_link_to_a_folder_of_ours_is_removed():
    filled()
    Path("link").symlink_to(FOLDER)
    before = tree()
    with pytest.raises(FolderError, match="link is a link"):
        remove_marked(Path("link"), "collection")
    assert tree() == before


def test_links_in_a_folder_of_ours_are_not_followed():
    write("precious/a.md", "mine")
    (filled() / "shard/away").symlink_to(Path("precious").resolve())
    remove_marked(FOLDER, "collection")
    assert not FOLDER.exists() and Path("precious/a.md").read_text() == "mine"


def stop_after(steps, monkeypatch):
    """Let the process end after so many removals of files and folders."""
    left = iter(range(steps))

    def counted(remove):
        def call(*args, **options):
            if next(left, None) is None:
                raise Killed
            return remove(*args, **options)

        return call

    for name in ("unlink", "rmdir"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))


def test_a_removal_can_be_stopped_anywhere_and_finished_by_the_next_run(monkeypatch):
    for steps in range(50):
        filled()
        with monkeypatch.context() as patched:
            stop_after(steps, patched)
            try:
                remove_marked(FOLDER, "collection")
                break
            except Killed:
                pass
        there = sorted(path.name for path in FOLDER.iterdir())
        assert MARK in there or not there, (steps, there)
        if steps % 2:
            remove_marked(FOLDER, "collection")
            assert not FOLDER.exists()
        else:
            make_marked(FOLDER, "collection")  # or goes on with what is left
    assert 8 < steps < 49 and not FOLDER.exists()


# Paths


def test_a_path_without_links_is_inside():
    write("real/root/a/b/c", "x")
    Path("link").symlink_to("real")  # links above the root do not matter
    for path in ("a/b/c", "not/there/yet", "."):
        check_inside(Path("link/root"), Path("link/root") / path)


@pytest.mark.parametrize("target", ["elsewhere", "root/real", "nowhere"])
def test_a_link_on_the_way_is_refused_wherever_it_leads(target):
    for folder in ("elsewhere", "root/real/b", "root/a"):
        Path(folder).mkdir(parents=True)
    Path("root/a/link").symlink_to(Path(target).absolute())
    with pytest.raises(FolderError, match=r"root/a/link is a link"):
        check_inside(Path("root"), Path("root/a/link/b/c"))


@pytest.mark.parametrize("path", ["root/../other", "root/a/../b", "rooted"])
def test_a_path_elsewhere_is_not_inside(path):
    with pytest.raises(FolderError, match="does not lie in root"):
        check_inside(Path("root"), Path(path))


def test_a_place_of_ours_is_below_the_root_without_links_or_elsewhere(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "away").mkdir()
    (tmp_path / "root/link").symlink_to("../away")
    (tmp_path / "link").symlink_to("away")
    root = tmp_path / "root"
    assert own_place(root, Path(".lmm/index")) == root / ".lmm/index"
    assert own_place(root, Path("a/../../link/index")) == tmp_path / "link/index"
    for path in ("link", "link/index", "a/../link/index", str(root / "link")):
        with pytest.raises(FolderError, match="link is a link"):
            own_place(root, Path(path))


# Names


@pytest.mark.parametrize("name", ["Chunks", "-a", "a.b", "x" * 200])
def test_a_name_for_a_folder(name):
    assert not name_problem(name)


@pytest.mark.parametrize("name", ["", "..", ".a", "a.", "a/b", "a b", "ä", "x" * 201, "com1.files"])
def test_no_name_for_a_folder(name):
    assert name_problem(name)
