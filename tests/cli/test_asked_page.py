"""`lmm asked`: what students asked on the terminal, as a page and as JSON."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from lmm_core.study.asked.recordings import RecordedTurn, Recordings, recordings_path
from tests.asked_turns import REFUSED, make_turns, write_course
from tests.indexing import lmm


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course that is indexed, with recordings."""
    monkeypatch.chdir(tmp_path)
    write_course(tmp_path)
    lmm("index trees.md")
    with closing(Recordings(recordings_path(tmp_path))) as recordings:
        for turn in make_turns(60):
            recordings.add(turn)
    return tmp_path


def test_it_prints_what_matters_and_writes_a_page(course):
    said, told = lmm("asked")
    assert said.startswith("60 questions in 30 conversations: ")
    assert any(question in said.partition("What was asked about")[0] for question in REFUSED)
    assert "About elm" in said
    assert told == "\n.lmm/asked.html: the page, for a browser\n"
    assert "What students asked" in Path(".lmm/asked.html").read_text("utf-8")


def test_the_page_is_as_private_as_the_recordings(course):
    lmm("asked")
    page = Path(".lmm/asked.html")
    assert page.stat().st_mode & 0o777 == 0o600
    page.chmod(0o644)  # as an earlier version made it
    lmm("asked")
    assert page.stat().st_mode & 0o777 == 0o600


def test_the_page_can_have_another_name(course):
    assert "page.html" in lmm("asked -o page.html")[1]
    assert Path("page.html").is_file() and not Path(".lmm/asked.html").exists()


def test_it_is_json_for_programs_which_names_nobody(course):
    said = lmm("asked --json")[0]
    found = json.loads(said)
    assert (found["questions"], found["conversations"]) == (60, 30)
    assert {"failures", "subjects", "sections", "comments", "outcomes"} <= found.keys()
    assert not any(turn.id in said or turn.conversation in said for turn in make_turns(60))
    assert not Path(".lmm/asked.html").exists()


def test_small_groups_are_shown_on_demand(course):
    with closing(Recordings(recordings_path(course))) as recordings:
        recordings.add(RecordedTurn("f" * 32, "f", "2026-09-07T10", "I am Anna", outcome="refused"))
    assert "I am Anna" not in "".join(lmm("asked"))
    assert "I am Anna" in lmm("asked --small-groups")[0]


def test_without_recordings_it_says_how_there_could_be_some(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_course(tmp_path)
    said, told = lmm("asked")
    assert said == "" and "record = " in told


def test_without_an_index_it_says_so(course):
    shutil.rmtree(course / ".lmm" / "index")
    assert "lmm index" in lmm("asked", status=1)[1]


def test_options_of_the_page_are_not_for_its_commands(course):
    assert "do not go with export" in lmm("asked --json export", status=2)[1]
