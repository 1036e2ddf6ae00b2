"""Define the records of questions and answers, and export them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

SECTIONS_COMPARED = 5  # best sections found

# answered: with citations; partly: with citations, though the model reported that the notes do not answer;
# refused: not answered by the notes; off_topic: not a subject of the course; broken: incomplete, or the model
# was unavailable; stopped: by the student.
Outcome = Literal["answered", "partly", "refused", "off_topic", "broken", "stopped"]


@dataclass(frozen=True, slots=True)
class RecordedSource:
    """A section found for a question.

    section: address, `file#anchor`
    titles: heading path
    rank: of its best passage, from 1"""

    section: str
    titles: tuple[str, ...]
    rank: int
    score: float
    cited: bool = False


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A question with its answer.

    id: random, used for feedback
    conversation: random id of a page view, "" if not recorded
    hour: UTC, `2026-11-22T14`
    type: requested type, "" for any
    answer: "" if only questions are recorded
    sources: best first
    by: `source/model`
    first_word, seconds: time to the first word and the end
    thumb: 1 up, -1 down, 0 none"""

    id: str
    conversation: str
    hour: str
    question: str
    type: str = ""
    answer: str = ""
    outcome: Outcome = "answered"
    sources: tuple[RecordedSource, ...] = ()
    by: str = ""
    first_word: float | None = None
    seconds: float | None = None
    asked_tokens: int = 0
    answered_tokens: int = 0
    thumb: int = 0
    comment: str = ""


def is_failure(turn: RecordedTurn) -> bool:
    """Return True for a question that was not fully answered, or got a thumb down."""
    return turn.outcome in ("refused", "partly") or turn.thumb < 0


def is_answered(turn: RecordedTurn) -> bool:
    """Return True if the sections found are informative."""
    return turn.outcome not in ("refused", "off_topic") and bool(turn.sources)


def answering_section(turn: RecordedTurn) -> str:
    """Return the best cited section, "" for none or after a thumb down."""
    return next((source.section for source in turn.sources if source.cited and turn.thumb >= 0), "")


def found_sections(turn: RecordedTurn) -> dict[str, float]:
    """Return weights of the best sections found, empty if they are not informative."""
    if not is_answered(turn):
        return {}
    best = max(source.score for source in turn.sources)
    if best <= 0:
        return {source.section: 1 / source.rank for source in turn.sources[:SECTIONS_COMPARED]}
    shares = ((source.section, max(source.score, 0.0) / best) for source in turn.sources[:SECTIONS_COMPARED])
    return {section: share**2 for section, share in shares if share}


def export_lines(turns: Iterable[RecordedTurn]) -> str:
    """Return one line of JSON per turn, starting with question and answering section."""

    def line(turn: RecordedTurn) -> str:
        data = asdict(turn)
        return json.dumps(
            {"question": data.pop("question"), "section": answering_section(turn), **data}, ensure_ascii=False
        )

    return "".join(f"{line(turn)}\n" for turn in turns)
