"""The settings of a project, read from code, `config.toml`, the environment and the defaults.

    config = ConfigSettings(RAG={"questions": True})

takes everything else from `config.toml`, then from the environment, then from the defaults.
All problems are raised together as one ConfigError, one a line.

A `config.toml` may come with a folder from somebody else. So it holds no keys, takes nothing from
the environment, sends no key to a server that the person has not allowed (sources and storage
know the file that names their server: see `models.trust`), and cannot lead the index out of
the project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from ..errors import ConfigError, TrustError
from ..markdown.files import project_root
from ..models.sources import SOURCES, known_sources
from ..models.trust import trusted_pairs
from .checks import check_settings, describe
from .environment import read_environment
from .names import CONFIG_NAME
from .reading import Given, Keys, Reading, plain_tables
from .tables import TABLE, ConfigTables, MarkdownTables, SourceOptions, keys_of
from .toml_file import read_tables

# The settings


class Settings(BaseSettings, MarkdownTables):
    """The settings of LM markdown.

    Arguments go over the `config.toml` of the working folder's project (`_file` names another
    one), which goes over the environment, which goes over the defaults. Tables are merged key by
    key. Raises ConfigError."""

    # Keys are compared exactly: `[rag]` is not `[RAG]`. Names of variables are not, see `read_environment`.
    model_config = SettingsConfigDict(extra="forbid", case_sensitive=True, validate_default=False)
    sources: dict[str, Annotated[SourceOptions, TABLE]] = {}

    def __init__(self, _file: Path | None = None, _reading: Reading | None = None, **given: Any) -> None:
        reading = _reading or Reading(_file or project_root(Path.cwd() / "-") / CONFIG_NAME, given)
        errors: list[str] = []
        try:
            # The hook below is given nothing but the arguments, so the record travels as one.
            super().__init__(_reading=reading)
        except ValidationError as error:
            errors = [describe(detail, reading, type(self).model_fields) for detail in error.errors()]
        except RecursionError:
            raise ConfigError(f"{reading.file}: tables are nested too deep") from None
        check_settings(reading)
        if problems := reading.problems + errors:
            raise ConfigError("\n".join(dict.fromkeys(problems)))
        self._note_files(reading)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the layers of settings, the highest first. Raise ConfigError if the file cannot be read."""
        assert isinstance(init_settings, InitSettingsSource)
        reading: Reading = init_settings.init_kwargs["_reading"]
        arguments = plain_tables(reading.arguments)
        reading.add(arguments, "argument", lambda keys: "argument")
        # `Settings` has the tables of LM markdown; the file's others are for `ConfigSettings`.
        others = keys_of(ConfigTables).keys() - settings_cls.model_fields.keys()
        tables = plain_tables(read_tables(reading.file))
        tables = {name: table for name, table in tables.items() if name not in others}
        reading.add(tables, "file", lambda keys: str(reading.file))
        environment = read_environment(reading, settings_cls.model_fields)
        layers = (arguments, tables, environment, _own_sources(reading))
        return tuple(InitSettingsSource(settings_cls, layer) for layer in layers)

    def _note_files(self, reading: Reading) -> None:
        """Note for each source whether the file has a say in its server, even if it names only
        the host or only the variable."""
        for name, source in self.sources.items():
            file = reading.file_behind(("sources", name, "base_url"), ("sources", name, "key_variable"))
            server_file = reading.file_behind(("sources", name, "base_url"))
            self.sources[name] = replace(source, file=file, server_file=server_file)


class ConfigSettings(Settings, ConfigTables):
    """The settings of LM markdown and of LM markdown for education, from one file.

    The tables are arguments: as a dictionary, whose values are converted ('5' to 5), or as an object, and
    `storage` as `":memory:"`, LocalStorage or RemoteSource, too. Keys that are not given come from
    the `config.toml` of the working folder's project, then from the environment, then from the
    defaults. Raises ConfigError, which lists all problems."""

    def _note_files(self, reading: Reading) -> None:
        super()._note_files(reading)
        if self.storage.url:
            self.storage = replace(self.storage, file=reading.file_behind(("storage", "url"), ("storage", "port")))


def _own_sources(reading: Reading) -> dict[str, Any]:
    """Return the lowest layer: the keys that a table like `[sources.openai]` inherits from our own source.

    The name of the key's variable is one of them, and it is then checked like any other. The server is
    the one in `OPENAI_BASE_URL` for OpenAI's."""
    own = known_sources()
    keys = ("base_url", "key_variable", "chat_model", "embedding_model")
    names = [name for name in reading.source_names() if name in SOURCES]
    tables = {name: {key: getattr(own[name], key) for key in keys} for name in names}
    return {"sources": tables} if tables else {}


def read_settings(file: Path) -> ConfigSettings:
    """Return the settings of one `config.toml`, which may be missing. Raise ConfigError."""
    return _settings_of(Reading(file))


def _settings_of(reading: Reading) -> ConfigSettings:
    return ConfigSettings(_reading=reading)  # type: ignore[call-arg]  # mypy takes fields for the only arguments


# An account of the settings in force: each with its value and where that comes from


@dataclass(frozen=True, slots=True)
class SettingInForce:
    """A setting and its origin: `default`, `environment` with the variable's name, or the file's path."""

    key: str
    value: Any
    origin: str


def explain(file: Path) -> list[SettingInForce]:
    """Return the settings in force for a `config.toml`, in the order of their sections, then the keys that the person
    lets go to hosts. Raise ConfigError, also if the record of those cannot be read."""
    reading = Reading(file)
    settings = _settings_of(reading)
    values = [SettingInForce(".".join(keys), value, _origin(reading.origin(keys))) for keys, value in _values(settings)]
    return values + _trusted(reading.file.parent if reading.file.is_file() else None)


def _trusted(root: Path | None) -> list[SettingInForce]:
    try:
        pairs = trusted_pairs(root)
    except TrustError as error:
        raise ConfigError(str(error)) from None
    return [SettingInForce(f"trust.{pair.host}", pair.variable, pairs[pair]) for pair in sorted(pairs)]


def _origin(one: Given | None) -> str:
    if one is None:
        return "default"
    return f"environment {one.place}" if one.layer == "environment" else one.place


def _values(settings: ConfigSettings) -> Iterator[tuple[Keys, Any]]:
    for name in keys_of(ConfigTables):
        table = getattr(settings, name)
        tables = {(name, key): one for key, one in table.items()} if name == "sources" else {(name,): table}
        for keys, one in tables.items():
            yield from _table_values(one, keys)


def _table_values(table: Any, keys: Keys) -> Iterator[tuple[Keys, Any]]:
    names = keys_of(type(table)) if hasattr(table, "__dataclass_fields__") else {}
    if not names:
        yield keys, table
    for name in names:
        value = getattr(table, name)
        if isinstance(value, Mapping) and value:
            yield from (((*keys, name, inner), one) for inner, one in value.items())
        else:
            yield (*keys, name), list(value) if isinstance(value, tuple) else value
