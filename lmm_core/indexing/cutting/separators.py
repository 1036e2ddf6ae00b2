"""Separators: where prose can be cut, and what each cut costs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

# The costs of a cut; 1 is the cost of a chunk with nothing in it.
BLOCK, GOOD, PART, CLOSE, CODE_LINE, LINE, WORD, ANYWHERE = 0.0, 0.02, 0.03, 0.1, 0.2, 0.4, 0.5, 1.0
SECTION = -2.0  # before a heading, where sections shall stay whole


class Separator(NamedTuple):
    """A pattern after which a text can be cut, and the cost of that.

    at_blank: the cost if the match holds a blank line
    sentences: check for abbreviations"""

    pattern: re.Pattern[str]
    cost: float
    at_blank: float
    sentences: bool = False


_LINE_ENDS = re.compile(r"\n(?:[ \t]*\r?\n)*")
_BLANKS = re.compile(r"[ \t\r\n]+")
_SENTENCE = re.compile(  # the set of characters at the start makes the search much faster
    r"[.!?…。！？\n](?:"
    r"(?<=[.!?…])(?<![.!?…].)(?P<more>[.!?…]*+)[\"'”’»)\]*_`]*+"
    r"(?:[ \t]*+\r?\n(?=[ ]{0,3}>)|[ \t\r\n]++(?=[^\Wa-z_]|[^\w\s.,;:!?)\]}…]))"
    r"|(?<=[。！？])[。！？]*+[”’」』）]*+[ \t\r\n]*+"
    r"|(?<=\n)(?:[ \t]*+\r?\n)+)"
)
_ABBREVIATION = re.compile(
    r"\W*(?:(?:[^\W\d_]\.)*[^\W\d_]|Dr|Mr|Mrs|Ms|Prof|St|vs|cf|ca|approx|resp|Figs?|Eqs?|Sec|Ch|Nos?|Vol|pp|eds?"
    r"|bzw|vgl|Abb|Nr|Kap|Bd|Hrsg|sog)"
)
# Code, formulas and link targets, in which a full stop ends no sentence. Longer matches are none of these.
# (Each alternative begins with a plain character, which makes the search much faster.)
_VERBATIM = re.compile(r"`(?<!``)(`*)(?!`)[^`][\s\S]{0,300}?(?<!`)`\1(?!`)|\$[^$\n]{1,300}\$|\]\([^()\n]{1,300}\)")

_SENTENCES = Separator(_SENTENCE, CLOSE, GOOD, True)
_LINES = Separator(_LINE_ENDS, LINE, GOOD)
_WORDS = Separator(_BLANKS, WORD, WORD)
PROSE = (_SENTENCES, _LINES, _WORDS)
WORDS = (_WORDS,)


def sentence_ends(text: str) -> list[int]:
    """Return the positions in a markdown text at which a sentence or a paragraph ends."""
    return [match.end() for match in find_separators(_SENTENCES, text)]


def find_separators(separator: Separator, text: str) -> Iterable[re.Match[str]]:
    """Return the matches of a separator, without full stops in code, formulas, links and abbreviations."""
    if not separator.sentences:
        return separator.pattern.finditer(text)
    masked = text
    if "`" in text or "$" in text or "](" in text:
        masked = _VERBATIM.sub(lambda match: "x" * len(match[0]), text)
    return [match for match in separator.pattern.finditer(masked) if not _is_abbreviation(masked, match)]


def _is_abbreviation(text: str, found: re.Match[str]) -> bool:
    """Return True if a full stop ends an abbreviation or a number that begins a line."""
    if found["more"] != "" or text[found.start()] != ".":
        return False
    before = text[max(0, found.start() - 20) : found.start()]
    word = before.split()[-1] if before[-1:].strip() else ""
    numbering = word.isdigit() and not before[: -len(word)].rpartition("\n")[2].strip()
    return numbering or _ABBREVIATION.fullmatch(word) is not None
