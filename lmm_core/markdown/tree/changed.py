"""Single blocks with another text, title or level, and put behind others so that they are read as what they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar, cast

from ...errors import MarkdownError
from ..blocks import (
    BOM,
    Block,
    ErrorBlock,
    HeadingBlock,
    MetadataBlock,
    Problem,
    TextBlock,
    ends_blank,
    prefix_block,
    split_heading,
    trim_blank_lines,
)
from ..parse import parse_markdown_text
from ..spelling import make_block, stands

DEEPEST = 6
B = TypeVar("B", bound=Block)


def put_behind(before: str, block: B, newline: str, apart: bool = False) -> B:
    """Return a block with the blank lines before it that it needs to be read as what it is behind a text.

    apart: a blank line stands between the two in any case. Raise MarkdownError if blank lines do not help."""
    blanks = block.source[: len(block.source) - len(block.source.lstrip(" \t\r\n"))]
    blanks = blanks[: blanks.rfind("\n") + 1]
    bare = without_lead(block, len(blanks))
    if block.line == 0 and ends_blank(before):  # a new block: the blank lines that it brought elsewhere
        block, blanks = bare, ""
    leads = [newline * 2] if before and not before.endswith("\n") else [newline, newline * 2]
    if not apart or blanks or ends_blank(before):
        leads.insert(0, "")
    for lead in leads:
        if stands(before + lead + blanks, bare):
            return cast(B, prefix_block(block, lead)) if lead else block
    if isinstance(block, TextBlock):  # a list that goes on, for one: it is read together with the text before it
        return block if ends_blank(before) else cast(B, prefix_block(block, leads[-1]))
    if isinstance(block, MetadataBlock) and block.spelling == "native":  # it would be read as the header
        return put_behind(before, cast(B, replace(make_block(block.body, "div", newline), line=block.line)), newline)
    raise MarkdownError("this would be read as a part of the text before it, in which something is not closed")


def without_lead(block: B, size: int) -> B:
    """Return a block without the first `size` characters of its source."""
    if isinstance(block, MetadataBlock):
        return cast(B, replace(block, source=block.source[size:], start=block.start - size, end=block.end - size))
    return replace(block, source=block.source[size:])


def with_text(block: TextBlock, text: str) -> TextBlock:
    """Return a text block with another text between its blank lines."""
    kept = block.source.rstrip(" \t\r\n")
    lead = kept[: len(kept) - len(block.content)] if not isinstance(block, ErrorBlock) else ""
    return TextBlock(lead + text + block.source[len(kept) :], block.line)


def with_title(block: HeadingBlock, title: str) -> HeadingBlock:
    """Return a heading with another title; its marks and attributes stay.

    Raise MarkdownError if the line would not be read as that title."""
    source, old = block.source, block.title
    start = len(source) - len(source.lstrip(BOM + " \t\r\n").lstrip("#"))
    at = source.index(old, start) if old else start
    made = replace(block, source=source[:at] + ("" if old else " ") + title + source[at + len(old) :])
    if "\n" in title or split_heading(made.source) != (title, block.attributes):
        raise MarkdownError(f"{title!r} cannot be the title of a heading: it would be read as something else")
    return made


def with_level(block: HeadingBlock, level: int) -> HeadingBlock:
    """Return a heading of another level. Raise MarkdownError if it is deeper than markdown's headings go."""
    if level == block.level:
        return block
    if level > DEEPEST:
        raise MarkdownError(f"“{block.title}” would stand on level {level}, and headings have {DEEPEST} levels")
    marks = block.source.index("#")
    source = block.source[:marks] + "#" * level + block.source[marks + block.level :]
    return replace(block, source=source, level=level)


def checked_text(text: str, newline: str, old: str = "") -> str:
    """Return a text as it can stand in a text block: without the blank lines around it, in a document's line ends.

    Raise MarkdownError if it is empty or holds a heading, metadata, or more than the old text that is not closed."""
    text = trim_blank_lines(text).replace("\r\n", "\n")
    if not text:
        raise MarkdownError("a text must not be empty; to take one out, remove its node")
    problems: list[Problem] = []
    known: list[Problem] = []
    found = parse_markdown_text(f"Text.\n\n{text}", problems)
    parse_markdown_text(old, known)
    wrong = next((one for one in found if type(one) is not TextBlock), None)
    if wrong is not None:
        what = "a heading" if isinstance(wrong, HeadingBlock) else "a metadata block"
        raise MarkdownError(f"a text must not hold {what} (line {wrong.line - 2}); add that as a node of its own")
    if len(problems) > len(known):
        raise MarkdownError(f"line {problems[-1].line - 2} of a text: {problems[-1].message}")
    return text.replace("\n", newline)
