"""The types that the parts of documents have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ...markdown.files import MarkdownDocument
from ...scan.check.type_words import count_types
from .cache import Known
from .documents import KnownDocument, file_key, find_in_documents
from .remember import is_worth, remembered

KIND = "types"


def count_all_types(documents: Iterable[MarkdownDocument]) -> Counter[str]:
    """Return how many parts of some documents have each type."""
    read = [*documents]
    key = file_key if is_worth(sum(map(_size, read))) else lambda file: b""
    things = [(key(one.file), one) for one in read]
    return _together(remembered(KIND, b"", things, lambda one: count_types([one.blocks]), size_of=_size))


def count_known_types(documents: Sequence[KnownDocument], known: Known) -> Counter[str]:
    """Return how many parts of some documents have each type; where it is known, a document is not read."""
    found = find_in_documents(
        KIND, b"", documents, lambda file: count_types([MarkdownDocument(file).blocks]), known
    )  # fmt: skip
    return _together(found.values())


def _size(document: MarkdownDocument) -> int:
    return len(document.file.data)


def _together(rows: Iterable[Mapping[str, int]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(row)
    return counts
