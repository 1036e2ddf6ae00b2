"""Limits on what something may cost, on a machine that has other things to do."""

import time
from contextlib import contextmanager

PATIENCE = 60.0  # seconds to wait for what comes at once where nothing is wrong


@contextmanager
def at_most(seconds):
    """The block takes at most so many seconds of this process's own computing."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds
