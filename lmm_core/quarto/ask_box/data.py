"""Build an ask box's data: sections, words and weights for the search."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ...models.embedders.bm25 import USUAL_LANGUAGE
from ...models.languages.stemming import SPELLINGS, Stemmer, language_code, stop_words
from ...models.languages.words import find_words, fold
from ...retrieve.plain_text import in_unicode
from ...retrieve.ranking.asking import ASKING
from ...retrieve.ranking.lexical import weights_data
from ...retrieve.ranking.synonyms import Synonymous, Synonyms
from ...retrieve.ranking.words import words_data
from .rows import BoxRows

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
FORMAT = 9  # version of the data; box.js reads no other


@dataclass(frozen=True)
class BoxData:
    """An ask box's data as JSON.

    pages: hash of each page's sections, repeated in the page to detect outdated data"""

    text: bytes
    pages: dict[str, str]

    @property
    def script(self) -> bytes:
        """Script that passes the data to a page."""
        return b"lmmAsk.take(%b)\n" % self.text


def box_data(
    rows: BoxRows,
    language: str,
    synonyms: Synonymous | None = None,
    left_out: Collection[str] = (),
    made: datetime | None = None,
) -> BoxData:
    """Return a box's data. left_out: fields excluded from the search; made: time, default now."""
    named = language_code(language) or USUAL_LANGUAGE
    pages, words = _page_hashes(rows), set(_words(rows))
    about = {
        "format": FORMAT,
        "made": (made or datetime.now(UTC)).isoformat(timespec="minutes"),
        "language": language,
        "types": dict(sorted(rows.types.items())),
        "documents": [[page, source, pages.get(page, "")] for page, source in rows.documents],
        "sections": rows.sections,
        "stems": _stems(words, named),
        "spellings": SPELLINGS[""] + SPELLINGS.get(language_code(language), []),
        "synonyms": _synonyms(words, language, synonyms or {}),
        "named": named,
        "stopWords": " ".join(sorted(stop_words(named))),
        "asking": {name: " ".join(asking) for name, asking in words_data().items()},
        "askingSigns": ASKING,
        "weights": weights_data(left_out),
    }
    return BoxData(_json(about), pages)


def _json(value: Any) -> bytes:
    return _ENCODER.encode(value).encode("utf-8", "replace")  # lone surrogates


def _page_hashes(rows: BoxRows) -> dict[str, str]:
    own: dict[str, list[bytes]] = defaultdict(list)
    for number, *row in rows.sections:
        own[rows.documents[number][0]].append(_json(row))
    return {page: f"{zlib.crc32(b''.join(texts)):08x}" for page, texts in own.items()}


def _words(rows: BoxRows) -> Iterator[str]:
    for _, _, title, _, _, summary, questions, passages in rows.sections:
        texts = (
            title,
            summary,
            *questions,
            *(passage if isinstance(passage, str) else passage[0] for passage in passages),
        )
        for word in find_words(in_unicode("\n".join(texts))):
            yield fold(word)


def _stems(words: set[str], language: str) -> list[str]:
    stem_of, forms = Stemmer(language).stem, defaultdict[str, list[str]](list)
    for word in sorted(words):
        stem = stem_of(word)
        forms[stem] += [word] if word != stem else []
    forms.pop("", None)  # stop words
    return [" ".join([stem, *own]) for stem, own in sorted(forms.items())]


def _synonyms(words: set[str], language: str, configured: Synonymous) -> list[list[Any]]:
    """Return configured synonyms that occur in the sections: whether matched by capitals only, name, other names."""
    used = {
        name: others
        for name, others in configured.items()
        if any(words.issuperset(map(fold, find_words(other))) for other in (name, *others))
    }
    names = Synonyms(Stemmer(language), language, used)
    return [[int(synonym.needs_capitals), synonym.name, *synonym.others] for synonym in names.names]
