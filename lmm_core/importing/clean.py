"""Cleans a syntax tree: what is text, lists, tables, code, formulas and pictures stays; nothing else does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Element = dict[str, Any]
_SLIDE = re.compile(r"slide-(\d+)")
_AROUND = {"Div": 1, "Figure": 2}  # what is taken off, with the place of its blocks
PAGE = "Page"  # a block of our own: what follows stands on this page
_EMPTY = ["", [], []]
_KEPT = ("title", "subtitle", "author", "date", "lang")
# What our parser, or Pandoc's reader, could take for a block, a div, a comment or a question
_MARKS = re.compile(r"\\(?=[A-Za-z])|:{3,}|\{(?=[.#])|<!--|\A(?:-{2,}|={2,}|\.{3}|[?+=]:|%)")


def _page_mark(number: int) -> Element:
    """Return the metadata block that says on which page what follows stands."""
    attributes = ["", ["lmm", "content-hidden"], []]
    return {"t": "Div", "c": [attributes, [{"t": "CodeBlock", "c": [["", ["yaml"], []], f"page: {number}"]}]]}


def clean(ast: Element, picture: Callable[[str], str]) -> Element:
    """Return a tree without divs, raw parts, comments and attributes; slides become page marks.

    picture: gives the new address for that of a picture."""
    blocks = list(_blocks(ast["blocks"], picture))
    meta = {key: _inside(value, picture) for key, value in ast["meta"].items() if key in _KEPT}
    return {**ast, "meta": meta, "blocks": blocks}


def _blocks(blocks: list[Element], picture: Callable[[str], str]) -> Iterator[Element]:
    for block in blocks:
        kind: str = block["t"]
        content: Any = block.get("c")
        if kind == PAGE:
            yield _page_mark(content)
        elif kind in _AROUND:
            yield from _blocks(content[_AROUND[kind]], picture)
        elif kind == "Header":
            if found := _SLIDE.fullmatch(content[1][0]):
                yield _page_mark(int(found[1]))
            if content[2]:
                yield {"t": kind, "c": [content[0], _EMPTY, _inside(content[2], picture)]}
        elif kind == "CodeBlock":
            yield {"t": kind, "c": [["", content[0][1][:1], []], content[1]]}
        elif kind == "Table":
            # without the widths of columns, which a table of pipes cannot say
            columns = [[align, {"t": "ColWidthDefault"}] for align, _ in content[2]]
            yield {"t": kind, "c": [_EMPTY, _inside(content[1], picture), columns, *_inside(content[3:], picture)]}
        elif kind != "RawBlock":
            yield _inside(block, picture)


def _inside(value: Any, picture: Callable[[str], str]) -> Any:
    """Return a part of the tree with all that is in it cleaned."""
    if isinstance(value, dict):
        return {key: _inside(part, picture) for key, part in value.items()} if _is_plain(value) else value
    if not isinstance(value, list):
        return value
    made: list[Any] = []
    for part in value:
        made += _element(part, picture) if isinstance(part, dict) and "t" in part else [_inside(part, picture)]
    return made


def _is_plain(value: Element) -> bool:
    return value.get("t") not in ("Code", "Math", "CodeBlock")


def _element(part: Element, picture: Callable[[str], str]) -> list[Any]:
    kind: str = part["t"]
    content: Any = part.get("c")
    if kind in ("RawInline", "RawBlock"):
        return []
    if kind == "Span":
        made: list[Any] = _inside(content[1], picture)
        return made
    if kind in ("Div", "Header", "Figure", "CodeBlock", "Table"):
        return list(_blocks([part], picture))
    if kind == "Code":
        return [{"t": kind, "c": [_EMPTY, content[1]]}]
    if kind == "Image":
        return [{"t": kind, "c": [_EMPTY, _inside(content[1], picture), [picture(content[2][0]), ""]]}]
    if kind == "Link":
        return [{"t": kind, "c": [_EMPTY, _inside(content[1], picture), content[2]]}]
    if kind == "Str" and _MARKS.search(content):  # pandoc does not escape these
        return [{"t": "RawInline", "c": ["markdown", re.sub(r"([^\w\s])", r"\\\1", content)]}]
    return [_inside(part, picture)]
