"""Layer settings from code, `config.toml` and the environment (`LMM_RAG__QUESTIONS`, `LMM_MODEL_MAJOR`), by key.

`config.toml` is read within limits, as it may be untrusted."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
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
    info = section_keys(keys[0]).get(keys[-1])
    if info and isinstance(_default_of(info), tuple | dict) and text.startswith(("[", "{")):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(text)
    return text


def _hint(variable: str) -> str:
    if variable.startswith("LMM_SOURCES__") and _KEY_NAME.fullmatch(variable.rpartition("__")[2]):
        return "a key belongs in a variable of its own, and LMM_SOURCES__NAME__KEY_VARIABLE names that variable"
    variables = [*_VARIABLES, *_ROLE_VARIABLES]
    return f"did you mean {difflib.get_close_matches(variable, variables, 1, cutoff=0.0)[0]}?"


def _models(environment: dict[str, str], layers: Layers, source_names: set[str]) -> Iterator[tuple[Keys, str, str]]:
    """Yield each role's key, model name and variables.

    `LMM_SOURCE` is the source of major and minor, `LMM_MODEL` the major model. A model without source names a known one
    itself, or takes the source of the role above, so that no role uses another provider by chance; the major and the
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
    variables = (f"{PREFIX}{name}" for name in names)
    return next((name for name in variables if not is_default(environment.get(name, "default"))), "")


# Layers


class Given(NamedTuple):
    """A setting and its place: `argument`, `default`, the variables, or the file with its line."""

    value: Any
    place: str


@dataclass(slots=True)
class Layers:
    """The settings of one project by key, each from its highest layer, and their problems.

    file: `config.toml`, which may be missing"""

    file: Path
    settings: dict[Keys, Given] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, tables: Mapping[str, Any], place_of: Callable[[Keys], str]) -> None:
        """Add tables below the layers added before, and problems with unknown keys."""
        for keys, value in flatten(tables):
            if problem := _unknown_key(keys):
                self.problems.append(f"{place_of(keys)}: {problem}")
            else:
                self.settings.setdefault(keys, Given(value, place_of(keys)))

    def add_environment(self) -> None:
        """Add the settings in variables (case-insensitive, unset if empty), and problems with names."""
        environment = {name.upper(): text.strip() for name, text in os.environ.items() if is_setting(name)}
        environment = {name: text for name, text in sorted(environment.items()) if text}
        for variable, text in environment.items():
            if keys := _keys_of(variable):
                self.settings.setdefault(keys, Given(_parsed(text, keys), variable))
            elif variable not in _ROLE_VARIABLES:
                self.problems.append(f"{variable}: unknown variable ({_hint(variable)})")
        source_names = {*SOURCES, STAND_IN, FASTEMBED, SENTENCE_TRANSFORMERS, NONE, *self.source_names()}
        for keys, name, variables in _models(environment, self, source_names):
            if keys not in self.settings or self.settings[keys].place.startswith(PREFIX):
                self.settings[keys] = Given(name, variables)

    def add_sources(self) -> None:
        """Complete the tables `[sources.NAME]`, with the files that name servers, even if only a host or variable."""
        for name in self.source_names():
            for key in _INHERITED if name in SOURCES else ():
                self._add_own(("sources", name, key), getattr(known_sources()[name], key))
            address, variable = ("sources", name, "base_url"), ("sources", name, "key_variable")
            self._add_own(("sources", name, "name"), name)
            self._add_own(("sources", name, "file"), self.file_behind(address, variable))
            self._add_own(("sources", name, "server_file"), self.file_behind(address))
        if self.value("storage", "url"):
            self._add_own(("storage", "file"), self.file_behind(("storage", "url"), ("storage", "port")))

    def _add_own(self, keys: Keys, value: Any) -> None:
        self.settings.setdefault(keys, Given(value, "default"))

    def tables(self) -> dict[str, Any]:
        """Return the merged tables."""
        tables: dict[str, Any] = {}
        for *way, key in sorted(self.settings, key=len, reverse=True):  # a wrong value of a section replaces its keys
            table = tables
            for section in way:
                table = table.setdefault(section, {})
            table[key] = self.value(*way, key)
        return tables

    def value(self, *keys: str) -> Any:
        return self.settings[keys].value if keys in self.settings else None

    def source_names(self) -> list[str]:
        """Return the names of the tables `[sources.NAME]`."""
        return list(dict.fromkeys(keys[1] for keys in self.settings if keys[0] == "sources" and keys[2:]))

    def file_behind(self, *ways: Keys) -> str:
        """Return the file's absolute path if it sets any of these keys, else ""."""
        places = [self.settings[keys].place for keys in ways if keys in self.settings]
        is_set = any(place == str(self.file) or place.startswith(f"{self.file}:") for place in places)
        return str(self.file.absolute()) if is_set else ""

    def place(self, keys: Keys) -> str:
        """Return the place of a key or, as tables and missing keys have none, of the nearest one."""
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
    layers = Layers(file)
    from_code = {section: _table_from_code(section, table) for section, table in arguments.items()}
    layers.add(from_code, lambda keys: "argument")
    layers.add(tables, lambda keys: f"{file}:{_find_line(text, keys)}".removesuffix(":0"))
    layers.add_environment()
    layers.add_sources()
    return layers


def flatten(tables: Mapping[str, Any]) -> Iterator[tuple[Keys, Any]]:
    """Yield the values of tables by key, and sections that are no tables."""
    for section, table in tables.items():
        parts: dict[Keys, Any] = {(section,): table}
        if section == "sources" and isinstance(table, Mapping):
            parts = {(section, name.strip().lower()): source for name, source in table.items()}
        for way, part in parts.items():
            if section_keys(section) and isinstance(part, Mapping):
                yield from (((*way, key), value) for key, value in part.items())
            else:
                yield way, part


def _unknown_key(keys: Keys) -> str:
    known_keys, name = section_keys(keys[0]) if keys[1:] else SECTIONS, ".".join(keys)
    if keys[-1] in known_keys or (keys[0] == "sources" and len(keys) == 2):
        return ""
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
        given = [(item, getattr(value, item.name)) for item in fields(value)]
        changed = {item.name: set_value for item, set_value in given if set_value != _default_of(item)}
        value = changed if section != "storage" else {"memory": False, "url": ""} | changed
    if isinstance(value, Mapping):
        value = {key: str(item) if isinstance(item, PurePath) else item for key, item in value.items()}
    return value


def _default_of(item: Field[Any]) -> Any:
    return item.default if item.default_factory is MISSING else item.default_factory()


# The file


def _read_tables(file: Path) -> tuple[str, dict[str, Any]]:
    try:
        with file.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
        text = data.decode("utf-8-sig")
        if len(data) > _MOST_BYTES:
            raise ConfigError(f"{file}: is longer than {_MOST_BYTES:,} bytes, and no settings need that much")
        return text, tomllib.loads(text)
    except FileNotFoundError:
        return "", {}
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}:{line}: not UTF-8. Save the file as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        raise ConfigError(f"{file}{':' + at[1] if at else ''}: not TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{file}: not TOML: nested too deep") from None


def _find_line(text: str, keys: Keys) -> int:
    """Return a key's line, or else its table's; 0 if missing."""
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
