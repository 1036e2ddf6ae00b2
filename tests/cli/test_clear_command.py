"""`lmm clear --annotations`, from the command line to the file."""

import json
import re

import pytest

from lmm_core.scan.documents.passes import markdown_rag
from tests.commands import text, write
from tests.strategies import LONG, CountingAnnotator
from tests.talk import lmm

NOTES = f"---\ntitle: Notes\n---\n# One\n\n{LONG}\n\n---\n?: Is it so?\n---\n\n## Two\n\nTwo. {LONG}\n"


@pytest.fixture
def notes():
    write("config.toml", "")
    write("notes.md", NOTES)
    markdown_rag("notes.md", annotator=CountingAnnotator())
    assert text("notes.md") != NOTES
    return text("notes.md")


def count_values(notes):
    return len(re.findall(r"^~\w+:", notes, re.M))


def test_the_file_is_what_it_was(notes):
    done = lmm("lmm clear --annotations notes.md")
    assert text("notes.md") == NOTES
    assert f"cleared: notes.md: {count_values(notes)} annotations\n1 of 1 files cleared\n" in done.stderr
    assert lmm("lmm clear --annotations notes.md").stderr == "0 of 1 files cleared\n"
    write("notes.md", notes)
    lmm("lmm clear notes.md")
    assert "?: Is it so?" not in text("notes.md") and "~summary" in text("notes.md")


def test_check_diff_and_json_write_nothing_or_say_it_all(notes):
    assert "would be cleared: notes.md" in lmm("lmm clear --annotations --check notes.md", status=1).stderr
    diff = lmm("lmm clear --annotations --diff notes.md").stdout
    assert "-~docid: notes.md\n" in diff
    assert "\n+" not in diff.split("@@", 1)[1]
    assert text("notes.md") == notes
    (said,) = json.loads(lmm("lmm clear --annotations --json notes.md").stdout)
    assert said["changed"] is True
    assert said["detail"] == f"{count_values(notes)} annotations"
    assert lmm("lmm clear --annotations --check notes.md").stderr == "0 of 1 files would be cleared\n"


def test_what_was_corrected_is_kept_and_said(notes):
    corrected = notes.replace("~summary: ", "~summary: My own ", 1)
    write("notes.md", corrected)
    done = lmm("lmm clear --annotations notes.md")
    line = corrected[: corrected.index("~summary: My own")].count("\n") + 1
    assert f"notes.md:{line}: ~summary was corrected by hand and is kept; --all takes it out, too" in done.stderr
    assert text("notes.md").count("~summary") == 1
    lmm("lmm clear --annotations --all notes.md")
    assert text("notes.md") == NOTES


@pytest.mark.parametrize(
    ("options", "message"), [("--edits --all", "add --annotations"), ("--annotations --edits", "exclude each other")]
)
def test_options_that_make_no_sense_are_wrong_usage(notes, options, message):
    assert message in lmm(f"lmm clear {options} notes.md", status=2).stderr
    assert text("notes.md") == notes
