"""The journal: all changes or none, wherever the process is killed, and back again byte for byte."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmm_core.errors import LlmdError
from lmm_core.files import writing
from lmm_core.llmd.journal import JOURNAL, KEPT, Journal, begin, change
from tests.commands import text, write

ROOT = Path(__file__).parents[2]
BEFORE = {"a.py": b"a\r\n", "src/b.py": b"\xef\xbb\xbfb", "gone.sh": b"#!\n"}
AFTER = {"a.py": b"A\n", "src/b.py": b"", "new/deep/c.py": b"c\n"}


def put(state):
    for path, data in state.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(data)


def changes(before=None, after=None):
    before, after, root = before or BEFORE, after or AFTER, Path.cwd()
    return [change(root, root / path, before.get(path), after.get(path)) for path in sorted({*before, *after})]


def tree():
    """All files with their bytes and modes, and all folders, but for the journal."""
    paths = [path for path in Path().rglob("*") if path.parts[0] not in (".lmm", "cache")]
    return {str(path): (path.read_bytes(), path.stat().st_mode) if path.is_file() else None for path in paths}


def contents():
    return {path: found[0] for path, found in tree().items() if found}


def states():
    return sorted(path.suffix for path in Path(JOURNAL).glob("0*"))


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    """A killed process loses nothing that it has written; what is synced is for the power cut."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def journal():
    put(BEFORE)
    os.chmod("gone.sh", 0o755)
    os.chmod("a.py", 0o640)
    return Journal(Path.cwd())


def test_all_are_made_and_taken_back(journal):
    before = tree()
    journal.apply(changes(), "P.md", 3, "x")
    assert contents() == AFTER
    assert os.stat("a.py").st_mode & 0o777 == 0o640
    assert text(f"{JOURNAL}/.gitignore") == "*\n"
    applied = journal.last("P.md")
    assert (applied.entry, applied.reply, journal.last("Q.md")) == (3, "x", None)
    journal.undo(applied)
    assert tree() == before
    assert journal.last("P.md") is None and states() == []


def test_undo_goes_back_step_by_step(journal):
    for number in range(1, 4):
        journal.apply(changes({"a.py": Path("a.py").read_bytes()}, {"a.py": b"%d\n" % number}), "P.md", number)
    seen = []
    while applied := journal.last("P.md"):
        journal.undo(applied)
        seen.append(Path("a.py").read_bytes())
    assert seen == [b"2\n", b"1\n", BEFORE["a.py"]]


def test_undo_is_refused_where_a_file_has_changed_since(journal):
    journal.apply(changes(), "P.md")
    write("src/b.py", "mine\n")
    now = tree()
    applied = journal.last("P.md")
    assert journal.changed_since(applied) == [("src/b.py", b"", b"mine\n")]
    with pytest.raises(LlmdError, match=r"src/b.py: changed since; nothing was undone"):
        journal.undo(applied)
    assert tree() == now


def test_nothing_is_made_where_a_file_has_changed_meanwhile(journal):
    planned = changes()
    write("gone.sh", "mine\n")
    now = tree()
    with pytest.raises(LlmdError, match=r"gone.sh: changed on disk meanwhile"):
        journal.apply(planned, "P.md")
    assert (tree(), states()) == (now, [])


@pytest.mark.parametrize("paths", [("a.py", "a.py/b"), ("d/b", "d")])
def test_a_file_where_another_one_needs_a_folder(paths):
    """All or none, though the first of them was made already."""
    journal, planned = Journal(Path.cwd()), [change(Path.cwd(), Path.cwd() / path, None, b"x") for path in paths]
    with pytest.raises((OSError, LlmdError)):
        journal.apply(planned, "P.md")
    assert tree() == {} and journal.last("P.md") is None


def test_a_file_that_may_not_be_written(journal):
    os.chmod("a.py", 0o400)
    with pytest.raises(LlmdError, match=r"a.py: the file is read-only"):
        changes()


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_a_full_disk_leaves_all_as_it_was(journal, number, monkeypatch):
    """The replacing fails at each of the files."""
    before, replace, count = tree(), os.replace, iter(range(100))

    def full(source, target):
        if Path(target).name in ("a.py", "b.py", "c.py") and next(count) == number:
            raise OSError(28, "No space left on device", str(target))
        replace(source, target)

    planned = changes()
    monkeypatch.setattr(writing, "_rename", full)
    if number < 3:
        with pytest.raises(OSError, match="No space left"):
            journal.apply(planned, "P.md")
        assert (tree(), states()) == (before, [])
    else:
        journal.apply(planned, "P.md")
        assert contents() == AFTER


def test_what_a_full_disk_has_left_of_gitignore(journal):
    write(f"{JOURNAL}/.gitignore", "")
    journal.prepare()
    assert text(f"{JOURNAL}/.gitignore") == "*\n"


def test_a_folder_in_which_nothing_can_be_written(journal, monkeypatch):
    """As where something read-only is mounted: even to remove what is not there fails."""
    before, write_new, unlink = tree(), os.open, os.unlink

    def refuse(done):
        def refusing(path, *arguments, **named):
            if "src/.b.py.lmm-" in str(path):
                raise OSError(30, "Read-only file system", str(path))
            return done(path, *arguments, **named)

        return refusing

    planned = changes()
    monkeypatch.setattr(os, "open", refuse(write_new))
    monkeypatch.setattr(os, "unlink", refuse(unlink))
    with pytest.raises(OSError, match="Read-only") as error:
        journal.apply(planned, "P.md")
    assert error.value.filename.endswith("src/b.py")
    assert (tree(), states()) == (before, [])


def test_only_the_last_ones_are_kept(journal):
    for number in range(KEPT + 3):
        journal.apply(changes({"a.py": Path("a.py").read_bytes()}, {"a.py": b"%d" % number}), "P.md", number)
    assert states() == [".done"] * KEPT
    assert journal.last("P.md").entry == KEPT + 2


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
        shutil.rmtree(".lmm", ignore_errors=True)
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
    seen = set()
    for step in every_step(lambda: journal.apply(changes(), "P.md"), lambda: put(BEFORE)):
        journal.recover()
        assert contents() in (BEFORE, AFTER), step
        assert states() in ([], [".done"])
        seen.add(contents() == AFTER)
        if applied := journal.last("P.md"):
            journal.undo(applied)
        assert contents() == BEFORE
        assert not Path("new").exists()
    assert seen == {False}  # all is as before, until the end


@pytest.mark.long
def test_killed_at_each_step_of_undoing(journal):
    def start():
        put(BEFORE)
        journal.apply(changes(), "P.md")

    seen = set()
    for step in every_step(lambda: journal.undo(journal.last("P.md")), start):
        journal.recover()
        assert contents() in (BEFORE, AFTER), step
        seen.add(contents() == AFTER)
    assert seen == {True, False}


@pytest.mark.long
def test_killed_at_each_step_of_undoing_what_was_added_to_since(journal):
    before, after = ({**one, "a.py": one["a.py"] + b"more"} for one in (BEFORE, AFTER))

    def start():
        put(BEFORE)
        journal.apply(changes(), "a.py")
        put({"a.py": after["a.py"]})

    seen = set()
    for step in every_step(lambda: journal.undo(journal.last("a.py")), start):
        journal.recover()
        assert contents() in (before, after), step
        seen.add(contents() == after)
        if contents() == after:
            journal.undo(journal.last("a.py"))
            assert contents() == before
    assert seen == {True, False}


@pytest.mark.long
def test_killed_at_each_step_of_recovering(journal):
    """Which was needed: some files were replaced already. The recovery after that one is not."""
    apply = lambda: journal.apply(changes(), "P.md")  # noqa: E731
    half = next(step for step in every_step(apply, lambda: put(BEFORE)) if contents() not in (BEFORE, AFTER))

    def start():
        put(BEFORE)
        assert killed_at(half, apply)
        assert contents() not in (BEFORE, AFTER)

    for step in every_step(journal.recover, start):
        journal.recover()
        assert contents() in (BEFORE, AFTER), step


@pytest.mark.long
def test_changed_by_hand_after_the_kill(journal):
    """Then nothing is made, and what was written by hand stays."""
    for step in every_step(lambda: journal.apply(changes(), "P.md"), lambda: put(BEFORE)):
        if states() != [".open"]:
            continue
        put({"src/b.py": b"mine\n"})
        (said,) = journal.recover()
        assert "src/b.py changed meanwhile" in said
        assert contents() == BEFORE | {"src/b.py": b"mine\n"}, step
        assert journal.recover() == [] and states() == [".left"]


@pytest.mark.long
def test_killed_from_outside(tmp_path):
    """A process that applies and takes back without end is killed at some moment."""
    code = (
        "from pathlib import Path\nfrom tests.llmd.test_journal import *\njournal = Journal(Path.cwd())\nprint('go', flush=True)\n"
        "while True:\n    journal.apply(changes(), 'P.md')\n    journal.undo(journal.last('P.md'))\n"
    )
    put(BEFORE)
    for moment in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE
        )
        process.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.003 + moment * 0.0057)
        process.kill()
        process.communicate()
        journal = Journal(tmp_path)
        journal.recover()
        assert contents() in (BEFORE, AFTER)
        if applied := journal.last("P.md"):
            journal.undo(applied)
        assert contents() == BEFORE


# What somebody else may have put there


@pytest.mark.parametrize(
    "path",
    ["../outside", "/tmp/outside", ".git/hooks/pre-commit", ".GIT/config", "link/x", ".lmm/llmd/x", "", "sub/../../x"],
)
def test_a_journal_that_comes_with_a_project_leads_nowhere(journal, path, tmp_path_factory):
    journal.apply(changes(), "P.md")
    (entry,) = Path(JOURNAL).glob("0*")
    record = json.loads(text(entry))
    record["changes"][0]["path"] = path
    write(entry, json.dumps(record))
    begin(entry.parent, entry.read_bytes())  # as if it were this user's own, after all
    entry.rename(entry.with_suffix(".open"))
    os.symlink(tmp_path_factory.mktemp("elsewhere"), "link")
    now = tree()
    with pytest.raises(LlmdError, match="not to be touched"):
        journal.recover()
    assert tree() == now


def test_a_journal_elsewhere(journal, tmp_path_factory):
    os.mkdir(".lmm")
    os.symlink(tmp_path_factory.mktemp("outside"), JOURNAL)
    with pytest.raises(LlmdError, match="a link"):
        journal.apply(changes(), "P.md")
    assert contents() == BEFORE


@pytest.mark.parametrize("name", [".lock", ".gitignore", "0001.open", "0001.done"])
def test_a_link_in_the_journal(journal, name, tmp_path_factory):
    """It might lead to any file of whoever applies something."""
    outside = write(tmp_path_factory.mktemp("outside") / "x", "theirs\n")
    journal.apply(changes(), "P.md")
    place = Path(JOURNAL, name)
    place.unlink(missing_ok=True)
    os.symlink(outside, place)
    now = tree()
    with pytest.raises(LlmdError, match="a link, which is none of the journal's"):
        journal.prepare()
        journal.undo(journal.last("P.md"))
    assert (tree(), text(outside)) == (now, "theirs\n")


ONE = '{"document": "P.md", "entry": 1, "reply": "", "changes": [{"path": "a.py", "old": null, "new": null, "mode": null, "folders": []}]}'


@pytest.mark.parametrize(
    "said",
    ["", "[]", "{}", '{"changes": 1}', "[" * 100_000, ONE.replace("a.py", "a\\u0000"), ONE.replace("a.py", "\\ud800"),
     ONE.replace(": 1,", ": Infinity,"), ONE.replace("[]", '["\\u0000"]'), ONE.replace("[]", "1")],
    ids=lambda said: said[-20:],
)  # fmt: skip
def test_a_journal_that_cannot_be_read(journal, said):
    write(f"{JOURNAL}/0001.open", said)
    begin(Path(JOURNAL), said.encode())
    with pytest.raises(LlmdError, match=r"0001.open: cannot be read"):
        journal.recover()


def test_a_pipe_in_the_journal(journal):
    """Nobody waits for what comes out of it."""
    os.makedirs(JOURNAL)
    os.mkfifo(f"{JOURNAL}/0001.open")
    with pytest.raises(LlmdError, match="no regular file, which is none of the journal's"):
        journal.recover()


def test_a_journal_gives_nobody_the_owners_rights(journal):
    journal.apply(changes(), "P.md")
    (entry,) = Path(JOURNAL).glob("0*")
    record = json.loads(text(entry))
    for one in record["changes"]:
        one["mode"] = 0o6755
    write(entry, json.dumps(record))
    begin(entry.parent, entry.read_bytes())
    journal.undo(journal.last("P.md"))
    assert os.stat("a.py").st_mode & 0o7777 == 0o755


def test_what_is_none_of_the_journals_folders(journal):
    os.makedirs(f"{JOURNAL}/1.open")
    for name in ("².open", "x.open", "1²"):
        write(f"{JOURNAL}/{name}", "")
    assert journal.unfinished == [] and journal.recover() == []


FOLDER = st.dictionaries(st.sampled_from(["a", "b", "d/a", "d/e/c"]), st.binary(max_size=20), min_size=1)


@settings(max_examples=40, deadline=None)
@given(FOLDER, FOLDER)
def test_apply_then_undo_is_the_identity(tmp_path_factory, before, after):
    os.chdir(tmp_path_factory.mktemp("any"))
    put(before)
    journal, start = Journal(Path.cwd()), tree()
    journal.apply(changes(before, after), "P.md")
    assert contents() == after
    journal.undo(journal.last("P.md"))
    assert tree() == start
