"""Make the data of an ask box, of which a browser loads what it needs: `data` describes them, `part-1` and so on
are the sections in their order, `words-1` and so on the index of their words, `spelling` all words."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ...models.embedders.bm25 import USUAL_LANGUAGE
from ...models.languages.stemming import Stemmer, language_code, stop_words
from ...models.languages.words import fold
from ...retrieve.items import DEFINITION, kind_of, lead_of, without_fences
from ...retrieve.passages import Material, Passage, Section
from ...retrieve.ranking.asking import ASKING
from ...retrieve.ranking.lexical import emphasised, weights_data
from ...retrieve.ranking.surroundings import spans_data
from ...retrieve.ranking.synonyms import Synonymous, Synonyms
from ...retrieve.ranking.words import words_data
from ...study.outline import reading_minutes
from .page_html import ShownPage
from .plain_text import in_unicode, plain_line, plain_text, with_formulas
from .word_index import describe_index, index_words, paths_of

PART = 20_000  # bytes of a part at most; a longer section has a part of its own
_CODE = re.compile(r"^ {4}.*$", re.M)  # in a row
FORMAT = 5  # of the data; ask.js reads no other


def section_rows(
    material: Material,
    sources: Mapping[str, str],
    shown: Mapping[str, ShownPage],
) -> tuple[list[list[str]], list[list[Any]]]:
    """Return the documents and the sections of some material, as rows. A document's row: page,
    source. A section's: number of the document, depth, title, identifier in the page, minutes of
    reading, summary, questions, passages. sources: the page of each source; shown: what each page has."""
    documents = [[sources[document.source], document.source] for document in material.documents]
    rows = []
    for number, document in enumerate(material.documents):
        known, own = shown[sources[document.source]]
        for section in document.walk():
            title = plain_line(section.titles[-1]) if section.titles else ""
            minutes = round(reading_minutes(section.passages), 1)
            passages = [row for passage in section.passages if (row := _passage(passage, own))]
            questions = list(map(with_formulas, section.questions))
            rows.append([number, section.depth, title, _existing(section, known), minutes,
                         plain_text(section.summary, own), questions, passages])  # fmt: skip
    return documents, rows


def _existing(section: Section, ids: frozenset[str]) -> str:
    """Return the section's identifier if the page has it, else that of the nearest section around
    it, or "" for the page as a whole."""
    found: Section | None = section
    while found is not None:
        if found.anchor and found.anchor in ids:
            return found.anchor
        found = found.parent
    return ""


def _passage(passage: Passage, words: Mapping[str, str]) -> Any:
    """Return a passage as its text, or, if it has more, as a list of its text, its type, the term of a
    definition, and the words that it emphasises; what is empty at the end is left out."""
    text, kind = plain_text(passage.text, words), kind_of(passage)
    term = plain_line(lead_of(without_fences(passage.text))) if kind == DEFINITION else ""
    row = [text, kind, term, in_unicode(plain_text(" ".join(emphasised(passage.text)), words)) if text else ""]
    while len(row) > 1 and not row[-1]:
        row.pop()
    return row if len(row) > 1 else text


def data_files(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the scripts that tell a page the data, by the names of their files."""
    texts = {name: data_json(value) for name, value in data.items()}
    return {f"{name}.js": f'lmmAsk.take("{name}","{_mark(text)}",{text})\n' for name, text in texts.items()}


def box_data(
    documents: list[list[str]],
    rows: Sequence[list[Any]],
    kinds: Counter[str],
    language: str,
    synonyms: Synonymous | None = None,
) -> dict[str, Any]:
    """Return the data by their names, `data` last. synonyms: those of the configuration."""
    named = language_code(language) or USUAL_LANGUAGE
    stop = " ".join(sorted(stop_words(named)))
    words, parts = index_words(rows, stop), list(_parts(rows))
    data: dict[str, Any] = {f"part-{number}": part for number, (_, part) in enumerate(parts, 1)}
    data |= {f"words-{number}": shard for number, (_, shard) in enumerate(words.shards, 1)}
    data["spelling"] = words.spelling
    marks = page_marks(rows, documents)
    about = {
        "format": FORMAT,
        "made": datetime.now(UTC).isoformat(timespec="minutes"),
        "language": language,
        "kinds": dict(sorted(kinds.items())),
        "documents": [[page, source, marks.get(page, "")] for page, source in documents],
        "marks": {name: _mark(data_json(value)) for name, value in data.items()},
        "parts": [first for first, _ in parts],
        "index": describe_index(words),
        "synonyms": _synonyms(rows, language, synonyms or {}),
        "named": named,
        "stopWords": stop,
    }
    return data | {"data": about | _ranking()}


def _ranking() -> dict[str, Any]:
    """Return what the box is told of how questions are read and passages are ranked."""
    return {
        "asking": {name: " ".join(words) for name, words in words_data().items()},
        "askingSigns": ASKING,
        "weights": weights_data(),
        "spans": spans_data(),
    }


def _mark(text: str) -> str:
    """Return a hash of a text, by which a page notices data of another render."""
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def _synonyms(rows: Sequence[list[Any]], language: str, configured: Synonymous) -> list[list[Any]]:
    """Return the names with other names that the rows give, and the configured ones of which the rows have
    one: whether it is known by its capitals alone, the name, the other names.

    Nothing but the rows is read, since they are what is published."""
    passages = [in_unicode(one if isinstance(one, str) else one[0]) for row in rows for one in row[7]]
    texts = [_CODE.sub("", text) for text in passages]
    said = fold(" ".join([*passages, *(in_unicode(row[2]) for row in rows)]))
    there = {one: names for one, names in configured.items() if any(fold(name) in said for name in (one, *names))}
    found = Synonyms(texts, Stemmer(language), language, there)
    return [[int(found.needs_capitals(name)), name, *others] for name, others in found.pairs()]


def data_json(value: Any) -> str:
    """Return a value as compact JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()  # half of a surrogate pair cannot be encoded


def _parts(rows: Sequence[list[Any]]) -> Iterator[tuple[int, list[Any]]]:
    """Yield the parts of rows, each with the number of its first section: the titles above that, and its rows."""
    first, size, above = 0, 0, list[str]()
    for number, (row, path) in enumerate(zip(rows, paths_of(rows), strict=True)):
        length = len(data_json(row).encode()) + 1
        if number > first and size + length > PART:
            yield first, [above, *rows[first:number]]
            first, size = number, 0
        above = path[: row[1]] if number == first else above
        size += length
    if rows:
        yield first, [above, *rows[first:]]


def page_marks(rows: Iterable[list[Any]], documents: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return a hash of each page's rows. The page holds it too: by it the box notices data that are older or newer
    than the page."""
    own: dict[str, list[list[Any]]] = {}
    for row in rows:
        own.setdefault(documents[row[0]][0], []).append(row)
    return {page: _mark(data_json(found)) for page, found in own.items()}
