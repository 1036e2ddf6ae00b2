"""The configuration file and the environment, read and checked by pydantic."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource


class KnitSettings(BaseModel):
    """`[knit]`: more div classes that are RAG-only, and types that stay in."""

    model_config = ConfigDict(extra="forbid")

    div_types: list[str] = []
    keep: list[str] = []


class FileSettings(BaseSettings):
    """`config.toml`, over `LMM_…` variables (`LMM_SPELLING`, `LMM_KNIT__KEEP`), over
    the defaults."""

    model_config = SettingsConfigDict(env_prefix="LMM_", env_nested_delimiter="__", extra="forbid")

    spelling: Literal["div", "native"] = "div"
    knit: KnitSettings = KnitSettings()

    @classmethod
    def read(cls, file: Path) -> FileSettings:
        """The settings of one file. Raises pydantic's ValidationError, and ValueError
        where the file is no TOML."""

        class _Located(cls):  # type: ignore[valid-type,misc]
            model_config = SettingsConfigDict(toml_file=file if file.is_file() else None)

        return _Located()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The file goes before the environment (DESIGN: lowest to highest)."""
        return init_settings, TomlConfigSettingsSource(settings_cls), env_settings
