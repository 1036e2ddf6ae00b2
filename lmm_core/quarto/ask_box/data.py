"""Make the data of an ask box, of which a browser loads what it needs: `data` describes them, `part-1` and so on
are the sections in their order, `words-1` and so on the index of their words, `spelling` all words."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ...models.embedders.bm25 import USUAL_LANGUAGE
from ...models.languages.stemming import Stemmer, language_code, stop_words
from ...models.languages.words import fold
from ...retrieve.ranking.asking import ASKING
from ...retrieve.ranking.lexical import spans_data, weights_data
from ...retrieve.ranking.synonyms import Synonymous, Synonyms
from ...retrieve.ranking.words import words_data
from .plain_text import in_unicode
from .rows import BoxRows
from .word_index import describe_index, index_words, parts_of, paths_of

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
PART = 20_000  # bytes of a part at most; a longer section has a part of its own
FORMAT = 8  # of the data; ask.js reads no other


@dataclass(frozen=True)
class BoxData:
    """The data of an ask box. texts: as JSON, by their names, `data` last; marks: of each; pages: a hash of each page's
    sections. The page holds it too: by it the box notices data that are older or newer than the page."""

    texts: dict[str, bytes]
    marks: dict[str, str]
    pages: dict[str, str]


def data_files(data: BoxData) -> dict[str, bytes]:
    """Return the scripts that tell a page the data, by the names of their files."""
    return {f"{name}.js": _script(name, data.marks[name], text) for name, text in data.texts.items()}


def _script(name: str, mark: str, text: bytes) -> bytes:
    return b"".join([f'lmmAsk.take("{name}","{mark}",'.encode(), text, b")\n"])


def box_data(rows: BoxRows, language: str, synonyms: Synonymous | None = None, made: datetime | None = None) -> BoxData:
    """Return the data. synonyms: those of the configuration; made: when, if not now."""
    named = language_code(language) or USUAL_LANGUAGE
    stop = " ".join(sorted(stop_words(named)))
    words, parts = index_words(rows.sections, stop), [*_parts(rows.sections)]
    data = {f"part-{number}": part for number, (_, part) in enumerate(parts, 1)}
    data |= {f"words-{number}": data_json(shard) for number, (_, shard) in enumerate(words.shards, 1)}
    data["spelling"] = data_json(words.spelling)
    marks = {name: _mark(text) for name, text in data.items()}
    pages = _page_marks(rows)
    about = {
        "format": FORMAT,
        "made": (made or datetime.now(UTC)).isoformat(timespec="minutes"),
        "language": language,
        "kinds": dict(sorted(rows.kinds.items())),
        "documents": [[page, source, pages.get(page, "")] for page, source in rows.documents],
        "marks": marks,
        "parts": [first for first, _ in parts],
        "index": describe_index(words),
        "synonyms": _synonyms(rows.sections, language, synonyms or {}),
        "named": named,
        "stopWords": stop,
    }
    data["data"] = data_json(about | _ranking())
    return BoxData(data, marks | {"data": _mark(data["data"])}, pages)


def data_json(value: Any) -> bytes:
    """Return a value as compact JSON in UTF-8, on one line."""
    return _ENCODER.encode(value).encode("utf-8", "replace")  # half of a surrogate pair cannot be


def _ranking() -> dict[str, Any]:
    """Return what the box is told of how questions are read and passages are ranked."""
    return {
        "asking": {name: " ".join(words) for name, words in words_data().items()},
        "askingSigns": ASKING,
        "weights": weights_data(),
        "spans": spans_data(),
    }


def _mark(text: bytes) -> str:
    """Return the checksum of a text, by which a page notices data of another render."""
    return f"{zlib.crc32(text):08x}"


def _synonyms(sections: Sequence[list[Any]], language: str, configured: Synonymous) -> list[list[Any]]:
    """Return the configured names of which the sections have one: whether it is known by its capitals alone, the
    name, the other names."""
    there = _used(configured, sections) if configured else {}
    names = Synonyms(Stemmer(language), language, there)
    return [[int(names.needs_capitals(name)), name, *others] for name, others in names.pairs()]


def _used(configured: Synonymous, sections: Sequence[list[Any]]) -> Synonymous:
    """Return the configured names of which the sections have one."""
    passages = (parts_of(one)[0] for row in sections for one in row[7])
    said = fold(" ".join(in_unicode(text) for text in (*passages, *(row[2] for row in sections))))
    return {one: names for one, names in configured.items() if any(fold(name) in said for name in (one, *names))}


def _parts(sections: Sequence[list[Any]]) -> Iterator[tuple[int, bytes]]:
    """Yield the parts of the rows, each with the number of its first section: the titles above that, and its rows."""
    part, first, size, above = list[bytes](), 0, 0, list[str]()
    for at, (row, path) in enumerate(zip(sections, paths_of((row[1], row[2]) for row in sections), strict=True)):
        whole = data_json(row)
        length = len(whole) + 1
        if part and size + length > PART:
            yield first, _json_list([data_json(above), *part])
            part, first, size = [], at, 0
        above = above if part else path[: row[1]]
        part.append(whole)
        size += length
    if part:
        yield first, _json_list([data_json(above), *part])


def _json_list(values: Iterable[bytes]) -> bytes:
    return b"[%b]" % b",".join(values)


def _page_marks(rows: BoxRows) -> dict[str, str]:
    own: dict[str, list[bytes]] = {}
    for number, *row in rows.sections:
        own.setdefault(rows.documents[number][0], []).append(data_json(row))
    return {page: _mark(b"\n".join(texts)) for page, texts in own.items()}
