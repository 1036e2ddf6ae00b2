"""The memory of the leak check: which keys each text has, from one run to the next.

All of it is filed under hashes of what it was made of (see `workflows.known`). The last look at a place says
of texts, named by such hashes, which of the keys that were looked for they have: that is true whatever
has changed since. Only new texts are looked into for all keys, and for new keys all texts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ....workflows.known.forks import find_in_all
from ....workflows.known.keys import key_of
from .keys import Keys
from .look import Look, Parts, Seen, numbers_of, unpacked
from .said import Packed, Said, pack

if TYPE_CHECKING:
    from ....workflows.known.cache import Known

_AT_ONCE = 50  # findings that are written together
_HELD = 16_000_000  # bytes of texts that are looked into at once
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Task(Generic[Made]):
    """What is to be done, if it is not remembered. key: the hash of all that it depends on; size: of what it works on,
    in bytes; do: returns what comes out of it."""

    key: bytes
    size: int
    do: Callable[[], Made]


class Memory:
    """What is known of texts. place: tells a place that is looked at again from others, None if nothing
    is worth to be remembered."""

    def __init__(self, place: bytes | None) -> None:
        self._known = _open() if place is not None else None
        self._key = key_of("leaks", sys.byteorder.encode(), place or b"")
        self._new: dict[bytes, Any] = {}
        self._now = Look()
        self.keys, self._new_keys = Keys({}), Keys({})
        self.manner = b""  # how texts are read and packed, a part of their keys

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._known is None:
            return
        if kind is None and (packed := self._now.packed()) != self._packed:
            self._new[self._key] = packed
        self._known.keep(self._new)
        self._known.close()

    @cached_property
    def _packed(self) -> bytes:
        """The last look, as it was packed; b"" if there is none."""
        found = self._find([self._key]).get(self._key)
        return found if isinstance(found, bytes) else b""

    @cached_property
    def last(self) -> Look:
        """The last look."""
        return unpacked(self._packed) if self._packed else Look()

    def recall(self, tasks: Sequence[Task[tuple[Any, Made]]]) -> list[tuple[Any, Made | None]]:
        """Return what comes out of some tasks: what is remembered of it, and the rest, None if the first was known."""
        found = self._find({task.key for task in tasks})
        new = [*{task.key: task for task in tasks if task.key not in found}.values()]
        rest: dict[bytes, Made] = {}
        for task, made in zip(new, find_in_all(new, lambda task: task.do(), _size(new)), strict=True):
            found[task.key], rest[task.key] = made
            self._keep(task.key, found[task.key])
        return [(found[task.key], rest.get(task.key)) for task in tasks]

    def look_for(self, documents: Mapping[bytes, Mapping[str, Any] | None]) -> dict[bytes, Parts]:
        """Say what is looked for from now on: the keys of some documents, given by the hash of all that the keys depend
        on, each with its record, None if it is in the last look. Return their parts."""
        numbers = _numbers(self.last.names)
        known = (self.last.documents[key].keys for key, record in documents.items() if record is None)
        again = (numbers.get(name, -1) for record in filter(None, documents.values()) for name in _names_in(record))
        last = self.last.only({*again}.union(*known) - {-1})
        if last is not self.last:
            self.last, numbers = last, _numbers(last.names)
        for key, record in documents.items():
            self._now.documents[key] = last.documents[key] if record is None else _parts(record, numbers)
        self._now.names = [*numbers]
        self.keys, new = Keys(numbers), self._now.names[len(last.names) :]
        self._new_keys = Keys({name: numbers[name] for name in new})
        self.manner = f"{sys.byteorder} {self.keys.have_marks}".encode()
        return self._now.documents

    @property
    def names(self) -> Sequence[str]:
        """The keys that are looked for, by their numbers."""
        return self._now.names

    @property
    def has_marks(self) -> bool:
        """True if elements and names are looked for, too; else texts need not be searched for them."""
        return self.keys.have_marks

    def look(self, texts: Iterable[Task[Said]]) -> Iterator[Seen]:
        """Yield what is known of some texts, which the tasks read."""
        if self._known is None:
            for text in texts:
                yield _seen(text.do(), self.keys)
        for batch in self._batches(texts) if self._known else ():
            yield from self._look(batch)

    def _batches(self, texts: Iterable[Task[Said]]) -> Iterator[list[tuple[bytes, Task[Said] | None]]]:
        """Yield texts in groups, None for those of which all is known. Of the others, no more are in a group than may
        be held at once."""
        known = {} if self._new_keys else self.last.texts
        some, size = list[tuple[bytes, Task[Said] | None]](), 0
        for text in texts:
            is_known = text.key in known
            some.append((text.key, None if is_known else text))
            size += 0 if is_known else text.size
            if size >= _HELD:
                yield some
                some, size = [], 0
        if some:
            yield some

    def _look(self, texts: Sequence[tuple[bytes, Task[Said] | None]]) -> Iterator[Seen]:
        changed = [text for _, text in texts if text is not None]
        packed = self._find({text.key for text in changed})
        new = [text for text in changed if text.key not in packed]
        if new:
            self.keys.prepare()  # once for all processes
        found = find_in_all(changed, lambda text: self._look_at(text, packed.get(text.key)), _size(new))
        for key, text in texts:
            seen, data = (self.last.texts[key], b"") if text is None else next(found)
            if data:
                self._keep(key, data)
            if data is not None:
                self._now.texts[key] = seen
            yield seen

    def _look_at(self, text: Task[Said], packed: bytes | None) -> tuple[Seen, bytes | None]:
        """Return what is known of a text, and the text packed: empty if it is known already, None if it is not to be
        remembered."""
        before = self.last.texts.get(text.key)
        if packed is None:
            said = text.do()
            return _seen(said, self.keys), pack(said).data if said.may_be_kept else None
        if before is None:
            return _seen(Packed(packed).said(), self.keys), b""
        found = self._new_keys.found_in_packed(Packed(packed))
        return replace(before, found=numbers_of(sorted({*before.found} | found))), b""

    # The cache

    def _find(self, keys: Iterable[bytes]) -> dict[bytes, Any]:
        wanted = {*keys}
        found = {key: self._new[key] for key in wanted & self._new.keys()}
        return found | self._known.find(wanted - found.keys()) if self._known else found

    def _keep(self, key: bytes, finding: Any) -> None:
        if self._known is None:
            return
        self._new[key] = finding
        if len(self._new) >= _AT_ONCE:
            self._known.keep(self._new)
            self._new = {}


def _open() -> Known:
    from ....workflows.known.cache import Known  # loads SQLite

    return Known()


def _numbers(names: Iterable[str]) -> dict[str, int]:
    return {name: at for at, name in enumerate(names)}


def _names_in(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a document, given its record (see `notes`)."""
    return (name for _, _, names in record["parts"] for name in names)


def _parts(record: Mapping[str, Any], numbers: dict[str, int]) -> Parts:
    """Return the parts in the record of a document. numbers: of keys; new ones are added."""
    lines, cells, names = zip(*record["parts"], strict=True) if record["parts"] else ((), (), ())
    keys = numbers_of(numbers.setdefault(name, len(numbers)) for name in _names_in(record))
    return Parts(numbers_of(lines), bytes(cells), numbers_of(map(len, names)), keys, record["included"])


def _seen(said: Said, keys: Keys) -> Seen:
    found = numbers_of(sorted(keys.found_in(said)))
    return Seen(found, [*said.figures], said.has_comments, said.is_read, said.reports)


def _size(tasks: Iterable[Task[Any]]) -> int:
    return sum(task.size for task in tasks)
