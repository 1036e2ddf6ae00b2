"""Divs and metadata blocks nested anywhere in a text block."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .blocks import (
    BOM,
    Attributes,
    Block,
    ErrorBlock,
    HeaderBlock,
    MetadataBlock,
    Spelling,
    TextBlock,
    add_pair,
    parse_attributes,
)
from .metadata.keys import DECIDING, find_key
from .parse import COMMENT_OPEN, parse_markdown_text
from .regions import DIV_CLOSE, DIV_OPEN, div_attributes
from .tree import Node, blocks_to_tree, node_block, traverse
from .views import Tag, View

_QUOTED = re.compile(r"^[ \t]*>[ ]?", re.M)


def find_parts(text: str) -> list[Part]:
    """Return the divs and metadata blocks in a text, sorted by start."""
    return find_parts_and_cuts(text, lambda part: None)[0]


def parts_by_line(text: str) -> Iterator[tuple[int, Part, str]]:
    """Yield each part with its line (from 0) and unquoted text."""
    for part in find_parts(text):
        yield text.count("\n", 0, part.start), part, _QUOTED.sub("", text[part.start : part.end])


def find_cuts(text: str, goes: Goes, *, is_container: bool = False) -> list[Cut]:
    """Return the ranges to remove from a text, sorted and disjoint.

    goes: predicate for a div or a metadata scope
    is_container: the text is a container's content
    """
    return find_parts_and_cuts(text, goes, is_container=is_container)[1]


def find_parts_and_cuts(text: str, goes: Goes, *, is_container: bool = False) -> tuple[list[Part], list[Cut]]:
    """Return parts (none nested in a cut) and cuts."""
    if not has_marks(text):
        return [], []
    explorer = Explorer(text, goes)
    explorer.explore(is_container=is_container)
    cuts: list[Cut] = []
    for cut in sorted(explorer.cuts, key=lambda cut: (cut.start, -cut.end)):
        if not cuts or cut.start >= cuts[-1].end:
            cuts.append(cut)
        elif cut.end > cuts[-1].end:
            cut.start = cuts[-1].end
            cuts.append(cut)
    return sorted(explorer.parts, key=lambda part: (part.start, -part.end)), cuts


def cut(text: str, goes: Goes) -> Iterator[tuple[int, int]]:
    """Yield the cuts as pairs of start and end."""
    for cut_range in find_cuts(text, goes):
        yield cut_range.start, cut_range.end


def without(text: str, cuts: Iterable[tuple[int, int]], *, lines: bool = False) -> str:
    """Return a text without some ranges; `lines` keeps their line ends."""
    pieces, at = [], 0
    for start, end in cuts:
        pieces += [text[at:start], "\n" * text.count("\n", start, end) if lines else ""]
        at = end
    return "".join(pieces) + text[at:]


# Search in containers; each is parsed as a document

# Limit of characters parsed in nested containers. Beyond it, a suspicious container is removed whole.
TIMES, MORE = 10, 1_500_000

_TAG_MARK = re.compile(r"<(?:(?:div|section)\b|!--[ \t]*lmm\b)", re.I)  # split for speed
_NATIVE_MARK = re.compile(r"---[ \t]*(?:\#|\r?\n)")
_BLANKS = re.compile(r"(?:[ \t]*\r?\n)*")
_HTML_DIVS = ("div", "section")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|\r?(?:\n|\Z))")
_ELEMENT = re.compile(r"<[a-z]", re.I)
_CELLS = re.compile(r"[ ]{0,3}\+(?:[-=:]+\+)+[ \t]*\r?(?:\n|\Z)")
_PAIR = re.compile(r"([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")


@dataclass(slots=True)
class Part:
    """A div or metadata block: `text[start:end]`; `metadata` and `spelling` are None for a div."""

    start: int
    end: int
    attributes: Attributes = field(default_factory=Attributes)
    metadata: dict[str, Any] | None = None
    error: str = ""
    spelling: Spelling | None = None


Goes = Callable[[Part], bool | None]


class ViewRange(NamedTuple):
    """A range of a view's text."""

    view: View
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.view.text[self.start : self.end]


@dataclass(slots=True)
class Cut:
    """A range to remove: `text[start:end]`, on `line` (from 0).

    part: the div or deciding metadata, None for a metadata block
    own: its text without surrounding marks
    content: the div's content in `own`
    is_unclosed: so it is removed with the rest of its container
    is_table: removed because of a cell
    """

    start: int
    end: int
    line: int = 0
    part: Part | None = None
    own: str = ""
    content: tuple[int, int] = (0, 0)
    is_unclosed: bool = False
    is_table: bool = False
    depth: int = 0


def has_marks(text: str) -> bool:
    """Return True if a text may hold divs or metadata."""
    return (
        ":::" in text
        or ("<" in text and _TAG_MARK.search(text) is not None)
        or ("---" in text and _NATIVE_MARK.search(text) is not None)
    )


class Explorer:
    """A search through the containers of a text."""

    def __init__(self, text: str, goes: Goes) -> None:
        self.text = text
        self.goes = goes
        self.budget = TIMES * len(text) + MORE
        self.parts: list[Part] = []
        self.cuts: list[Cut] = []
        self.todo: list[View] = []
        self.starts: list[int] = []

    def explore(self, *, is_container: bool) -> None:
        view = View.of_text(self.text)
        self.starts = [line.at for line in view.lines]
        if is_container:
            self._blocks(view)
        else:
            self._scan(view, 0, len(view.lines))
        while self.todo:
            self._blocks(self.todo.pop())

    def _look_into(self, view: View) -> None:
        if not has_marks(view.text):
            return
        self.budget -= len(view.text)
        if self.budget >= 0:
            self.todo.append(view)
        elif part := next(self._marks(view.text.split("\n")), None):
            self._take(ViewRange(view, 0, len(view.text)), part)

    def _blocks(self, view: View) -> None:
        blocks = [_inner(block) for block in parse_markdown_text(view.text)]
        starts, at = {}, 0
        for block in blocks:
            starts[id(block)] = at
            at += len(block.source)
        decided: dict[int, Part | None] = {}
        line_count = len(view.lines)
        for node in traverse(blocks_to_tree(blocks)):
            metadata_parts = [self._metadata(view, metadata, starts[id(metadata)]) for metadata in node.metadata]
            decided[id(node)] = self._decide(node, metadata_parts, decided)
            own_block = node_block(node)
            if own_block is None:
                continue
            place = ViewRange(view, starts[id(own_block)], starts[id(own_block)] + len(own_block.source))
            if isinstance(own_block, ErrorBlock):
                self._part(place, error=own_block.message)
                self._take(place, None)
            elif part := decided[id(node)]:
                self._take(place, part)
            elif isinstance(own_block, TextBlock) and self._scan_block(place) == line_count:
                return

    def _metadata(self, view: View, block: MetadataBlock, start: int) -> Part:
        attributes = div_attributes(block.source.lstrip()) if block.spelling == "div" else Attributes()
        place = ViewRange(view, start, start + len(block.source))
        part = self._part(place, attributes, block.content, spelling=block.spelling)
        self._take(place, None)
        return part

    def _decide(self, node: Node, metadata_parts: list[Part], decided: dict[int, Part | None]) -> Part | None:
        """Return the metadata that hides a node, its own or its section's."""
        inherited = decided.get(id(node.parent))
        if not metadata_parts:
            return inherited
        deciding = {key: node.get(key) for key in DECIDING if find_key(node.properties, key) is not None}
        part = Part(metadata_parts[0].start, metadata_parts[-1].end, metadata={**node.properties, **deciding})
        verdict = self.goes(part)
        return inherited if verdict is None else part if verdict else None

    def _part(
        self,
        place: ViewRange,
        attributes: Attributes | None = None,
        metadata: dict[str, Any] | None = None,
        error: str = "",
        spelling: Spelling | None = None,
    ) -> Part:
        view, text = place.view, place.text
        end = place.start + len(text.rstrip(" \t\r\n"))
        # a container's first block includes leading blank lines
        start = place.start + text.rfind("\n", 0, len(text) - len(text.lstrip(" \t\r\n"))) + 1
        part = Part(view.outer(start), view.outer_end(end), attributes or Attributes(), metadata, error, spelling)
        self.parts.append(part)
        return part

    def _scan_block(self, place: ViewRange) -> int:
        if not has_marks(place.text):
            return 0
        return self._scan(place.view, place.view.number(place.start), place.view.number(place.end - 1) + 1)

    def _scan(self, view: View, at: int, stop: int) -> int:
        free = True
        while at < stop:
            text, pos = view.lines[at].text, view.starts[at]
            if not text.strip(BOM + " \t\r\n"):
                at, free = at + 1, True
                continue
            at, free = self._line(view, at, text, pos, free)
        return at

    def _line(self, view: View, at: int, text: str, pos: int, free: bool) -> tuple[int, bool]:
        """Process the element on a line; return the next line, and whether that one is free."""
        if text.startswith(":::"):
            return self._fenced(view, at, text, pos, free)
        if free and (text.startswith("    ") or text.lstrip(" ").startswith("\t")):
            return at + 1, True  # indented code
        if (end := self._region(view, text, pos)) is not None:
            if free and COMMENT_OPEN.match(text):
                self._is_metadata(ViewRange(view, pos, end), Attributes())
            return view.number(end - 1) + 1, True
        if free and _CELLS.match(text):
            return self._grid(view, at), True
        if (free or text.lstrip(" ")[:1] in (":", "~")) and (container := view.container(at)):
            self._look_into(container[0])
            return container[1], True
        if "<" in text and (next_line := self._html(view, at, text, pos)):
            return next_line
        return at + 1, bool(_HEADING.match(text))

    def _region(self, view: View, text: str, pos: int) -> int | None:
        bare = text.lstrip(" ")
        opens = bare.startswith(("`", "~", "<", "\\")) and pos + len(text) - len(bare) not in view.tags()
        return view.regions.end(pos) if opens else None

    def _fenced(self, view: View, at: int, text: str, pos: int, free: bool) -> tuple[int, bool]:
        opened = DIV_OPEN.match(text)
        if DIV_CLOSE.match(text):
            return at + 1, True
        if not opened or not (free or view.regions.open_line(pos)):
            return at + 1, False
        attributes = parse_attributes(opened["attributes"])
        end = view.regions.div_end(pos)
        if end is None:
            return self._unclosed(view, at, pos, view.starts[at + 1], attributes)
        place = ViewRange(view, pos, end)
        if "lmm" in attributes.classes and self._is_metadata(place, attributes):
            return view.number(end - 1) + 1, True
        part = self._part(place, attributes)
        content = view.starts[at + 1], view.starts[view.number(end - 1)]
        if self.goes(part):
            self._take(place, part, content)
        elif content[0] < content[1]:
            self._look_into(view.part(*content))
        return view.number(end - 1) + 1, True

    def _is_metadata(self, place: ViewRange, attributes: Attributes) -> bool:
        block = parse_markdown_text(place.text)[0]
        if isinstance(block, MetadataBlock):
            self._metadata(place.view, block, place.start)
        elif isinstance(block, ErrorBlock):
            self._part(place, attributes, error=block.message)
            self._take(place, None)
        else:
            return False
        return True

    def _unclosed(
        self, view: View, at: int, start: int, content_start: int, attributes: Attributes
    ) -> tuple[int, bool]:
        """Process an unclosed div: if RAG-only, it removes the rest of the view."""
        stop = len(view.text)
        part = Part(view.outer(start), view.outer_end(stop), attributes)
        if not self.goes(part):
            return at + 1, True
        self._take(ViewRange(view, start, stop), part, (content_start, stop), is_unclosed=True)
        return len(view.lines), True

    def _html(self, view: View, at: int, text: str, pos: int) -> tuple[int, bool] | None:
        for match in _ELEMENT.finditer(text):
            tag = view.tags().get(pos + match.start())
            if tag is None or (tag.name not in _HTML_DIVS and text[: match.start()].strip()):
                continue
            if tag.close is not None and tag.end is not None:
                return self._element(view, tag, tag.close, tag.end)
            if tag.name not in _HTML_DIVS:
                return at + 1, True
            return self._unclosed(view, at, tag.start, tag.content_start, _html_attributes(tag.attributes))
        return None

    def _element(self, view: View, tag: Tag, close: int, end: int) -> tuple[int, bool]:
        if tag.name in _HTML_DIVS:
            part = self._part(ViewRange(view, tag.start, end), _html_attributes(tag.attributes))
            if self.goes(part):
                line = view.number(end - 1)
                remainder = view.text[end : view.starts[line + 1]]
                end += len(remainder) if not remainder.strip() else 0
                self._take(ViewRange(view, tag.start, end), part, (tag.content_start, close))
                self._look_into_rest(view, end)
                return line + 1, True
        if tag.content_start < close:
            self._look_into(view.part(tag.content_start, close))
        self._look_into_rest(view, end)
        return view.number(end - 1) + 1, True

    def _look_into_rest(self, view: View, pos: int) -> None:
        line = view.number(pos - 1)
        if view.text[pos : view.starts[line + 1]].strip():
            self._look_into(view.part(pos, view.starts[line + 1]))

    def _grid(self, view: View, at: int) -> int:
        """Cut a grid table if a cell holds a part to remove."""
        end = at
        while end < len(view.lines) and view.lines[end].text.lstrip(" ")[:1] in ("+", "|"):
            end += 1
        cells = (cell for line in view.lines[at:end] for cell in line.text.split("|"))
        if part := next(self._marks(cells), None):
            self._take(ViewRange(view, view.starts[at], view.starts[end]), part, is_table=True)
        return end

    def _marks(self, lines: Any) -> Iterator[Part]:
        """Yield parts to remove, without parsing."""
        for line in lines:
            bare = line.strip().lstrip("> ")
            opened = DIV_OPEN.match(bare)
            attributes = parse_attributes(opened["attributes"]) if opened else None
            if attributes is None and (at := bare.lower().find("<div")) >= 0:
                attributes = _html_attributes(bare[at:])
            if attributes is None and COMMENT_OPEN.match(f"{bare}\n"):
                attributes = Attributes("", ["lmm"])
            if attributes is None:
                continue
            part = Part(0, 0, attributes)
            if "lmm" in attributes.classes:
                part.attributes = Attributes("", ["rag-only"])
            if self.goes(part):
                yield part

    def _take(
        self,
        place: ViewRange,
        part: Part | None,
        content: tuple[int, int] | None = None,
        *,
        is_unclosed: bool = False,
        is_table: bool = False,
    ) -> None:
        """Record a cut, extended to whole lines and redundant blank lines."""
        (view, start, end), own = place, place.text
        text_end = start + len(own.rstrip(" \t\r\n"))
        line_end = view.starts[view.number(text_end - 1) + 1] if text_end > start else end
        after = end if view.text[text_end:line_end].strip() else line_end
        outer = view.outer_start(start)
        if outer and self.text[outer - 1] != "\n":  # the line of an item's mark or words stays
            stop = view.outer_end(text_end)
        else:
            stop = view.outer_end(_skip_blank(view.text, start, after))
        low, high = content or (start, end)
        line, content = bisect_right(self.starts, outer) - 1, (low - start, high - start)
        self.cuts.append(Cut(outer, stop, line, part, own, content, is_unclosed, is_table, view.depth))


def _inner(block: Block) -> Block:
    """Turn a header inside a container into a metadata block."""
    if isinstance(block, HeaderBlock):
        return MetadataBlock(
            block.source, block.line, block.content, block.messages, block.spelling, block.start, block.end
        )
    return block


def _skip_blank(text: str, start: int, end: int) -> int:
    last = text[text.rfind("\n", 0, max(start - 1, 0)) + 1 : start] if start else ""
    if last.strip() and not last.lstrip().startswith(":::"):
        return end
    blanks = _BLANKS.match(text, end)
    return blanks.end() if blanks else end


def _html_attributes(text: str) -> Attributes:
    attributes = Attributes()
    for name, double, single, bare in _PAIR.findall(text):
        add_pair(attributes, name.lower(), double or single or bare)
    return attributes
