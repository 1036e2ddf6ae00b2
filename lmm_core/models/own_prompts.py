"""Prompts in a person's own words, in place of ours: a file for each, in which `{titles}` and the other fields of that
prompt are filled in, and all other braces are text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import PromptError
from .prompts import (
    ANNOTATIONS,
    ANSWER,
    CHAT,
    EDIT,
    LLMD,
    QUERIES,
    RERANK,
    WANTED,
    Prompt,
    fields_in,
)
from .roles import PURPOSES

MOST_BYTES = 50_000  # of a file
# Fields that a text may do without; it has to hold all others that ours holds.
OPTIONAL = frozenset({"titles", "language", "most"})
_PROMPTS = {
    "chat": CHAT, "edit": EDIT, "queries": QUERIES, "rerank": RERANK, "answer": ANSWER, "llmd": LLMD,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownPrompt:
    """A prompt that may be said otherwise.

    purpose: what for; text: ours, with fields in braces; fields: those that an own text may hold, with
    what each stands for; needed: those that it has to hold."""

    name: str
    purpose: str
    text: str
    fields: Mapping[str, str]

    @property
    def needed(self) -> list[str]:
        """The fields without which the prompt would not do its work."""
        return [field for field in fields_in(self.text) if field not in OPTIONAL]


def _known() -> dict[str, KnownPrompt]:
    prompts = dict.fromkeys(("questions", "summary", "annotations"), ANNOTATIONS) | _PROMPTS
    texts = {name: WANTED.get(name, prompt.system) for name, prompt in prompts.items()}
    return {
        name: KnownPrompt(name, purpose, texts[name], _fields(prompts[name], "" if name in WANTED else texts[name]))
        for name, purpose in PURPOSES.items()
    }


def _fields(prompt: Prompt, text: str) -> dict[str, str]:
    """Return the fields that a text may hold: those of ours, and the short ones of the request."""
    held = {*fields_in(text), *OPTIONAL}
    return {name: what for name, what in prompt.receives.items() if name in held}


KNOWN = _known()


def read_prompt(name: str, path: Path) -> str:
    """Return the own text of a prompt as a template of `str.format`, "" if it says the same as ours. Raise PromptError,
    which begins with the file."""
    known = KNOWN[name]
    try:
        data = path.read_bytes() if path.is_file() else b""
        text = data.decode("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{path}: cannot be read: {error}") from None
    if not text or len(data) > MOST_BYTES:
        raise PromptError(f"{path}: should be a text file of at most {MOST_BYTES:,} bytes")
    template = re.sub(rf"(\{{(?:{'|'.join(known.fields)})\}})|[{{}}]", lambda found: found[1] or 2 * found[0], text)
    if missing := [field for field in known.needed if field not in fields_in(template)]:
        fields = "; ".join(f"{{{field}}}: {known.fields[field]}" for field in missing)
        raise PromptError(f"{path}: these fields are missing: {fields}")
    return "" if text.split() == known.text.split() else template


def as_written(template: str) -> str:
    """Return a template as a file with it says it."""
    return template.replace("{{", "{").replace("}}", "}")


def own_prompt(name: str, own: Mapping[str, str]) -> Prompt:
    """Return the prompt of a name, with the own text (a template) in place of ours if there is one."""
    prompt = _PROMPTS[name]
    return replace(prompt, system=own[name]) if name in own else prompt
