"""Parser from markdown text to blocks; boundaries follow Pandoc (`docs/annotate.md`)."""

from __future__ import annotations

import re
from functools import lru_cache

from .blocks import (
    BOM,
    Block,
    ErrorBlock,
    FrontMatterBlock,
    HeaderBlock,
    HeadingBlock,
    MetadataBlock,
    Problem,
    Spelling,
    TextBlock,
    prefix_block,
)
from .metadata.body import Parsed, looks_like_key, parse_metadata
from .metadata.lists import is_metadata, listed_tables, mapping_to_paste, not_a_mapping
from .regions import BLANKS, DIV_OPEN, Forward, Regions, div_attributes, edit_regions, match_front_matter

_HEADING = re.compile(r"(#{1,6})(?:[ \t][^\n]*)?\r?(?:\n|\Z)")
NATIVE_OPEN = re.compile(r"---(?:[ \t]+\#[^\n]*|[ \t]*\r?)\n(?![ \t]*\r?(?:\n|\Z))")
NATIVE_CLOSE = re.compile(r"\n(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)")
COMMENT_OPEN = re.compile(r"<!--[ \t]*lmm[ \t]*\r?\n")
_COMMENT_CLOSE = re.compile(r"(?<=\n)-->[ \t]*\r?(?:\n|\Z)")
_REMARK_OPEN = re.compile(r"\n---[ \t]+#")
_DIV_HEAD = re.compile(
    r":{3,}[^\n]*\n(?:[ \t]*\r?\n)*"
    r"[ ]{0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?:ya?ml|\{[^\n{}]{0,200}\.ya?ml\b[^\n{}]{0,200}\})[ \t]*\r?\n"
)
_DIV_TAIL = re.compile(r"(?:[ \t]*\r?\n)*:{3,}[ \t]*\r?(?:\n|\Z)")
NOT_ONE_BLOCK = (
    "a div of class lmm holds one code block of YAML and nothing else: "
    "put the YAML between a line ``` yaml and a line ```"
)
DIV_UNDER_TEXT = "a fenced div needs a blank line before it"
CLOSE_DIV = "add a line `:::`"
CLOSED_EARLY = (
    "`-->` ends a comment wherever it stands: write the YAML between a line `<!-- lmm` and a line `-->`, "
    "and a block that holds those signs as a div"
)
CLOSED_FOR_SOME = "`--!>` ends a comment for browsers and Pandoc: write this block as a div"
NOT_CLOSED = "a metadata block starts here and is not closed: add a line `---`"
_HEADING_INSIDE = re.compile(r"\n[ \t]*\r?\n#{1,6}[ \t]")
_BLANK_LINE = re.compile(r"\n(?=[ \t]*\r?\n)")

# Texts that may continue after blank lines
_BULLET = re.compile(r"[ ]{0,3}[-*+][ \t]+(?!(?:[-*+_][ \t]*){2,}\r?$)\S", re.M)
_NUMBER = re.compile(
    r"[ ]{0,3}(?:\d{1,9}|#|@[\w-]*|[a-z]|[ivxlcdm]+)[.)][ \t]+\S"
    r"|[ ]{0,3}\((?:@[\w-]*|#|\w{1,4})\)[ \t]+\S"
    r"|[ ]{0,3}(?:[A-Z]\.(?:[ ]{2}|\t)|[A-Z]\)[ \t]|[IVXLCDM]{2,}[.)][ \t])"
)
_FOOTNOTE = re.compile(r"[ ]{0,3}\[\^[^\]\s]+\]:")
_INDENTED = re.compile(r"[ ]{4}|[ ]{0,3}\t")
_NESTED = re.compile(r"[ \t]+\S")
_DEFINITION = re.compile(r"[ ]{0,2}[:~][ \t]+\S")
_NEXT_TERM = re.compile(r"(?![#:<]|---)\S[^\n]*\n(?:[ \t]*\r?\n)?[ ]{0,2}[:~][ \t]+\S")  # of a definition list
_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?|===[+!]?)[ ]+\S")  # of Python-Markdown
_CAPTION = re.compile(r"[ ]{0,3}(?:[Tt]able)?:[ \t]")
_TABLE = re.compile(r"^[ \t]*[|+]?[ \t]*[:=]?-[-|+:= \t]*\r?$", re.M)  # a line of dashes in a table
_TABLE_START = re.compile(r"[ ]{0,3}(?:[|+]|-{2}|[^\n|]*\||[^\n]+\n[ ]{0,3}-{2,}[ -]*\r?(?:\n|\Z))")
_MULTILINE = re.compile(  # a table with blank lines between its rows
    r"(?:[ ]{0,3}-{3,}[ ]*\r?\n(?:[ \t]*[^\s-][^\n]*\n)+)?[ ]{0,3}-{2,}(?:[ ]+-+)+[ ]*\r?\n(?![ \t]*\r?\n)"
)
_MULTILINE_END = re.compile(  # or what no table holds: code, math, divs, comments, headings, metadata blocks
    r"\n(?:[ ]{0,3}-{3}[ -]*(?=\r?\n[ \t]*\r?(?:\n|\Z)|\r?\n?\Z)"
    r"|(?P<other>[ \t]*(?:`{3}|~{3}|\$\$|\\begin|:{3}|<)"
    r"|[ \t]*\r?\n(?:#{1,6}[ \t]|---(?:[ \t]|\r?\n(?![ \t]*\r?\n)))))"
)
_MAY_GO_ON = re.compile(r"[ \t:~*+(@#\d-]|[A-Za-z]+[.)]|[Tt]able:")  # fast rejection


def parse_markdown_text(text: str, problems: list[Problem] | None = None) -> list[Block]:
    """Return the blocks of a text; `serialize_blocks` restores it byte for byte.

    Unclosed code fences, comments, divs and metadata blocks are text, and added to `problems`.
    """
    found_problems = [] if problems is None else problems
    if text.startswith(BOM) and len(text) > 1:  # Pandoc removes one; a second one is text
        first, *rest = _Parser(text[1:], found_problems).parse()
        return [prefix_block(first, BOM), *rest]
    return _Parser(text, found_problems).parse()


def parse_header(text: str) -> Block | None:
    """Return the first block of a text, or None, without parsing the rest."""
    body = text[1:] if text.startswith(BOM) else text
    return _Parser(body, []).first()


@lru_cache(maxsize=1000)  # most have the same opening line
def is_metadata_div(line: str) -> bool:
    """Return True if a line opens a fenced div of class `lmm`."""
    return line.startswith(":::") and "lmm" in div_attributes(line).classes


class _Parser:
    def __init__(self, text: str, problems: list[Problem]) -> None:
        self.text = text
        self.size = len(text)
        self.problems = problems
        self.regions = Regions(text)
        self.edits = edit_regions(text)
        self.unclosed_metadata = self.size + 1
        self._close = Forward(NATIVE_CLOSE, text)
        self._remark = Forward(_REMARK_OPEN, text)
        self._item: tuple[int, re.Pattern[str] | None] = (-1, None)
        self._table_end = (-1, False)  # the last one found, and whether it is one
        self._under_text: list[int] = []

    def parse(self) -> list[Block]:
        blocks: list[Block] = []
        start = 0
        pos = self._skip_blank(0)
        line = 1 + self.text.count("\n", 0, pos)
        if pos == self.size:
            return [TextBlock(self.text)] if self.text else []
        while pos < self.size:
            block = self._block(start, pos, line)
            blocks.append(block)
            line += block.source.count("\n", pos - start)
            start = pos = start + len(block.source)
        self._report_unclosed()
        return blocks

    def first(self) -> Block | None:
        pos = self._skip_blank(0)
        return self._block(0, pos, 1 + self.text.count("\n", 0, pos)) if pos < self.size else None

    def _block(self, start: int, pos: int, line: int) -> Block:
        if start == 0 and (front := match_front_matter(self.text, pos)):
            return FrontMatterBlock(self._source(start, front[1]), line, front[0])
        char = self.text[pos]
        if char == "#" and (heading := _HEADING.match(self.text, pos)):
            if (end := self.edits.get(pos)) is not None:
                return TextBlock(self._source(start, end), line)
            return HeadingBlock(self._source(start, heading.end()), line, len(heading[1]))
        if char == "-" and (block := self._native(start, pos, line)):
            return block
        if char == ":" and (block := self._div(start, pos, line)):
            return block
        if char == "<" and (block := self._comment(start, pos, line)):
            return block
        return TextBlock(self.text[start : self._text_end(pos)], line)

    def _source(self, start: int, end: int) -> str:
        return self.text[start : self._skip_blank(end)]

    def _skip_blank(self, pos: int) -> int:
        blanks = BLANKS.match(self.text, pos)
        return blanks.end() if blanks else pos

    # Metadata

    def _native(self, start: int, pos: int, line: int) -> Block | None:
        opening = NATIVE_OPEN.match(self.text, pos)
        if not opening:
            return None
        close = self._native_close(pos, opening.end() - 1)
        if close is None:
            if looks_like_key(self.text[opening.end() : opening.end() + 1000]):
                self.problems.append(Problem(line, NOT_CLOSED))
            return None
        body = (opening.end(), close.start() + 1)
        is_header = start == 0
        if not is_header and not _could_be_mapping(self.text[body[0] : min(body[1], body[0] + 2000)]):
            return None
        parsed = parse_metadata(self.text[body[0] : body[1]])
        if parsed.content is not None:
            return self._metadata(start, close.end(), line, body, parsed, "native")
        lines = self.text[body[0] : body[1]].split("\n") if is_header else [self.text[body[0] : body[1]]]
        if parsed.error and any(map(looks_like_key, lines)):
            return self._native_error(start, line, body, close.end(), parsed)
        tables = [] if parsed.error else listed_tables(self.text[body[0] : body[1]])
        if tables and (is_header or is_metadata(tables)):
            return ErrorBlock(self._source(start, close.end()), line, mapping_to_paste(tables, "---"), line)
        return None

    def _native_close(self, pos: int, after: int) -> re.Match[str] | None:
        """Return the closing line, unless another opening line comes first."""
        if pos >= self.unclosed_metadata:
            return None
        close, opener = self._close.search(after), self._remark.search(after)
        if close is None:
            self.unclosed_metadata = pos
        elif opener is not None and opener.start() < close.start():
            return None
        return close

    def _native_error(self, start: int, line: int, body: tuple[int, int], end: int, parsed: Parsed) -> Block:
        text = self.text[body[0] : body[1]]
        if _HEADING_INSIDE.search(text) and (gap := _BLANK_LINE.search(text)):
            return ErrorBlock(self._source(start, body[0] + gap.end()), line, NOT_CLOSED, line)
        return ErrorBlock(self._source(start, end), line, parsed.error, line + 1 + parsed.error_line)

    def _div(self, start: int, pos: int, line: int) -> Block | None:
        opened = DIV_OPEN.match(self.text, pos)
        if not opened or "lmm" not in opened[0] or not is_metadata_div(opened[0]):
            return None
        extent = self._div_body(pos)
        if not extent:
            end = self.regions.div_end(pos)
            return ErrorBlock(self._source(start, end), line, NOT_ONE_BLOCK, line) if end else None
        body, end = extent
        lead = self.text.count("\n", pos, body[0])
        return self._metadata_or_error(start, end, line, body, "div", lead)

    def _div_body(self, pos: int) -> tuple[tuple[int, int], int] | None:
        head = _DIV_HEAD.match(self.text, pos)
        close = self.regions.fence_close(head["fence"], head.end() - 1) if head else None
        tail = _DIV_TAIL.match(self.text, self.regions.line_end(close.end())) if close else None
        if not head or not close or not tail:
            return None
        return (head.end(), close.start() + 1), tail.end()

    def _comment(self, start: int, pos: int, line: int) -> Block | None:
        opening = COMMENT_OPEN.match(self.text, pos)
        end = self.regions.end(pos) if opening else None
        if not opening or end is None:
            return None
        body = (opening.end(), self.text.find("-->", opening.end()))
        if not _COMMENT_CLOSE.match(self.text, body[1]):
            return ErrorBlock(self._source(start, end), line, CLOSED_EARLY, line + self.text.count("\n", pos, body[1]))
        if (at := self.text.find("--!>", *body)) >= 0:
            return ErrorBlock(self._source(start, end), line, CLOSED_FOR_SOME, line + self.text.count("\n", pos, at))
        return self._metadata_or_error(start, end, line, body, "comment")

    def _metadata_or_error(
        self, start: int, end: int, line: int, body: tuple[int, int], spelling: Spelling, lead: int = 1
    ) -> Block:
        """Return a div's or comment's block. lead: lines before its YAML."""
        text = self.text[body[0] : body[1]]
        parsed = parse_metadata(text)
        if parsed.content is not None:
            return self._metadata(start, end, line, body, parsed, spelling)
        message = parsed.error or not_a_mapping(text)
        return ErrorBlock(self._source(start, end), line, message, line + lead + parsed.error_line)

    def _metadata(
        self, start: int, end: int, line: int, body: tuple[int, int], parsed: Parsed, spelling: Spelling
    ) -> MetadataBlock:
        kind = HeaderBlock if spelling == "native" and start == 0 else MetadataBlock
        return kind(
            self._source(start, end), line, parsed.content or {}, parsed.messages, spelling,
            body[0] - start, body[1] - start,
        )  # fmt: skip

    # Text

    def _text_end(self, pos: int) -> int:
        start, first = pos, self._definition_under(pos) or pos
        while True:
            pos = self._last_line_of_table(pos)
            stop, after, is_region = self.regions.next_end(pos, self.size)
            if (at := self.text.find("\n:::", pos, stop) + 1) and DIV_OPEN.match(self.text, at):
                self._under_text.append(at)  # Pandoc sees no div directly under a paragraph
            if is_region:
                pos, after = after, self._skip_blank(after)
                if pos == after < self.size:
                    if self.text[pos - 1] == "\n" and self._starts_block(pos):
                        return pos
                    continue
            if after == self.size or not self._goes_on(start, first, after):
                return after
            if _DEFINITION.match(self.text, after):
                first = after
            pos = after

    def _last_line_of_table(self, pos: int) -> int:
        """Return where the last line of a table with blank lines between rows starts, or `pos`."""
        head = _MULTILINE.match(self.text, pos) if self.text[pos] in " -" else None
        if head is None:
            return pos
        if self._table_end[0] < head.end():  # else found from an earlier table
            end = _MULTILINE_END.search(self.text, head.end() - 1)
            self._table_end = (end.start() + 1, not end["other"]) if end else (self.size, False)
        return self._table_end[0] if self._table_end[1] else pos

    def _definition_under(self, pos: int) -> int:
        below = self.text.find("\n", pos) + 1
        return below if below and _DEFINITION.match(self.text, below) else 0

    def _starts_block(self, pos: int) -> bool:
        char = self.text[pos]
        return (
            (char == "#" and bool(_HEADING.match(self.text, pos)))
            or (char == "-" and bool(NATIVE_OPEN.match(self.text, pos)))
            or (char == ":" and is_metadata_div(self.text[pos : self.regions.line_end(pos)]))
            or (char == "<" and bool(COMMENT_OPEN.match(self.text, pos)))
        )

    def _goes_on(self, start: int, first: int, after: int) -> bool:
        text = self.text
        if _CAPTION.match(text, start) and _TABLE_START.match(text, after):
            return True
        if _DEFINITION.match(text, first) and _NEXT_TERM.match(text, after):
            return True
        if not _MAY_GO_ON.match(text, after):
            return False
        if _DEFINITION.match(text, after) or (_CAPTION.match(text, after) and _TABLE.search(text, first, after)):
            return True
        if _INDENTED.match(text, first) or _FOOTNOTE.match(text, first):
            return bool(_INDENTED.match(text, after))
        if self._item[0] != first:
            self._item = (first, next((item for item in (_BULLET, _NUMBER) if item.match(text, first)), None))
        if item := self._item[1]:
            return bool(_NESTED.match(text, after) or item.match(text, after))
        is_indenting = _DEFINITION.match(text, first) or _ADMONITION.match(text, first)
        return bool(is_indenting and _INDENTED.match(text, after))

    def _report_unclosed(self) -> None:
        at, line = 0, 1
        messages = {
            pos: f"a {kind} starts here and is not closed: "
            + (CLOSE_DIV if kind == "fenced div" else "it is read as text")
            for pos, kind in self.regions.unclosed.items()
        }
        messages |= dict.fromkeys(self._under_text, f"{DIV_UNDER_TEXT}: it is read as text")
        for pos, message in sorted(messages.items()):
            line += self.text.count("\n", at, pos)
            at = pos
            self.problems.append(Problem(line, message))


def _could_be_mapping(body: str) -> bool:
    start = body.lstrip()
    return start[:1] in "#{?!&%" or ":" in start.split("\n", 1)[0]
