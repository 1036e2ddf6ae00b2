"""The journal: all changes or none, wherever the process is killed, and back again byte for byte."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.errors import LlmdError
from lmm_core.files import writing
from lmm_core.llmd.journal import Journal, journal_change
from tests.commands import text, write

BEFORE = {"a.py": b"a\r\n", "src/b.py": b"\xef\xbb\xbfb", "gone.sh": b"#!\n"}
AFTER = {"a.py": b"A\n", "src/b.py": b"", "new/deep/c.py": b"c\n"}


def put(state):
    for path, data in state.items():
        write(path, data)


def changes(before=None, after=None):
    before, after, root = before or BEFORE, after or AFTER, Path.cwd()
    return [journal_change(root, root / path, before.get(path), after.get(path)) for path in sorted({*before, *after})]


def tree():
    """All files with their bytes and modes, but for the journal."""
    paths = [path for path in Path().rglob("*") if path.parts[0] not in (".lmm", "cache") and path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mode) for path in paths}


def contents():
    return {path: found[0] for path, found in tree().items()}


def states():
    return sorted(path.suffix for path in Journal(Path.cwd()).folder.glob("changes*"))


def last(journal):
    """Return the last entry for the document P.md, or None."""
    return journal.last("P.md")


def begin():
    """A journal for the working folder. (The commands make its folder when they lock it.)"""
    made = Journal(Path.cwd())
    made.folder.mkdir(parents=True)
    return made


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    """A killed process loses nothing that it has written; what is synced is for the power cut."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def journal():
    put(BEFORE)
    os.chmod("gone.sh", 0o755)
    os.chmod("a.py", 0o640)
    return begin()


def test_all_are_made_and_taken_back(journal):
    before = tree()
    journal.apply(changes(), "P.md", 3, "x")
    assert contents() == AFTER
    assert os.stat("a.py").st_mode & 0o777 == 0o640
    applied = last(journal)
    assert (applied.entry, applied.reply, journal.last("Q.md")) == (3, "x", None)
    journal.undo(applied)
    assert tree() == before
    assert last(journal) is None and states() == []


def test_nothing_is_made_where_a_file_has_changed_meanwhile(journal):
    planned = changes()
    write("gone.sh", "mine\n")
    now = tree()
    with pytest.raises(LlmdError, match=r"gone.sh: changed on disk meanwhile"):
        journal.apply(planned, "P.md")
    assert (tree(), states()) == (now, [])


@pytest.mark.parametrize("number", [0, 2])
def test_a_full_disk_leaves_all_as_it_was(journal, number, monkeypatch):
    """The replacing fails at each of the files."""
    before, replace, count = tree(), os.replace, iter(range(100))

    def full(source, target):
        if Path(target).name in ("a.py", "b.py", "c.py") and next(count) == number:
            raise OSError(28, "No space left on device", str(target))
        replace(source, target)

    planned = changes()
    monkeypatch.setattr(writing, "_rename", full)
    with pytest.raises(OSError, match="No space left"):
        journal.apply(planned, "P.md")
    assert (tree(), states()) == (before, [])


# Killed


def killed_at(step, work):
    """Do some work in a process that is killed at its nth change of the file system; whether it was."""
    child = os.fork()
    if child == 0:
        left = iter(range(step))

        def watch(event, arguments):
            changes = event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod") or (
                event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            )
            if changes and next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        try:
            work()
        finally:
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL)
    return status != 0


def every_step(work, start):
    """Kill some work at each of its steps, each time from the start."""
    for step in range(1000):
        for path in Journal(Path.cwd()).folder.iterdir():
            path.unlink()
        for path in [*BEFORE, *AFTER, *Path().rglob(".*.tmp")]:
            Path(path).unlink(missing_ok=True)
        shutil.rmtree("new", ignore_errors=True)
        start()
        if not killed_at(step, work):
            assert step > 3
            return
        yield step


@pytest.mark.slow
def test_killed_at_each_step_of_applying(journal):
    """All is as before, until the end."""
    for step in every_step(lambda: journal.apply(changes(), "P.md"), lambda: put(BEFORE)):
        if states() == [".open"] and step % 2:
            put({"src/b.py": b"mine\n"})  # by hand: then nothing is made, and it stays
            assert "src/b.py: changed meanwhile" in journal.recover()
            assert contents() == BEFORE | {"src/b.py": b"mine\n"}, step
        else:
            journal.recover()
            assert contents() == BEFORE and states() == [], step


@pytest.mark.long
def test_killed_at_each_step_of_undoing(journal):
    def start():
        put(BEFORE)
        journal.apply(changes(), "P.md")

    for step in every_step(lambda: journal.undo(last(journal)), start):
        journal.recover()
        assert contents() in (BEFORE, AFTER), step


def test_a_file_that_has_become_a_link(journal, tmp_path_factory):
    outside = write(tmp_path_factory.mktemp("outside") / "x", "theirs\n")
    journal.apply(changes(), "P.md")
    os.remove("a.py")
    os.symlink(outside, "a.py")
    now = tree()
    with pytest.raises(LlmdError, match="has become a link"):
        journal.undo(last(journal))
    assert (tree(), text(outside)) == (now, "theirs\n")


FOLDER = st.dictionaries(st.sampled_from(["a", "b", "d/a", "d/e/c"]), st.binary(max_size=20), min_size=1)


@given(FOLDER, FOLDER)
def test_apply_then_undo_is_the_identity(tmp_path_factory, before, after):
    os.chdir(tmp_path_factory.mktemp("any"))
    put(before)
    journal, start = begin(), tree()
    journal.apply(changes(before, after), "P.md")
    assert contents() == after
    journal.undo(last(journal))
    assert tree() == start
