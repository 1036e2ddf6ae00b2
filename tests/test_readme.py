"""The README: every command that it shows is run, and prints what it shows."""

import re
import shutil
from pathlib import Path

from tests.commands import run, text

ROOT = Path(__file__).parents[1]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)


def transcript(path):
    """Pairs of command and what it prints, in the order of the page."""
    for block in CONSOLE.findall(path.read_text(encoding="utf-8")):
        for part in block.split("$ ")[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown


def fits(shown, printed):
    """Return True if a text is what is shown; `…` stands for anything left out, on a line of its own for any lines."""
    newline = re.escape("\n")
    pattern = ".*".join(re.escape(part) for part in f"\n{shown.strip()}\n".split("…"))
    pattern = pattern.replace(f"{newline}.*{newline}", f"{newline}(?:.*{newline})?")
    return re.fullmatch(pattern, f"\n{printed.strip()}\n", re.S) is not None


def test_readme(monkeypatch):
    shutil.copytree(ROOT / "docs", "docs")
    for command, shown in transcript(ROOT / "README.md"):
        if command.startswith("cd "):
            monkeypatch.chdir(command.removeprefix("cd "))
            continue
        done = run(command)
        assert done.returncode == 0, done.stderr
        printed = (done.stdout + done.stderr).decode()
        assert fits(shown, printed), f"{command} printed:\n{printed}"
    assert "14" in text("../instructor.md")
    assert "14" not in text("../lecture.md") + text("_site/residuals.html")
