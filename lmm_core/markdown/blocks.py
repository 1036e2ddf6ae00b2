"""Blocks: the flat list into which a markdown text is parsed, with exact sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, TypeGuard

Spelling = Literal["native", "div", "comment"]

BOM = "\ufeff"
_LEAD = f"{BOM} \t\r\n"

# Pandoc attributes. Possessive quantifiers prevent backtracking.
_NAME = r"[^\W\d_][\w:.-]*+"
_VALUE = r"\"(?:[^\"\\\n]++|\\.)*\"|'(?:[^'\\\n]++|\\.)*'|(?:[^\s}\\]++|\\.)*(?=[\s}])"
_ITEM = re.compile(rf"#(?P<id>[\w:.-]++)|\.(?P<class>{_NAME})|(?P<key>{_NAME})=(?P<value>{_VALUE})|(?P<dash>-)")
ATTRIBUTES = rf"\{{[ \t]*+(?:(?:#[\w:.-]++|\.{_NAME}|{_NAME}=(?:{_VALUE})|-)[ \t]*+)*\}}"
_ATTRIBUTES = re.compile(ATTRIBUTES)
_ESCAPED = re.compile(r"\\([^\w\s])")


@dataclass(slots=True)
class Problem:
    """A mistake in a text; `line` counts from 1."""

    line: int
    message: str


@dataclass(slots=True)
class Attributes:
    """Pandoc attributes: `{#identifier .class key=value}`."""

    identifier: str = ""
    classes: list[str] = field(default_factory=list)
    pairs: dict[str, str] = field(default_factory=dict)


def parse_attributes(text: str) -> Attributes:
    """Return the attributes in braces; any other text is a class."""
    text = text.strip()
    if not _ATTRIBUTES.fullmatch(text):
        return Attributes("", [class_name(text)] if text else [])
    attributes = Attributes()
    for item in _ITEM.finditer(text, 1):
        if item["dash"]:
            attributes.classes.append("unnumbered")
        elif item["id"]:
            attributes.identifier = item["id"]
        elif item["class"]:
            attributes.classes.append(item["class"])
        else:
            add_pair(attributes, item["key"], _ESCAPED.sub(r"\1", _unquoted(item["value"])))
    return attributes


def add_pair(attributes: Attributes, key: str, value: str) -> None:
    """Add `key=value`, which may be a class or an identifier."""
    if key == "class":
        attributes.classes += value.split()
    elif key == "id":
        attributes.identifier = value
    else:
        attributes.pairs[key] = value


def class_name(word: str) -> str:
    """Return a class without Pandoc's optional leading dot."""
    return word.lstrip(".") or word


def _unquoted(value: str) -> str:
    return value[1:-1] if value[:1] in ("'", '"') and value[:1] == value[-1:] and len(value) > 1 else value


@dataclass(slots=True)
class Block:
    """A part of a text: `source` with surrounding blank lines, and its first `line` from 1."""

    source: str
    line: int = 1


@dataclass(slots=True)
class TextBlock(Block):
    """Text that is never split: a paragraph, list, table, code, HTML, fenced div."""

    @property
    def content(self) -> str:
        """Return the source without surrounding blank lines."""
        return trim_blank_lines(self.source.removeprefix(BOM) if _begins_text(self) else self.source)


@dataclass(slots=True)
class ErrorBlock(TextBlock):
    """An unreadable metadata block, kept unchanged; `error_line` counts from 1."""

    message: str = ""
    error_line: int = 1


@dataclass(slots=True)
class FrontMatterBlock(TextBlock):
    """Front matter other than YAML, kept in place and excluded from the text."""

    language: str = ""

    @property
    def content(self) -> str:
        """Return ""."""
        return ""


@dataclass(slots=True)
class HeadingBlock(Block):
    """An ATX heading of `level` 1 to 6."""

    level: int = 1

    @property
    def title(self) -> str:
        """Return the heading's text."""
        return _heading_title(self.source)

    @property
    def attributes(self) -> Attributes:
        """Return the heading's attributes."""
        return split_heading(self.source)[1]


@dataclass(slots=True)
class MetadataBlock(Block):
    """A YAML mapping (`content`) that annotates the next block.

    `messages` are its chat and edit lines; `source[start:end]` is the YAML.
    """

    content: dict[str, Any] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    spelling: Spelling = "native"
    start: int = 0
    end: int = 0

    @property
    def body(self) -> str:
        """Return the exact YAML text."""
        return self.source[self.start : self.end]


@dataclass(slots=True)
class HeaderBlock(MetadataBlock):
    """The metadata block at the very start, which annotates the document."""


@dataclass(slots=True)
class Message:
    """A chat or edit line of a metadata block; `line` counts from 0 in its body."""

    key: str
    text: str
    line: int
    lines: int


def is_text(block: Block | None) -> TypeGuard[TextBlock]:
    """Return True for document text, not metadata or front matter."""
    return isinstance(block, TextBlock) and not isinstance(block, ErrorBlock | FrontMatterBlock)


def is_native(block: Block) -> bool:
    """Return True for a native metadata block other than the header, also an unreadable one."""
    if isinstance(block, ErrorBlock):
        return block.source.lstrip().startswith("-")
    return isinstance(block, MetadataBlock) and not isinstance(block, HeaderBlock) and block.spelling == "native"


def prefix_block(block: Block, lead: str) -> Block:
    """Return a block with `lead` (blank lines, a byte-order mark) before it."""
    if isinstance(block, MetadataBlock):
        start, end = block.start + len(lead), block.end + len(lead)
        return replace(block, source=lead + block.source, start=start, end=end)
    return replace(block, source=lead + block.source)


def header_content(blocks: Sequence[Block]) -> dict[str, Any]:
    """Return the mapping of the document's header, or {}."""
    return blocks[0].content if blocks and isinstance(blocks[0], HeaderBlock) else {}


def serialize_blocks(blocks: Iterable[Block]) -> str:
    """Return the text of blocks: the inverse of `parse_markdown_text`."""
    return "".join([block.source for block in blocks])


def blank(text: str) -> bool:
    """Return True for spaces, tabs and line ends."""
    return not text.strip(" \t\r\n")


def count_lead(source: str) -> int:
    """Return the number of line ends before a block's text and one byte-order mark."""
    if source[:1] not in _LEAD:
        return 0
    return source.count("\n", 0, len(source) - len(source.removeprefix(BOM).lstrip(" \t\r\n")))


def source_line(block: Block) -> int:
    """Return the first line of a block's source, leading blank lines included."""
    return block.line - count_lead(block.source) if _begins_text(block) else block.line


def _begins_text(block: Block) -> bool:
    return not block.source.startswith(BOM) or block.line == 1 + count_lead(block.source)


def trim_blank_lines(text: str) -> str:
    """Return a text without leading and trailing blank lines."""
    trimmed = text.rstrip(" \t\r\n")
    if trimmed[:1] not in " \t\r\n":  # fast path
        return trimmed
    lead = len(trimmed) - len(trimmed.lstrip(" \t\r\n"))
    return trimmed[trimmed.rfind("\n", 0, lead) + 1 :]


@lru_cache(maxsize=10_000)  # asked for with every section below it
def _heading_title(source: str) -> str:
    return split_heading(source)[0]


def split_heading(source: str) -> tuple[str, Attributes]:
    """Return title and attributes of an ATX heading."""
    text = trim_blank_lines(source.lstrip(BOM)).lstrip("#").strip()
    attributes = Attributes()
    at = text.rfind("{") if text.endswith("}") else -1
    if at >= 0 and (at == 0 or text[at - 1] in " \t") and _ATTRIBUTES.fullmatch(text, at):
        attributes = parse_attributes(text[at:])
        text = text[:at].strip()
    open_end = text.rstrip("#")
    if open_end != text and (not open_end or open_end[-1] in " \t"):
        text = open_end.rstrip()
    return text, attributes


def newline_of(text: str) -> str:
    """Return the line end of a text's first line, LF by default."""
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def ends_blank(source: str) -> bool:
    """Return True if a source is blank or ends with a blank line."""
    if blank(source):
        return True
    last = source.rstrip(" \t")
    return last.endswith("\n") and last[:-1].rstrip(" \t\r").endswith("\n")
