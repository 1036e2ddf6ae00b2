"""Documents that are saved while a program goes on. No test waits: each look is asked for."""

import os
from pathlib import Path

import pytest

from lmm_core.cli.session import SavedFiles
from lmm_core.errors import ConfigError
from tests.commands import write


@pytest.fixture
def files():
    write("a.md", "# A\n")
    write("b.md", "# B\n")
    return SavedFiles([Path()])


def save(name, content):
    """Save a file, later than before, whatever the clock of the disk shows."""
    before = os.stat(name).st_mtime_ns if os.path.exists(name) else 0
    write(name, content)
    os.utime(name, ns=(before + 1_000_000_000, before + 1_000_000_000))


def seen(files):
    return [path.name for path in files.look()]


def test_first_everything_then_what_was_saved(files):
    assert seen(files) == ["a.md", "b.md"]
    assert seen(files) == []
    save("b.md", "# B\n")
    save("new.md", "# New\n")
    assert seen(files) == ["b.md", "new.md"]
    assert seen(files) == []


def test_what_the_program_wrote_is_no_news(files):
    files.look()
    files.written[Path("a.md")] = b"# A, annotated\n"
    save("a.md", "# A, annotated\n")
    assert seen(files) == []
    save("a.md", "# A, annotated, and more\n")
    assert seen(files) == ["a.md"]
    save("a.md", "# A, annotated\n")  # by the writer, who takes it back
    assert seen(files) == ["a.md"]


def test_settings_that_are_half_typed_lose_nothing(files):
    files.look()
    write("config.toml", "[files")
    save("a.md", "# A2\n")
    with pytest.raises(ConfigError):
        files.look()
    assert seen(files) == []  # not said again and again
    write("config.toml", "")
    save("c.md", "# C\n")
    assert seen(files) == ["a.md", "c.md"]
