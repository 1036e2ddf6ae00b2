"""Threads for stores, so that a hanging one (a silent server) blocks nothing else, nor the end of the program."""

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
    """Return the result of work in a thread. A caller that gives up stops nothing that has begun."""
    return await asyncio.wrap_future(_pool().submit(work, *given, **named))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "lmm-store")
