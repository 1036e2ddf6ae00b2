"""Settings: defaults, environment (`LMM_*`), `config.toml`, arguments.

Reading them is skipped where there is nothing to read, since start-up is part
of the user's wait.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .markdown.files import project_root
from .scan.knit import DIV_TYPES, RAG_ONLY, KnitRules

if TYPE_CHECKING:
    from pydantic import ValidationError

CONFIG_NAME = "config.toml"
_SECTIONS = ("SPELLING", "KNIT")


class ConfigError(Exception):
    """A setting that is unknown or of the wrong type; the text names key and file."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the passes take from the configuration.

    spelling: of new blocks in a document without any, `div` or `native`;
    rules: what is left out of the notes."""

    spelling: str = "div"
    rules: KnitRules = field(default_factory=KnitRules)


def load_settings(path: Path | None) -> Settings:
    """The settings for a file (None: for the working folder). Raises ConfigError."""
    folder = project_root(path if path is not None else Path.cwd() / "-")
    file = folder / CONFIG_NAME
    if not file.is_file() and not any(map(_is_setting, os.environ)):
        return Settings()
    return _read_settings(file)


def _is_setting(variable: str) -> bool:
    name = variable.upper()
    return name.startswith("LMM_") and name.removeprefix("LMM_").split("__")[0] in _SECTIONS


def _read_settings(file: Path) -> Settings:
    from pydantic import ValidationError

    from .settings import FileSettings

    try:
        found = FileSettings.read(file)
    except ValidationError as error:
        raise ConfigError(_describe(error, file)) from None
    except (ValueError, OSError) as error:
        raise ConfigError(f"{file}: {error}") from None
    types = DIV_TYPES | {RAG_ONLY, *found.knit.div_types}
    return Settings(found.spelling, KnitRules(frozenset(types), frozenset(found.knit.keep)))


def _describe(error: ValidationError, file: Path) -> str:
    first: Any = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"{file}: unknown key `{key}`"
    return f"{file}: `{key}`: {first['msg']}"
