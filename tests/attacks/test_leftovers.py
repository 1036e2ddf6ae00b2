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
def test_a_file_is_whole_whenever_its_writer_is_killed():
    for delay in (0.003, 0.02, 0.05):
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
    os.mkdir(f".notes.md.lmm-{mark}1.tmp")
    before = os.listdir()
    write_markdown(Path("notes.md"), "text\n")
    find_markdown([Path()])
    assert sorted(os.listdir()) == sorted([*before, "notes.md"]) and victim.read_text() == "mine\n"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root may give files away")
def test_owner_and_group_stay():
    path = write("own.md", "# A\n")
    os.chown(path, 65534, 65533)
    write_file(path, b"new\n")
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65533)
