"""The storage of a reply in an entry, so that any string comes back unchanged.

It is stored as it is if it is closed in itself and holds nothing that the thread is read by.
Otherwise it is put in a code fence `reply`. If even that would be read differently, because
something before it is left open, every special character becomes a character reference,
after `**Assistant (escaped):**`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from ..markdown.blocks import BOM, blank, trim_blank_lines
from ..markdown.regions import Regions
from .headings import read_lines

MARK = re.compile(r"\*\*(?:(?P<human>Human)|Assistant(?P<escaped> \(escaped\))?):\*\*")
_FENCED = re.compile(r"(`{3,})reply\r?")
_REFERENCE = re.compile(r"&#([0-9]{1,7});")
_INLINE = re.compile(r"(?!(?:[0-9]+|[A-Za-z])[.)]\s)[\w\"'(][^\n]*(?:\n[ \t]*(?:\n|\Z)|\Z)")
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_OPENER = re.compile(r"[ ]{0,3}(?:<[A-Za-z?!]|\\begin\{)")


def spellings(reply: str, newline: str) -> Iterator[str]:
    """Yield the ways to store a reply with its mark, best first.

    The caller has to check that the document says the same with it, and else take the next."""
    written = reply.replace("\n", newline)
    if not _UNWRITABLE.search(reply):
        if stands_alone(reply):
            yield "**Assistant:**" + (" " if _INLINE.match(reply) else newline * 2) + written
        fence = fence_for(reply)
        yield f"**Assistant:**{newline * 2}{fence}reply{newline}{written}{newline}{fence}"
    yield "**Assistant (escaped):** " + escape(reply, newline)


def read_spoken(source: str, newline: str, mark: re.Match[str] | None = None) -> str | None:
    """Return what was said, from the text behind its mark; None for nothing."""
    text = source.rstrip(" \t\r\n")
    if newline == "\r\n":
        text = text.replace("\r\n", "\n")
    if mark and mark["escaped"]:
        return unescape(text.removeprefix(" "))
    if not text:
        return None
    text = trim_blank_lines(text) if blank(text.split("\n", 1)[0]) else text.removeprefix(" ")
    fenced = _fenced(text) if mark else None
    return text if fenced is None else fenced


def _fenced(text: str) -> str | None:
    """Return the content of a code fence `reply`, or None if the text is none."""
    first, _, rest = text.partition("\n")
    opened = _FENCED.fullmatch(first)
    if not opened or not rest.endswith(opened[1]):
        return None
    return rest[: -len(opened[1])].removesuffix("\n")


def lines_before(source: str) -> int:
    """Return how many lines after its mark (whose own is 0) a reply begins."""
    text = source.lstrip(" \t\r\n")
    count = source[: len(source) - len(text)].count("\n")
    return count + (0 if _fenced(text.rstrip(" \t\r\n")) is None else 1)


def fence_for(text: str, sign: str = "`") -> str:
    """Return a code fence that a text does not close."""
    runs = re.findall(f"{re.escape(sign)}{{3,}}", text)
    return sign * max([3, *(len(run) + 1 for run in runs)])


def escape(text: str, newline: str) -> str:
    """Return a text with all but letters, digits and blanks as character references.

    Line ends become references, too, each followed by one of the document's."""
    lines = [re.sub(r"\A | \Z|[^\w ]|_", _reference, line) for line in text.split("\n")]
    return f"&#10;{newline}".join(lines)


def _reference(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"


def unescape(text: str) -> str:
    """Return the inverse of `escape`."""
    return _REFERENCE.sub(_character, re.sub(r"\r?\n", "", text))


def _character(found: re.Match[str]) -> str:
    number = int(found[1])
    return chr(number) if number <= sys.maxunicode else found[0]


def stands_alone(text: str) -> bool:
    """Return True if a text leaves nothing open that what follows it could close: code, a comment, a tag, a div.

    It may be False for a text of which nobody knows without reading on."""
    regions = Regions(text)
    prose = [text[line.start : line.end] for line in read_lines(text, regions) if not line.is_region]
    return not (
        regions.unclosed or text.startswith(BOM) or any(_OPENER.match(line) or "<!--" in line for line in prose)
    )
