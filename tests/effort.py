"""Waiting, and limits on what something may cost, on a machine that has other things to do."""

import time
from contextlib import contextmanager

PATIENCE = 60.0  # seconds to wait for what comes at once where nothing is wrong


def wait_for(condition, seconds=PATIENCE):
    """Wait until a condition is true, and return what it gave."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return value


@contextmanager
def at_most(seconds):
    """The block takes at most so many seconds of this process's own computing."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds
