"""Threads of their own for stores.

A store that hangs, for instance on a silent server, then blocks nothing that does not need a
store, such as looking up an address, nor the end of the program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import ParamSpec, TypeVar

THREADS = 8

Given = ParamSpec("Given")
Result = TypeVar("Result")


async def run_in_thread(work: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Result:
    """Return what a store's method returns, run in a thread.

    A caller that gives up frees its place in the queue, but stops nothing that has begun: stores
    have their own time-outs."""
    return await asyncio.wrap_future(_pool().submit(work, *given, **named))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "lmm-store")
