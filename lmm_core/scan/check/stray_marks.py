"""Stray marks: text that looks like a mark of ours but has no effect, so that an exercise would be
shown.

These are lines of colons that open or close no div, types on anything but a div, blocks that
annotate nothing that could be left out. Pandoc's rules for
divs are strict: a blank line before, no blanks at the start of the line, one word or attributes in
braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from ...markdown.blocks import (
    Block,
    HeadingBlock,
    MetadataBlock,
    TextBlock,
    is_text,
    source_line,
)
from ...markdown.divs import Part, parts_by_line
from .finding import Finding

_BEFORE = r"[ \t>]*(?:(?:[-*+]|\(?\w{1,3}[.)])[ \t]+)*"
_COLONS = re.compile(_BEFORE + r"(?P<colons>[:\uff1a]{2,})(?P<rest>.*)")
_ITEM = re.compile(r"[ \t>]*(?:[-*+]|\(?[#@]?\w{1,9}[.)])[ \t]+")
_FENCE = re.compile(_BEFORE + r"(`{3,}|~{3,})")
_VERBATIM = re.compile(r"[ \t>]*<(pre|script|style|textarea)\b", re.I)
_BRACES = re.compile(r"\{([^{}\n]{1,500})\}")
_CODE = re.compile(r"(`+)[^`\n]*\1")
_TYPED = re.compile(r"(?:(?<![\w.])\.|\btype=[\"']?)([\w-]+)")
_TAG = re.compile(r"<(?!div\b)[a-z][\w-]*[ \t][^<>]{1,500}>", re.I)
_TAG_WORDS = re.compile(r"\b(?:class|type)=(?:\"([^\"]*)|'([^']*)|([\w-]+))", re.I)
# Code, and the boxes of MyST, MkDocs and Obsidian, with the word that they begin with.
_BOX = re.compile(_BEFORE + r"(?P<opened>(?:`{3,}|~{3,}|!{3}|\?{3}\+?|\[!)[ \t]*\{?(?P<word>[\w-]+)[}\]]?)")
_HEADING_WORD = re.compile(r"#{1,6}[ \t].*(?P<opened>\{(?P<word>[\w-]+)\})[ \t\r]*$", re.M)
_WORD = re.compile(r"[\w-]+")
_UNSEEN = re.compile(
    r"""<!--.*?--> | \{\{<[^\n]*>\}\} | (?:[-*_][ \t]*){3,} | \\[A-Za-z]+(?:\{[^{}\n]*\})? | \[\]\{[^{}\n]*\}
    | :{3,}[^\n]*\n\s*:{3,}""",
    re.S | re.X,
)
_UNDERLINED = re.compile(r"[^\n]+\n(?:=+|-+)[ \t]*(?:\n|\Z)")
# Reads the divs and metadata blocks in a text, as `parts_by_line` does.
ReadParts = Callable[[str], list[tuple[int, Part, str]]]
ABOUT_NOTHING = (
    "this metadata is about the line after it alone, which nobody sees, and not about the part after that: "
    "put it directly before the part"
)
UNDERLINED = "an underlined heading starts no section, so that its text is not left out: write it as `## Heading`"
ELSEWHERE = (
    "{} leaves nothing out: only a div does. Put the part in one (`::: {{.rag-only type={}}}`), or put a block with "
    "`type:` before it"
)
STRAY = (
    "colons that open or close no div, so that what is meant to be left out may be shown: a div needs a blank line "
    "before it, stands at the start of its line (in a list, where the item's text begins), and has one class "
    "(`::: exercise`) or attributes in braces (`::: {.exercise .hard}`)"
)


def read_parts(source: str) -> list[tuple[int, Part, str]]:
    """Return the divs and metadata blocks in a text, as `parts_by_line` yields them."""
    return list(parts_by_line(source))


def find_stray_marks(blocks: Sequence[Block], types: frozenset[str], read: ReadParts = read_parts) -> Iterator[Finding]:
    """Yield the stray marks in the headings and texts of a document, each with its line.

    `types` are the words that leave a part out. Marks are reported wherever they stand.
    """
    for block in blocks:
        if isinstance(block, HeadingBlock):
            yield from _on_others(block.source, block.line, types)
        elif is_text(block):
            yield from _in_text(block, types, read)


def explain_misplaced(text: str) -> str:
    """Return why metadata before this text was hardly meant for it; "" if it may have been."""
    bare = text.strip()
    if _UNSEEN.fullmatch(bare):
        return ABOUT_NOTHING
    return UNDERLINED if _UNDERLINED.match(bare) else ""


def _in_text(block: TextBlock, types: frozenset[str], read: ReadParts) -> Iterator[Finding]:
    source = block.source
    first = source_line(block)
    lowered = source.lower()
    if not any(word.lower() in lowered for word in ("::", "\uff1a", *types)):
        return
    lines = source.split("\n")
    fences = _fences(read(source)) if "::" in source else {}
    opened = 0  # stray colons with a word, which the bare colons below them would close
    for number, line, last in _outside_code(lines):
        if last is not None:
            yield from _on_others(line, first + number, types) if _FENCE.match(line) else ()
        elif number in fences:
            if fences[number] and _is_shifted(lines, number):
                yield Finding(first + number, "stray-colons", STRAY)
        elif is_indented_code(lines, number):
            continue
        elif _is_stray(line, types):
            closes = not line.strip(" \t\r>:\uff1a")
            if not (closes and opened):
                yield Finding(first + number, "stray-colons", STRAY)
            opened = max(0, opened - 1) if closes else opened + 1
        else:
            yield from _on_others(line, first + number, types)


def _fences(parts: Sequence[tuple[int, Part, str]]) -> dict[int, bool]:
    """Return the lines (from 0) on which divs open (True) and close (False)."""
    found: dict[int, bool] = {}
    for line, part, text in parts:
        if text.lstrip(" \t").startswith(":::"):
            found[line + len(text.splitlines()) - 1] = False
            found[line] = part.metadata is not None or bool(part.attributes.classes)
    return found


def lines_outside_code(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines outside code, comments and display math, each with its number."""
    return ((number, line) for number, line, last in _outside_code(lines) if last is None)


def lines_of_comments(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the number of each line outside code in which a comment begins, and that of the line in which
    it ends, which is the number of lines if it is not closed."""
    for number, line, last in _outside_code(lines):
        if "<!--" in _CODE.sub("", line):
            yield number, number if last is None else last


def _outside_code(lines: Sequence[str]) -> Iterator[tuple[int, str, int | None]]:
    """Yield the lines outside code and display math, each with its number, and, where a comment begins
    that goes on, the number of its last line; where code begins, that of the line itself."""
    end: str | None = None
    comment: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        if end is not None:
            end = None if end in line.lower() else end
            if end is None and comment is not None:
                yield *comment, number
                comment = None
        elif ("```" in line or "~~~" in line) and (opened := _FENCE.match(line)):
            end = opened[1]
            yield number, line, number
        elif "<" in line and (opened := _VERBATIM.match(line)):
            end = None if f"</{opened[1].lower()}" in line.lower() else f"</{opened[1].lower()}"
        elif "<!--" in line and "-->" not in line.rpartition("<!--")[2]:
            end, comment = "-->", (number, line)
        elif line.count("$$") % 2:
            end = "$$"
        else:
            yield number, line, None
    if comment is not None:
        yield *comment, len(lines)


def _is_stray(line: str, types: frozenset[str]) -> bool:
    found = _COLONS.match(line) if "::" in line or "\uff1a" in line else None
    if not found:
        return False
    return len(found["colons"]) > 2 or not {"lmm", *types}.isdisjoint(_WORD.findall(found["rest"]))


def is_indented_code(lines: Sequence[str], number: int) -> bool:
    """Return True if a line belongs to indented code, which documents use to show divs."""
    start = number
    while start >= 0 and lines[start].expandtabs(4).startswith("    "):
        start -= 1
    return start < number and (start < 0 or not lines[start].strip())


def _is_shifted(lines: Sequence[str], number: int) -> bool:
    """Return True if a div in a list does not stand where the text of its item begins, so that
    Pandoc takes it for text."""
    line = lines[number].expandtabs(4)
    at = len(line) - len(line.lstrip(" "))
    for above in reversed(lines[:number] if at else []):
        above = above.expandtabs(4)
        starts = item_starts(above)
        if starts and len(above) - len(above.lstrip(" ")) < at:
            return at not in starts
    return False


def item_starts(line: str) -> list[int]:
    """Return where the texts begin of the list items that a line opens, one in the other."""
    starts: list[int] = []
    while found := _ITEM.match(line, starts[-1] if starts else 0):
        starts.append(found.end())
    return starts


def _on_others(line: str, number: int, types: frozenset[str]) -> Iterator[Finding]:
    """Yield types on headings, spans, code, HTML other than divs, and in the boxes of other programs."""
    for written, words in _attributes(line):
        if found := types.intersection(words):
            yield Finding(number, "type-elsewhere", ELSEWHERE.format(written, min(found)))


def _attributes(line: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what a line has of attributes, as written, with the words that may be types."""
    bare = _CODE.sub("", line)
    for braces in _BRACES.finditer(bare):
        yield braces[0], _TYPED.findall(braces[1])
    for tag in _TAG.finditer(bare):
        yield tag[0], " ".join(map("".join, _TAG_WORDS.findall(tag[0]))).split()
    if opened := _BOX.match(line) or _HEADING_WORD.search(bare):
        yield opened["opened"], [opened["word"], opened["word"].lower()]


# Merges

_OURS = re.compile(r"<{7}(?: \S|\r?\Z)")
_BETWEEN = re.compile(r"={7}\r?\Z")
_THEIRS = re.compile(r">{7}(?: \S|\r?\Z)")
MERGE = (
    "two versions of a merge stand here: decide which text stays, and take out the lines <<<<<<<, ======= and >>>>>>>"
)


def find_merge_conflicts(blocks: Sequence[Block]) -> Iterator[Finding]:
    """Yield each conflict in a document with its first marker that is left; but not those in code.

    `=======` alone may underline a heading, and `>>>>>>>` alone be a quote."""
    is_open = divided = False
    for line, text in _lines_of(blocks):
        if _OURS.match(text):
            is_open, divided = True, False
            yield Finding(line, "merge-conflict", MERGE)
        elif _BETWEEN.match(text):
            divided = True
        elif _THEIRS.match(text) and divided:
            if not is_open:
                yield Finding(line, "merge-conflict", MERGE)
            is_open = divided = False


def _lines_of(blocks: Sequence[Block]) -> Iterator[tuple[int, str]]:
    """Yield the lines of texts outside code, and those of metadata blocks, each with its number."""
    for block in blocks:
        if "<<<<<<<" in block.source or "=======" in block.source or ">>>>>>>" in block.source:
            first = source_line(block)
            lines = block.source.split("\n")
            if isinstance(block, TextBlock | MetadataBlock):
                found = lines_outside_code(lines) if is_text(block) else enumerate(lines)
                yield from ((first + number, line) for number, line in found)
