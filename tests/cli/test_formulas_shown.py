"""Formulas on a terminal and elsewhere."""

import json
import os
import pty
import subprocess
import sys

import pytest

from lmm_core.cli.formulas import ArrivingText
from tests.commands import write
from tests.indexing import lmm

NOTES = (
    "# The mean $\\mu$\n\nThe mean is $\\bar{x}_{1} - \\bar{x}_{2}$ or $\\frac{a}{b}$, and `df$x$` costs $5 and $6.\n"
)


def on_a_terminal(*command):
    """What a command prints on a terminal."""
    ours, its = pty.openpty()
    done = subprocess.Popen([sys.executable, "-m", "lmm_core", *command], stdout=its, stderr=subprocess.DEVNULL)
    os.close(its)
    shown = b""
    try:
        while part := os.read(ours, 1 << 16):
            shown += part
    except OSError:  # the other end is closed
        pass
    done.wait()
    os.close(ours)
    return shown.decode()


@pytest.mark.slow
def test_formulas_on_a_terminal_and_in_a_pipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("notes.md", f"---\ntitle: T\n---\n\n{NOTES}")
    lmm("index notes.md")
    shown = on_a_terminal("search", "mean")
    assert "The mean μ" in shown and "The mean is x̄₁ - x̄₂ or $\\frac{a}{b}$, and `df$x$` costs $5 and $6." in shown
    assert "$\\bar{x}_{1} - \\bar{x}_{2}$" in lmm("search mean")[0]
    assert "$\\bar{x}_{1} - \\bar{x}_{2}$" in json.loads(on_a_terminal("search", "mean", "--json"))[0]["page_content"]


def test_an_answer_that_arrives(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    arriving = ArrivingText()
    parts = ["So $\\mu$", " is\n```r\n", "x$y$z and $\\mu$\n", "```\nand `a$x_1$` ", "$x_1$"]
    assert "".join(map(arriving.readable, parts)) == "So μ is\n```r\nx$y$z and $\\mu$\n```\nand `a$x_1$` x₁"
