"""Groups of recorded questions, with the sections nearest to each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from ...asked.encode import encode_turns
from ...asked.groups import group_turns
from ...asked.turns import RecordedTurn
from ...retrieve.library import Library
from ...settings.project import Project
from .nearest import GroupNearSections, Places, find_nearest


async def group_questions(
    project: Project,
    library: Library,
    turns: Sequence[RecordedTurn],
    warn: Callable[[str], None],
    fewest: int = 1,
    most: int | None = None,
) -> list[GroupNearSections]:
    """Return turns in groups of questions that mean about the same, each with its nearest sections.

    The largest groups come first. fewest: leave out groups that were asked in fewer conversations; most: leave out
    all but the largest; warn: is told what had to be done without. Raise StoreError, ModelError and
    RetrieveError."""
    vectors = await encode_turns(library, turns, warn)
    groups = await asyncio.to_thread(group_turns, turns, vectors)
    wanted = [group for group in groups if group.size >= fewest][:most]
    return await find_nearest(library, wanted, Places(project.root))
