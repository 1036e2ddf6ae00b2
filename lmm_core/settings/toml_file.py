"""Reading of `config.toml`, within limits: a cloned folder may bring one from a stranger."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from pydantic_settings import BaseSettings, TomlConfigSettingsSource

from ..errors import ConfigError
from .reading import Reading, leaves, plain_tables
from .sections import EducationSections

# No real configuration comes near these limits, and one beyond them could take for ever to read.
MOST_BYTES = 1_000_000
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
