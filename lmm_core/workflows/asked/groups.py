"""Recorded questions in groups: those that failed, and all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from ...asked.encode import encode_turns
from ...asked.figures import is_failure
from ...asked.groups import Group, group_turns
from ...asked.turns import RecordedTurn
from ...retrieve.library import Library


async def group_questions(
    library: Library, turns: Sequence[RecordedTurn], warn: Callable[[str], None]
) -> tuple[list[Group], list[Group]]:
    """Return the groups of the turns that failed, and those of all, the largest first.

    warn: is told what had to be done without. Raise StoreError and RetrieveError."""
    vectors = await encode_turns(library, turns, warn)
    failed = [(turn, vector) for turn, vector in zip(turns, vectors, strict=True) if is_failure(turn)]
    failures = await asyncio.to_thread(group_turns, [turn for turn, _ in failed], [vector for _, vector in failed])
    return failures, await asyncio.to_thread(group_turns, turns, vectors)
