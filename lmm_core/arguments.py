"""Validate arguments of functions called interactively, and keys of `config.toml`.

Pydantic is imported with the first validation, because importing it takes longer than most of our work.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
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
    """A check of a value beyond its type, which may raise ValueError: `Annotated[Any, Checked(as_store)]`."""

    check: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return pydantic's schema of the type and the check."""
        from pydantic_core.core_schema import no_info_after_validator_function

        return no_info_after_validator_function(self.check, handler(source))


# Keys of config.toml: fields of dataclasses with a description


def key(default: Any, description: str, **rules: Any) -> Any:
    """Return a field for a key. rules: of pydantic's `Field`, like `ge`."""
    return field(default=default, metadata={"description": description, **rules})


def keys_of(table: type) -> dict[str, Field[Any]]:
    """Return a table's fields that are keys of the file."""
    return {item.name: item for item in fields(table) if "description" in item.metadata}


def matching(pattern: str, meaning: str) -> Checked:
    """Return a check for empty texts or matches of a pattern. meaning: of such texts."""

    def check(text: str) -> str:
        if text and not re.fullmatch(pattern, text):
            raise ValueError(f"should be {meaning}")  # without the text, which may be a misplaced key
        return text

    return Checked(check)
