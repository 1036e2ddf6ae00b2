"""The layers of settings: what code, `config.toml` and the environment say, key by key, and what is wrong with it."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path, PurePath
from typing import Any

from ..models.sources import SOURCES, known_sources
from .environment import read_environment
from .names import KEY_NAME
from .tables import SECTIONS, Keys, key_type, section_keys
from .toml_file import find_line, read_tables

MEMORY = ":memory:"  # the place of an index that is kept in memory


@dataclass(slots=True)
class Layer:
    """What one place says. values: by key; variables: the names of those that say it, in the environment;
    text: of the file."""

    name: str
    values: dict[Keys, Any]
    variables: Mapping[Keys, str] = field(default_factory=dict)
    text: str = ""

    def place(self, keys: Keys) -> str:
        """Return where a key is given: a variable, the file with its line, or `argument`."""
        line = find_line(self.text, keys) if self.text else 0
        return f"{self.name}:{line}" if line else self.variables.get(keys, self.name)


@dataclass(slots=True)
class Layers:
    """The layers of one project's settings, the highest first, and the problems found in them."""

    file: Path
    layers: list[Layer]
    problems: list[str]

    def merged(self) -> dict[str, Any]:
        """Return the tables that the layers make together."""
        tables: dict[str, Any] = {}
        for layer in reversed(self.layers):
            for (*way, key), value in layer.values.items():
                table = tables
                for section in way:
                    table = table.setdefault(section, {})
                table[key] = value
        return tables

    def value(self, *keys: str) -> Any:
        """Return the value given for a key, or None."""
        layer = self._layer_of(keys)
        return layer.values[keys] if layer else None

    def source_names(self) -> list[str]:
        """Return the names of the tables `[sources.NAME]`, each once."""
        return list(dict.fromkeys(keys[1] for layer in self.layers for keys in layer.values if keys[0] == "sources"))

    def file_behind(self, *ways: Keys) -> str:
        """Return the file's absolute path if any of these settings comes from it, else ""."""
        layers = (self._layer_of(keys) for keys in ways)
        return str(self.file.absolute()) if any(layer and layer.name == str(self.file) for layer in layers) else ""

    def origin(self, keys: Keys) -> str:
        """Return where the value in force comes from, for `lmm config show`."""
        layer = self._layer_of(keys)
        if layer is None or layer.name == _OURS:
            return "default"
        return f"environment {layer.place(keys)}" if layer.variables else layer.place(keys)

    def place(self, keys: Keys) -> str:
        """Return the place of a key, or of the nearest one that is given: a table and a missing key have none."""
        for end in range(len(keys), 0, -1):
            for layer in self.layers:
                for given in layer.values:
                    if given[:end] == keys[:end]:
                        return layer.place(given)
        return str(self.file)

    def report(self, keys: Keys, message: str) -> None:
        """Add a problem with a key, under the place that its value comes from."""
        self.problems.append(f"{self.place(keys)}: `{'.'.join(keys)}`: {message}")

    def _layer_of(self, keys: Keys) -> Layer | None:
        return next((layer for layer in self.layers if keys in layer.values), None)


_OURS = "default"  # the layer of what a table like [sources.openai] inherits from our own source
_INHERITED = ("base_url", "key_variable", "chat_model", "embedding_model")


def read_layers(file: Path, arguments: Mapping[str, Any]) -> Layers:
    """Return what is given for a project. file: its `config.toml`, which may be missing. Raise ConfigError."""
    text, tables = read_tables(file)
    in_code, in_file = Layer("argument", {}), Layer(str(file), {}, text=text)
    given = {section: _plain(section, table) for section, table in arguments.items()}
    layers = Layers(file, [in_code, in_file], [*_fill(in_code, given), *_fill(in_file, tables)])
    values, variables, problems = read_environment(layers.value, layers.source_names())
    layers.layers.append(Layer("environment", values, variables))
    layers.problems += problems
    for layer in (in_code, layers.layers[-1]):  # what the file says is taken exactly
        layer.values = {keys: _converted(keys, value) for keys, value in layer.values.items()}
    for layer in layers.layers:
        layers.problems += _wrong_texts(layer)
    own = {name: known_sources()[name] for name in layers.source_names() if name in SOURCES}
    inherited: dict[Keys, Any] = {("sources", name, key): getattr(own[name], key) for name in own for key in _INHERITED}
    layers.layers.append(Layer(_OURS, inherited))
    return layers


def _wrong_texts(layer: Layer) -> Iterator[str]:
    """Yield what the checks of keys find in the texts of a layer."""
    for keys, value in layer.values.items():
        check = section_keys(keys[0])[keys[-1]].metadata.get("check") if keys[1:] else None
        for text in value if isinstance(value, tuple) else (value,):
            if check and isinstance(text, str) and (problem := check(text)):
                yield f"{layer.place(keys)}: `{'.'.join(keys)}`: {problem}"


def _fill(layer: Layer, tables: Mapping[str, Any]) -> Iterator[str]:
    """Put the values of tables into a layer, and yield what is wrong with them, their types aside."""
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
            layer.values[*way, key] = tuple(value) if isinstance(value, list) else value


def _unknown(keys: Keys, known: Collection[str]) -> str:
    name = ".".join(keys)
    if KEY_NAME.fullmatch(keys[-1]):
        where = "Put it into an environment variable, and name that variable with key_variable in [sources.NAME]"
        return f"unknown key `{name}`: a file must not hold the key of a service. {where}"
    near = difflib.get_close_matches(keys[-1].lower(), {word.lower(): word for word in known}, 1)
    meant = next((word for word in known if near and word.lower() == near[0]), "")
    return f"unknown key `{name}` (known: {', '.join(known)}{f'; did you mean `{meant}`?' if meant else ''})"


def _plain(section: str, value: Any) -> Any:
    """Return a table given in code as a dictionary: of an object, what is not as by default in it.

    Each place of the index puts aside the others."""
    if section == "storage" and value == MEMORY:
        return {"memory": True, "url": ""}
    if is_dataclass(value) and not isinstance(value, type):
        defaults = {one.name: one.default for one in fields(value)}
        value = {key: given for key, given in asdict(value).items() if given != defaults[key]}
        value = {"memory": False, "url": ""} | value if section == "storage" else value
    return value


def _converted(keys: Keys, value: Any) -> Any:
    """Return a text as the number or truth value that its key wants, if it is one; a path as a text."""
    kind = key_type(keys)
    if isinstance(value, str) and kind in (bool, int, float):
        from pydantic import TypeAdapter, ValidationError

        try:
            return TypeAdapter(kind).validate_python(value)
        except ValidationError:
            return value
    return str(value) if isinstance(value, PurePath) else value
