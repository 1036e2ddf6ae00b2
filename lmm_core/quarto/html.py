"""Read rendered HTML: every word that stands in it, and the elements of a page.

Words are taken from between the tags, because a parser drops some of them (in `<template>`, in frames,
in a tag that is cut off). Elements are found by lexbor (https://github.com/rushter/selectolax).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

_TAG = re.compile(r"(<[!/?a-zA-Z][^<>]*>)")  # a group, so that tags and what stands between them are found at once
_MARKS = re.compile(r"<!--|-->|<!\[CDATA\[|\]\]>")
_VALUE = re.compile(r"=\s*(?:\"([^\"]*)\"|'([^']*)')")
_LONG_CODE = re.compile(r"&#(?:[0-9]{9,}|[xX][0-9a-fA-F]{9,});?")  # too large for any character


def strip_tags(source: str) -> str:
    """Return HTML or XML without tags and entities. Attribute values of several words (`alt`, a
    description) follow the text; the text of comments stays."""
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
    """Return a text with HTML's character references replaced by the characters."""
    return html.unescape(_LONG_CODE.sub("\ufffd", source))


class HtmlPage:
    """An HTML page, parsed."""

    def __init__(self, source: str) -> None:
        from selectolax.lexbor import LexborHTMLParser

        self._parser = LexborHTMLParser(source.encode("utf-8", "replace"))
        self._root: Any = self._parser.root

    @property
    def source(self) -> str:
        """The page as HTML, with what was changed."""
        return str(self._parser.html)

    def elements(self, selector: str) -> Iterator[HtmlElement]:
        """Yield the elements that a CSS selector chooses, in their order."""
        return map(HtmlElement, self._root.css(selector) if self._root is not None else ())


class HtmlElement:
    """An element of a page."""

    def __init__(self, node: Any) -> None:
        self._node = node

    @property
    def name(self) -> str:
        """The name of its tag."""
        return str(self._node.tag)

    @property
    def attributes(self) -> Mapping[str, str]:
        """Its attributes; "" for one without a value."""
        return {name: value or "" for name, value in self._node.attributes.items()}

    @property
    def text(self) -> str:
        """Its text, in which white space counts as one blank."""
        return " ".join(self._node.text(deep=True).split())

    def set(self, name: str, value: str) -> None:
        """Give it an attribute."""
        self._node.attrs[name] = value

    def set_text(self, text: str) -> None:
        """Put a text in place of all that is in it."""
        self._node.inner_html = html.escape(text, quote=False)

    def replace(self, text: str) -> None:
        """Put a text in its place."""
        self._node.replace_with(text)

    def text_before(self, names: frozenset[str], skipped: str) -> str:
        """Return its text up to the first element that has one of some names. Elements of a class are skipped."""
        pieces: list[str] = []
        for child in self._node.iter(include_text=True):
            if child.tag in names or (child.tag != "-text" and child.css_first(",".join(sorted(names)))):
                break
            if skipped not in (child.attributes.get("class") or "").split():
                pieces.append(child.text(deep=True))
        return "".join(pieces)
