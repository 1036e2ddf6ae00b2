"""A `config.toml` to begin with: every key with its default, commented out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic.fields import FieldInfo

from ..errors import ConfigError
from ..files.create import create_file
from .names import CONFIG_NAME
from .sections import EducationSections, section_fields


def default_text() -> str:
    """Return the text of a `config.toml` in which every key is commented out, with its default.

    The headings of sections are not, so that taking away one `#` changes one setting."""
    top, sections = [], []
    for name, info in EducationSections.model_fields.items():
        fields = section_fields(name)
        if name == "sources":
            sections += ["", f"[{name}]   # {info.description}", *_source_lines(fields)]
        elif fields:
            sections += ["", f"[{name}]   # {info.description}", *(_line(key, fields[key]) for key in fields)]
        else:
            top.append(_line(name, info))
    head = "# Settings of this project. To change one, take away the `#` before its key."
    return "\n".join([head, "", *top, *sections]) + "\n"


def _line(key: str, info: FieldInfo) -> str:
    default = json.dumps(info.default, ensure_ascii=False)  # TOML spells these values as JSON does
    return f"# {key} = {default}   # {info.description}"


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
