"""All requests to models, made of the texts in `prompts.toml`.

Fields are filled in with `str.format_map`. The writer's text comes last and in tags, to be read as data.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import Any

from ..arguments import keys_of
from ..errors import PromptError
from .chat import REPLY_TOKENS, ChatMessage, Request
from .languages.stemming import language_code, language_name
from .names import PromptFiles
from .sources import ANNOTATION_TOKENS

NOTHING_OWN: Mapping[str, str] = MappingProxyType({})  # no custom prompts


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt.

    system: what to do; template: what is shown; both with fields in braces
    schema: JSON schema of the answer, or None
    max_tokens: of the answer"""

    system: str
    template: str
    schema: Mapping[str, Any] | None = field(default=None)
    max_tokens: int = REPLY_TOKENS

    def request(self, values: Mapping[str, str], instead: str = "", chat: Sequence[ChatMessage] = ()) -> Request:
        """Return the request with fields filled in, followed by `chat`."""
        first = (
            ChatMessage("system", self.system.format_map(values)),
            ChatMessage("user", self.template.format_map(values)),
        )
        return Request((*first, *chat), self.schema, instead, max_tokens=self.max_tokens)


def fields_in(template: str) -> list[str]:
    """Return the distinct fields of a template."""
    return list(dict.fromkeys(name for _, name, _, _ in Formatter().parse(template) if name is not None))


def instructions() -> list[str]:
    """Return our instructions to models, without the fields."""
    prompts = [value for value in globals().values() if isinstance(value, Prompt)]
    systems = [prompt.system for prompt in (*prompts, annotate_prompt(("questions", "summary")))]
    texts = [*systems, SYSTEM, RULES, USE_TOOLS, TEACHER]
    return [re.sub(r"\{\w+\}", "\n", text) for text in texts]


def language_of(code: str) -> str:
    """Return a language for a prompt: `German (de-AT)`, or "the language of the text"."""
    if not code.strip():
        return "the language of the text"
    normalized = language_code(code)
    name = language_name(normalized)
    return f"{name} ({code})" if name != normalized else f"the language {code!r}"


_TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8"))


def _prompt(name: str, schema: Mapping[str, Any] | None = None, max_tokens: int = REPLY_TOKENS) -> Prompt:
    return Prompt(_TEXTS[name]["system"], _TEXTS[name]["template"], schema, max_tokens)


def _object_schema(**properties: Any) -> dict[str, Any]:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


SYSTEM: str = _TEXTS["system"]
CHAT, EDIT, ANSWER = map(_prompt, ("chat", "edit", "answer"))
LLMD = _prompt("llmd", max_tokens=16_000)  # it may write whole files
RULES, TEACHER, OF_TYPE, USE_TOOLS = (_TEXTS["answer"][name] for name in ("rules", "teacher", "of_type", "tools"))
ANNOTATIONS = _prompt("annotations", max_tokens=ANNOTATION_TOKENS)
WANTED: dict[str, str] = {name: _TEXTS["annotations"][name] for name in ("questions", "summary")}
ANNOTATE_AGAIN: str = _TEXTS["annotations"]["again"]
_QUESTIONS = {
    "type": "array",
    "items": {"type": "string"},
    "description": "at most five questions that the text answers",
}
_SUMMARY = {"type": "string", "description": "a summary of the text"}


def annotate_prompt(keys: tuple[str, ...], own: Mapping[str, str] = NOTHING_OWN) -> Prompt:
    """Return the prompt for questions, a summary, or both. own: custom templates by name."""
    parts = [key for key in ("questions", "summary") if key in keys]
    properties = {"questions": _QUESTIONS, "summary": _SUMMARY}
    lines = "\n".join(f"- `{key}`: {own.get(key) or WANTED[key]}" for key in parts)
    return replace(
        ANNOTATIONS,
        system=ANNOTATIONS.system.replace("{wanted}", lines),
        schema=_object_schema(**{key: properties[key] for key in parts}),
    )


QUERIES = _prompt("queries", _object_schema(queries={"type": "array", "items": {"type": "string"}}), max_tokens=400)

_GRADE = _object_schema(number={"type": "integer"}, grade={"type": "integer"})
RERANK = _prompt("rerank", _object_schema(grades={"type": "array", "items": _GRADE}))


# Texts of writers, between tags

# Tags of our prompts; no others are escaped
_TAGS = "source|notes|outline|passage|question|earlier|text|around|asked|teacher"
_TAG_START = re.compile(rf"<(?=\\*\s*/?\s*(?:{_TAGS})\b)", re.I)


def as_data(text: str) -> str:
    """Escape our tags in a text (`<\\/source>`), so that it cannot end its own."""
    return _TAG_START.sub(r"<\\", text)


def teacher_text(*wishes: str) -> str:
    """Return the teacher's distinct wishes for a request; "" without any."""
    distinct = dict.fromkeys(filter(None, map(str.strip, wishes)))
    return TEACHER.format(said=enclose("teacher", "\n\n".join(distinct))) if distinct else ""


def enclose(tag: str, text: str, number: int = 0) -> str:
    """Return a text as data between tags. number: in the opening tag, 0 for none."""
    attribute = f' n="{number}"' if number else ""
    return f"<{tag}{attribute}>\n{as_data(text)}\n</{tag}>"


# Custom prompts, one file each. Fields such as `{titles}` are filled in; all other braces are text.


MOST_BYTES = 50_000  # of a file
# Optional fields; all other fields of ours are required
OPTIONAL = frozenset({"titles", "language"})
_PROMPTS = {"chat": CHAT, "edit": EDIT, "answer": ANSWER}
_FIELDS = {
    "system": "the writer's own system message, or ours",
    "language": "in which language to write",
    "titles": "where the text stands: the titles path, document first",
    "rules": "our rules on sources and refusal",
    "teacher": "how the teacher wants answers to sound, or nothing",
    "type": "what a type of material that was asked for means, or nothing",
    "tools": "what the tools are for, or nothing",
}


@dataclass(frozen=True, slots=True)
class KnownPrompt:
    """A replaceable prompt, with its required fields `needed`, and the meaning of all allowed `fields`."""

    name: str
    purpose: str
    text: str
    fields: Mapping[str, str]

    @property
    def needed(self) -> list[str]:
        return [field for field in fields_in(self.text) if field not in OPTIONAL]


def _known_prompt(name: str) -> KnownPrompt:
    prompt = _PROMPTS.get(name, ANNOTATIONS)
    text = WANTED.get(name, prompt.system)
    names = {*fields_in(text), *OPTIONAL.intersection(fields_in(prompt.system + prompt.template))}
    fields = {field: meaning for field, meaning in _FIELDS.items() if field in names}
    return KnownPrompt(name, keys_of(PromptFiles)[name].metadata["description"], text, fields)


KNOWN = {name: _known_prompt(name) for name in keys_of(PromptFiles)}


def read_prompt(name: str, path: Path) -> str:
    """Return a file's prompt as a `str.format` template, "" if equal to ours. Raise PromptError, with the file."""
    prompt = KNOWN[name]
    try:
        data = path.read_bytes() if path.is_file() else b""
        text = data.decode("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{path}: cannot be read: {error}") from None
    if not text or len(data) > MOST_BYTES:
        raise PromptError(f"{path}: should be a text file of at most {MOST_BYTES:,} bytes")
    template = re.sub(rf"(\{{(?:{'|'.join(prompt.fields)})\}})|[{{}}]", lambda match: match[1] or 2 * match[0], text)
    if missing := [field for field in prompt.needed if field not in fields_in(template)]:
        fields = "; ".join(f"{{{field}}}: {prompt.fields[field]}" for field in missing)
        raise PromptError(f"{path}: these fields are missing: {fields}")
    return "" if text.split() == prompt.text.split() else template


def as_written(template: str) -> str:
    """Return a template as its file has it."""
    return template.replace("{{", "{").replace("}}", "}")


def own_prompt(name: str, own: Mapping[str, str]) -> Prompt:
    """Return a prompt, with the writer's template if there is one."""
    prompt = _PROMPTS[name]
    return replace(prompt, system=own[name]) if name in own else prompt
