"""The request for an edit that questions without an answer make, in words for the teacher and the model.

What students typed comes into it as data: each question on one line, between tags that it cannot end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..logging import counted, printable
from ..models.prompts import as_data
from .turns import RecordedTurn

QUOTED = 6  # questions at most
MOST_CHARACTERS = 200  # of a question that is quoted
WORDS = 8  # that the notes never use, at most
OPENING, CLOSING = "<asked>", "</asked>"


def quoted_questions(turns: Iterable[RecordedTurn]) -> tuple[str, ...]:
    """Return the questions to quote, each once and on one line: the first ones."""
    quoted: dict[str, str] = {}
    for turn in turns:
        question = quoted_line(turn.question)
        if question and len(quoted) < QUOTED:
            quoted.setdefault(question.casefold().strip(" ?!."), question)
    return tuple(quoted.values())


def quoted_line(text: str) -> str:
    """Return what a student typed on one line, without characters that steer or deceive, cut if it is long."""
    line = " ".join(printable(text.encode("utf-8", "replace").decode("utf-8")).split())
    return line if len(line) <= MOST_CHARACTERS else line[: MOST_CHARACTERS - 1].rstrip() + "…"


def edit_request(
    asked: Sequence[str], conversations: int, unknown: Sequence[str], near: Sequence[str], is_new: bool
) -> str:
    """Return the request.

    asked: see `quoted_questions`; conversations: in how many it was asked; unknown: words of students that the
    notes never use; near: the names of the sections that say something about it; is_new: a section shall be
    written, and not one be changed."""
    lines = [f"In {counted(conversations, 'conversation')} students asked what these notes do not answer. They typed:"]
    lines += [OPENING, *map(as_data, asked), CLOSING]
    if unknown:
        words = ", ".join(as_data(quoted_line(word)) for word in unknown[:WORDS])
        lines.append(f"The notes never use these words of theirs: {OPENING}{words}{CLOSING}")
    if near:
        lines.append(f"Something near it is said in {' and '.join(near)}.")
    lines.append(
        "Write a section that answers them, with a heading like those of the other sections."
        if is_new
        else "Say what answers them where it fits into this section, and change nothing else."
    )
    return "\n".join(lines)
