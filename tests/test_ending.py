"""Our commands end without a search for objects that refer to each other, and lose nothing by it."""

import subprocess
import sys

from tests.commands import text, write

OWN = """
class Log:
    def __init__(self):
        self.itself, self.file = self, open("log.txt", "w")

log = Log()

def write(blocks):
    log.file.write(str(len(blocks)))
    return blocks
"""


def test_what_a_pass_of_ones_own_leaves_open_is_written():
    write("own.py", OWN)
    write("notes.md", "# Mean\n")
    command = [sys.executable, "-m", "lmm_core", "pass", "own:write", "notes.md"]
    subprocess.run(command, check=True, capture_output=True)
    assert text("log.txt") == "1"
