"""Read `config.toml` within limits, as it may be untrusted, and write one with the defaults."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from ..errors import ConfigError, OutputError
from ..files.writing import create_file
from .names import CONFIG_NAME, MOST_BYTES
from .tables import SECTIONS, ConfigTables, Keys, keys_of, section_keys, table_class, words_of


def read_tables(file: Path) -> tuple[str, dict[str, Any]]:
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


def find_line(text: str, keys: Keys) -> int:
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


# Default file


def default_text() -> str:
    """Return a `config.toml` with every key commented out at its default.

    Section headings are active, so that removing one `#` changes one setting."""
    lines = ["# Settings of this project. To change one, take away the `#` before its key.", ""]
    for name, info in SECTIONS.items():
        table = table_class(name)
        if table is None:
            lines.append(toml_line(ConfigTables, name))
            continue
        lines += ["", f"[{name}]   # {info.metadata['description']}"]
        lines += _source_lines() if name == "sources" else [toml_line(table, key) for key in keys_of(table)]
    return "\n".join(lines) + "\n"


def toml_line(table: type, key: str, value: Any = MISSING) -> str:
    """Return a commented-out key with a value (by default its default) and its description."""
    info = keys_of(table)[key]
    if value is MISSING:
        value = info.default if info.default is not MISSING else {} if info.default_factory is not MISSING else ""
    description = info.metadata["description"]
    words = [f'"{word}"' for word in words_of(table, key)]
    choices = "" if all(word in description for word in words) else f" ({', '.join(words)})"
    # TOML spells these values as JSON does
    return f"# {key} = {json.dumps(value, ensure_ascii=False)}   # {description}{choices}"


def _source_lines() -> list[str]:
    """Return comments on the keys of a source, which has no defaults."""
    names = [f"#   {key}: {info.metadata['description']}" for key, info in section_keys("sources").items()]
    return ["# A server that speaks the OpenAI protocol is a table [sources.NAME]. Its keys:", *names]


def write_default(folder: Path) -> Path:
    """Write the default file into a folder and return its path. Raise OutputError if it exists, and OSError."""
    file = folder / CONFIG_NAME
    try:
        create_file(file, default_text().encode("utf-8"))
    except FileExistsError:
        raise OutputError(f"{file}: already exists, and is not overwritten") from None
    return file
