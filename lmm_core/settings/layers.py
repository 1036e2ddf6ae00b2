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
from typing import Any, NamedTuple

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
    environment = {name.upper(): text.strip() for name, text in os.environ.items() if is_setting(name) and text.strip()}
    for variable, text in sorted(environment.items()):
        keys = _keys_of(variable)
        if keys:
            values[keys], variables[keys] = _parsed(text, key_type(keys)), variable
        elif variable not in _ROLE_VARIABLES:
            problems.append(f"{variable}: unknown variable ({_hint(variable)})")
    source_names = {*SOURCES, STAND_IN, FASTEMBED, SENTENCE_TRANSFORMERS, NONE, *sources}
    source_names |= {keys[1] for keys in values if keys[0] == "sources"}
    for keys, name, variable in _models(environment, lambda keys: value(*keys) or values.get(keys), source_names):
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
    variables = [*_VARIABLES, *_ROLE_VARIABLES]
    return f"did you mean {difflib.get_close_matches(variable, variables, 1, cutoff=0.0)[0]}?"


def _models(
    environment: dict[str, str], value: Callable[[Keys], Any], source_names: set[str]
) -> Iterator[tuple[Keys, str, str]]:
    """Yield each role's key, model name and variables.

    `LMM_SOURCE` is the source of major and minor, `LMM_MODEL` the major model. A model without source names a known one
    itself, or takes that of the role above, so that no role uses another provider by chance; the major and the
    embedding model default to OpenAI."""
    above = ""
    for role, keys in MODEL_KEYS.items():
        source = _first_set(environment, f"SOURCE_{role}")
        model = _first_set(environment, f"MODEL_{role}", *(["MODEL"] if role == "MAJOR" else []))
        names_source = environment.get(model, "").partition("/")[0].lower() in source_names
        if not source and role in ("MAJOR", "MINOR") and not (names_source and model != "LMM_MODEL"):
            source = _first_set(environment, "SOURCE")
        name = "/".join(environment[variable] for variable in (source, model) if variable)
        if model and not source and not names_source:
            name = f"{(above if role in ('MINOR', 'AUX') else '') or 'openai'}/{name}"
        if name:
            yield keys, name, ", ".join(filter(None, (source, model)))
        above = str(value(keys) or name or above).partition("/")[0].strip().lower()


def _first_set(environment: dict[str, str], *names: str) -> str:
    """Return the first variable that is set and not `default`, or ""."""
    variables = (f"{PREFIX}{name}" for name in names)
    return next((name for name in variables if not is_default(environment.get(name, "default"))), "")


# Layers

MEMORY = ":memory:"  # an index in memory
_ARGUMENT, _FILE, _DEFAULT = "argument", "file", "default"  # origins, beside variables of the environment
_INHERITED = ("base_url", "key_variable", "chat_model", "embedding_model")  # by a table like [sources.openai]


class Given(NamedTuple):
    """A setting and its origin."""

    value: Any
    origin: str


@dataclass(slots=True)
class Layers:
    """The settings of one project by key, each from its highest layer, and their problems.

    file: `config.toml`, which may be missing; text: its content"""

    file: Path
    text: str
    settings: dict[Keys, Given] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add_tables(self, tables: Mapping[str, Any], origin: str) -> None:
        """Add tables, and problems other than wrong types."""
        for section, table in tables.items():
            if section not in SECTIONS:
                self.problems.append(f"{self._place((section,), origin)}: {_describe_unknown((section,), SECTIONS)}")
            elif section == "spelling":
                self.add((section,), table, origin)
            elif section == "sources" and isinstance(table, Mapping):
                for name, source in table.items():
                    self._add_table((section, name.strip().lower()), source, origin)
            else:
                self._add_table((section,), table, origin)

    def _add_table(self, way: Keys, table: Any, origin: str) -> None:
        name, known_keys = ".".join(way), section_keys(way[0])
        if not isinstance(table, Mapping):
            self.problems.append(f"{self._place(way, origin)}: `{name}`: should be a table, [{name}] and its keys")
            return
        for key, value in table.items():
            if key in known_keys:
                value = str(value) if isinstance(value, PurePath) else value
                self.add((*way, key), tuple(value) if isinstance(value, list) else value, origin)
            else:
                self.problems.append(
                    f"{self._place((*way, key), origin)}: {_describe_unknown((*way, key), known_keys)}"
                )

    def add(self, keys: Keys, value: Any, origin: str) -> None:
        """Add a checked setting, unless a higher layer has it."""
        if keys in self.settings:
            return
        self.settings[keys] = Given(value, origin)
        check = section_keys(keys[0])[keys[-1]].metadata.get("check") if keys[1:] else None
        for text in value if isinstance(value, tuple) else (value,):
            if check and isinstance(text, str) and (problem := check(text)):
                self.report(keys, problem)

    def merged(self) -> dict[str, Any]:
        """Return the tables."""
        tables: dict[str, Any] = {}
        for (*way, key), setting in self.settings.items():
            table = tables
            for section in way:
                table = table.setdefault(section, {})
            table[key] = setting.value
        return tables

    def value(self, *keys: str) -> Any:
        return self.settings[keys].value if keys in self.settings else None

    def source_names(self) -> list[str]:
        """Return the names of the tables `[sources.NAME]`."""
        return list(dict.fromkeys(keys[1] for keys in self.settings if keys[0] == "sources"))

    def file_behind(self, *ways: Keys) -> str:
        """Return the file's absolute path if it sets any of these keys, else ""."""
        is_set = any(keys in self.settings and self.settings[keys].origin == _FILE for keys in ways)
        return str(self.file.absolute()) if is_set else ""

    def origin(self, keys: Keys) -> str:
        """Return the origin of an effective setting, for `lmm config show`."""
        origin = self.settings[keys].origin if keys in self.settings else _DEFAULT
        return self._place(keys, origin) if origin in (_ARGUMENT, _FILE, _DEFAULT) else f"environment {origin}"

    def place(self, keys: Keys) -> str:
        """Return the origin of a key, or of the nearest one given, because tables and missing keys have none."""
        for end in range(len(keys), 0, -1):
            for setting_keys, setting in self.settings.items():
                if setting_keys[:end] == keys[:end]:
                    return self._place(setting_keys, setting.origin)
        return str(self.file)

    def report(self, keys: Keys, message: str) -> None:
        """Add a problem with a key, with its origin."""
        self.problems.append(f"{self.place(keys)}: `{'.'.join(keys)}`: {message}")

    def _place(self, keys: Keys, origin: str) -> str:
        if origin != _FILE:
            return origin
        line = find_line(self.text, keys)
        return f"{self.file}:{line}" if line else str(self.file)


def read_layers(file: Path, arguments: Mapping[str, Any]) -> Layers:
    """Return a project's settings. file: its `config.toml`, which may be missing. Raise ConfigError."""
    text, tables = read_tables(file)
    layers = Layers(file, text)
    layers.add_tables({section: _table_from_code(section, table) for section, table in arguments.items()}, _ARGUMENT)
    layers.add_tables(tables, _FILE)
    values, variables, problems = read_environment(layers.value, layers.source_names())
    layers.problems += problems
    for keys, value in values.items():
        layers.add(keys, value, variables[keys])
    own = {name: known_sources()[name] for name in layers.source_names() if name in SOURCES}
    for name in own:
        for key in _INHERITED:
            layers.settings.setdefault(("sources", name, key), Given(getattr(own[name], key), _DEFAULT))
    return layers


def _describe_unknown(keys: Keys, known_keys: Collection[str]) -> str:
    name = ".".join(keys)
    if KEY_NAME.fullmatch(keys[-1]):
        where = "Put it into an environment variable, and name that variable with key_variable in [sources.NAME]"
        return f"unknown key `{name}`: a file must not hold the key of a service. {where}"
    nearest = difflib.get_close_matches(keys[-1].lower(), {word.lower(): word for word in known_keys}, 1)
    suggestion = next((word for word in known_keys if nearest and word.lower() == nearest[0]), "")
    hint = f"; did you mean `{suggestion}`?" if suggestion else ""
    return f"unknown key `{name}` (known: {', '.join(known_keys)}{hint})"


def _table_from_code(section: str, value: Any) -> Any:
    """Return a table given in code as a dictionary; of an object, its non-default values.

    Each place of the index excludes the others."""
    if section == "storage" and value == MEMORY:
        return {"memory": True, "url": ""}
    if is_dataclass(value) and not isinstance(value, type):
        defaults = {item.name: item.default for item in fields(value)}
        value = {key: set_value for key, set_value in asdict(value).items() if set_value != defaults[key]}
        value = {"memory": False, "url": ""} | value if section == "storage" else value
    return value
