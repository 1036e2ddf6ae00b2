"""Find parts of one or two words ("Answer: 42."), which also occur by chance.

They are searched for with the words around them, and as whole elements (paragraph, item, heading); headings also in
links."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...scan.left_out import SourcePiece, texts_in
from ..html import parse_html
from .site_text import Text
from .sources import Secret
from .words import LONG, SHORT, Needle, joined_runs, markdown_words, text_words

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

NEAR = 4  # words around a part, searched for with it
REACH = 2000  # characters around it that may contain these
_ELEMENTS = "p li dd dt blockquote figcaption caption h1 h2 h3 h4 h5 h6 td th".split()
_BLOCKS = frozenset(
    [*_ELEMENTS, *"div section ul ol dl table tr thead tbody pre aside main nav figure header footer article".split()]
)
_ANY_BLOCK = ",".join(sorted(_BLOCKS))
# Classes of text that Quarto adds: numbers of headings, and its own headings
_NUMBER = "header-section-number"
_OWN = frozenset({"quarto-appendix-heading", "toc-title"})
_NAMED = re.compile(r"(?:\b(?:id|name)=[\"']|#)([\w.:-]*\w)")  # names and links of a page
_WITH_NAMES = (".html", ".htm", ".xhtml", ".json", ".xml")
_LINES = re.compile(r"\n[ \t]*\n|\n(?=[ \t>]*(?:[-*+:#|]|\d+[.)]))|(?<!\\)\||\n:::+|<br ?/?>")


@dataclass
class ShortParts:
    """Parts to search for, with the numbers of their secrets.

    elements: letters of whole elements
    names: names of headings"""

    elements: dict[str, int] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)

    def find(self, text: Text, letters: str) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the words of each secret in a text with these letters."""
        if any(element in letters for element in self.elements):
            for words in elements_of(text):
                at = self.elements.get("".join(words))
                if at is not None:
                    yield at, words
        if self.names and text.suffix in _WITH_NAMES:
            for name in {*_NAMED.findall(text.source)} & self.names.keys():
                yield self.names[name], [f"#{name}"]


def element_of(secret: Secret) -> str:
    """Return the letters of a short part that is distinct as a whole element, else ""."""
    words = markdown_words(secret.text)
    is_distinct = not secret.piece.is_metadata and any(len(word) > 1 and not word.isdigit() for word in words)
    return "".join(words) if is_distinct else ""


def name_of(secret: Secret) -> str:
    """Return a heading's name if it can be searched for in links, else ""."""
    name = secret.piece.slug
    return name if "-" in name and len(name) >= SHORT else ""


def lines_of(texts: Iterable[str]) -> Iterator[str]:
    """Yield the letters of each line that may become an element, and of its part after a colon."""
    for text in texts:
        for line in _LINES.split(text):
            yield "".join(markdown_words(line))
            yield "".join(markdown_words(line.partition(":")[2]))


# Neighbouring words


def beside_others(secret: Secret) -> Iterator[Needle]:
    """Yield a short part with the words on both sides and, if it has several words, on one side."""
    if secret.piece.is_metadata:
        return
    runs = joined_runs(secret.text)
    words = [word for run in runs for line in run for word in line]
    if not words or len(runs) > 1:
        return
    before, after = _beside(secret, words, -1), _beside(secret, words, 1)
    needles = {"".join([*left[-NEAR:], *words, *right[:NEAR]]) for left in before for right in after}
    if len(words) > 1 and any(len(word) > 2 and word.isalpha() for word in words):
        needles |= {"".join([*left[-NEAR:], *words]) for left in before if len(left) >= NEAR}
        needles |= {"".join([*words, *right[:NEAR]]) for right in after if len(right) >= NEAR}
    yield from (Needle(letters, whole_words=True) for letters in sorted(needles) if len(letters) >= LONG)


def _beside(secret: Secret, words: list[str], step: int) -> list[list[str]]:
    """Return the words after (`step` 1) or before (-1): of the nearest text, and of the nearest published text."""
    return [near for only_kept in (False, True) if (near := _nearest(secret, step, only_kept, words))]


def _nearest(secret: Secret, step: int, only_kept: bool, words: list[str]) -> list[str]:
    # such words could also be a number that the renderer adds
    bare = all(len(word) < 3 or word.isdigit() for word in words)
    near: list[str] = []
    place = secret.place + step
    while 0 <= place < len(secret.pieces) and len(near) < NEAR:
        piece = secret.pieces[place]
        place += step
        if piece.is_metadata or (only_kept and piece.is_out) or not piece.text.strip():
            continue
        if bare and not _is_paragraph(piece):
            break
        runs = joined_runs(piece.text[-REACH:] if step < 0 else piece.text[:REACH])
        run = [word for line in (runs[-1] if step < 0 else runs[0]) for word in line]
        near = run + near if step < 0 else near + run
        if len(runs) > 1:
            break
    return near


def _is_paragraph(piece: SourcePiece) -> bool:
    text = piece.text.lstrip()
    begins = text[:1].isalpha() or (text.startswith(("*", "_", '"', "“")) and text[1:2].isalpha())
    return begins and not piece.is_heading


# Elements


def elements_of(text: Text) -> Iterator[list[str]]:
    """Yield the words of each element of a page, or each value of Quarto's search index."""
    if text.suffix == ".json":
        yield from (text_words(value) for value in _values_of(text))
    elif text.suffix in (".html", ".htm", ".xhtml"):
        has_output = "cell-output" in text.source  # tables of results contain arbitrary data
        for element in parse_html(text.source).css(",".join(_ELEMENTS)):
            is_own = not _OWN.isdisjoint((element.attributes.get("class") or "").split())
            if not is_own and not (has_output and element.tag in ("td", "th")):
                yield text_words(_own_text(element))


def _own_text(element: LexborNode) -> str:
    pieces: list[str] = []
    for child in element.iter(include_text=True):
        if child.tag in _BLOCKS or (child.tag != "-text" and child.css_first(_ANY_BLOCK)):
            break
        if _NUMBER not in (child.attributes.get("class") or "").split():
            pieces.append(child.text())
    return "".join(pieces)


def _values_of(text: Text) -> Iterator[str]:
    try:
        values = json.loads(text.source) if '"objectID"' in text.source else []
    except (ValueError, RecursionError):
        return
    yield from texts_in(values)
