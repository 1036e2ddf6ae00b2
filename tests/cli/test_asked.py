"""`lmm asked export|delete|forget`: what a teacher does with the recordings."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lmm_core.cli import cli
from lmm_core.study.asked.recordings import RecordedSource, RecordedTurn, Recordings, export_lines, recordings_path
from lmm_core.study.bench import read_questions

WHY = RecordedTurn(
    "a" * 32, "c" * 32, "2026-11-22T14", "Why are\nerrors squared? 2️⃣", answer="So they have no sign [2].",
    sources=(RecordedSource("a.md#far", ("Far",), 1, 0.5), RecordedSource("a.md#errors", ("Errors",), 2, 0.4, True)),
)  # fmt: skip
TIDES = replace(WHY, id="b" * 32, question="What about tides? I am Anna.", outcome="refused", sources=())


@pytest.fixture
def recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recordings]:
    """Two recorded questions in the project of the working folder."""
    monkeypatch.chdir(tmp_path)
    Path("config.toml").touch()
    with closing(Recordings(recordings_path(tmp_path))) as found:
        found.add(WHY)
        found.add(TIDES)
        yield found


def lmm(command: str, answer: str = "") -> Result:
    return CliRunner().invoke(cli, shlex.split(command), input=answer)


def test_an_export_holds_everything_and_can_be_measured(recordings: Recordings) -> None:
    done = lmm("asked export -o asked.jsonl")
    assert (done.exit_code, done.stderr) == (0, "written: asked.jsonl (2 questions)\n")
    asked = read_questions(Path("asked.jsonl"))
    assert [(one.question, one.section) for one in asked] == [
        ("Why are errors squared? 2️⃣", "a.md#errors"),
        ("What about tides? I am Anna.", ""),
    ]
    first = json.loads(Path("asked.jsonl").read_text("utf-8").splitlines()[0])
    assert first["answer"] == WHY.answer
    assert first["sources"][1] == {
        "section": "a.md#errors", "titles": ["Errors"], "rank": 2, "score": 0.4, "cited": True,
    }  # fmt: skip


def test_an_export_goes_to_standard_output_by_default(recordings: Recordings) -> None:
    assert lmm("asked export").stdout == export_lines([WHY, TIDES])


def test_a_section_with_a_thumb_down_answers_nothing(recordings: Recordings) -> None:
    recordings.judge(WHY.id, -1)
    assert json.loads(lmm("asked export").stdout.splitlines()[0])["section"] == ""


def test_nothing_recorded_is_an_empty_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = lmm("asked export")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "No questions recorded" in done.stderr
    assert lmm("asked delete --yes").stderr == "deleted: 0 questions\n"
    assert not list(tmp_path.iterdir())


def test_deleting_asks_first(recordings: Recordings) -> None:
    kept = lmm("asked delete", "n\n")
    assert kept.exit_code == 1
    assert "for good? [y/N]" in kept.stderr
    assert len(recordings.turns()) == 2
    assert lmm("asked delete", "y\n").stderr.endswith("deleted: 2 questions\n")
    assert recordings.turns() == []


def test_what_a_word_occurs_in_is_forgotten(recordings: Recordings) -> None:
    assert lmm("asked forget anna").stderr == "forgotten: 1 question with 'anna'\n"
    assert recordings.turns() == [WHY]


def test_a_broken_file_is_an_error_that_says_what_to_do(recordings: Recordings) -> None:
    recordings.close()
    recordings.path.write_bytes(b"broken" * 1000)
    failed = lmm("asked export")
    assert failed.exit_code == 1
    assert "is broken" in failed.stderr
    assert "`lmm asked delete`" in failed.stderr
    assert lmm("asked delete --yes").exit_code == 0
    assert not recordings.path.exists()
