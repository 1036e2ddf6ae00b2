"""Merge project settings from code, `config.toml`, the environment and the defaults, in this order.

    config = ConfigSettings(RAG={"questions": True})

All problems are raised as one ConfigError, one a line.

A `config.toml` may come with an untrusted folder. So it cannot contain keys, read the environment, send keys to
servers that are not trusted (sources and storage record their file: see `models.addresses`) or put the index
outside the project.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from ..arguments import keys_of
from ..errors import ConfigError, FolderError, ModelError, OutputError
from ..files.marked import check_inside
from ..files.writing import create_file
from ..markdown.files import project_root
from ..models.names import is_default, leads_outside, parse_name
from ..models.sources import FASTEMBED, NONE, STAND_IN, ModelSource, known_sources
from .layers import MODEL_KEYS, Layers, flatten, read_layers
from .tables import CONFIG_NAME, PREFIX, SECTIONS, ConfigTables, Keys, section_keys, table_class

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.I)  # values of settings with such names are never printed


class ConfigSettings(BaseSettings, ConfigTables):  # type: ignore[misc]  # one frozen, the other not
    """The settings of a project, as in LM markdown and LM markdown for education.

    Each table is an argument: a dictionary, whose texts are converted ('5' to 5), or an object. `storage` can also be
    `":memory:"`, a LocalStorage or a RemoteSource. Missing keys come from the `config.toml` of the working folder's
    project (`_file` names another), then from the environment, then from the defaults. Raise ConfigError with all
    problems."""

    model_config = SettingsConfigDict(case_sensitive=True, validate_default=False)
    sources: dict[str, ModelSource] = {}

    def __init__(self, _file: Path | None = None, **values: Any) -> None:
        layers = read_layers(_file or project_root(Path.cwd() / "-") / CONFIG_NAME, values)
        try:
            super().__init__(**layers.tables())
        except ValidationError as error:
            layers.problems += [_describe(detail, layers) for detail in error.errors()]
        _check_models(layers)
        _check_sources(layers)
        _check_folder(layers)
        if layers.problems:
            raise ConfigError("\n".join(dict.fromkeys(layers.problems)))

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource, dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:  # fmt: skip
        """Return the arguments alone, into which `read_layers` has merged the other sources."""
        return (init_settings,)


def _describe(error: ErrorDetails, layers: Layers) -> str:
    keys = tuple(str(part) for part in error["loc"][: 3 if error["loc"][0] == "sources" else 2])
    place, name = layers.place(keys), ".".join(keys)
    if error["type"] == "missing":
        return f"{place}: `{name}` is required"
    if error["type"] == "dataclass_type":
        return f"{place}: `{name}`: should be a table, [{name}] and its keys"
    message = error["msg"].removeprefix("Value error, ").replace("Input should", "should")
    message = re.sub(r", unable to .*", "", message).replace("a valid boolean", "true or false")
    message = message.replace("a valid tuple", 'a list, like ["exercise", "topic"]').replace("dictionary", "table")
    is_shown = error["type"] != "value_error" and not isinstance(error["input"], dict)
    value = f", not {error['input']!r:.60}" if is_shown and not _SECRET.search(f"{place} {keys[-1]}") else ""
    return f"{place}: `{name}`: {message}{value}"


# Effective settings with origins


@dataclass(frozen=True, slots=True)
class SettingInForce:
    """A setting and its origin: `default`, `environment` and the variable, or the file and line.

    key: with its section (`ask.budget`)"""

    key: str
    value: Any
    origin: str


def explain(file: Path) -> list[SettingInForce]:
    """Return all settings in force for a `config.toml`, by section. Raise ConfigError."""
    layers, settings = read_layers(file, {}), ConfigSettings(file)
    return [SettingInForce(".".join(keys), value, _origin(layers, keys)) for keys, value in _values(settings)]


def _origin(layers: Layers, keys: Keys) -> str:
    place = layers.settings[keys].place if keys in layers.settings else "default"
    return f"environment {place}" if place.startswith(PREFIX) else place


def _values(settings: ConfigSettings) -> Iterator[tuple[Keys, Any]]:
    tables = {section: _plain(getattr(settings, section)) for section in SECTIONS}
    tables["sources"] = {name: _plain(source) for name, source in settings.sources.items()}
    return flatten(tables)


def _plain(table: Any) -> Any:
    if not is_dataclass(table):
        return table
    values = {name: getattr(table, name) for name in keys_of(type(table))}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


# Checks


def _check_models(layers: Layers) -> None:
    sources = known_sources({name: ModelSource(name, "") for name in layers.source_names()})
    for keys in MODEL_KEYS.values():
        name = layers.value(*keys)
        if isinstance(name, str) and not is_default(name):
            try:
                outside = leads_outside(parse_name(name, sources), layers.file.parent)
            except ModelError as error:
                layers.report(keys, str(error))
                continue
            if outside and layers.file_behind(keys):
                layers.report(
                    keys,
                    f"should be a folder inside {layers.file.parent.resolve()}. To use one elsewhere, name it in the "
                    "environment (LMM_MODEL_EMBEDDING) or in code",
                )


_RESERVED = (STAND_IN, FASTEMBED, NONE, "default")


def _check_sources(layers: Layers) -> None:
    for name in layers.source_names():
        if name in _RESERVED:
            layers.report(("sources", name), "this name has a meaning of its own. Choose another one")
        elif not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
            layers.report(("sources", name), "a source's name is made of letters, digits, `.`, `_` and `-`")


def _check_folder(layers: Layers) -> None:
    keys = ("storage", "folder")
    folder, root = layers.value(*keys), layers.file.parent.resolve()
    if not isinstance(folder, str) or not layers.file_behind(keys):
        return
    place = Path(os.path.normpath(root / folder))
    if place == root:
        layers.report(keys, "should be a folder of its own, such as .lmm/index, not the project's folder")
        return
    try:
        check_inside(root, place)
    except (FolderError, ValueError) as error:
        layers.report(
            keys,
            f"should lie inside {root}, without links on the way ({error}). To use a folder elsewhere, name it in the "
            "environment (LMM_STORAGE__FOLDER) or in code",
        )


# Default file


def default_text() -> str:
    """Return a `config.toml` with every key commented out at its default; removing one `#` changes one setting."""
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
    words = [f'"{word}"' for word in get_args(get_type_hints(table)[key]) if isinstance(word, str)]
    choices = "" if all(word in description for word in words) else f" ({', '.join(words)})"
    # TOML spells these values as JSON does
    return f"# {key} = {json.dumps(value, ensure_ascii=False)}   # {description}{choices}"


def _source_lines() -> list[str]:
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
