"""Short parts: those of one or two words ("Answer: 42."), which stand in the notes by themselves.

They are looked for together with the words right before and after them in the source; as the
whole text of an element (a paragraph, an item, a heading); and a heading by its name in links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ...scan.left_out import SourcePiece, strings
from .site_text import Text, characters
from .sources import Secret, Sources
from .words import LONG, SHORT, Needle, joined_runs, words_of, words_of_markdown

NEAR = 4  # words beside a part
REACH = 2000  # letters beside it in which they are
_ELEMENTS = "p|li|dd|dt|blockquote|figcaption|caption|h[1-6]|td|th"
_BLOCKS = re.compile(
    rf"<(?P<open>{_ELEMENTS})\b[^<>]*>|</?(?:{_ELEMENTS}|div|section|ul|ol|dl|table|tr|thead|tbody|pre|aside|main|nav|"
    r"figure|header|footer|article|body)\b[^<>]*>",
    re.I,
)
# What Quarto puts in itself: the numbers of headings, headings of its own.
_NUMBER = re.compile(r"<span class=\"header-section-number\">[^<>]*</span>")
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_OWN = ("quarto-appendix-heading", "toc-title")
_TAG = re.compile(r"<[^<>]*>")
_NAMED = re.compile(r"(?:\b(?:id|name)=[\"']|#)([\w.:-]*\w)")
_LINES = re.compile(r"\n[ \t]*\n|\n(?=[ \t>]*(?:[-*+:#|]|\d+[.)]))|(?<!\\)\||\n:::+|<br ?/?>")


@dataclass
class ShortParts:
    """What is looked for by place: whole elements, and names of headings; each with the number of
    its secret."""

    elements: dict[str, int] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)

    def find(self, text: Text) -> Iterator[tuple[int, list[str]]]:
        """Which of them a file has."""
        if self.elements and text.source:
            for words in _elements_of(text):
                at = self.elements.get("".join(words))
                if at is not None:
                    yield at, words
        if self.names and text.suffix in (".html", ".htm", ".xhtml", ".json", ".xml"):
            for name in set(_NAMED.findall(text.source)) & self.names.keys():
                yield self.names[name], [f"#{name}"]

    def looked_for(self) -> set[int]:
        """The secrets that are looked for."""
        return {*self.elements.values(), *self.names.values()}


def find_short_parts(found: Sources, too_short: Iterable[int]) -> ShortParts:
    """What is looked for by place of the secrets of these numbers, and of headings: all that the
    notes do not have themselves."""
    parts = ShortParts()
    for at in too_short:
        piece = found.secrets[at].piece
        words = words_of_markdown(piece.text)
        if not piece.is_metadata and any(len(word) > 1 and not word.isdigit() for word in words):
            parts.elements.setdefault("".join(words), at)
    for at, secret in enumerate(found.secrets):
        name = secret.piece.slug
        if "-" in name and len(name) >= SHORT and name not in found.names:
            parts.names.setdefault(name, at)
    if parts.elements:
        for texts in found.kept:
            for text in texts:
                for line in _LINES.split(text):
                    parts.elements.pop("".join(words_of_markdown(line)), None)
                    parts.elements.pop("".join(words_of_markdown(line.partition(":")[2])), None)
    return parts


# Beside others


def beside_others(at: int, secret: Secret) -> Iterator[Needle]:
    """A short part together with the words beside it: on both sides, or, of two words and more, on
    one of them."""
    if secret.piece.is_metadata:
        return
    runs = joined_runs(secret.text)
    words = [word for run in runs for line in run for word in line]
    if not words or len(runs) > 1:
        return
    before, after = _beside(secret, words, -1), _beside(secret, words, 1)
    found = {"".join([*one[-NEAR:], *words, *other[:NEAR]]) for one in before for other in after}
    if len(words) > 1 and any(len(word) > 2 and word.isalpha() for word in words):
        found |= {"".join([*one[-NEAR:], *words]) for one in before if len(one) >= NEAR}
        found |= {"".join([*words, *other[:NEAR]]) for other in after if len(other) >= NEAR}
    yield from (Needle(letters, at, whole=True) for letters in sorted(found) if len(letters) >= LONG)


def _beside(secret: Secret, words: list[str], step: int) -> list[list[str]]:
    """The words on one side of a part: those of whatever stands there, and those of what stays
    in."""
    found = [_nearest(secret, step, only_kept, words) for only_kept in (False, True)]
    return [one for one in found if one]


def _nearest(secret: Secret, step: int, only_kept: bool, words: list[str]) -> list[str]:
    bare = all(len(word) < 3 or word.isdigit() for word in words)  # may be a number that a renderer puts there
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
    return not piece.slug and (text[:1].isalpha() or (text.startswith(("*", "_", '"', "“")) and text[1:2].isalpha()))


# Elements


def _elements_of(text: Text) -> Iterator[list[str]]:
    """The words of the elements in a page; of Quarto's search index, of its values."""
    if text.suffix == ".json":
        yield from (words_of(value) for value in _values_of(text))
    elif text.suffix in (".html", ".htm", ".xhtml"):
        end = text.source.rfind("-->") + 3  # no search for an end goes to that of the text
        source = _NUMBER.sub("", _COMMENT.sub("", text.source[:end]) + text.source[end:])
        shown = "cell-output" in source  # tables that code makes hold whatever the data hold
        for kind, content in _whole(source):
            if not (shown and kind in ("td", "th")):
                yield words_of(characters(_TAG.sub("", content)))


def _values_of(text: Text) -> Iterator[str]:
    """The values of Quarto's search index."""
    try:
        found = json.loads(text.source) if '"objectID"' in text.source else []
    except (ValueError, RecursionError):
        return
    yield from strings(found)


def _whole(source: str) -> Iterator[tuple[str, str]]:
    """The elements that hold nothing but text and marks in it: their names, and what they hold."""
    opened, at = "", 0
    for tag in _BLOCKS.finditer(source):
        if opened and tag.start() - at < 400:
            yield opened, source[at : tag.start()]
        is_own = any(name in tag[0] for name in _OWN)
        opened, at = ("" if is_own else (tag["open"] or "").lower()), tag.end()
