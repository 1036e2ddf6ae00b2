"""What is recorded of a question and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    `2026-11-22T14`; kind: the type of material asked for, "" for none; answer: "" if only questions
    are recorded; sources: the best first; by: who answered, `source/model`; first_word, seconds: from
    the question to the answer's first word and to its end, None if there was none; asked_tokens,
    answered_tokens: of the requests to models and of their replies; thumb: 1 up, -1 down, 0 none;
    comment: the student's, "" for none."""

    id: str
    conversation: str
    hour: str
    question: str
    kind: str = ""
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
