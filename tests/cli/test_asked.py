"""`lmm asked`: what students asked, as a page and as JSON; and what a teacher does with the recordings."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from lmm_core.study.asked.recordings import RecordedSource, RecordedTurn, Recordings, export_lines, recordings_path
from lmm_core.study.bench import read_questions
from tests.asked_turns import REFUSED, make_turns, write_course
from tests.commands import in_process
from tests.indexing import lmm

WHY = RecordedTurn(
    "a" * 32, "c" * 32, "2026-11-22T14", "Why are\nerrors squared? 2️⃣", answer="So they have no sign [2].",
    sources=(RecordedSource("a.md#far", ("Far",), 1, 0.5), RecordedSource("a.md#errors", ("Errors",), 2, 0.4, True)),
)  # fmt: skip
TIDES = replace(WHY, id="b" * 32, question="What about tides? I am Anna.", outcome="refused", sources=())


@pytest.fixture
def course(tmp_path):
    """A course that is indexed, with recordings."""
    write_course(tmp_path)
    lmm("index trees.md")
    recordings = Recordings(recordings_path(tmp_path))
    for turn in make_turns(60):
        recordings.add(turn)
    return tmp_path


@pytest.fixture
def recordings(tmp_path):
    """Two recorded questions in the project of the working folder."""
    Path("config.toml").touch()
    opened = Recordings(recordings_path(tmp_path))
    opened.add(WHY)
    opened.add(TIDES)
    yield opened


# The page


def test_it_prints_what_matters_and_writes_a_page_as_private_as_the_recordings(course):
    shown, told = lmm("asked")
    assert shown.startswith("60 questions in 30 conversations, 20")
    assert any(question in shown.partition("What was asked about")[0] for question in REFUSED)
    assert "About elm" in shown
    assert told == "\n.lmm/asked.html: the page, for a browser\n"
    page = Path(".lmm/asked.html")
    assert "What students asked" in page.read_text("utf-8")
    assert page.stat().st_mode & 0o777 == 0o600
    page.chmod(0o644)  # as an earlier version made it
    lmm("asked")
    assert page.stat().st_mode & 0o777 == 0o600


def test_it_is_json_for_programs_which_names_nobody(course):
    shown = lmm("asked --json")[0]
    overview = json.loads(shown)
    assert (overview["questions"], overview["conversations"]) == (60, 30)
    assert not any(turn.id in shown or turn.conversation in shown for turn in make_turns(60))
    assert not Path(".lmm/asked.html").exists()


def test_without_recordings_or_index_it_says_what_to_do(course):
    shutil.rmtree(course / ".lmm" / "index")
    assert "lmm index" in lmm("asked", status=1)[1]
    lmm("asked delete --yes")
    shown, told = lmm("asked")
    assert shown == "" and "record = " in told


# Export, delete, forget


def test_an_export_holds_everything_and_can_be_measured(recordings):
    assert lmm("asked export")[0] == export_lines([WHY, TIDES])
    assert lmm("asked export -o asked.jsonl")[1] == "written: asked.jsonl (2 questions)\n"
    questions = [(question.question, question.section) for question in read_questions(Path("asked.jsonl"))]
    assert questions == [("Why are errors squared? 2️⃣", "a.md#errors"), ("What about tides? I am Anna.", "")]
    recordings.judge(WHY.id, -1)
    assert json.loads(lmm("asked export")[0].splitlines()[0])["section"] == ""  # a thumb down: it answers nothing


def test_deleting_asks_first(recordings):
    refused = in_process("asked delete", input="n\n")
    assert refused.exit_code == 1 and "for good? [y/N]" in refused.stderr
    assert len(recordings.turns()) == 2
    assert in_process("asked delete", input="y\n").stderr.endswith("deleted: 2 questions\n")
    assert recordings.turns() == []


def test_what_a_word_occurs_in_is_forgotten(recordings):
    assert lmm("asked forget anna")[1] == "forgotten: 1 question with 'anna'\n"
    assert recordings.turns() == [WHY]
