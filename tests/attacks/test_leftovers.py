"""What a run that is killed while it writes leaves is removed by the next one; nothing else is."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lmm_core.files.writing import is_leftover, write_file
from lmm_core.markdown.files import find_markdown, write_markdown
from tests.commands import write

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and locks of Unix")
WRITER = """
import sys
from pathlib import Path
from lmm_core.files.writing import replace_file
print("ready", flush=True)
for number in range(100_000):
    replace_file(Path(sys.argv[1]), b"%d\\n" % number * 20_000)
"""
HANGING = """
import sys, time
from pathlib import Path
from lmm_core.files.writing import replace_file
def hang():
    print("hangs", flush=True)
    sys.stdin.readline()
replace_file(Path(sys.argv[1]), b"new\\n", hang)
"""


def start(code, *words):
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    return process


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()


def leftovers():
    return [name for name in os.listdir() if is_leftover(name)]


def test_the_next_run_removes_it():
    write("notes.md", "old\n")
    kill(start(HANGING, "notes.md"))
    assert len(leftovers()) == 1
    assert find_markdown([Path()]) == [Path("notes.md")]
    assert os.listdir() == ["notes.md"]
    assert Path("notes.md").read_text() == "old\n"


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.003, 0.02, 0.05])
def test_killed_at_any_moment(delay):
    """The file is whole, whatever the moment is."""
    write("notes.md", "old\n")
    process = start(WRITER, "notes.md")
    time.sleep(delay)
    kill(process)
    lines = Path("notes.md").read_text().splitlines()
    assert lines == ["old"] or (len(lines) == 20_000 and len(set(lines)) == 1)
    find_markdown([Path()])
    assert not leftovers()


def test_one_that_is_being_written_stays():
    write("notes.md", "old\n")
    process = start(HANGING, "notes.md")
    try:
        find_markdown([Path()])
        write_markdown(Path("notes.md"), "mine\n")
        assert len(leftovers()) == 1
        process.communicate("\n", timeout=60)
        assert process.returncode == 0 and Path("notes.md").read_text() == "new\n"
    finally:
        if process.poll() is None:
            kill(process)
    assert not leftovers()


def test_nothing_of_the_users_is_removed(tmp_path, monkeypatch):
    victim, mark = write(tmp_path / "victim", "mine\n"), "0123456789abcde"
    monkeypatch.chdir(write("work/.notes.md.tmp", "mine\n").parent)
    write(f".notes.md.lmm-{mark}.tmp", "mine\n")  # a sign short
    os.symlink(victim, f".notes.md.lmm-{mark}0.tmp")
    os.mkfifo(f".notes.md.lmm-{mark}1.tmp")
    os.mkdir(f".notes.md.lmm-{mark}2.tmp")
    before = os.listdir()
    write_markdown(Path("notes.md"), "text\n")
    find_markdown([Path()])
    assert sorted(os.listdir()) == sorted([*before, "notes.md"]) and victim.read_text() == "mine\n"


def test_owner_and_group_stay_where_they_can(monkeypatch):
    """Only root may give files away: elsewhere what is asked of the system is what is tried."""
    path = write("own.md", "# A\n\nText.\n")
    os.chmod(path, 0o640)
    asked, chown = [], os.chown
    if os.geteuid() == 0:
        os.chown(path, 65534, 65533)
    found = os.stat(path)
    monkeypatch.setattr(os, "chown", lambda name, *ids: (asked.append(ids), chown(name, *ids)))
    write_file(path, b"new\n")
    now = os.stat(path)
    assert (now.st_uid, now.st_gid, now.st_mode) == (found.st_uid, found.st_gid, found.st_mode)
    assert asked == [(found.st_uid, -1), (-1, found.st_gid)]

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    write_file(path, b"newer\n")
    assert path.read_bytes() == b"newer\n"
