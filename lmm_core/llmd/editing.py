"""Edit single parts of LLMD documents.

Results are parsed again; LlmdError is raised if anything else has changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import LlmdError
from ..markdown.blocks import BOM, blank, ends_blank, newline_of, trim_blank_lines
from ..markdown.regions import Regions
from ..markdown.spelling import fence_for
from .document import (
    CHANGELOG,
    CODE,
    FENCE,
    MISSION,
    THREAD,
    CodeFile,
    Llmd,
    LlmdPart,
    ThreadEntry,
    as_shown,
    parse_llmd,
    read_lines,
)

UNWRITABLE = re.compile("[\0\ud800-\udfff]")  # impossible in a text file
# Replies that may start on the line of their mark: no list, a single paragraph or one followed by a blank line
_INLINE = re.compile(r"(?!(?:[0-9]+|[A-Za-z])[.)]\s)[\w\"'(][^\n]*(?:\n[ \t]*(?:\n|\Z)|\Z)")
_OPENER = re.compile(r"[ ]{0,3}(?:<[A-Za-z?!]|\\begin\{)")


def make_llmd(name: str) -> Llmd:
    """Return a new document with guidance, without files and entries. Raise LlmdError for an invalid name."""
    text = Path(__file__).with_name("template.md").read_text("utf-8")
    llmd = parse_llmd(text.replace("NAME", name, 1))
    if llmd.name != name:
        raise LlmdError(f"the name {name!r} cannot be used in a heading: leave out line ends, {{…}} and #")
    return llmd


def set_mission(llmd: Llmd, mission: str) -> Llmd:
    """Return the document with another mission. Raise LlmdError without the section, or for unclosed markup."""
    old = _section(llmd, MISSION)
    text = plain_mission(mission)
    if not stands_alone(text):
        raise LlmdError("the mission leaves something open (a code fence, a comment, a tag): close it")
    edited = _splice(llmd, old.start, old.end, text)
    return _check_edit(llmd, edited, {MISSION: text}, "the mission has a heading of the format: take it out")


def plain_mission(text: str) -> str:
    """Return a mission as in `Llmd.parts`: LF line ends, no surrounding blank lines."""
    return trim_blank_lines(text.replace("\r\n", "\n"))


def set_file(llmd: Llmd, path: str, content: str) -> Llmd:
    """Return the document with a file's new text; new files are added at the end. Raise LlmdError."""
    section, text, old = _section(llmd, CODE), as_shown(content), llmd.files.get(path)
    language = old.language if old else _language(path)
    if old:
        edited = _splice(llmd, old.start, old.end, _fence(llmd, old, text))
    else:
        fence = fence_for(text)
        edited = _splice(llmd, section.end, section.end, f"### {path}\n\n{fence}{language}\n{text}{fence}")
    files = _content_of(llmd)["files"] | {path: (language, text)}
    return _check_edit(llmd, edited, {"files": files}, f"{path}: its name or text does not fit into the code context")


def _fence(llmd: Llmd, old: CodeFile, content: str) -> str:
    opened = FENCE.match(llmd.text, old.start)
    assert opened is not None
    fence = opened["fence"]
    needed = fence_for(content, fence[0])
    line = opened[0].rstrip("\r\n")
    if len(needed) > len(fence):
        line, fence = needed + line.removeprefix(fence), needed
    return f"{line}\n{content}{fence}"


def _language(path: str) -> str:
    ending = path.rpartition(".")[2].lower() if "." in path else ""
    return ending if re.fullmatch(r"\w+", ending) else ""


def remove_file(llmd: Llmd, path: str) -> Llmd:
    """Return the document without a file of its code context. Raise LlmdError."""
    old = llmd.files[path]
    edited = llmd.text[: old.section] + llmd.text[old.section_end :]
    files = _content_of(llmd)["files"]
    del files[path]
    return _check_edit(llmd, edited, {"files": files}, f"{path}: the file cannot be taken out of the code context")


def add_changelog(llmd: Llmd, text: str) -> Llmd:
    """Return the document with another changelog item. Raise LlmdError without such a section, or for unfit text."""
    end = _section(llmd, CHANGELOG).end
    entry = "\n".join(line.rstrip() for line in text.strip().split("\n"))
    why = "the changelog entry has a heading, or leaves something open: write plain text"
    if not stands_alone(entry):
        raise LlmdError(why)
    changelog = [*_content_of(llmd)["changelog"], entry]
    return _check_edit(llmd, _add_item(llmd, entry, end), {"changelog": changelog}, why)


def _add_item(llmd: Llmd, entry: str, end: int) -> str:
    item = "- " + re.sub(r"\n(?!\n)", "\n  ", entry)
    if llmd.changelog:
        end = llmd.changelog[-1].end
        newline = newline_of(llmd.text)
        return llmd.text[:end] + (newline + item.replace("\n", newline)) + llmd.text[end:]
    return _splice(llmd, end, end, item)


def append_reply(llmd: Llmd, entry: ThreadEntry, reply: str) -> Llmd:
    """Return the document with the reply to an entry.

    The reply is verbatim if that changes nothing else (white space around it does), otherwise in a code fence `reply`.
    Raise LlmdError if unclosed markup before it interferes."""
    entries = list(_content_of(llmd)["entries"])
    entries[llmd.entries.index(entry)] = (entry.number, entry.human, reply)
    # The mark may exist already
    end = entry.reply_at + len(llmd.text[entry.reply_at : entry.end].rstrip(" \t\r\n"))
    for spelling in _spellings(reply, newline_of(llmd.text)):
        answered = parse_llmd(_replace_part(llmd, entry.reply_at, end, spelling))
        if _content_of(answered) == _content_of(llmd) | {"entries": entries}:
            return answered
    raise LlmdError(f"entry {entry.number}: a code fence, a comment or metadata before it is not closed: close it")


def _spellings(reply: str, newline: str) -> Iterator[str]:
    reply_text = reply.replace("\n", newline)
    if stands_alone(reply):
        yield "**Assistant:**" + (" " if _INLINE.match(reply) else newline * 2) + reply_text
    fence = fence_for(reply)
    yield f"**Assistant:**{newline * 2}{fence}reply{newline}{reply_text}{newline}{fence}"


def append_entry(llmd: Llmd) -> Llmd:
    """Return the document with a new, empty entry."""
    _section(llmd, THREAD)
    number = max([0, *(entry.number for entry in llmd.entries)]) + 1
    newline = newline_of(llmd.text)
    edited = _replace_part(llmd, len(llmd.text), len(llmd.text), f"### Entry {number}{newline * 2}**Human:** ")
    entries = [*_content_of(llmd)["entries"], (number, "", None)]
    return _check_edit(llmd, edited, {"entries": entries}, "the last entry leaves something open: close it")


# Insertion


def _section(llmd: Llmd, title: str) -> LlmdPart:
    if title not in llmd.parts:
        raise LlmdError(f"the document has no `## {title}`")
    return llmd.parts[title]


def stands_alone(text: str) -> bool:
    """Return True if a text certainly leaves nothing open (code, comment, tag, div)."""
    regions = Regions(text)
    prose = [text[line.start : line.end] for line in read_lines(text, regions) if not line.is_region]
    return not (
        regions.unclosed or text.startswith(BOM) or any(_OPENER.match(line) or "<!--" in line for line in prose)
    )


def _splice(llmd: Llmd, start: int, end: int, text: str) -> str:
    return _replace_part(llmd, start, end, text.replace("\n", newline_of(llmd.text)))


def _replace_part(llmd: Llmd, start: int, end: int, text: str) -> str:
    """Return the text with a part replaced, with blank lines around a formerly empty one."""
    head, tail, newline = llmd.text[:start], llmd.text[end:], newline_of(llmd.text)
    if blank(llmd.text[start:end]) and text:
        if not ends_blank(head):
            head += newline if head.endswith("\n") else newline * 2
        if not blank(tail):
            newlines = tail[: len(tail) - len(tail.lstrip(" \t\r\n"))].count("\n")
            text += newline * max(0, 2 - newlines)
        elif not tail and llmd.text.endswith("\n"):
            text += newline
    return head + text + tail


Content = dict[str, Any]


def _content_of(llmd: Llmd) -> Content:
    return {
        "name": llmd.name,
        "sections": set(llmd.parts),
        **{title: part.text for title, part in llmd.parts.items() if title not in (CODE, CHANGELOG, THREAD)},
        "files": {name: (file.language, file.content) for name, file in llmd.files.items()},
        "changelog": [item.text for item in llmd.changelog],
        "entries": [(entry.number, entry.human, entry.assistant) for entry in llmd.entries],
    }


def _check_edit(before: Llmd, text: str, changed: Content, why: str) -> Llmd:
    """Return the edited document; raise LlmdError(why) if more than `changed` differs."""
    edited = parse_llmd(text)
    if _content_of(edited) != _content_of(before) | changed:
        raise LlmdError(why)
    return edited
