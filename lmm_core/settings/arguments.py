"""Checks of the arguments of functions that people call from a prompt.

Pydantic makes them. It is imported with the first call, because importing it takes longer than
most of our work.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def validated(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the function with checks of its arguments.

    It raises pydantic's ValidationError if an argument neither has the declared type nor can be
    converted to it."""

    @cache
    def checked() -> Callable[Arguments, Result]:
        from pydantic import ConfigDict, validate_call

        return validate_call(config=ConfigDict(arbitrary_types_allowed=True))(function)

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return checked()(*args, **kwargs)

    return call
