"""The memory of the leak check: which keys each text has, from one run to the next.

All of it is filed under hashes of what it was made of (see `workflows.known`). The last look at a place says
of texts, named by such hashes, which of the keys of documents, named so too, they have: that is true whatever
has changed since. Only new texts are looked into for all keys, and for new keys all texts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ....logging import Report
from ....workflows.known.forks import find_in_all
from ....workflows.known.keys import key_of
from .keys import Keys
from .said import Packed, Said, pack

if TYPE_CHECKING:
    from ....workflows.known.cache import Known

_AT_ONCE = 50  # findings that are written together
_HELD = 16_000_000  # bytes of texts that are looked into at once
Made = TypeVar("Made")
Looks = dict[str, list[Any]]  # what is kept of each text: its keys by number, figures, comments, whether it was read


@dataclass(frozen=True, slots=True)
class Task(Generic[Made]):
    """What is to be done, if it is not remembered. key: the hash of all that it depends on; size: of what it works on,
    in bytes; do: returns what comes out of it."""

    key: bytes
    size: int
    do: Callable[[], Made]


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a text, given what is looked for. found: the keys that it has; the rest as in `Said`."""

    found: set[str]
    figures: Iterable[str]
    has_comments: bool
    is_read: bool
    reports: Sequence[Report] = ()


class Memory:
    """What is known of texts. place: tells a place that is looked at again from others, None if nothing
    is worth to be remembered."""

    def __init__(self, place: bytes | None) -> None:
        self._known = _open() if place is not None else None
        self._key = key_of("leaks", place or b"")
        self._new: dict[bytes, Any] = {}
        self._before: dict[str, Seen] = {}
        self._after: dict[str, Seen] = {}
        self._documents: list[str] = []
        self._keys, self._new_keys = Keys(frozenset()), Keys(frozenset())

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._known is None:
            return
        if kind is None and (self._new or self._after != self._before):
            self._new[self._key] = self._written()
        self._known.keep(self._new)
        self._known.close()

    def recall(self, tasks: Sequence[Task[tuple[Any, Made]]]) -> list[tuple[Any, Made | None]]:
        """Return what comes out of some tasks: what is remembered of it, and the rest, None if the first was known."""
        found = self._find({task.key for task in tasks})
        new = [*{task.key: task for task in tasks if task.key not in found}.values()]
        rest: dict[bytes, Made] = {}
        for task, made in zip(new, find_in_all(new, lambda task: task.do(), _size(new)), strict=True):
            found[task.key], rest[task.key] = made
            self._keep(task.key, found[task.key])
        return [(found[task.key], rest.get(task.key)) for task in tasks]

    def look_for(self, documents: Mapping[bytes, Set[str]]) -> None:
        """Say what is looked for from now on: the keys of some documents, which are given by the hash of all
        that the keys depend on."""
        self._documents = [key.hex() for key in documents]
        keys = set[str]().union(*documents.values())
        last = self._find([self._key]).get(self._key) or {"documents": [], "keys": [], "texts": {}}
        self._before = _looks(last, keys)
        self._keys = Keys(keys)
        self._new_keys = Keys(keys - self._keys_of(last["documents"], documents))

    @property
    def has_marks(self) -> bool:
        """True if elements and names are looked for, too; else texts need not be searched for them."""
        return bool(self._keys.marks)

    @property
    def manner(self) -> bytes:
        """How texts are read and packed, a part of their keys."""
        return f"{sys.byteorder} {self.has_marks}".encode()

    def look(self, texts: Iterable[Task[Said]]) -> Iterator[Seen]:
        """Yield what is known of some texts, which the tasks read."""
        if self._known is None:
            for text in texts:
                yield _seen(text.do(), self._keys)
        for batch in _batches(texts) if self._known else ():
            yield from self._look(batch)

    def _look(self, texts: Sequence[Task[Said]]) -> Iterator[Seen]:
        old = set() if self._new_keys else {text.key for text in texts if text.key.hex() in self._before}
        changed = [text for text in texts if text.key not in old]
        packed = self._find({text.key for text in changed})
        new = [text for text in changed if text.key not in packed]
        if new:
            self._keys.prepare()  # once for all processes
        found = find_in_all(changed, lambda text: self._look_at(text, packed.get(text.key)), _size(new))
        for text in texts:
            seen, data = (self._before[text.key.hex()], b"") if text.key in old else next(found)
            if data:
                self._keep(text.key, data)
            if data is not None:
                self._after[text.key.hex()] = seen
            yield seen

    def _look_at(self, text: Task[Said], packed: bytes | None) -> tuple[Seen, bytes | None]:
        """Return what is known of a text, and the text packed: empty if it is known already, None if it is not to be
        remembered."""
        before = self._before.get(text.key.hex())
        if packed is None:
            said = text.do()
            return _seen(said, self._keys), pack(said).data if said.may_be_kept else None
        if before is None:
            return _seen(Packed(packed).said(), self._keys), b""
        found = self._new_keys.found_in_packed(Packed(packed))
        return replace(before, found=before.found | found), b""

    def _keys_of(self, names: Iterable[str], documents: Mapping[bytes, Set[str]]) -> set[str]:
        """Return the keys of the documents whose keys were looked for the last time. If some are no longer
        known, their keys are looked for as new ones."""
        hashes = {*map(bytes.fromhex, names)}
        gone = self._find(hashes - documents.keys())
        still = [documents[key] for key in hashes & documents.keys()]
        return set[str]().union(*still, *map(all_keys, gone.values()))

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

    def _written(self) -> dict[str, Any]:
        """Return what was seen, as a JSON value."""
        keys = {key: at for at, key in enumerate({key for seen in self._after.values() for key in seen.found})}
        texts: Looks = {
            name: [[keys[key] for key in seen.found], [*seen.figures], seen.has_comments, seen.is_read]
            for name, seen in self._after.items()
        }
        return {"documents": self._documents, "keys": [*keys], "texts": texts}


def _open() -> Known:
    from ....workflows.known.cache import Known  # loads SQLite

    return Known()


def all_keys(record: Mapping[str, Any]) -> set[str]:
    """Return the keys of a document's parts (see `notes`)."""
    return {key for _, _, keys in record["parts"] for key in keys}


def _seen(said: Said, keys: Keys) -> Seen:
    return Seen(keys.found_in(said), said.figures, said.has_comments, said.is_read, said.reports)


def _size(tasks: Iterable[Task[Any]]) -> int:
    return sum(task.size for task in tasks)


def _batches(tasks: Iterable[Task[Made]]) -> Iterator[list[Task[Made]]]:
    """Yield tasks in groups, each of not much more than may be held at once."""
    some, size = list[Task[Made]](), 0
    for task in tasks:
        some.append(task)
        size += task.size
        if size >= _HELD:
            yield some
            some, size = [], 0
    if some:
        yield some


def _looks(last: Mapping[str, Any], keys: set[str]) -> dict[str, Seen]:
    """Return what was seen of texts the last time, without the keys that are no longer looked for."""
    names = [key if key in keys else "" for key in last["keys"]]
    looks: Looks = last["texts"]
    return {text: Seen({names[at] for at in found} - {""}, *rest) for text, (found, *rest) in looks.items()}
