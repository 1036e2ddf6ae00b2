"""Run asynchronous work with an open index, and report failures."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import ModelError
from ..logging import LoggerBase, say

if TYPE_CHECKING:
    from ..retrieve.library import Library
    from ..settings.models import Models
    from ..settings.project import Project

Result = TypeVar("Result")


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of a coroutine. Ctrl-C exits with 130."""
    import asyncio

    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        say("Stopped. What was done is kept: run the same command to go on.", err=True)
        sys.exit(130)


def run_or_report(work: Coroutine[Any, Any, Result], logger: LoggerBase, *errors: type[Exception]) -> Result | None:
    """Return the result, or None after reporting a StoreError, ModelError or one of `errors`."""
    from ..errors import StoreError

    kinds: tuple[type[Exception], ...] = (StoreError, ModelError, *errors)
    try:
        return run(work)
    except kinds as error:
        logger.error(str(error))
        return None


def with_library(
    project: Project, models: Models, work: Callable[[Library], Awaitable[Result]], logger: LoggerBase
) -> Result | None:
    """Return the result of work with the project's index open, or None after a reported failure."""
    from ..errors import RetrieveError
    from ..retrieve.library import Library

    async def opened() -> Result:
        library = Library(project, models)
        try:
            async with library.use():
                return await work(library)
        finally:
            await library.close()

    return run_or_report(opened(), logger, RetrieveError)
