"""Arguments of functions that people type: checked by pydantic, at once.

Pydantic is imported with the first call, since importing it takes longer than most
of our work.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def validated(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function, which raises pydantic's ValidationError where an argument is not
    of the type that is declared (and cannot be made one)."""

    @cache
    def checked() -> Callable[Arguments, Result]:
        from pydantic import ConfigDict, validate_call

        return validate_call(config=ConfigDict(arbitrary_types_allowed=True))(function)

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return checked()(*args, **kwargs)

    return call
