"""`lmm ask` and `lmm search` without a model on notes in Chinese, Japanese and Russian.

The notes and what is shown stand in `scripts/`. After a change, `python -m tests.retrieve.test_scripts`
writes what is shown anew; review it with `git diff`.
"""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from tests.commands import run, text, write

FOLDER = Path(__file__).parent / "scripts"
LANGUAGES = {"zh": "Chinese", "ja": "Japanese", "ru": "Russian"}


def shown(language):
    """What the command lines of a case show; it has them after a `$`."""
    write("config.toml", "")
    write("notes.md", text(FOLDER / f"{language}.md"))
    run("lmm index notes.md")
    assert LANGUAGES[language] in run("lmm index --info").stdout.decode()
    commands = [line for line in text(FOLDER / f"{language}.txt").splitlines() if line.startswith("$ ")]
    return "".join(f"{command}\n{run(command[2:]).stdout.decode()}\n" for command in commands)


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_are_answered_or_refused(language, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shown(language) == text(FOLDER / f"{language}.txt")


def update():
    """Write what is shown anew."""
    for language in LANGUAGES:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            write(FOLDER / f"{language}.txt", shown(language))
            os.chdir("/")


if __name__ == "__main__":
    sys.exit(update())
