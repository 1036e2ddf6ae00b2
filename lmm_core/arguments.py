"""Checks of the arguments of functions that people call from a prompt.

Pydantic makes them. It is imported with the first call, because importing it takes longer than
most of our work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from inspect import iscoroutinefunction, signature
from typing import Any, ParamSpec, TypeVar, cast

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def validated(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the function with checks of its arguments; an asynchronous one checks them when it is awaited.

    It raises pydantic's ValidationError, which names the argument, if one neither has the declared
    type nor can be converted to it."""

    @cache
    def checked() -> Callable[..., Any]:
        from pydantic import ConfigDict, validate_call

        return validate_call(config=ConfigDict(arbitrary_types_allowed=True))(function)

    def by_name(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return all arguments by their names: pydantic only numbers those that come without."""
        try:
            return (), signature(function).bind(*args, **kwargs).arguments
        except TypeError:  # missing or unknown ones, which pydantic tells
            return args, kwargs

    if iscoroutinefunction(function):

        @wraps(function)
        async def wait(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = by_name(args, kwargs)
            return await checked()(*args, **kwargs)

        return cast(Callable[Arguments, Result], wait)

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        given, named = by_name(args, kwargs)
        return cast(Result, checked()(*given, **named))

    return call


@dataclass(frozen=True)
class Checked:
    """A check of ours, for an argument whose type pydantic cannot know: `Annotated[Any, Checked(as_store)]`.

    check: returns the value to be used. Raises ValueError, with what is allowed."""

    check: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return what pydantic asks of annotations."""
        from pydantic_core.core_schema import no_info_plain_validator_function

        return no_info_plain_validator_function(self.check)
