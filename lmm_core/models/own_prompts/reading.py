"""Files with a prompt in a person's own words: read, and checked for the fields that they hold.

`{titles}` in a file is a field, `{{titles}}` the word in braces; other braces stand for themselves,
as in formulas. A comment (`<!-- … -->`) at the beginning is not part of the text.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from ...errors import PromptError
from .known import KNOWN, KnownPrompt

MOST_BYTES = 50_000  # of a file
_FIELD = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}")
_COMMENT = re.compile(r"\s*<!--.*?-->", re.S)


def read_prompt(name: str, path: Path) -> str:
    """Return the own text of a prompt as a template, "" if it says the same as ours.

    Raise PromptError, with a line for each problem, which begins with the file and mostly the line."""
    text = _read(path)
    comment = _COMMENT.match(text)
    begin = comment.end() if comment else 0
    if not text[begin:].strip():
        raise PromptError(f"{path}: holds no text: lmm config prompts {name} prints ours")
    if problems := _problems(KNOWN[name], text, begin):
        raise PromptError("\n".join(f"{path}{problem}" for problem in problems))
    said = text[begin:].strip()
    return "" if said.split() == KNOWN[name].text.split() else _as_template(said)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise PromptError(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(data) > MOST_BYTES:
        raise PromptError(f"{path}: is longer than {MOST_BYTES:,} bytes, which no prompt has to be")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PromptError(f"{path}:{line}: not UTF-8. Save the file as UTF-8") from None


def _problems(known: KnownPrompt, text: str, begin: int) -> list[str]:
    """Return what is wrong with the fields of a text, each after its line."""
    there = ", ".join(f"{{{field}}}" for field in known.fields) or "none"
    problems, held = [], set()
    for found in _FIELD.finditer(text, begin):
        field = found[2]
        held.add(field)
        if field and field not in known.fields:
            near = difflib.get_close_matches(field, known.fields, 1)
            meant = f"; did you mean {{{near[0]}}}?" if near else ""
            line = text.count("\n", 0, found.start()) + 1
            problems.append(
                f":{line}: {{{field}}} is no field of the prompt `{known.name}` (its fields: {there}{meant}). As text, "
                f"write {{{{{field}}}}}"
            )
    for field in known.needed:
        if field not in held:
            problems.append(f": the field {{{field}}} is missing: {known.fields[field]}")
    return problems


def _as_template(text: str) -> str:
    """Return a text as a template of `str.format`, in which only fields have single braces."""
    parts, done = [], 0
    for found in _FIELD.finditer(text):
        parts += [_doubled(text[done : found.start()]), found[0]]
        done = found.end()
    return "".join([*parts, _doubled(text[done:])])


def _doubled(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def as_written(template: str) -> str:
    """Return a template as a file with it says it."""
    parts = re.split(r"(\{\{[A-Za-z_]\w*\}\})", template)
    return "".join(part if at % 2 else part.replace("{{", "{").replace("}}", "}") for at, part in enumerate(parts))


def beginning_of(known: KnownPrompt) -> str:
    """Return a file to begin an own prompt with: ours, under a comment that says what it may hold."""
    lines = [f"What a model is told: {known.purpose}."]
    for field, what in known.fields.items():
        need = ", needed" if field in known.needed else ""
        lines.append(f"{{{field}}}: {what}{need}")
    return "<!-- " + "\n     ".join(lines) + " -->\n\n" + known.text + "\n"
