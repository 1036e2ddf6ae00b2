"""Questions grouped by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .features import QuestionVector, make_rows
from .linkage import link
from .turns import RecordedTurn

THRESHOLD = 0.25  # the mean product of rows from which groups are merged; see benchmarks/grouping.py


@dataclass(frozen=True)
class Group:
    """Questions that mean about the same. name: the most central one; turns: the most central first."""

    name: str
    turns: tuple[RecordedTurn, ...]

    @property
    def size(self) -> int:
        """The number of conversations in which it was asked; see `count_askers`."""
        return count_askers(self.turns)


def count_askers(turns: Sequence[RecordedTurn]) -> int:
    """Return in how many conversations something was asked, or how often if conversations are not recorded."""
    known = {turn.conversation for turn in turns if turn.conversation}
    return len(known) + sum(not turn.conversation for turn in turns)


def group_turns(turns: Sequence[RecordedTurn], vectors: Sequence[QuestionVector]) -> list[Group]:
    """Return turns in groups of questions that mean about the same, the largest first.

    vectors: those of the questions; see `encode_questions`. The order of the turns changes nothing."""
    pairs = sorted(zip(turns, vectors, strict=True), key=lambda pair: _order(pair[0]))
    ordered = [turn for turn, _ in pairs]
    found = link(make_rows(ordered, [vector for _, vector in pairs]), THRESHOLD)
    groups = [Group(ordered[rows[0]].question, tuple(ordered[row] for row in rows)) for rows in found]
    return sorted(groups, key=lambda group: (-len(group.turns), _order(group.turns[0])))


def _order(turn: RecordedTurn) -> tuple[int, str, str, str]:
    """Return by what turns are ordered that are otherwise equal: short questions first."""
    return len(turn.question), turn.question, turn.hour, turn.id
