"""The words that an abbreviation stands for, by its letters.

Where the initials of words are its letters, that is beyond doubt. Else it is compared by the
algorithm of Schwartz and Hearst, "A simple algorithm for identifying abbreviation definitions in
biomedical text" (PSB 2003), and what is found is kept if its letters begin the words, but for one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_MOST_LETTERS = 10
_MOST_INNER = 1  # words of which only letters inside are in the abbreviation: "Data Exchange" (DX)
_SHORT = re.compile(r"[^\W_][\w.&/+'’-]{0,8}[\w.](?: [\w.-]{1,4})?")
_LETTER = re.compile(r"[^\W\d_]")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d")
_PLURAL = re.compile(r"(?<=[A-Z])s$")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
ARTICLE = re.compile(r"\A(?:(?:the|an?|der|die|das|le|la|les|el|los|las|il|lo)\s+|l['’])", re.I)
SMALL = frozenset(
    """a an and as at by for from in into its of on or over per that the to under via with der die das des dem den
    ein eine einer für im in mit oder und von vom zu zum zur de des du d et en l la le les à au aux del della di e i
    il y el los las""".split()
)


def is_short(text: str) -> bool:
    """Return True if a text may be an abbreviation."""
    if not 2 <= len(text) <= _MOST_LETTERS or _SHORT.fullmatch(text) is None or (text.islower() and "." in text):
        return False
    return len(_LETTER.findall(singular(text))) > 1 and not _YEAR.search(text)


def singular(short: str) -> str:
    """Return an abbreviation without the s of its plural."""
    return _PLURAL.sub("", short)


def long_before(short: str, clause: str) -> str:
    """Return the words at the end of a clause that an abbreviation stands for, or ""."""
    short = singular(short)
    words = clause.split(" ")[-min(len(short) + 5, 2 * len(short)) :]
    if short.lower() in map(str.lower, words):
        return ""
    letters = _letters(short)
    for start in range(len(words) - 1, -1, -1):
        if words[start].lower() not in SMALL and _are_initials(letters, words[start:]):
            return _trimmed(" ".join(words[start:]))
    return _trimmed(_aligned_end(short, letters, " ".join(words)))


def long_at_start(short: str, text: str) -> str:
    """Return the words at the beginning of a text whose initials are an abbreviation, or ""."""
    words = ARTICLE.sub("", text.strip(), count=1).split()[: 2 * len(short)]
    letters = _letters(singular(short))
    ends = (end for end in range(2, len(words) + 1) if words[end - 1].lower() not in SMALL)
    return next((_trimmed(" ".join(words[:end])) for end in ends if _are_initials(letters, words[:end])), "")


def long_as_a_whole(short: str, text: str) -> str:
    """Return a text of several words, without its article, if an abbreviation stands for it, else ""."""
    short, long = singular(short), ARTICLE.sub("", text, count=1)
    words = long.split(" ")
    if not 1 < len(words) <= 2 * len(short) or not re.search("[A-Z]", short) or short in words:
        return ""
    letters = _letters(short)
    fits = _are_initials(letters, words) or _aligned_end(short, letters, long) == long
    return _trimmed(long) if fits else ""


def _letters(short: str) -> str:
    return "".join(sign for sign in short.lower() if sign.isalnum())


def _are_initials(letters: str, words: Sequence[str]) -> bool:
    """Return True if words begin with these letters. Small words may be passed over, and numbers are taken whole."""
    parts = [part.lower() for word in words for part in _WORD.findall(word)]
    if not parts or parts[0][0] != letters[0]:
        return False
    used = {0}  # how many letters may be used up
    for part in parts:
        now = {one + 1 for one in used if letters[one : one + 1] == part[0]}
        now |= used if part in SMALL and 0 not in used else set()
        if part[0].isdigit():
            now |= {one + len(part) for one in used if letters.startswith(part, one)}
        used = now
    return len(letters) in used


def _aligned_end(short: str, letters: str, text: str) -> str:
    """Return the end of a text in which the letters of an abbreviation stand in their order, or "".

    The last letter is looked for first, and the first one has to begin a word."""
    capitals = sum(map(str.isupper, short))
    found = _places(letters, text.lower()) if capitals > 1 or (short[0].isupper() and 3 <= len(short) <= 5) else []
    if not found:
        return ""
    long = text[found[0] :]
    words = [(word.start() + found[0], word.end() + found[0]) for word in re.finditer(r"\S+", long)]
    if len(words) == 1 and "-" not in long:
        fits = long[0].isupper() and short[0].isupper() and len(long) > 1.5 * len(short)
        return long if fits and not long.lower().startswith(short.lower()) else ""
    words = [(start, end) for start, end in words if text[start:end].lower() not in SMALL]
    used = all(any(start <= at < end for at in found) for start, end in words)
    return long if used and sum(start not in found for start, _ in words) <= _MOST_INNER else ""


def _places(letters: str, text: str) -> list[int]:
    """Return where the letters stand, or [] if they do not."""
    found: list[int] = []
    at = len(text)
    for number in range(len(letters) - 1, -1, -1):
        at = text.rfind(letters[number], 0, at)
        while number == 0 and at > 0 and text[at - 1].isalnum():
            at = text.rfind(letters[0], 0, at)
        if at < 0:
            return []
        found.insert(0, at)
    return found


def _trimmed(long: str) -> str:
    return long.strip(" \t\n-–—'’\"/,;:.")
