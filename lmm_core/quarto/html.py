"""Read rendered HTML: its elements, by lexbor, and all its words.

Words are taken from between the tags: a parser drops some (in `<template>`, frames, and unclosed tags)."""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_TAG = re.compile(r"(<[!/?a-zA-Z][^<>]*>)")  # a group, so that tags and what stands between them are found at once
_MARKS = re.compile(r"<!--|-->|<!\[CDATA\[|\]\]>")
_VALUE = re.compile(r"=\s*(?:\"([^\"]*)\"|'([^']*)')")
_LONG_CODE = re.compile(r"&#(?:[0-9]{9,}|[xX][0-9a-fA-F]{9,});?")  # too large for any character


def strip_tags(source: str) -> str:
    """Return the text of HTML or XML, followed by attribute values of several words; comments stay."""
    for _ in range(2):  # twice, since a feed holds pages whose tags are written as entities
        if "<" not in source and "&" not in source:
            break
        pieces = _TAG.split(_MARKS.sub(" ", source))
        sentences = [value for tag in pieces[1::2] if "=" in tag for value in _sentences(tag)]
        source = unescape_html("\n".join([" ".join(pieces[::2]), *sentences]))
    return source


@lru_cache(maxsize=10_000)  # the links of the navigation stand on every page
def _sentences(tag: str) -> tuple[str, ...]:
    """Return the attribute values of a tag that have several words."""
    values = (double or single for double, single in _VALUE.findall(tag))
    return tuple(value for value in values if len(value.split()) > 1)


def unescape_html(source: str) -> str:
    """Return a text with HTML's character references decoded."""
    return html.unescape(_LONG_CODE.sub("\ufffd", source))


def parse_html(source: str) -> LexborHTMLParser:
    """Return a parsed page."""
    from selectolax.lexbor import LexborHTMLParser

    return LexborHTMLParser(source.encode("utf-8", "replace"))


def element_text(element: LexborNode) -> str:
    """Return the text of an element with its white space collapsed."""
    return " ".join(element.text().split())
