"""Work that forked processes share: what comes out of it is the same, whatever becomes of them."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from lmm_core.errors import MarkdownError
from lmm_core.workflows.known import forks
from lmm_core.workflows.known.forks import ENOUGH, find_in_all

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
HERE = os.getpid()


@pytest.fixture(params=[1, 2, 3])
def processors(request, monkeypatch):
    monkeypatch.setattr(forks, "_processors", lambda: request.param)
    return request.param


def test_what_is_found_comes_in_order(processors):
    found = [*find_in_all(range(100), lambda thing: (thing, os.getpid()), 5 * ENOUGH)]
    assert [thing for thing, _ in found] == [*range(100)]
    at_work = {process for _, process in found}
    assert at_work == {HERE} if processors == 1 else HERE not in at_work and len(at_work) == processors


def test_little_is_done_by_one_process(monkeypatch):
    monkeypatch.setattr(forks, "_processors", lambda: 4)
    assert {*find_in_all(range(9), lambda thing: os.getpid(), ENOUGH)} == {HERE}
    assert {*find_in_all([1], lambda thing: os.getpid(), 9 * ENOUGH)} == {HERE}
    assert [*find_in_all([], os.getpid, 0)] == []


def test_an_error_is_raised_where_it_belongs(processors):
    def find(thing):
        if thing in (7, 8, 30):
            raise MarkdownError(f"d{thing}.md:{thing}: wrong")
        return thing

    found, things = [], find_in_all(range(100), find, 5 * ENOUGH)
    with pytest.raises(MarkdownError, match=r"^d7\.md:7: wrong$"):
        found.extend(things)
    assert found == [*range(7)]


def test_what_an_ended_process_has_not_found_is_found_here(processors):
    def find(thing):
        if os.getpid() != HERE and thing > 40:
            os.kill(os.getpid(), signal.SIGKILL)
        return "x" * 10_000 + str(thing)

    found = find_in_all(range(100), find, 5 * ENOUGH)
    assert [text.lstrip("x") for text in found] == [*map(str, range(100))]


@pytest.mark.parametrize("first", [0, 1])
def test_where_no_process_is_left_this_one_does_it(monkeypatch, first):
    monkeypatch.setattr(forks, "_processors", lambda: 2)
    given, real = [], forks._Helper

    def refuse(*share):
        given.append(share)
        if len(given) > first:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return real(*share)

    monkeypatch.setattr(forks, "_Helper", refuse)
    assert {*find_in_all(range(9), lambda thing: os.getpid(), 5 * ENOUGH)} == {HERE}


def test_processes_end_with_who_reads_them(processors):
    things = find_in_all(range(1000), lambda thing: (os.getpid(), "x" * 100_000), 5 * ENOUGH)
    workers = {next(things)[0] for _ in range(processors)} - {HERE}
    things.close()
    assert [worker for worker in workers if _runs(worker)] == []


def _runs(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_program_with_threads_is_not_forked():
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert forks._processors() == 1
    finally:
        end.set()
        thread.join()


def test_a_system_that_shows_no_threads_is_not_forked(monkeypatch, tmp_path):
    monkeypatch.setattr(forks, "_THREADS", tmp_path / "task")
    assert forks._processors() == 1


PROGRAM = """
import os, sys, time
from lmm_core.workflows.known.forks import ENOUGH, MOST, find_in_all, _processors
print(_processors() == min(len(os.sched_getaffinity(0)), MOST), flush=True)
import lmm_core.workflows.known.forks as forks
forks._processors = lambda: 2
for found in find_in_all(range(1000), lambda thing: (os.getpid(), "x" * 100_000), 5 * ENOUGH):
    print(found[0], flush=True)
    time.sleep(0.1)
"""


def test_processes_end_with_a_program_that_is_killed():
    program = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    first, *workers = (program.stdout.readline().strip() for _ in range(3))
    assert first == "True" and len({*workers}) == 2
    program.kill()
    program.communicate(timeout=60)  # until nobody holds its output, which the processes have, too
