"""Parse rendered HTML with lexbor, and extract its words.

Words are taken from between tags, because the parser drops some (in `<template>`, frames, and unclosed tags)."""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_TAG = re.compile(r"(<[!/?a-zA-Z][^<>]*+>)")  # grouped, so that split returns tags as well
_MARKS = ("<!--", "-->", "<![CDATA[", "]]>")
_VALUE = re.compile(r"=\s*(?:\"([^\"]*)\"|'([^']*)')")
_LONG_CODE = re.compile(r"&#(?:[0-9]{9,}|[xX][0-9a-fA-F]{9,});?")  # beyond Unicode


def strip_tags(source: str) -> str:
    """Return the text of HTML or XML with comments, followed by multi-word attribute values."""
    for _ in range(2):  # twice, because feeds contain escaped pages
        if "<" not in source and "&" not in source:
            break
        for mark in _MARKS:
            source = source.replace(mark, " ")
        pieces = _TAG.split(source)
        sentences = [value for tag in dict.fromkeys(pieces[1::2]) if "=" in tag for value in _sentences(tag)]
        source = unescape_html("\n".join([" ".join(pieces[::2]), *sentences]))
    return source


@lru_cache(maxsize=10_000)  # navigation repeats on every page
def _sentences(tag: str) -> tuple[str, ...]:
    values = (double or single for double, single in _VALUE.findall(tag))
    return tuple(value for value in values if len(value.split()) > 1)


def unescape_html(source: str) -> str:
    """Decode HTML character references."""
    return html.unescape(_LONG_CODE.sub("\ufffd", source))


def parse_html(source: str) -> LexborHTMLParser:
    from selectolax.lexbor import LexborHTMLParser

    return LexborHTMLParser(source.encode("utf-8", "replace"))


def element_text(element: LexborNode) -> str:
    """Return an element's text with collapsed white space."""
    return " ".join(element.text().split())
