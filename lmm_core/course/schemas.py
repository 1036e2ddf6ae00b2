"""The JSON schema of `config.toml`, for completion and checks in editors."""

from __future__ import annotations

from typing import Any

from ..models.sources import known_sources

Schema = dict[str, Any]
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def config_schema() -> Schema:
    """Return the schema of `config.toml`: every key with its default and description."""
    from ..settings.config import ConfigSettings
    from ..settings.tables import SECTIONS, section_keys, table_class

    schema = ConfigSettings.model_json_schema()
    for name, info in SECTIONS.items():
        schema["properties"][name] = {**schema["properties"][name], "description": info.metadata["description"]}
        if "$ref" in schema["properties"][name]:
            del schema["properties"][name]["default"]
    for name in SECTIONS:
        if table := table_class(name):
            definition = schema["$defs"][table.__name__]
            keys = section_keys(name)  # without those for code alone
            definition |= {
                "properties": {key: definition["properties"][key] for key in keys},
                "additionalProperties": False,
            }
    source = schema["$defs"]["SourceOptions"]
    needed = source.pop("required")  # what a source that is known has already
    one = {"$ref": "#/$defs/SourceOptions"}
    schema["properties"]["sources"] |= {
        "properties": dict.fromkeys(known_sources(), one),
        "additionalProperties": {"allOf": [one], "required": needed},
    }
    return {"$schema": _DIALECT, **_without_titles(schema), "title": "config.toml of LM markdown",
            "additionalProperties": False}  # fmt: skip


def _without_titles(value: Any) -> Any:
    """Return a schema without pydantic's titles, which repeat the keys."""
    if isinstance(value, list):
        return [_without_titles(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_titles(one) for key, one in value.items() if not (key == "title" and isinstance(one, str))}
