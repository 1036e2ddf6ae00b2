"""Completion by click's own scripts (`_LMM_COMPLETE`)."""

import os
import subprocess
import sys
from pathlib import Path


def test_commands_and_options_are_completed():
    lmm = Path(sys.executable).with_name("lmm")
    environment = {**os.environ, "_LMM_COMPLETE": "bash_complete"}
    for words, at, completed in (
        ("lmm conf", 1, "plain,config"),
        ("lmm cards --format ", 3, "plain,anki\nplain,csv\nplain,md"),
    ):
        told = subprocess.run(
            [lmm], capture_output=True, text=True, env={**environment, "COMP_WORDS": words, "COMP_CWORD": str(at)}
        )
        assert told.stdout == f"{completed}\n"
