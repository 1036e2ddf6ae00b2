"""The first five minutes of a stranger: what the commands print in an empty home, on a course of others and ours.

`python -m tests.test_first_minutes` writes the transcripts; read the difference before you commit it."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.commands import BIN

TRANSCRIPTS = Path(__file__).parent / "golden" / "first_minutes"
COURSES = {
    "sample-book": Path(__file__).parents[1] / "sample-book",
    "git-novice-es": Path(__file__).parents[2] / "shared" / "courses" / "courses" / "git-novice-es",
}
QUESTION = {"sample-book": "What is a residual?", "git-novice-es": "¿Qué hace git add?"}
CHANGES = [  # what differs from machine to machine
    (re.compile(r"\d+\.\d+ s\b"), "… s"),
    (re.compile(r"\d+\.\d+ MB\b"), "… MB"),
    (re.compile(r"^( *\d+)\.\d{3}(?=  )", re.M), r"\1"),
    (re.compile(r"\b\d+(?= (?:chunks|moved|removed|unchanged|sections?|more)\b)"), "N"),
    (re.compile(r"(?<=md:)\d+-\d+"), "N"),
    (re.compile(r"(?<=Put its wheel beside ).*"), "…"),
]


def commands(course):
    return [
        "lmm --help", "lmm serach", "lmm search joins", "lmm rag", "lmm rag missing.md", "lmm init --dry-run", "lmm init",
        "lmm course . --no-quarto", "lmm rag --dry-run .", "lmm rag .", "lmm index .", f"lmm ask '{QUESTION[course]}'",
        "lmm toc --level 1", "lmm toc --plan 'one hour'", "lmm chat index.md", "lmm asked",
    ]  # fmt: skip


def transcript(course, folder):
    """Return what a stranger types in a copy of a course, and what is printed."""
    shutil.copytree(COURSES[course], folder / course, copy_function=shutil.copy)
    for path in (folder / course).rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (folder / "home").mkdir()
    environment = {"HOME": str(folder / "home"), "LANG": "C.UTF-8"}
    environment["PATH"] = os.pathsep.join([str(BIN), "/usr/bin", "/bin"])
    lines = []
    for command in commands(course):
        done = subprocess.run(
            command, shell=True, cwd=folder / course, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", timeout=300,
        )  # fmt: skip
        lines.append(f"$ {command}\n{done.stdout}[{done.returncode}]\n")
    text = "\n".join(lines).replace(str(folder), "FOLDER")
    for pattern, instead in CHANGES:
        text = pattern.sub(instead, text)
    return text


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a shell")
@pytest.mark.parametrize("course", COURSES)
def test_the_first_minutes(course, tmp_path):
    if not COURSES[course].is_dir():
        pytest.skip(f"the course {course} is not on this machine")
    assert transcript(course, tmp_path) == (TRANSCRIPTS / f"{course}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    TRANSCRIPTS.mkdir(exist_ok=True)
    for name, source in COURSES.items():
        if source.is_dir():
            with tempfile.TemporaryDirectory() as temporary:
                (TRANSCRIPTS / f"{name}.txt").write_text(transcript(name, Path(temporary).resolve()), encoding="utf-8")
