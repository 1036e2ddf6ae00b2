"""An account of the settings in force: each with its value and where that comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ..errors import ConfigError, TrustError
from ..models.trust import trusted_pairs
from .reading import Given, Keys, Reading


@dataclass(frozen=True, slots=True)
class SettingInForce:
    """A setting and its origin: `default`, `environment` with the variable's name, or the file's path."""

    key: str
    value: Any
    origin: str


def explain_settings(settings: BaseModel, reading: Reading) -> list[SettingInForce]:
    """Return all settings in the order of their sections, then the keys that the person lets go
    to hosts. Raise ConfigError if the record of those cannot be read."""
    values = [SettingInForce(".".join(keys), value, _origin(reading.origin(keys))) for keys, value in _values(settings)]
    return values + _trusted(reading.file.parent if reading.file.is_file() else None)


def _trusted(root: Path | None) -> list[SettingInForce]:
    try:
        pairs = trusted_pairs(root)
    except TrustError as error:
        raise ConfigError(str(error)) from None
    return [SettingInForce(f"trust.{pair.host}", pair.variable, pairs[pair]) for pair in sorted(pairs)]


def _origin(one: Given | None) -> str:
    if one is None:
        return "default"
    return f"environment {one.place}" if one.layer == "environment" else one.place


def _values(value: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    if not isinstance(value, BaseModel | dict) or (value == {} and keys[1:]):
        yield keys, value
        return
    for key, inner in value.items() if isinstance(value, dict) else value:
        yield from _values(inner, (*keys, key))
