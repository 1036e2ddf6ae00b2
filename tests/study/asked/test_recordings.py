"""What is recorded can be read again, by several at once, and what is removed is gone from the disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lmm_core.errors import RecordingError
from lmm_core.study.asked import recordings as recordings_module
from lmm_core.study.asked.recordings import RecordedSource, RecordedTurn, Recordings, recordings_path, this_hour
from tests.commands import write

WHY = RecordedTurn(
    id="a" * 32,
    conversation="c" * 32,
    hour="2026-11-22T14",
    question="Why are errors squared?",
    answer="Because a square has no sign [1].",
    sources=(RecordedSource("02-linear-models.md#errors", ("Linear models", "Errors"), 1, 0.82, True),),
    by="openai/gpt-5.4-mini",
    first_word=0.41,
    seconds=2.25,
    asked_tokens=812,
    answered_tokens=96,
)


@pytest.fixture
def recordings(tmp_path: Path) -> Iterator[Recordings]:
    found = Recordings(recordings_path(tmp_path))
    yield found


def asked(question: str, number: int = 0, **more: object) -> RecordedTurn:
    return replace(WHY, id=f"{number:032x}", question=question, answer="", **more)  # type: ignore[arg-type]


def test_a_turn_comes_back_as_it_was(recordings: Recordings) -> None:
    recordings.add(WHY)
    recordings.add(asked("And why not cubed?", outcome="refused", sources=(), first_word=None))
    assert recordings.turns()[0] == WHY
    assert [turn.question for turn in recordings.turns()] == ["Why are errors squared?", "And why not cubed?"]


def test_a_judgement_replaces_the_one_before(recordings: Recordings) -> None:
    recordings.add(WHY)
    assert recordings.judge(WHY.id, 1, "thanks")
    assert recordings.judge(WHY.id, -1, "wrong sign")
    assert not recordings.judge("f" * 32, 1)
    assert recordings.turns() == [replace(WHY, thumb=-1, comment="wrong sign")]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_only_its_owner_can_read_the_files(recordings: Recordings) -> None:
    recordings.add(WHY)
    modes = {path.name: path.stat().st_mode & 0o777 for path in recordings.path.parent.glob("asked.sqlite*")}
    assert modes == {"asked.sqlite": 0o600}


# Forgetting


def bytes_on_disk(recordings: Recordings) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(recordings.path.parent.rglob("*")) if path.is_file())


def test_what_is_forgotten_is_gone_from_every_file(recordings: Recordings) -> None:
    for number in range(20):
        recordings.add(asked(f"My name is Zebulon{number}. " + "Why? " * 300, number))
    assert b"Zebulon7." in bytes_on_disk(recordings)
    assert recordings.forget("zebulon7") == 1
    assert b"Zebulon7." not in bytes_on_disk(recordings) and b"Zebulon8." in bytes_on_disk(recordings)
    assert recordings.delete() == 19
    assert b"Zebulon" not in bytes_on_disk(recordings)


def test_a_word_is_forgotten_wherever_a_student_or_an_answer_said_it(recordings: Recordings) -> None:
    recordings.add(asked("I am Anna; why?", 1))
    recordings.add(replace(asked("Why?", 2), answer="Well, ANNA, because …"))
    recordings.add(asked("And why?", 3, comment="from anna_m"))
    recordings.add(asked("Are means annual?", 4))
    assert recordings.forget("anna") == 3
    assert [turn.question for turn in recordings.turns()] == ["Are means annual?"]
    with pytest.raises(RecordingError, match="say which one"):
        recordings.forget("  ")


@pytest.mark.parametrize(
    ("word", "question", "found"),
    [
        ("Anna Müller", "ich bin Anna\n Müller", True),
        ("0176 123", "call 0176 1234", False),
        ("安娜", "我叫安娜吗", True),
        ("C++", "why C++?", True),
    ],
)
def test_a_word_is_whole_where_the_script_has_spaces(
    recordings: Recordings, word: str, question: str, found: bool
) -> None:
    recordings.add(asked(question))
    assert recordings.forget(word) == found


def test_old_turns_expire(recordings: Recordings) -> None:
    now = datetime(2026, 11, 22, 14, 59, tzinfo=UTC)
    recordings.add(asked("Zebulon, long ago", 1, hour="2026-10-23T13"))
    recordings.add(asked("thirty days ago", 2, hour=this_hour(now.replace(month=10, day=23))))
    assert recordings.expire(30, now) == 1
    assert recordings.expire(30, now) == 0
    assert [turn.question for turn in recordings.turns()] == ["thirty days ago"]
    assert b"Zebulon" not in bytes_on_disk(recordings)


# Files that cannot be used


def test_a_broken_file_is_an_error_until_it_is_deleted(recordings: Recordings) -> None:
    data = b"SQLite format 3\0" + b"\xff" * 5000
    recordings.path.parent.mkdir()
    recordings.path.write_bytes(data)
    with pytest.raises(RecordingError, match=r"is broken .*remove it with `lmm asked delete`"):
        recordings.add(WHY)
    assert recordings.path.read_bytes() == data
    recordings.delete()
    recordings.add(WHY)
    assert recordings.turns() == [WHY]


def test_a_link_leads_nowhere(recordings: Recordings, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", "")
    recordings.path.parent.mkdir()
    recordings.path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RecordingError, match="is a link"):
        recordings.add(WHY)
    assert (tmp_path / "elsewhere").read_text() == ""


def test_a_full_disk_is_an_error_and_nothing_is_lost(recordings: Recordings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings_module, "MOST_PAGES", 20)  # to SQLite, a full file is a full disk
    recordings.add(WHY)
    with pytest.raises(RecordingError, match="the disk is full, or the file has 0 MB; export and delete"):
        recordings.add(asked("Why? " * 40_000, 2))
    recordings.add(asked("Why?", 3))
    assert [turn.id for turn in recordings.turns()] == [WHY.id, f"{3:032x}"]
    assert recordings.delete() == 2
