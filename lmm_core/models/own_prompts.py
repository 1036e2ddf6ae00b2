"""Read custom prompts, one file each.

Fields such as `{titles}` are filled in; all other braces are text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import PromptError
from .names import PURPOSES
from .prompts import ANNOTATIONS, ANSWER, CHAT, EDIT, WANTED, Prompt, fields_in

MOST_BYTES = 50_000  # of a file
# Optional fields; all other fields of ours are required
OPTIONAL = frozenset({"titles", "language"})
_PROMPTS = {"chat": CHAT, "edit": EDIT, "answer": ANSWER}


@dataclass(frozen=True, slots=True)
class KnownPrompt:
    """A replaceable prompt.

    text: ours, with fields
    fields: allowed names and their meaning
    needed: required fields"""

    name: str
    purpose: str
    text: str
    fields: Mapping[str, str]

    @property
    def needed(self) -> list[str]:
        """The required fields."""
        return [field for field in fields_in(self.text) if field not in OPTIONAL]


def _known_prompt(name: str) -> KnownPrompt:
    prompt = _PROMPTS.get(name, ANNOTATIONS)
    text = WANTED.get(name, prompt.system)
    held = OPTIONAL if name in WANTED else {*fields_in(text), *OPTIONAL}
    fields = {field: meaning for field, meaning in prompt.receives.items() if field in held}
    return KnownPrompt(name, PURPOSES[name], text, fields)


KNOWN = {name: _known_prompt(name) for name in PURPOSES}


def read_prompt(name: str, path: Path) -> str:
    """Return a file's prompt as a `str.format` template, "" if equal to ours. Raise PromptError, with the file."""
    known = KNOWN[name]
    try:
        data = path.read_bytes() if path.is_file() else b""
        text = data.decode("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{path}: cannot be read: {error}") from None
    if not text or len(data) > MOST_BYTES:
        raise PromptError(f"{path}: should be a text file of at most {MOST_BYTES:,} bytes")
    template = re.sub(rf"(\{{(?:{'|'.join(known.fields)})\}})|[{{}}]", lambda match: match[1] or 2 * match[0], text)
    if missing := [field for field in known.needed if field not in fields_in(template)]:
        fields = "; ".join(f"{{{field}}}: {known.fields[field]}" for field in missing)
        raise PromptError(f"{path}: these fields are missing: {fields}")
    return "" if text.split() == known.text.split() else template


def as_written(template: str) -> str:
    """Return a template as its file has it."""
    return template.replace("{{", "{").replace("}}", "}")


def own_prompt(name: str, own: Mapping[str, str]) -> Prompt:
    """Return a prompt, with the writer's template if there is one."""
    prompt = _PROMPTS[name]
    return replace(prompt, system=own[name]) if name in own else prompt
