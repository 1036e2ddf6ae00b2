"""The record of reading one project's settings: each value with its place, and the problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path, PurePath
from typing import Any, Literal

MEMORY = ":memory:"  # the place of an index that is kept in memory
Keys = tuple[str, ...]  # the way to a value: ("RAG", "questions"), ("sources", "lab", "base_url")
Layer = Literal["environment", "file", "argument"]


@dataclass(frozen=True, slots=True)
class Given:
    """A value that somebody gave. Its place is a variable (or two), the file's path or `argument`."""

    keys: Keys
    value: Any
    layer: Layer
    place: str


@dataclass(slots=True)
class Reading:
    """The settings given for one project, the highest last, and the problems found in them.

    pydantic-settings merges the layers and forgets which of them a value comes from. Messages,
    `lmm config show` and the rules of trust depend on that, so each source notes its values here.

    file: the `config.toml`, which may not exist; arguments: those of the class in code."""

    file: Path
    arguments: Mapping[str, Any] = field(default_factory=dict)
    given: list[Given] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, tables: Mapping[str, Any], layer: Layer, place_of: Callable[[Keys], str]) -> None:
        """Note the values of a layer, which lies below those noted before."""
        self.given[:0] = [Given(keys, value, layer, place_of(keys)) for keys, value in leaves(tables)]

    def origin(self, keys: Keys) -> Given | None:
        """Return the highest value given for a key, or None if the default holds."""
        return next((one for one in reversed(self.given) if one.keys == keys), None)

    def value(self, *keys: str) -> Any:
        """Return the highest value given for a key, or None."""
        one = self.origin(keys)
        return one.value if one else None

    def source_names(self) -> list[str]:
        """Return the names of the tables `[sources.NAME]`, each once."""
        tables = (one.keys[1] for one in self.given if one.keys[0] == "sources" and _is_table(one))
        return list(dict.fromkeys(tables))

    def file_behind(self, *keys: Keys) -> str:
        """Return the file's absolute path if any of these settings comes from it, else ""."""
        origins = map(self.origin, keys)
        return str(self.file.absolute()) if any(one and one.layer == "file" for one in origins) else ""

    def nearest(self, keys: Keys) -> Given | None:
        """Return the value that a problem with a key comes from.

        A section or a missing key has no value of its own. The nearest one counts then: a value
        in that section, or the one that stands in the place of a table."""
        for end in range(len(keys), 0, -1):
            for one in reversed(self.given):
                if one.keys[:end] == keys[:end] or one.keys == keys[: len(one.keys)]:
                    return one
        return None

    def tell(self, keys: Keys, message: str) -> None:
        """Add a problem with a key, under the place that its value comes from."""
        one = self.nearest(keys)
        self.problems.append(f"{one.place if one else self.file}: `{'.'.join(keys)}`: {message}")


def _is_table(one: Given) -> bool:
    return len(one.keys) > 2 or (len(one.keys) == 2 and one.value == {})


def leaves(tables: Mapping[str, Any], keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yield the values in nested tables with their keys. An empty table is a value."""
    for key, value in tables.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, (*keys, key))
        else:
            yield (*keys, key), value


def plain_tables(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested settings as plain dictionaries, with the names of sources in lower case.

    Of a table given as an object, only the keys count that are not as by default in it. The place of the
    index may be `":memory:"`, or an object with a folder or an address; each puts aside the others."""
    tables = {str(key): _plain(value) for key, value in given.items()}
    if isinstance(sources := tables.get("sources"), dict):
        tables["sources"] = _by_name(sources)
    if tables.get("storage") == MEMORY:
        tables["storage"] = {"memory": True, "url": ""}
    elif is_dataclass(given.get("storage")):
        tables["storage"] = {"memory": False, "url": ""} | tables["storage"]
    return tables


def _plain(value: Any) -> Any:
    if isinstance(value, PurePath):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        value = {one.name: given for one in fields(value) if (given := getattr(value, one.name)) != one.default}
    return {str(key): _plain(inner) for key, inner in value.items()} if isinstance(value, Mapping) else value


def _by_name(sources: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables by their names in lower case, those whose names differ by case alone merged."""
    named: dict[str, Any] = {}
    for name, table in sources.items():
        old = named.get(key := name.strip().lower())
        named[key] = old | table if isinstance(old, dict) and isinstance(table, dict) else table
    return named
