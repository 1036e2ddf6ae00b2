"""What the steps of a course have found out about texts, by content, so that unchanged files cost next to nothing.

A finding is filed under a hash of all that it was made of: the program's own code, the settings, and the
bytes of the text or their digest. So two edits within the same second are two texts. No time stamp is trusted but
by `digests`, which spares reading a file to have its digest. Nothing is lost with this cache; where it cannot be
read or written, the work is done again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict
from typing import Any, TypeVar

from ...markdown.files import MarkdownDocument, is_notebook
from .cache import Known
from .keys import key_of

WORTH = 100_000  # bytes; less is looked into sooner than it is looked up
Thing = TypeVar("Thing")


def remembered(
    kind: str,
    settings: Any,
    things: Sequence[tuple[bytes, Thing]],
    find: Callable[[Thing], Any],
    effort: int = 1,
    size_of: Callable[[Thing], int] | None = None,
    known: Known | None = None,
) -> list[Any]:
    """Return what is found in each of some things, as JSON values; what is known is not found again.

    settings: as bytes, or as `digest` takes them; things: each after the bytes that, beside the settings, decide
    what is found; find: see `find_in_all`; effort: how many times as long as usual a byte takes; size_of: returns the
    bytes of a thing, where those before it are a digest of them; known: is left open."""
    if not is_worth(sum(map(_sizes(size_of), things)), effort):
        return [find(thing) for _, thing in things]
    mark = settings if isinstance(settings, bytes) else digest(settings)
    keys = [key_of(kind, mark, data) for data, _ in things]
    with nullcontext(known) if known else closing(Known()) as cache:
        found = find_unknown(cache, dict(zip(keys, things, strict=True)), find, size_of)
    return [found[key] for key in keys]


def is_worth(size: int, effort: int = 1) -> bool:
    """Return True if it is worth to look up what is found in so many bytes. effort: see `remembered`."""
    return size * effort >= WORTH


def _sizes(size_of: Callable[[Thing], int] | None) -> Callable[[tuple[bytes, Thing]], int]:
    """Return a function that gives the bytes of a thing, which is given after its own bytes or their digest."""
    return (lambda thing: len(thing[0])) if size_of is None else (lambda thing: size_of(thing[1]))


def find_unknown(
    known: Known,
    things: Mapping[bytes, tuple[bytes, Thing]],
    find: Callable[[Thing], Any],
    size_of: Callable[[Thing], int] | None = None,
) -> dict[bytes, Any]:
    """Return what is found in each of some things, by their keys; what is known is not found again.

    things: each after its bytes; find: see `find_in_all`; size_of: see `remembered`."""
    from .forks import find_in_all

    found = known.find(things)
    new = {key: thing for key, thing in things.items() if key not in found}
    size = sum(map(_sizes(size_of), new.values()))
    made: dict[bytes, Any] = {}
    try:
        for key, finding in zip(new, find_in_all([thing for _, thing in new.values()], find, size), strict=True):
            made[key] = finding
    finally:  # who ends the program finds it done so far the next time
        known.keep(made)
    return found | made


def key_text(document: MarkdownDocument) -> bytes:
    """Return the text of a document, as the thing that a finding in it depends on: a notebook has another than its
    bytes."""
    file = document.file
    return file.text.encode("utf-8", "surrogatepass") if is_notebook(file.path) else file.data


def digest(settings: Any) -> bytes:
    """Return a hash of settings: a dataclass of plain values, sets, paths and other such dataclasses."""
    import hashlib

    written = json.dumps(asdict(settings), default=_plain, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(written.encode("utf-8", "surrogatepass"), digest_size=20).digest()


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, set | frozenset) else str(value)
