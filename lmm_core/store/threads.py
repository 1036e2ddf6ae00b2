"""How much goes on at once: threads of their own for stores, and turns of tasks.

A store that hangs, for instance on a silent server, then blocks nothing that does not need a
store, such as looking up an address. Tasks that need the processor more than they wait take
turns: if all of them went on at once, all would come to their end late, and at the same time.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import cache
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:  # these load much, and whoever needs nothing but chunks needs them not
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

THREADS = 8

Given = ParamSpec("Given")
Result = TypeVar("Result")


async def run_in_thread(work: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Result:
    """Return what a store's method returns, run in a thread.

    A caller that gives up frees its place in the queue, but stops nothing that has begun: stores
    have their own time-outs."""
    import asyncio

    return await asyncio.wrap_future(_pool().submit(work, *given, **named))


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(THREADS, "lmm-store")


# Turns


class Turns:
    """Lets so many tasks go on at the same time. Of those that wait, the one that came first is next."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._numbers = count()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Wait for a turn, and have it within the block, but for its times `out_of_turn`."""
        turn = _Turn(self, next(self._numbers))
        before = _current.set(turn)
        try:
            await turn.take()
            yield
        finally:
            turn.give_back()
            _current.reset(before)

    async def take(self, number: int) -> None:
        """Wait for a turn; those with lower numbers go first."""
        import asyncio

        if self._free:
            self._free -= 1
            return
        mine = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (number, mine))
        try:
            await mine
        except asyncio.CancelledError:
            if not mine.cancelled():  # it came in the same moment
                self.give_back()
            raise

    def give_back(self) -> None:
        """Let the next one go on."""
        while self._waiting:
            _, future = heappop(self._waiting)
            if not future.done():
                future.set_result(None)
                return
        self._free += 1


class _Turn:
    """The turn of one task."""

    def __init__(self, turns: Turns, number: int) -> None:
        self.turns, self.number, self.is_held = turns, number, False

    async def take(self) -> None:
        await self.turns.take(self.number)
        self.is_held = True

    def give_back(self) -> None:
        if self.is_held:
            self.is_held = False
            self.turns.give_back()


_current: ContextVar[_Turn | None] = ContextVar("the turn of this task", default=None)


@asynccontextmanager
async def out_of_turn() -> AsyncIterator[None]:
    """Let others have the turn of this task, if it has one, while the block waits for something else."""
    import asyncio

    turn = _current.get()
    if turn is None or not turn.is_held:
        yield
        return
    turn.give_back()
    try:
        yield
    finally:
        if not isinstance(sys.exception(), asyncio.CancelledError):  # which has nothing more to do
            await turn.take()
