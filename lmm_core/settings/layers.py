"""Layer settings from code, `config.toml` and the environment (`LMM_RAG__QUESTIONS`, `LMM_MODEL_MAJOR`), by key."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path, PurePath
from typing import Any

from ..models.names import SENTENCE_TRANSFORMERS, is_default
from ..models.sources import FASTEMBED, NONE, SOURCES, STAND_IN, known_sources
from .names import KEY_NAME, PREFIX, is_setting
from .tables import SECTIONS, Keys, key_type, section_keys
from .toml_file import find_line, read_tables

# Model settings by role in variable names
MODEL_KEYS: dict[str, Keys] = {
    "MAJOR": ("major", "model"),
    "MINOR": ("minor", "model"),
    "AUX": ("aux", "model"),
    "EMBEDDING": ("embeddings", "dense_model"),
}
_ROLE_VARIABLES = frozenset(
    f"{PREFIX}{kind}{role}" for kind in ("SOURCE", "MODEL") for role in ("", *(f"_{role}" for role in MODEL_KEYS))
)
_VARIABLES: dict[str, Keys] = {"LMM_SPELLING": ("spelling",)} | {
    f"{PREFIX}{section}__{key}".upper(): (section, key)
    for section in SECTIONS
    if section != "sources"
    for key in section_keys(section)
}


def read_environment(
    value: Callable[..., Any], sources: list[str]
) -> tuple[dict[Keys, Any], dict[Keys, str], list[str]]:
    """Return the settings, their variables, and problems with names.

    value: a key's value in a higher layer, or None; sources: configured names. Variables are case-insensitive; empty
    ones are unset."""
    values: dict[Keys, Any] = {}
    variables: dict[Keys, str] = {}
    problems: list[str] = []
    given = {name.upper(): text.strip() for name, text in os.environ.items() if is_setting(name) and text.strip()}
    for variable, text in sorted(given.items()):
        keys = _keys_of(variable)
        if keys:
            values[keys], variables[keys] = _parsed(text, key_type(keys)), variable
        elif variable not in _ROLE_VARIABLES:
            problems.append(f"{variable}: unknown variable ({_hint(variable)})")
    known = {*SOURCES, STAND_IN, FASTEMBED, SENTENCE_TRANSFORMERS, NONE, *sources}
    known |= {keys[1] for keys in values if keys[0] == "sources"}
    for keys, name, variable in _models(given, lambda keys: value(*keys) or values.get(keys), known):
        values[keys], variables[keys] = name, variable
    return values, variables, problems


def _keys_of(variable: str) -> Keys | None:
    source = re.fullmatch(r"LMM_SOURCES__(.+?)__(\w+)", variable)
    if source and source[2].lower() in section_keys("sources"):
        return ("sources", source[1].lower(), source[2].lower())
    return _VARIABLES.get(variable)


def _parsed(text: str, kind: Any) -> Any:
    """Parse a list or a table from JSON; return other text unchanged."""
    if kind is not str and text.startswith(("[", "{")):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(text)
            return tuple(value) if isinstance(value, list) else value
    return text


def _hint(variable: str) -> str:
    if variable.startswith("LMM_SOURCES__") and KEY_NAME.fullmatch(variable.rpartition("__")[2]):
        return "a key belongs in a variable of its own, and LMM_SOURCES__NAME__KEY_VARIABLE names that variable"
    known = [*_VARIABLES, *_ROLE_VARIABLES]
    return f"did you mean {difflib.get_close_matches(variable, known, 1, cutoff=0.0)[0]}?"


def _models(given: dict[str, str], value: Callable[[Keys], Any], known: set[str]) -> Iterator[tuple[Keys, str, str]]:
    """Yield each role's key, model name and variables.

    `LMM_SOURCE` is the source of major and minor, `LMM_MODEL` the major model. A model without source names a known one
    itself, or takes that of the role above, so that no role uses another provider by chance; the major and the
    embedding model default to OpenAI."""
    above = ""
    for role, keys in MODEL_KEYS.items():
        source = _first_set(given, f"SOURCE_{role}")
        model = _first_set(given, f"MODEL_{role}", *(["MODEL"] if role == "MAJOR" else []))
        names_source = given.get(model, "").partition("/")[0].lower() in known
        if not source and role in ("MAJOR", "MINOR") and not (names_source and model != "LMM_MODEL"):
            source = _first_set(given, "SOURCE")
        name = "/".join(given[variable] for variable in (source, model) if variable)
        if model and not source and not names_source:
            name = f"{(above if role in ('MINOR', 'AUX') else '') or 'openai'}/{name}"
        if name:
            yield keys, name, ", ".join(filter(None, (source, model)))
        above = str(value(keys) or name or above).partition("/")[0].strip().lower()


def _first_set(given: dict[str, str], *names: str) -> str:
    """Return the first variable that is set and not `default`, or ""."""
    variables = (f"{PREFIX}{name}" for name in names)
    return next((name for name in variables if not is_default(given.get(name, "default"))), "")


# Layers

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
