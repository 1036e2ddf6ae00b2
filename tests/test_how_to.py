"""The how-tos of docs/how-to, in a shell: what they show is printed. The first begins with nothing,
the others are about the sample course."""

import shlex

import pytest

from tests.commands import run
from tests.test_readme import ROOT, fits, transcript

PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_how_to(page, monkeypatch, tmp_path):
    if page.stem != "start":
        monkeypatch.chdir(sample_course(tmp_path))
    for command, shown in transcript(page):
        if command.startswith("cd "):
            monkeypatch.chdir(command.removeprefix("cd "))
            continue
        done = run(f"sh -c {shlex.quote(command)}")
        printed = (done.stdout + done.stderr).decode()
        assert done.returncode == 0, f"{command} printed:\n{printed}"
        assert fits(shown, printed), f"{command} printed:\n{printed}"


def sample_course(folder):
    """Make a copy of the sample course, in git, and set it up."""
    course = folder / "course"
    for command in (f"lmm demo --copy {course}", f"git init -q {course}", f"lmm init --quarto {course}"):
        assert run(command).returncode == 0, command
    (course / ".gitignore").write_text("/.lmm/\n/_book/\n/.quarto/\n")
    assert run(f"git -C {course} add .").returncode == 0
    return course
