"""`lmm demo`: the sample course, annotated, with its site and index."""

import re
import shlex
from pathlib import Path

import pytest

from tests.commands import run, text
from tests.indexing import lmm
from tests.test_readme import ROOT

SAMPLE = ROOT / "sample-book"
EXTENSION = ROOT / "quarto-ext/_extensions/lmm"


@pytest.mark.slow
def test_what_is_made_and_the_places_and_commands_that_it_names(monkeypatch):
    shown, said = lmm("demo 'my demo'")
    assert "6 of 6 files annotated by extractive/default; no model was asked" in said
    assert "leaks:\n" in said and "none found" in said
    chapter, page = text("my demo/01-data.md"), text("my demo/_book/01-data.html")
    assert "~docid: 01-data.md" in chapter and "Exercise: name the kind" in chapter
    assert not any(left_out in page for left_out in ("docid", "Exercise: name the kind", "~summary"))
    assert re.search('<math|class="math ', text("my demo/_book/02-describing.html"))  # by pandoc, by Quarto

    named = dict(re.findall(r"^(.*?): {3,}(.*)$", shown, re.M))
    assert Path(named["The site, with a box to search and study in"]).is_file()
    done = run(named["What changed in a chapter's text"])
    changed = done.stdout.decode().split("\n@@", 1)[1]
    assert done.returncode == 1 and "+~" in changed
    assert not [line for line in changed.splitlines() if line.startswith("-")]
    assert "docid 01-data.md" in run(named["An overview of it, with its exercises"]).stdout.decode()
    go, _, question = named["A question to the index"].partition(" && ")
    monkeypatch.chdir(shlex.split(go)[1])
    assert "05-linear-models.md" in run(question).stdout.decode()


def test_the_copy_is_the_sample_course_alone():
    lmm("demo --copy course")
    copied = {path.relative_to("course").as_posix() for path in Path("course").rglob("*") if path.is_file()}
    tracked = run(f"git -C '{SAMPLE}' ls-files").stdout.decode().split()
    extension = {f"_extensions/lmm/{path.relative_to(EXTENSION).as_posix()}" for path in EXTENSION.rglob("*.*")}
    assert copied == {*tracked, ".lmm-folder"} | {name for name in extension if "__pycache__" not in name}
    assert all(text(Path("course", name)) == text(SAMPLE / name) for name in tracked)
