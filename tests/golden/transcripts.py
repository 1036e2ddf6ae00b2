"""Transcripts: what commands print one after the other in a copy of a course, in an empty home.

A file of `transcripts/` has each command after a `$`, what it prints, and its exit status."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.commands import BIN, text

FOLDER = Path(__file__).parent / "transcripts"
ROOT = Path(__file__).parents[2]
COURSES = {
    "sample-book": ROOT / "sample-book",
    "git-novice-es": ROOT.parent / "shared" / "courses" / "courses" / "git-novice-es",
    **{language: FOLDER / language for language in ("zh", "ja", "ru")},
}
CHANGES = [  # what differs from machine to machine
    (re.compile(r"\d+\.\d+ s\b"), "… s"),
    (re.compile(r"\d+\.\d+ MB\b"), "… MB"),
    (re.compile(r"\d+ seconds? ago\b"), "… ago"),
    (re.compile(r"^( *\d+)\.\d{3}(?=  )", re.M), r"\1"),
    (re.compile(r"\b\d+(?= (?:chunks|moved|removed|unchanged|sections?|more)\b)"), "N"),
    (re.compile(r"(?<=Put its wheel beside ).*"), "…"),
]


def recorded(course):
    """Return the transcript of a course as it was written."""
    return text(FOLDER / f"{course}.txt")


def transcript(course, folder):
    """Return what is printed where the commands of a transcript are typed in a copy of its course."""
    shutil.copytree(COURSES[course], folder / course, copy_function=shutil.copy)
    for path in (folder / course).rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (folder / "home").mkdir()
    environment = {"HOME": str(folder / "home"), "LANG": "C.UTF-8"}
    environment["PATH"] = os.pathsep.join([str(BIN), "/usr/bin", "/bin"])
    lines = []
    for command in re.findall(r"^\$ (.*)$", recorded(course), re.M):
        done = subprocess.run(
            command, shell=True, cwd=folder / course, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", timeout=300,
        )  # fmt: skip
        lines.append(f"$ {command}\n{done.stdout}[{done.returncode}]\n")
    shown = "\n".join(lines).replace(str(folder), "FOLDER")
    for pattern, instead in CHANGES:
        shown = pattern.sub(instead, shown)
    return shown
