"""JSON schemas by which editors complete and check `config.toml` and metadata blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..markdown.metadata.keys import MESSAGE_KEYS, SWITCHES, TEXTS
from ..markdown.metadata.lmm_options import BY_DOCUMENT
from ..models.sources import known_sources
from ..scan.check.header_keys import MODEL_KEYS

Schema = dict[str, Any]
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Schema = {"type": "string"}
_TEXT_OR_TEXTS: Schema = {"type": ["string", "array"], "items": _TEXT}
_ASKED = ("a question", "a message", "an edit to propose")  # what MESSAGE_KEYS ask for, by sign and by word
_TEXTS_ALONE: Schema = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}


def config_schema() -> Schema:
    """Return the schema of `config.toml`: every key, with its default and what it is for."""
    from ..settings.config import ConfigSettings
    from ..settings.tables import SECTIONS

    schema = ConfigSettings.model_json_schema()
    for name, info in SECTIONS.items():
        schema["properties"][name] = {**schema["properties"][name], "description": info.metadata["description"]}
        if "$ref" in schema["properties"][name]:
            del schema["properties"][name]["default"]
    source = schema["$defs"]["SourceOptions"]
    needed = source.pop("required")  # what a source that is known has already
    one = {"$ref": "#/$defs/SourceOptions"}
    schema["properties"]["sources"] |= {
        "properties": dict.fromkeys(known_sources(), one),
        "additionalProperties": {"allOf": [one], "required": needed},
    }
    storage = schema["properties"]["storage"]
    storage["anyOf"] = [{"$ref": storage.pop("$ref")}, {"const": ":memory:"}]
    return {"$schema": _DIALECT, **_without_titles(schema), "title": "config.toml of LM markdown",
            "additionalProperties": False}  # fmt: skip


def _without_titles(value: Any) -> Any:
    """Return a schema without the titles that pydantic makes of the keys, which say nothing more."""
    if isinstance(value, list):
        return [_without_titles(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_titles(one) for key, one in value.items() if not (key == "title" and isinstance(one, str))}


# Metadata blocks


def metadata_schema() -> Schema:
    """Return the schema of metadata blocks, the header included.

    A block may hold keys of the writer's own. So the schema refuses only values that cannot be right,
    and keys that are one slip away from ours and have a value that ours could have."""
    return {
        "$schema": _DIALECT,
        "title": "metadata block of LM markdown",
        "type": "object",
        "properties": _properties(),
        "patternProperties": {
            _slips(SWITCHES): {"not": {"type": "boolean"}},
            _slips(TEXTS): {"not": _TEXTS_ALONE},
        },
    }


def _properties() -> dict[str, Schema]:
    roles = {role: {"type": ["string", "array", "object"]} for role in MODEL_KEYS}
    model = {"type": "object", "properties": roles, "additionalProperties": False}
    return {
        "title": {**_TEXT, "description": "of the document, in the header"},
        "docid": {**_TEXT, "description": "the document's identity, in the header"},
        "lang": {**_TEXT, "description": "the language of the document, in the header: en, de, fr, es, it"},
        "model": {
            "description": "the models, in the header",
            "anyOf": [model, {"type": "array", "items": model}, _TEXT],
        },
        "lmm": {
            "type": "object",
            "description": "options, in the header",
            "propertyNames": {"enum": sorted(BY_DOCUMENT)},
        },
        "type": _TEXT_OR_TEXTS | {
            "description": "makes the part RAG-only: in the index, not in the notes",
            "examples": ["exercise", "topic", "definition"],
        },
        "knit": {"type": "boolean", "description": "true: always in the notes; false: never"},
        "skip": {"type": "boolean", "description": "true: neither indexed nor annotated"},
        "frozen": {"type": "boolean", "description": "true: nothing is made again, here and below"},
        "page": {"type": "integer", "description": "of the imported file: the page or slide from here on"},
        **dict(_owned("questions", "the questions that the part answers")),
        **dict(_owned("summary", "what the part says")),
        **dict(_owned("titles", "the path of titles")),
        **{key: {"description": what} for key, what in zip(MESSAGE_KEYS, _ASKED * 2, strict=True)},
        "~chat": {"description": "answers; written by lmm chat"},
    }  # fmt: skip


def _owned(key: str, what: str) -> Iterator[tuple[str, Schema]]:
    value = {"type": ["string", "array", "null"], "items": _TEXT}
    yield key, value | {"description": f"{what}; yours"}
    yield f"{key}=", value | {"description": f"{what}; yours, and none if empty"}
    yield f"~{key}", value | {"description": f"{what}; written by lmm, and kept where you correct it"}


# Keys that are nearly ours


def _slips(keys: Sequence[str]) -> str:
    """Return a pattern for the words that differ from a key by one slip or by letter case alone."""
    words = "|".join(dict.fromkeys(one for key in keys for one in (_letters(key), *_one_slip(key))))
    return f"^~{{0,2}}(?!~|(?:{'|'.join(keys)})=?$)(?:{words})=?$"


def _one_slip(key: str) -> Iterable[str]:
    """Yield patterns for a letter too many, another one, one too few, and two that have changed places."""
    for at in range(len(key) + 1):
        before, after = _letters(key[:at]), key[at:]
        yield f"{before}.{_letters(after)}"
        if after:
            yield f"{before}.?{_letters(after[1:])}"
        if len(after) > 1:
            yield f"{before}{_letters(after[1] + after[0])}{_letters(after[2:])}"


def _letters(word: str) -> str:
    return "".join(f"[{letter}{letter.upper()}]" for letter in word)
