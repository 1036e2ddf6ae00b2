"""`config.toml`: read within limits, since a cloned folder may bring one, and written with its defaults."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, TomlConfigSettingsSource

from ..errors import ConfigError
from ..files.create import create_file
from .names import CONFIG_NAME, MOST_BYTES
from .reading import Reading, leaves, plain_tables
from .sections import EducationSections, section_fields

# No real configuration comes near these limits, and one beyond them could take for ever to read.
MOST_SETTINGS = 1_000
DEEPEST = 20  # tables in tables
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_DEEP_NAME = re.compile(rf"(?<![\w-])(?:{_PART}\.[ \t]*+){{{DEEPEST}}}")


class ConfigFile(TomlConfigSettingsSource):
    """The tables of one `config.toml`; empty if the file does not exist.

    The source of pydantic-settings finds the file; reading it is ours, because that source sets no
    limits and its errors do not name the file. Raises ConfigError if the file cannot be read."""

    def __init__(self, settings_cls: type[BaseSettings], reading: Reading) -> None:
        self._path = reading.file
        try:
            # Absolute, since the source takes a `~` at the start of a path for the home folder.
            super().__init__(settings_cls, reading.file.absolute())
        except OSError as error:
            raise ConfigError(f"{reading.file}: cannot be read: {error.strerror or error}") from None
        # `Settings` has the sections of LM markdown; the file's others are for `ConfigSettings`.
        others = EducationSections.model_fields.keys() - settings_cls.model_fields.keys()
        tables = plain_tables(self.init_kwargs)
        self.init_kwargs = {key: value for key, value in tables.items() if key not in others}
        reading.add(self.init_kwargs, "file", lambda keys: str(reading.file))

    def _read_file(self, file_path: Any) -> dict[str, Any]:
        return read_tables(self._path)


def read_tables(file: Path) -> dict[str, Any]:
    """Return the tables of a file. Raise ConfigError, which names the file and the line."""
    text = _decode(file, _read(file))
    try:
        # Found in the text: the parser would take minutes for such a name.
        is_deep = _DEEP_NAME.search(text) is not None
        tables = {} if is_deep else tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ConfigError(f"{file}{':' + line[1] if line else ''}: not TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{file}: not TOML: nested too deep") from None
    if is_deep or _is_deep(tables):
        raise ConfigError(f"{file}: tables are nested {DEEPEST} deep or deeper, and no setting lies so deep")
    if (count := sum(1 for _ in leaves(tables))) > MOST_SETTINGS:
        raise ConfigError(f"{file}: has {count:,} settings; it may have {MOST_SETTINGS:,} at most")
    return tables


def _read(file: Path) -> bytes:
    with file.open("rb") as stream:
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ConfigError(f"{file}: is longer than {MOST_BYTES:,} bytes, and no settings need that much")
    return data


def _decode(file: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}:{line}: not UTF-8. Save the file as UTF-8") from None


def _is_deep(table: dict[str, Any]) -> bool:
    """Return True if tables are nested too deep for functions that call themselves."""
    level = [table]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in outer.values() if isinstance(inner, dict)]
    return bool(level)


# A file to begin with


def default_text() -> str:
    """Return the text of a `config.toml` in which every key is commented out, with its default.

    The headings of sections are not, so that taking away one `#` changes one setting."""
    top, sections = [], []
    for name, info in EducationSections.model_fields.items():
        fields = section_fields(name)
        if name == "sources":
            sections += ["", f"[{name}]   # {info.description}", *_source_lines(fields)]
        elif fields:
            sections += ["", f"[{name}]   # {info.description}", *(toml_line(key, fields[key]) for key in fields)]
        else:
            top.append(toml_line(name, info))
    head = "# Settings of this project. To change one, take away the `#` before its key."
    return "\n".join([head, "", *top, *sections]) + "\n"


def toml_line(key: str, info: FieldInfo, value: Any = None) -> str:
    """Return a key, commented out, with a value (by default the key's default) and what it is for."""
    shown = info.default if value is None and not info.is_required() else value
    default = json.dumps(shown, ensure_ascii=False)  # TOML spells these values as JSON does
    return f"# {key} = {default}   # {info.description}{_choices(info)}"


def _choices(info: FieldInfo) -> str:
    """Return the values that a key may have, if its description does not name them all."""
    words = [f'"{word}"' for word in get_args(info.annotation)] if get_origin(info.annotation) is Literal else []
    return "" if all(word in (info.description or "") for word in words) else f" ({', '.join(words)})"


def _source_lines(fields: Mapping[str, FieldInfo]) -> list[str]:
    """Return comments on the keys of a source. They are no settings: a source has no defaults."""
    names = [f"#   {key}: {info.description}" for key, info in fields.items()]
    return ["# A server that speaks the OpenAI protocol is a table [sources.NAME]. Its keys:", *names]


def write_default(folder: Path) -> Path:
    """Write that file into a folder and return its path. Raise ConfigError if there is one
    already, and OSError."""
    file = folder / CONFIG_NAME
    try:
        create_file(file, default_text().encode("utf-8"))
    except FileExistsError:
        raise ConfigError(f"{file}: exists already, and is not overwritten") from None
    return file
