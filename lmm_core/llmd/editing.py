"""Edits of LLMD documents: each changes what it must and nothing else, or LlmdError is
raised. What is done is read again, to see that it says what was meant."""

from __future__ import annotations

import re
from typing import Any

from ..errors import LlmdError
from ..markdown.blocks import blank, ends_blank, newline_of, trim_blank_lines
from .document import (
    CHANGELOG,
    CODE,
    FENCE,
    INSTRUCTIONS,
    META,
    MISSION,
    PROJECT,
    THREAD,
    TOOLS,
    CodeFile,
    Llmd,
    LlmdPart,
    ThreadEntry,
    as_shown,
    parse_llmd,
)
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
    """A new document without files, changelog and entries. Raises LlmdError where a text
    would not come back as it is."""
    heads = [
        (f"# {PROJECT} {name}", ""), (f"## {META}", about), (f"### {INSTRUCTIONS}", instructions),
        (f"### {TOOLS}", tools), (f"## {MISSION}", mission), (f"## {CODE}", ""), (f"## {CHANGELOG}", ""),
        (f"## {THREAD}", ""),
    ]  # fmt: skip
    made = parse_llmd("".join(f"{part}\n\n" for head in heads for part in head if part).removesuffix("\n"))
    parts = (made.name, _said(made.meta), _said(made.instructions), _said(made.tools), _said(made.mission))
    if made.name != name:
        raise LlmdError(f"the name {name!r} cannot stand in a heading as it is (line ends, {{…}} or # in it?)")
    if parts != (name, about, instructions, tools, mission) or made.problems:
        raise LlmdError("a text would be read as something else: a heading of the format in it?")
    return made


def _said(part: LlmdPart | None) -> str:
    return part.text if part else ""


def set_mission(llmd: Llmd, mission: str) -> Llmd:
    """The document with another mission. Raises LlmdError where there is no such section,
    or the text would not stay in it."""
    if llmd.mission is None:
        raise LlmdError(f"the document has no `## {MISSION}`")
    text = plain_mission(mission)
    if not stands_alone(text):
        raise LlmdError("the mission leaves something open (a code fence, a comment, a tag), or holds an edit")
    made = _splice(llmd, llmd.mission.start, llmd.mission.end, text)
    return _checked(llmd, made, {"mission": text}, "the mission would be read as more than that: a heading in it?")


def plain_mission(text: str) -> str:
    """A mission as `Llmd.mission` has it: LF line ends, no blank lines around it."""
    return trim_blank_lines(text.replace("\r\n", "\n"))


def set_file(llmd: Llmd, path: str, content: str) -> Llmd:
    """The document with a file's text in the code context: in its place and language, or
    as the last file. Raises LlmdError."""
    if llmd.code is None:
        raise LlmdError(f"the document has no `## {CODE}`")
    shown, old = as_shown(content), llmd.files.get(path)
    made = _splice(llmd, old.start, old.end, _fence(llmd, old, shown)) if old else _add_file(llmd, path, shown)
    language = old.language if old else _language(path)
    files = {**{name: (file.language, file.content) for name, file in llmd.files.items()}, path: (language, shown)}
    return _checked(llmd, made, {"files": files}, f"{path}: its name or text cannot stand in the code context")


def _fence(llmd: Llmd, old: CodeFile, shown: str) -> str:
    """The fence with another text; its first line stays where it can."""
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
    """The language of a file by its ending, as the highlighter calls it; "" for any other."""
    return _LANGUAGES.get(path.rpartition(".")[2].lower(), "") if "." in path else ""


def remove_file(llmd: Llmd, path: str) -> Llmd:
    """The document without a file. Raises LlmdError where it has none such."""
    if path not in llmd.files:
        raise LlmdError(f"{path}: not in the code context")
    old = llmd.files[path]
    made = llmd.text[: old.section] + llmd.text[old.section_end :]
    files = {name: (file.language, file.content) for name, file in llmd.files.items() if name != path}
    return _checked(llmd, made, {"files": files}, f"{path}: cannot be taken out of the code context")


def add_changelog(llmd: Llmd, text: str) -> Llmd:
    """The document with one more item at the changelog's end, with character references
    where the text as it is would be read as more than an item. Raises LlmdError."""
    if llmd.log is None:
        raise LlmdError(f"the document has no `## {CHANGELOG}`")
    lines = [line.rstrip() for line in text.strip().replace("\r\n", "\n").split("\n")]
    said = "\n".join(lines)
    if not said:
        raise LlmdError("a changelog entry without a text")
    items = [item.text for item in llmd.changelog]
    for spelling in [said] if stands_alone(said) else []:
        made = parse_llmd(_add_item(llmd, spelling))
        if _says(made) == _says(llmd) | {"changelog": [*items, spelling]}:
            return made
    spelling = escape(" ".join(lines), "")
    return _checked(llmd, _add_item(llmd, spelling), {"changelog": [*items, spelling]}, "a changelog entry: no place")


def _add_item(llmd: Llmd, said: str) -> str:
    assert llmd.log is not None
    item = "- " + re.sub(r"\n(?!\n)", "\n  ", said)
    if llmd.changelog:
        end = llmd.changelog[-1].end
        newline = newline_of(llmd.text)
        return llmd.text[:end] + (newline + item.replace("\n", newline)) + llmd.text[end:]
    return _splice(llmd, llmd.log.end, llmd.log.end, item)


def append_reply(llmd: Llmd, entry: ThreadEntry, reply: str) -> Llmd:
    """The document with the reply to one of its entries. Any string can be stored, and
    `Entry.assistant` gives it back: as it is where that changes nothing else, else in a
    code fence `reply`. (White space around a reply forces the fence: strip it before.)
    Raises LlmdError where that entry waits for no reply."""
    if entry.assistant is not None or entry not in llmd.entries:
        raise LlmdError(f"entry {entry.number} waits for no reply")
    at, before = llmd.entries.index(entry), _says(llmd)
    entries = [(one.number, one.human, one.assistant) for one in llmd.entries]
    entries[at] = (entry.number, entry.human, reply)
    end = entry.reply_at + len(llmd.text[entry.reply_at : entry.end].rstrip(" \t\r\n"))  # a mark without a reply
    for spelling in spellings(reply, newline_of(llmd.text)):
        made = parse_llmd(_put(llmd, entry.reply_at, end, spelling))
        if _says(made) == before | {"entries": entries}:
            return made
    raise LlmdError(f"entry {entry.number}: something before it is left open (a code fence, a comment, metadata)")


def append_entry(llmd: Llmd) -> Llmd:
    """The document with a new entry at its end, for the human to write in."""
    if llmd.thread is None:
        raise LlmdError(f"the document has no `## {THREAD}`")
    number = max([0, *(entry.number for entry in llmd.entries)]) + 1
    newline = newline_of(llmd.text)
    made = _put(llmd, len(llmd.text), len(llmd.text), f"### Entry {number}{newline * 2}**Human:** ")
    entries = [*_says(llmd)["entries"], (number, "", None)]
    return _checked(llmd, made, {"entries": entries}, "something in the last entry is left open")


# Putting texts in their places


def _splice(llmd: Llmd, start: int, end: int, text: str) -> str:
    """The document's text with another part: in its line ends."""
    return _put(llmd, start, end, text.replace("\n", newline_of(llmd.text)))


def _put(llmd: Llmd, start: int, end: int, text: str) -> str:
    """The document's text with something from `start` to `end`; where nothing stood there,
    with the blank lines that it needs around it."""
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
    """All that a document says, without where it says it."""
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
    """The new document, if it says what the old one said but for what has changed."""
    made = parse_llmd(text)
    if _says(made) != _says(before) | changed:
        raise LlmdError(why)
    return made
