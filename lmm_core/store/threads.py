"""Run store calls in threads, so that a hanging one (a silent server) blocks nothing else, nor the exit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import ParamSpec, TypeVar

THREADS = 8

Given = ParamSpec("Given")
Result = TypeVar("Result")


async def run_in_thread(work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """Return the result of work in a thread. Cancelling does not stop running work."""
    return await asyncio.wrap_future(_pool().submit(work, *args, **kwargs))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "lmm-store")
