"""Threads in which stores work: their own, so that a store that hangs (a server that does not
answer) keeps nothing waiting that does not need it, such as the look-up of an address."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import ParamSpec, TypeVar

THREADS = 8

Given = ParamSpec("Given")
Result = TypeVar("Result")


async def in_store(work: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Result:
    """What a store's method returns. Who gives up waiting for it makes room in the queue, but
    ends nothing that has begun: stores have time-outs of their own."""
    return await asyncio.wrap_future(_pool().submit(work, *given, **named))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "lmm-store")
