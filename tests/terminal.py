"""A command on a pseudo terminal, and waiting for what it does."""

import os
import pty
import select
import time

from tests.commands import BIN
from tests.effort import PATIENCE


def wait_for(condition):
    """Wait until a condition is true."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


class Terminal:
    """An installed command on a pseudo terminal; the ready ones get none of its signals."""

    def __init__(self, command):
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            words = command.split()
            os.execv(BIN / words[0], words)
        self.seen = ""

    def read(self, seconds=0.05):
        while select.select([self.screen], [], [], seconds)[0]:
            try:
                data = os.read(self.screen, 10000)
            except OSError:  # the other end is closed
                return self.seen
            if not data:
                return self.seen
            self.seen += data.decode("utf-8", "replace")
        return self.seen

    def press_ctrl_c(self):
        os.write(self.screen, b"\x03")

    def end(self):
        """Return the exit status."""
        end = time.monotonic() + PATIENCE
        while (found := os.waitpid(self.pid, os.WNOHANG)) == (0, 0):
            assert time.monotonic() < end, self.read()
            self.read()
        self.read()
        os.close(self.screen)
        return os.waitstatus_to_exitcode(found[1])
