"""The keys by which a part that is left out is found in a text: runs of words, the whole text of an
element, the name of a heading. A key is its kind, a letter, and what is looked for."""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import cached_property
from hashlib import blake2b

from ..short_parts import beside_others, element_of, name_of
from ..sources import Secret
from ..words import Index, Needle, find_needles
from .said import Packed, Said, as_bytes, hashes_of

RUN, WHOLE, ELEMENT, NAME = "r", "w", "e", "n"
MARKS = (ELEMENT, NAME)
_LONG = 60  # letters of an element, of which most are short


def keys_of(secret: Secret) -> Iterator[str]:
    """Yield the keys of a part, some of them perhaps twice."""
    needles = [*find_needles(0, secret.text)]
    for needle in needles or beside_others(0, secret):
        yield (WHOLE if needle.whole else RUN) + needle.letters
    if not needles and (element := element_of(secret)):
        yield element_key(element)
    if name := name_of(secret):
        yield NAME + name


def element_key(letters: str) -> str:
    """Return the key of the letters of a whole element. Of long ones, a hash stands in it."""
    if len(letters) <= _LONG:
        return ELEMENT + letters
    return f"{ELEMENT}#{blake2b(as_bytes(letters), digest_size=20).hexdigest()}"


def needle_of(key: str, secret: int = 0) -> Needle:
    """Return the needle that a key of the kinds RUN and WHOLE stands for."""
    return Needle(key[1:], secret, whole=key[0] == WHOLE)


class Keys:
    """Keys that are looked for in texts."""

    def __init__(self, keys: Set[str]) -> None:
        self._keys = keys
        self.marks = {key for key in keys if key[0] in MARKS}

    def __bool__(self) -> bool:
        return bool(self._keys)

    @cached_property
    def _index(self) -> Index:
        return Index(map(needle_of, self._keys - self.marks))

    @cached_property
    def _heads(self) -> set[int]:
        return {*hashes_of(self._index.long)}

    def prepare(self) -> None:
        """Make what keys are found by, if it is not there yet."""
        self._index  # noqa: B018 (it is made by looking at it)

    def found_in(self, said: Said) -> set[str]:
        """Return the keys that a text has."""
        found = self.marks & said.marks if self.marks else set()
        for stream in said.streams:
            for needle in self._index.needles_in(stream):
                found.add((WHOLE if needle.whole else RUN) + needle.letters)
        return found

    def found_in_packed(self, packed: Packed) -> set[str]:
        """Return the same for a text that is packed, and is not unpacked if its heads tell enough."""
        if self.marks or self._index.short or packed.has_head(self._heads):
            return self.found_in(packed.said())
        return set()
