"""Layer settings from code, `config.toml` and the environment (`LMM_RAG__QUESTIONS`, `LMM_MODEL_MAJOR`), by key.

`config.toml` is read within limits, as it may be untrusted."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from ..errors import ConfigError
from ..models.names import SENTENCE_TRANSFORMERS, is_default
from ..models.sources import FASTEMBED, NONE, SOURCES, STAND_IN, known_sources
from .tables import PREFIX, SECTIONS, Keys, is_setting, section_keys

MEMORY = ":memory:"  # an index in memory
_MOST_BYTES = 100_000  # of a file, far above real sizes
_KEY_NAME = re.compile(r"(.*[_-])?(api)?(key|token|secret|password)", re.I)  # a setting that would hold a key
_INHERITED = ("base_url", "key_variable", "chat_model", "embedding_model")  # by a table like [sources.openai]
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


def _keys_of(variable: str) -> Keys | None:
    source = re.fullmatch(r"LMM_SOURCES__(.+?)__(\w+)", variable)
    if source and source[2].lower() in section_keys("sources"):
        return ("sources", source[1].lower(), source[2].lower())
    return _VARIABLES.get(variable)


def _parsed(text: str, keys: Keys) -> Any:
    """Parse a list or a table from JSON; return other text unchanged."""
    is_text = keys[1:] and section_keys(keys[0])[keys[-1]].type == "str"
    if not is_text and text.startswith(("[", "{")):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(text)
            return tuple(value) if isinstance(value, list) else value
    return text


def _hint(variable: str) -> str:
    if variable.startswith("LMM_SOURCES__") and _KEY_NAME.fullmatch(variable.rpartition("__")[2]):
        return "a key belongs in a variable of its own, and LMM_SOURCES__NAME__KEY_VARIABLE names that variable"
    variables = [*_VARIABLES, *_ROLE_VARIABLES]
    return f"did you mean {difflib.get_close_matches(variable, variables, 1, cutoff=0.0)[0]}?"


def _models(environment: dict[str, str], layers: Layers, source_names: set[str]) -> Iterator[tuple[Keys, str, str]]:
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
        above = str(layers.value(*keys) or name or above).partition("/")[0].strip().lower()


def _first_set(environment: dict[str, str], *names: str) -> str:
    """Return the first variable that is set and not `default`, or ""."""
    variables = (f"{PREFIX}{name}" for name in names)
    return next((name for name in variables if not is_default(environment.get(name, "default"))), "")


# Layers


class Given(NamedTuple):
    """A setting and its place: `argument`, `default`, the variables, or the file with its line."""

    value: Any
    place: str
    is_of_file: bool = False


@dataclass(slots=True)
class Layers:
    """The settings of one project by key, each from its highest layer, and their problems.

    file: `config.toml`, which may be missing"""

    file: Path
    settings: dict[Keys, Given] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add_tables(self, tables: Mapping[str, Any], place_of: Callable[[Keys], str], is_of_file: bool = False) -> None:
        """Add tables, and problems other than wrong types. place_of: returns a key's place."""
        for section, table in tables.items():
            if section not in SECTIONS:
                self.problems.append(f"{place_of((section,))}: {_describe_unknown((section,), SECTIONS)}")
                continue
            parts: dict[Keys, Any] = {(section,): table}
            if section == "sources" and isinstance(table, Mapping):
                parts = {(section, name.strip().lower()): part for name, part in table.items()}
            for way, part in parts.items():
                self._add_table(way, part, place_of, is_of_file)

    def _add_table(self, way: Keys, table: Any, place_of: Callable[[Keys], str], is_of_file: bool) -> None:
        name, known_keys = ".".join(way), section_keys(way[0])
        if not known_keys:
            self.add(way, Given(table, place_of(way), is_of_file))
        elif not isinstance(table, Mapping):
            self.problems.append(f"{place_of(way)}: `{name}`: should be a table, [{name}] and its keys")
        else:
            for key, value in table.items():
                keys = (*way, key)
                if key not in known_keys:
                    self.problems.append(f"{place_of(keys)}: {_describe_unknown(keys, known_keys)}")
                    continue
                value = str(value) if isinstance(value, PurePath) else value
                value = tuple(value) if isinstance(value, list) else value
                self.add(keys, Given(value, place_of(keys), is_of_file))

    def add(self, keys: Keys, given: Given) -> None:
        """Add a checked setting, unless a higher layer has it."""
        if keys in self.settings:
            return
        self.settings[keys] = given
        check = section_keys(keys[0])[keys[-1]].metadata.get("check") if keys[1:] else None
        for text in given.value if isinstance(given.value, tuple) else (given.value,):
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
        is_set = any(keys in self.settings and self.settings[keys].is_of_file for keys in ways)
        return str(self.file.absolute()) if is_set else ""

    def place(self, keys: Keys) -> str:
        """Return the place of a key, or of the nearest one given, because tables and missing keys have none."""
        for end in range(len(keys), 0, -1):
            for setting_keys, setting in self.settings.items():
                if setting_keys[:end] == keys[:end]:
                    return setting.place
        return str(self.file)

    def report(self, keys: Keys, message: str) -> None:
        """Add a problem with a key, with its place."""
        self.problems.append(f"{self.place(keys)}: `{'.'.join(keys)}`: {message}")


def read_layers(file: Path, arguments: Mapping[str, Any]) -> Layers:
    """Return a project's settings. file: its `config.toml`, which may be missing. Raise ConfigError."""
    text, tables = _read_tables(file)

    def place_in_file(keys: Keys) -> str:
        line = _find_line(text, keys)
        return f"{file}:{line}" if line else str(file)

    layers = Layers(file)
    from_code = {section: _table_from_code(section, table) for section, table in arguments.items()}
    layers.add_tables(from_code, lambda keys: "argument")
    layers.add_tables(tables, place_in_file, is_of_file=True)
    _add_environment(layers)
    for name in filter(SOURCES.__contains__, layers.source_names()):
        for key in _INHERITED:
            layers.settings.setdefault(("sources", name, key), Given(getattr(known_sources()[name], key), "default"))
    return layers


def _add_environment(layers: Layers) -> None:
    """Add the settings in variables, which are case-insensitive and unset if empty, and problems with names."""
    environment = {name.upper(): text.strip() for name, text in os.environ.items() if is_setting(name) and text.strip()}
    for variable, text in sorted(environment.items()):
        keys = _keys_of(variable)
        if keys:
            layers.add(keys, Given(_parsed(text, keys), variable))
        elif variable not in _ROLE_VARIABLES:
            layers.problems.append(f"{variable}: unknown variable ({_hint(variable)})")
    source_names = {*SOURCES, STAND_IN, FASTEMBED, SENTENCE_TRANSFORMERS, NONE, *layers.source_names()}
    for keys, name, variables in _models(environment, layers, source_names):
        if keys not in layers.settings or layers.settings[keys].place.startswith(PREFIX):
            layers.settings[keys] = Given(name, variables)


def _describe_unknown(keys: Keys, known_keys: Collection[str]) -> str:
    name = ".".join(keys)
    if _KEY_NAME.fullmatch(keys[-1]):
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


# The file


def _read_tables(file: Path) -> tuple[str, dict[str, Any]]:
    """Return a file's text and tables, empty if missing. Raise ConfigError, with file and line."""
    try:
        text = _decode(file, _read(file))
    except FileNotFoundError:
        return "", {}
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror or error}") from None
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ConfigError(f"{file}{':' + line[1] if line else ''}: not TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{file}: not TOML: nested too deep") from None


def _find_line(text: str, keys: Keys) -> int:
    """Return the line (from 1) of a key, or else of its table; 0 if missing."""
    table: list[str] = []
    line_of_table = 0
    for number, line in enumerate(text.splitlines(), 1):
        name = re.match(r"\s*(?:\[([^\[\]\n]{1,100})\]|[\"']?([\w-]{1,100})[\"']?\s*[.=])", line)
        if name and name[1]:
            table = [part.strip(" \"'") for part in name[1].split(".")]
            line_of_table = number if table == list(keys[: len(table)]) else line_of_table
        elif name and [*table, name[2]] == list(keys):
            return number
    return line_of_table


def _read(file: Path) -> bytes:
    with file.open("rb") as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ConfigError(f"{file}: is longer than {_MOST_BYTES:,} bytes, and no settings need that much")
    return data


def _decode(file: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}:{line}: not UTF-8. Save the file as UTF-8") from None
