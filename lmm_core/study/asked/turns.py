"""Records of questions and their answers, and their export."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

SECTIONS_COMPARED = 5  # of those that were found, the best

# answered: with citations; partly: with citations, though the model said that the notes do not answer;
# refused: the notes do not answer; off_topic: not a subject of the course; broken: the answer broke off, or
# the model could not be asked; stopped: the student stopped it or went away.
Outcome = Literal["answered", "partly", "refused", "off_topic", "broken", "stopped"]


@dataclass(frozen=True, slots=True)
class RecordedSource:
    """A section that was found for a question.

    section: its address, `file#anchor`; titles: those that lead to it; rank: from 1, that of its best
    passage; score: that of the search; cited: the answer cites it."""

    section: str
    titles: tuple[str, ...]
    rank: int
    score: float
    cited: bool = False


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A question with its answer.

    id: random, known to the page that asked, so that it can judge the answer; conversation: random, the
    same for the questions of a page until it is left, "" if conversations are not recorded; hour: UTC,
    `2026-11-22T14`; type: the type of material asked for, "" for none; answer: "" if only questions
    are recorded; sources: the best first; by: who answered, `source/model`; first_word, seconds: from
    the question to the answer's first word and to its end, None if there was none; asked_tokens,
    answered_tokens: of the requests to models and of their replies; thumb: 1 up, -1 down, 0 none;
    comment: the student's, "" for none."""

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
    """Return True for a question that the notes did not answer, only partly, or not as the student wanted."""
    return turn.outcome in ("refused", "partly") or turn.thumb < 0


def is_answered(turn: RecordedTurn) -> bool:
    """Return True if what was found for a question says what it is about."""
    return turn.outcome not in ("refused", "off_topic") and bool(turn.sources)


def answering_section(turn: RecordedTurn) -> str:
    """Return the best section that an answer cites; "" for an answer without one, or with a thumb down."""
    return next((source.section for source in turn.sources if source.cited and turn.thumb >= 0), "")


def found_sections(turn: RecordedTurn) -> dict[str, float]:
    """Return the weights of the best sections that were found for a question, none if they do not answer it."""
    if not is_answered(turn):
        return {}
    best = max(source.score for source in turn.sources)
    if best <= 0:
        return {source.section: 1 / source.rank for source in turn.sources[:SECTIONS_COMPARED]}
    shares = ((source.section, max(source.score, 0.0) / best) for source in turn.sources[:SECTIONS_COMPARED])
    return {section: share**2 for section, share in shares if share}


def export_lines(turns: Iterable[RecordedTurn]) -> str:
    """Return a line of JSON for each turn, which begins with the section that answered it, if one did."""

    def line(turn: RecordedTurn) -> str:
        data = asdict(turn)
        return json.dumps(
            {"question": data.pop("question"), "section": answering_section(turn), **data}, ensure_ascii=False
        )

    return "".join(f"{line(turn)}\n" for turn in turns)
