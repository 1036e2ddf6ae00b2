"""Recorded questions for `lmm bench`: what they found when they were asked, and what they find now."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ...asked.exports import answering_section
from ...asked.recordings import Recordings
from ...asked.turns import RecordedSource, RecordedTurn
from ...errors import QuestionsError
from ...logging import printable
from ...retrieve.passages import Material, Section
from ...study.measures import FOUND, STUDENTS, Labelled, QuestionResult, section_address

DATABASE = ".sqlite"


@dataclass(frozen=True)
class ThenAndNow:
    """Shares (0 to 1) of recorded questions, as they were recorded and as they are now.

    answered: how many were answered from a section that is still there: hit1, hit5 are theirs; questions: how many
    were answered or refused: refused is theirs, now without a model."""

    answered: int
    questions: int
    hit1: tuple[float, float]
    hit5: tuple[float, float]
    refused: tuple[float, float]


def read_turns(path: Path) -> list[RecordedTurn] | None:
    """Return the turns in a database of recordings or in an export of it, None for another file.

    Raise QuestionsError for an export that cannot be read, and RecordingError."""
    if path.suffix.lower() == DATABASE:
        with closing(Recordings(path)) as recordings:
            return [one for one in recordings.turns() if printable(one.question).strip()]
    if path.suffix.lower() != ".jsonl":
        return None
    try:
        lines = [line for line in path.read_text("utf-8-sig").split("\n") if line.strip()]
        return [_turn(json.loads(line)) for line in lines] if lines and '"outcome"' in lines[0] else None
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise QuestionsError(f"{path}: {error}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise QuestionsError(f"{path}: holds a line that `lmm asked export` has not written") from None


def _turn(data: dict[str, object]) -> RecordedTurn:
    values = {name: value for name, value in data.items() if name not in ("section", "sources")}
    found: list[dict[str, object]] = data["sources"]  # type: ignore[assignment]
    sources = tuple(RecordedSource(**{**one, "titles": tuple(one["titles"])}) for one in found)  # type: ignore
    return RecordedTurn(**values, sources=sources)  # type: ignore[arg-type]


def label_turns(turns: Sequence[RecordedTurn], material: Material) -> tuple[list[Labelled], list[Labelled]]:
    """Return the questions that were answered from a section that is still there, and those that were refused.

    The latter come with any section, since nobody knows theirs."""
    sections = {section_address(section): section for section in material.walk()}
    answered = [
        Labelled(_asked(turn), sections[answering_section(turn)], STUDENTS)
        for turn in turns
        if answering_section(turn) in sections
    ]
    anywhere: Section = material.documents[0]
    refused = [Labelled(_asked(turn), anywhere, STUDENTS) for turn in turns if turn.outcome == "refused"]
    return answered, refused


def _asked(turn: RecordedTurn) -> str:
    return printable(" ".join(turn.question.split()))


def compare(
    turns: Sequence[RecordedTurn], answered: Sequence[QuestionResult], refused: Sequence[QuestionResult]
) -> ThenAndNow:
    """Return the recorded and the present figures. answered, refused: the results of `label_turns`' questions."""
    known = {section_address(one.labelled.section) for one in answered}
    then = [_rank(turn) for turn in turns if answering_section(turn) in known]
    now = [one.rank for one in answered]
    number = len(answered) + len(refused)
    lost = sum(one.is_refused for one in (*answered, *refused))
    return ThenAndNow(
        len(answered), number, (_share(then, 1), _share(now, 1)), (_share(then, FOUND), _share(now, FOUND)),
        (len(refused) / max(number, 1), lost / max(number, 1)),
    )  # fmt: skip


def _rank(turn: RecordedTurn) -> int | None:
    section = answering_section(turn)
    return next((source.rank for source in turn.sources if source.section == section), None)


def _share(ranks: Sequence[int | None], most: int) -> float:
    return sum(rank is not None and rank <= most for rank in ranks) / max(len(ranks), 1)
