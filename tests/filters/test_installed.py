"""The commands as they are installed do what the ready ones do that the other tests start (`tests/warm.py`)."""

import pytest

from tests.commands import BIN, run, write
from tests.warm import COMMANDS

NOTES = (
    "---\ntitle: T\n---\n\n# Means\n\nThe mean is the sum of all values, divided by how many there are of them.\n\n"
    "::: exercise\nCompute the mean of 4, 5 and 9.\n:::\n\n::: {.lmm .content-hidden}\n``` yaml\n?: Why?\n```\n:::\n\nText.\n"
)


def results(command, pandoc):
    """What a filter gives, and which text the file holds then."""
    file = write("notes.md", NOTES)
    done = run(f"pandoc -F {command} notes.md -t markdown -M lmm-save=notes.md", pandoc)
    return done.returncode, done.stdout, done.stderr, file.read_text()


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "lmm"])
def test_an_installed_filter_does_what_the_ready_one_does(name, pandoc):
    assert results(f"'{BIN}/{name}'", pandoc) == results(name, pandoc)


@pytest.mark.parametrize(
    "command", ["--version", "rag --diff notes.md", "knit notes.md", "scan nothing.md", "nonsense"]
)
def test_the_installed_command_does_what_the_ready_one_does(command):
    write("notes.md", NOTES)
    installed, ready = run(f"'{BIN}/lmm' {command}"), run(f"lmm {command}")
    assert (installed.returncode, installed.stdout) == (ready.returncode, ready.stdout)
    assert installed.stderr == ready.stderr
