"""Edits of LLMD documents, each of which changes what it has to and nothing else.

The result is read again to check that it says what was meant; otherwise LlmdError is raised.
"""

from __future__ import annotations

import re
from typing import Any

from ..errors import LlmdError
from ..markdown.blocks import blank, ends_blank, newline_of, trim_blank_lines
from .document import (
    FENCE,
    CodeFile,
    Llmd,
    ThreadEntry,
    as_shown,
    parse_llmd,
)
from .headings import CHANGELOG, CODE, INSTRUCTIONS, META, MISSION, PROJECT, THREAD, TOOLS
from .stored import escape, fence_for, spellings, stands_alone

_LANGUAGES = {
    "bash": "bash", "c": "c", "cc": "cpp", "cpp": "cpp", "cs": "cs", "css": "css", "go": "go", "h": "c", "hpp": "cpp",
    "htm": "html", "html": "html", "java": "java", "js": "javascript", "json": "json", "jsx": "javascript",
    "kt": "kotlin", "lua": "lua", "md": "markdown", "php": "php", "pl": "perl", "py": "python", "pyi": "python",
    "qmd": "markdown", "r": "r", "rb": "ruby", "rs": "rust", "rst": "rst", "sh": "bash", "sql": "sql",
    "swift": "swift", "tex": "latex", "toml": "toml", "ts": "typescript", "tsx": "typescript", "xml": "xml",
    "yaml": "yaml", "yml": "yaml",
}  # fmt: skip


def make_llmd(name: str, about: str, instructions: str, tools: str, mission: str = "") -> Llmd:
    """Return a new document without files, changelog and entries. Raise LlmdError if the name is none."""
    heads = [
        (f"# {PROJECT} {name}", ""), (f"## {META}", about), (f"### {INSTRUCTIONS}", instructions),
        (f"### {TOOLS}", tools), (f"## {MISSION}", mission), (f"## {CODE}", ""), (f"## {CHANGELOG}", ""),
        (f"## {THREAD}", ""),
    ]  # fmt: skip
    made = parse_llmd("".join(f"{part}\n\n" for head in heads for part in head if part).removesuffix("\n"))
    if made.name != name:
        raise LlmdError(f"the name {name!r} cannot be used in a heading (does it hold line ends, {{…}} or #?)")
    return made


def set_mission(llmd: Llmd, mission: str) -> Llmd:
    """Return the document with another mission.

    Raise LlmdError if there is no such section, or if the text would not stay in it."""
    if llmd.mission is None:
        raise LlmdError(f"the document has no `## {MISSION}`")
    text = plain_mission(mission)
    if not stands_alone(text):
        raise LlmdError("the mission holds an edit, or leaves something open (a code fence, a comment, a tag)")
    made = _splice(llmd, llmd.mission.start, llmd.mission.end, text)
    return _checked(
        llmd, made, {"mission": text}, "the mission would be read as more than a mission: does it hold a heading?"
    )


def plain_mission(text: str) -> str:
    """Return a mission as `Llmd.mission` has it: LF line ends, no blank lines around it."""
    return trim_blank_lines(text.replace("\r\n", "\n"))


def set_file(llmd: Llmd, path: str, content: str) -> Llmd:
    """Return the document with a file's text in the code context.

    It keeps its place and language, or becomes the last file. Raise LlmdError if that fails."""
    if llmd.code is None:
        raise LlmdError(f"the document has no `## {CODE}`")
    shown, old = as_shown(content), llmd.files.get(path)
    made = _splice(llmd, old.start, old.end, _fence(llmd, old, shown)) if old else _add_file(llmd, path, shown)
    language = old.language if old else _language(path)
    files = {**{name: (file.language, file.content) for name, file in llmd.files.items()}, path: (language, shown)}
    return _checked(llmd, made, {"files": files}, f"{path}: its name or text cannot stand in the code context")


def _fence(llmd: Llmd, old: CodeFile, shown: str) -> str:
    """Return the fence with another text, keeping its first line if possible."""
    opened = FENCE.match(llmd.text, old.start)
    assert opened is not None
    fence = opened["fence"]
    needed = fence_for(shown, fence[0])
    line = opened[0].rstrip("\r\n")
    if len(needed) > len(fence):
        line, fence = needed + line.removeprefix(fence), needed
    return f"{line}\n{shown}{fence}"


def _add_file(llmd: Llmd, path: str, shown: str) -> str:
    assert llmd.code is not None
    fence = fence_for(shown)
    text = f"### {path}\n\n{fence}{_language(path)}\n{shown}{fence}"
    return _splice(llmd, llmd.code.end, llmd.code.end, text)


def _language(path: str) -> str:
    """Return a file's language by its ending, as highlighters call it, or ""."""
    return _LANGUAGES.get(path.rpartition(".")[2].lower(), "") if "." in path else ""


def remove_file(llmd: Llmd, path: str) -> Llmd:
    """Return the document without a file. Raise LlmdError if it has no such file."""
    if path not in llmd.files:
        raise LlmdError(f"{path}: this file is not in the code context")
    old = llmd.files[path]
    made = llmd.text[: old.section] + llmd.text[old.section_end :]
    files = {name: (file.language, file.content) for name, file in llmd.files.items() if name != path}
    return _checked(llmd, made, {"files": files}, f"{path}: cannot be taken out of the code context")


def add_changelog(llmd: Llmd, text: str) -> Llmd:
    """Return the document with one more item at the end of the changelog.

    If the text would be read as more than an item, it is written with character references.
    Raise LlmdError if it cannot be added."""
    if llmd.log is None:
        raise LlmdError(f"the document has no `## {CHANGELOG}`")
    lines = [line.rstrip() for line in text.strip().replace("\r\n", "\n").split("\n")]
    said = "\n".join(lines)
    if not said:
        raise LlmdError("the changelog entry has no text")
    items = [item.text for item in llmd.changelog]
    for spelling in [said] if stands_alone(said) else []:
        made = parse_llmd(_add_item(llmd, spelling))
        if _says(made) == _says(llmd) | {"changelog": [*items, spelling]}:
            return made
    spelling = escape(" ".join(lines), "")
    return _checked(
        llmd,
        _add_item(llmd, spelling),
        {"changelog": [*items, spelling]},
        "the changelog entry has no place in the document",
    )


def _add_item(llmd: Llmd, said: str) -> str:
    assert llmd.log is not None
    item = "- " + re.sub(r"\n(?!\n)", "\n  ", said)
    if llmd.changelog:
        end = llmd.changelog[-1].end
        newline = newline_of(llmd.text)
        return llmd.text[:end] + (newline + item.replace("\n", newline)) + llmd.text[end:]
    return _splice(llmd, llmd.log.end, llmd.log.end, item)


def append_reply(llmd: Llmd, entry: ThreadEntry, reply: str) -> Llmd:
    """Return the document with the reply to one of its entries.

    Any string can be stored, and `ThreadEntry.assistant` returns it. It is stored as it is if
    that changes nothing else, otherwise in a code fence `reply`. (White space around a reply
    forces the fence, so strip it first.) Raise LlmdError if the entry waits for no reply."""
    if entry.assistant is not None or entry not in llmd.entries:
        raise LlmdError(f"entry {entry.number} waits for no reply")
    at, before = llmd.entries.index(entry), _says(llmd)
    entries = [(one.number, one.human, one.assistant) for one in llmd.entries]
    entries[at] = (entry.number, entry.human, reply)
    end = entry.reply_at + len(
        llmd.text[entry.reply_at : entry.end].rstrip(" \t\r\n")
    )  # there may be a mark without a reply
    for spelling in spellings(reply, newline_of(llmd.text)):
        made = parse_llmd(_put(llmd, entry.reply_at, end, spelling))
        if _says(made) == before | {"entries": entries}:
            return made
    raise LlmdError(f"entry {entry.number}: something before it is left open (a code fence, a comment, metadata)")


def append_entry(llmd: Llmd) -> Llmd:
    """Return the document with a new entry at its end, for the human to write in."""
    if llmd.thread is None:
        raise LlmdError(f"the document has no `## {THREAD}`")
    number = max([0, *(entry.number for entry in llmd.entries)]) + 1
    newline = newline_of(llmd.text)
    made = _put(llmd, len(llmd.text), len(llmd.text), f"### Entry {number}{newline * 2}**Human:** ")
    entries = [*_says(llmd)["entries"], (number, "", None)]
    return _checked(llmd, made, {"entries": entries}, "something in the last entry is left open")


# Putting texts in their places


def _splice(llmd: Llmd, start: int, end: int, text: str) -> str:
    """Return the document's text with one part replaced, in its line ends."""
    return _put(llmd, start, end, text.replace("\n", newline_of(llmd.text)))


def _put(llmd: Llmd, start: int, end: int, text: str) -> str:
    """Return the document's text with something from `start` to `end`.

    If there was nothing, the blank lines that it needs are added around it."""
    head, tail, newline = llmd.text[:start], llmd.text[end:], newline_of(llmd.text)
    if blank(llmd.text[start:end]) and text:
        if not ends_blank(head):
            head += newline if head.endswith("\n") else newline * 2
        if not blank(tail):
            lead = tail[: len(tail) - len(tail.lstrip(" \t\r\n"))].count("\n")
            text += newline * max(0, 2 - lead)
        elif not tail and llmd.text.endswith("\n"):
            text += newline
    return head + text + tail


Saying = dict[str, Any]


def _says(llmd: Llmd) -> Saying:
    """Return everything that a document says, without its positions."""
    return {
        "name": llmd.name,
        "meta": [part and part.text for part in (llmd.meta, llmd.instructions, llmd.tools)],
        "mission": llmd.mission and llmd.mission.text,
        "sections": [part is not None for part in (llmd.code, llmd.log, llmd.thread)],
        "files": {name: (file.language, file.content) for name, file in llmd.files.items()},
        "changelog": [item.text for item in llmd.changelog],
        "entries": [(entry.number, entry.human, entry.assistant) for entry in llmd.entries],
    }


def _checked(before: Llmd, text: str, changed: Saying, why: str) -> Llmd:
    """Return the new document if it says what the old one said, apart from the change."""
    made = parse_llmd(text)
    if _says(made) != _says(before) | changed:
        raise LlmdError(why)
    return made
