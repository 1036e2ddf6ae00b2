"""The keys by which a part that is left out is found in a text: runs of words, the whole text of an
element, the name of a heading. A key is its kind, a letter, and what is looked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    return Needle(key[1:], secret, key[0] == WHOLE)


class Keys:
    """Keys that are looked for in texts, each with its number."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers
        self._marks = {name for name in numbers if name.startswith(MARKS)}

    def __bool__(self) -> bool:
        return bool(self._numbers)

    @property
    def have_marks(self) -> bool:
        """True if there are elements and names among them."""
        return bool(self._marks)

    @property
    def marks(self) -> set[int]:
        """The numbers of elements and names."""
        return {self._numbers[name] for name in self._marks}

    @cached_property
    def _index(self) -> Index[tuple[str, int]]:
        runs = (one for one in self._numbers.items() if one[0] not in self._marks)
        return Index(((run[0][1:], run) for run in runs), lambda run: needle_of(*run))

    @cached_property
    def _heads(self) -> set[int]:
        return {*hashes_of(self._index.long)}

    def prepare(self) -> None:
        """Make what keys are found by, if it is not there yet."""
        self._index  # noqa: B018 (it is made by looking at it)

    def found_in(self, said: Said) -> set[int]:
        """Return the keys that a text has."""
        found = {self._numbers[name] for name in self._marks & said.marks} if self._marks else set()
        for stream in said.streams:
            found |= self._index.secrets_in(stream)
        return found

    def found_in_packed(self, packed: Packed) -> set[int]:
        """Return the same for a text that is packed, and is not unpacked if its heads tell enough."""
        if self._marks or self._index.short or packed.has_head(self._heads):
            return self.found_in(packed.said())
        return set()

    def both_kinds(self, numbers: set[int]) -> set[int]:
        """Return keys, and of those that are runs, the same letters in whole words and in any. A run that the notes
        say is not looked for at all."""
        more = {other for pair in self._twins for one, other in (pair, pair[::-1]) if one in numbers}
        return numbers | more

    @cached_property
    def _twins(self) -> list[tuple[int, int]]:
        whole = [name for name in self._numbers if name[0] == WHOLE and RUN + name[1:] in self._numbers]
        return [(self._numbers[name], self._numbers[RUN + name[1:]]) for name in whole]
