"""Validate arguments of functions called interactively.

Pydantic is imported with the first call, because importing it takes longer than most of our work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar, cast

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def validated(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the function with validated arguments.

    It raises pydantic's ValidationError, with the argument's name, for a type that cannot be converted. The result type
    may be imported for type checkers only."""

    @cache
    def checked() -> Callable[..., Any]:
        from pydantic import ConfigDict, validate_call

        @wraps(function)
        def unchecked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            return function(*args, **kwargs)

        unchecked.__annotations__ = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
        return validate_call(config=ConfigDict(arbitrary_types_allowed=True))(unchecked)

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            by_name = signature(function).bind(*args, **kwargs).arguments  # pydantic only numbers positional ones
        except TypeError:  # missing or unknown, reported by pydantic
            return cast(Result, checked()(*args, **kwargs))
        return cast(Result, checked()(**by_name))

    return call


@dataclass(frozen=True)
class Checked:
    """A check of an argument whose type is unknown to pydantic: `Annotated[Any, Checked(as_store)]`.

    check: returns the value to use; raises ValueError with what is allowed"""

    check: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return pydantic's schema of the check."""
        from pydantic_core.core_schema import no_info_plain_validator_function

        return no_info_plain_validator_function(self.check)
