"""A command on a pseudo terminal."""

import os
import pty
import select
import subprocess
import time
from contextlib import suppress

from tests.commands import BIN
from tests.effort import PATIENCE


def on_terminal(*command, **variables):
    """Return what a command shows where a pseudo terminal is its output, in colours and all."""
    screen, output = pty.openpty()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                               env={**os.environ, **variables})  # fmt: skip
    os.close(output)
    shown = b""
    with suppress(OSError):  # Linux ends a terminal so
        while part := os.read(screen, 65536):
            shown += part
    process.wait(PATIENCE)
    os.close(screen)
    return shown.decode("utf-8")


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
