"""The commands as they are installed do what the ready ones do that the other tests start (`tests/warm.py`)."""

import os
from contextlib import chdir

import pytest

from tests.commands import BIN, run, text, write
from tests.warm import COMMANDS

NOTES = (
    "---\ntitle: T\n---\n\n# Means\n\nThe mean is the sum of all values, divided by how many there are of them.\n\n"
    "::: exercise\nCompute the mean of 4, 5 and 9.\n:::\n\n::: {.lmm .content-hidden}\n``` yaml\n?: Why?\n```\n:::\n\nText.\n"
)
INSTALLED = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


def results(folder, command, pandoc, env=None):
    """What a filter gives, and which text the file holds then."""
    file = write(f"{folder}/notes.md", NOTES)
    with chdir(folder):
        done = run(f"pandoc -F {command} notes.md -o notes.md", pandoc, env=env)
    return done.returncode, done.stdout, done.stderr.replace(f"{folder}/".encode(), b""), text(file)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "lmm"])
def test_an_installed_filter_does_what_the_ready_one_does(name, pandoc):
    assert results("one", name, pandoc, INSTALLED) == results("other", name, pandoc)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["--version", "rag --diff notes.md", "scan nothing.md", "nonsense"])
def test_the_installed_command_does_what_the_ready_one_does(command):
    write("notes.md", NOTES)
    installed, ready = run(f"lmm {command}", env=INSTALLED), run(f"lmm {command}")
    assert (installed.returncode, installed.stdout) == (ready.returncode, ready.stdout)
    assert installed.stderr == ready.stderr
