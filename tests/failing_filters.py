"""Ways in which `lmm-knit` can fail while Quarto renders, each as what stands in its place on PATH."""

import os
import sys
from pathlib import Path

from tests.commands import BIN, write

PYTHON = f"#!{sys.executable}\n"
REAL = f"{PYTHON}import sys\nsys.argv[0] = 'lmm-knit'\nfrom lmm_filters.lmm_knit import main\nmain()\n"

# By what is the matter: the program, and what the message has to say.
PROGRAMS = {
    "missing": (None, "was not found"),
    "status 1": ("#!/bin/sh\ncat > /dev/null\nexit 1\n", "status 1"),
    "reads nothing": ("#!/bin/sh\nexit 3\n", "has failed"),
    "rubbish": ("#!/bin/sh\ncat > /dev/null\necho Hello, this is no JSON\n", "has failed"),
    "no document": ("#!/bin/sh\ncat > /dev/null\necho '{}'\n", "has failed"),
    "half a document": ("#!/bin/sh\nhead -c 200\ncat > /dev/null\n", "has failed"),
    "rubbish behind it": ("#!/bin/sh\ncat\necho Hello\n", ""),
    "another program": ("#!/bin/sh\nexec cat\n", "is not the lmm-knit of LM markdown"),
    "no interpreter": ("#!/nowhere/python\n", "has failed"),
    "not executable": (REAL, "has failed"),
    "a full disk": (f"{PYTHON}import sys\nsys.stdin.buffer.read()\nsys.stdout = open('/dev/full', 'w')\n"
                    "print('{', flush=True)\n", "has failed"),
    "it steers the terminal": ("#!/bin/sh\ncat > /dev/null\nprintf '\\033]0;title\\007' \nexit 1\n", "has failed"),
    "it hangs": (f"{PYTHON}import sys, time\nfrom lmm_filters.lmm_knit import limit_time\nlimit_time('lmm-knit', 1)\n"
                 "time.sleep(300)\n", "has failed"),
}  # fmt: skip


def environment(folder: Path, program: str | None, executable: bool = True) -> dict[str, str]:
    """Return an environment in which `lmm-knit` is this program (None: there is none)."""
    folder.mkdir(parents=True, exist_ok=True)
    for command in BIN.glob("lmm*"):
        if command.name != "lmm-knit":
            (folder / command.name).symlink_to(command)
    if program is not None:
        write(folder / "lmm-knit", program).chmod(0o755 if executable else 0o644)
    return {**os.environ, "PATH": os.pathsep.join([str(folder), "/usr/bin", "/bin"])}
