"""References to left-out parts: a link becomes its words, a cross-reference `[…]`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from ..markdown.regions import split_fences

LEFT_OUT = "[…]"
# Code, links within the page, citations in brackets, citations in the text (few runs need these patterns: compiled on
# first use)
_REFERENCE = (
    r"(?P<code>`[^`\n]+`)"
    r"|(?:(?<!!)\[(?P<words>[^\[\]]*))?\]\(#(?P<link>[^()\[\]\s]+)\)(?:\{[^{}\n]*\})?"
    r"|(?<!!)\[(?P<group>[^\[\]@]*@[^\[\]]*)\](?![(\[{:])"
    r"|(?<![\w@\\])-?@(?:\{(?P<braced>[^{}\n]+)\}|(?P<key>[A-Za-z](?:[\w:.-]*\w)?))"
)
_CITED = r"(?<![\w@\\])-?@(?:\{([^{}\n]+)\}|([A-Za-z](?:[\w:.-]*\w)?))"


# https://quarto.org/docs/authoring/cross-references.html
_ACROSS = r"(?:sec|fig|tbl|eq|lst|thm|lem|cor|prp|cnj|def|exm|exr|sol|rem|alg|nte|tip|wrn|imp|cau)-."


def is_cross_reference(label: str) -> bool:
    """Return True for Quarto's labels, which may be on another page."""
    return re.match(_ACROSS, label) is not None


def find_references_to(text: str, left_out: Set[str]) -> Iterator[tuple[int, str]]:
    """Yield position and label of each reference to a label in `left_out`."""
    for at, reference in _references(text) if any(label in text for label in left_out) else ():
        for label in _labels(reference):
            if label in left_out:
                yield at, label


def replace_references_to(text: str, left_out: Set[str]) -> str:
    """Return a text with references to `left_out` labels made readable."""
    pieces, at = [], 0
    for start, reference in _references(text):
        if not left_out.isdisjoint(_labels(reference)):
            pieces += [text[at:start], _readable(reference, left_out)]
            at = start + len(reference[0])
    return "".join(pieces) + text[at:]


def _references(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    start = 0
    for is_code, piece in split_fences(text):
        for reference in re.finditer(_REFERENCE, piece) if not is_code else ():
            if not reference["code"]:
                yield start + reference.start(), reference
        start += len(piece)


def _labels(reference: re.Match[str]) -> list[str]:
    if reference["group"] is not None:
        return _cited_in(reference["group"])
    return [reference["link"] or reference["braced"] or reference["key"]]


def _cited_in(group: str) -> list[str]:
    return [braced or key for braced, key in re.findall(_CITED, group)]


def _readable(reference: re.Match[str], left_out: Set[str]) -> str:
    if reference["link"]:
        # words with brackets precede the match
        return "]" if reference["words"] is None else reference["words"]
    if reference["group"] is None:
        return LEFT_OUT
    items = [(item, _cited_in(item)) for item in reference["group"].split(";")]
    stay = [item for item, labels in items if left_out.isdisjoint(labels)]
    if stay:
        return f"[{';'.join(stay).strip()}]"
    return "; ".join(re.sub(_CITED, LEFT_OUT, item).strip() for item, _ in items)
