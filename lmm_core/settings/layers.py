"""Layer settings from code, `config.toml` and the environment, by key, with their problems."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path, PurePath
from typing import Any

from ..models.sources import SOURCES, known_sources
from .environment import read_environment
from .names import KEY_NAME
from .tables import SECTIONS, Keys, section_keys
from .toml_file import find_line, read_tables

MEMORY = ":memory:"  # an index in memory


@dataclass(slots=True)
class Layer:
    """The values from one place, by key.

    variables: names in the environment
    text: of the file"""

    name: str
    values: dict[Keys, Any]
    variables: Mapping[Keys, str] = field(default_factory=dict)
    text: str = ""

    def place(self, keys: Keys) -> str:
        """Return the origin of a key: a variable, file and line, or `argument`."""
        line = find_line(self.text, keys) if self.text else 0
        return f"{self.name}:{line}" if line else self.variables.get(keys, self.name)


@dataclass(slots=True)
class Layers:
    """The layers of one project, highest first, and their problems."""

    file: Path
    layers: list[Layer]
    problems: list[str]

    def merged(self) -> dict[str, Any]:
        """Return tables with the highest value of each key."""
        tables: dict[str, Any] = {}
        for layer in reversed(self.layers):
            for (*way, key), value in layer.values.items():
                table = tables
                for section in way:
                    table = table.setdefault(section, {})
                table[key] = value
        return tables

    def value(self, *keys: str) -> Any:
        layer = self._layer_of(keys)
        return layer.values[keys] if layer else None

    def source_names(self) -> list[str]:
        """Return the names of the tables `[sources.NAME]`."""
        return list(dict.fromkeys(keys[1] for layer in self.layers for keys in layer.values if keys[0] == "sources"))

    def file_behind(self, *ways: Keys) -> str:
        """Return the file's absolute path if it sets any of these keys, else ""."""
        layers = (self._layer_of(keys) for keys in ways)
        return str(self.file.absolute()) if any(layer and layer.name == str(self.file) for layer in layers) else ""

    def origin(self, keys: Keys) -> str:
        """Return the origin of an effective setting, for `lmm config show`."""
        layer = self._layer_of(keys)
        if layer is None or layer.name == _OURS:
            return "default"
        return f"environment {layer.place(keys)}" if layer.variables else layer.place(keys)

    def place(self, keys: Keys) -> str:
        """Return the origin of a key, or of the nearest one given, because tables and missing keys have none."""
        for end in range(len(keys), 0, -1):
            for layer in self.layers:
                for given in layer.values:
                    if given[:end] == keys[:end]:
                        return layer.place(given)
        return str(self.file)

    def report(self, keys: Keys, message: str) -> None:
        """Add a problem with a key, with its origin."""
        self.problems.append(f"{self.place(keys)}: `{'.'.join(keys)}`: {message}")

    def _layer_of(self, keys: Keys) -> Layer | None:
        return next((layer for layer in self.layers if keys in layer.values), None)


_OURS = "default"  # layer of values that a table like [sources.openai] inherits from our source
_INHERITED = ("base_url", "key_variable", "chat_model", "embedding_model")


def read_layers(file: Path, arguments: Mapping[str, Any]) -> Layers:
    """Return a project's settings. file: its `config.toml`, which may be missing. Raise ConfigError."""
    text, tables = read_tables(file)
    in_code, in_file = Layer("argument", {}), Layer(str(file), {}, text=text)
    given = {section: _plain(section, table) for section, table in arguments.items()}
    layers = Layers(file, [in_code, in_file], [*_fill(in_code, given), *_fill(in_file, tables)])
    values, variables, problems = read_environment(layers.value, layers.source_names())
    layers.layers.append(Layer("environment", values, variables))
    layers.problems += problems
    for layer in layers.layers:
        layers.problems += _wrong_texts(layer)
    own = {name: known_sources()[name] for name in layers.source_names() if name in SOURCES}
    inherited: dict[Keys, Any] = {("sources", name, key): getattr(own[name], key) for name in own for key in _INHERITED}
    layers.layers.append(Layer(_OURS, inherited))
    return layers


def _wrong_texts(layer: Layer) -> Iterator[str]:
    """Yield the faults that the keys' checks find."""
    for keys, value in layer.values.items():
        check = section_keys(keys[0])[keys[-1]].metadata.get("check") if keys[1:] else None
        for text in value if isinstance(value, tuple) else (value,):
            if check and isinstance(text, str) and (problem := check(text)):
                yield f"{layer.place(keys)}: `{'.'.join(keys)}`: {problem}"


def _fill(layer: Layer, tables: Mapping[str, Any]) -> Iterator[str]:
    """Copy tables into a layer, and yield problems other than wrong types."""
    for section, table in tables.items():
        if section not in SECTIONS:
            yield f"{layer.place((section,))}: {_unknown((section,), SECTIONS)}"
        elif section == "spelling":
            layer.values[section,] = table
        elif section == "sources" and isinstance(table, Mapping):
            for name, source in table.items():
                yield from _fill_table(layer, (section, name.strip().lower()), source)
        else:
            yield from _fill_table(layer, (section,), table)


def _fill_table(layer: Layer, way: Keys, table: Any) -> Iterator[str]:
    name = ".".join(way)
    if not isinstance(table, Mapping):
        yield f"{layer.place(way)}: `{name}`: should be a table, [{name}] and its keys"
        return
    known = section_keys(way[0])
    for key, value in table.items():
        if key not in known:
            yield f"{layer.place((*way, key))}: {_unknown((*way, key), known)}"
        else:
            value = str(value) if isinstance(value, PurePath) else value
            layer.values[*way, key] = tuple(value) if isinstance(value, list) else value


def _unknown(keys: Keys, known: Collection[str]) -> str:
    name = ".".join(keys)
    if KEY_NAME.fullmatch(keys[-1]):
        where = "Put it into an environment variable, and name that variable with key_variable in [sources.NAME]"
        return f"unknown key `{name}`: a file must not hold the key of a service. {where}"
    nearest = difflib.get_close_matches(keys[-1].lower(), {word.lower(): word for word in known}, 1)
    meant = next((word for word in known if nearest and word.lower() == nearest[0]), "")
    return f"unknown key `{name}` (known: {', '.join(known)}{f'; did you mean `{meant}`?' if meant else ''})"


def _plain(section: str, value: Any) -> Any:
    """Return a table given in code as a dictionary; of an object, its non-default values.

    Each place of the index excludes the others."""
    if section == "storage" and value == MEMORY:
        return {"memory": True, "url": ""}
    if is_dataclass(value) and not isinstance(value, type):
        defaults = {item.name: item.default for item in fields(value)}
        value = {key: set_value for key, set_value in asdict(value).items() if set_value != defaults[key]}
        value = {"memory": False, "url": ""} | value if section == "storage" else value
    return value
