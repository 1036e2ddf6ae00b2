"""From one question to several queries: more ways to say a thing find more of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..errors import ModelError
from ..models.chat import Asker
from ..models.embedders.bm25 import LANGUAGES, NO_LANGUAGE, bm25_language, stop_words
from ..models.prompts import QUERIES
from ..models.replies import find_value
from ..models.stopwords import STOPWORDS
from .delimit import as_data

MOST_QUERIES = 4  # beside the question
MOST_EARLIER = 3  # questions before it that a model is told
MOST_CHARACTERS = 2_000  # of a question that is searched for: its beginning says what it is about
_WORD = re.compile(r"\w[\w'’-]*")


class Expander(Protocol):
    """Makes queries of a question."""

    async def expand(self, question: str, language: str = "", earlier: Sequence[str] = ()) -> list[str]:
        """The question and other ways to ask for it, each once. earlier: what was asked
        before it, which it may go on from. Raises ModelError."""
        ...


class KeywordQueries:
    """The question and its keyword form; no model is asked."""

    async def expand(self, question: str, language: str = "", earlier: Sequence[str] = ()) -> list[str]:
        """See `Expander`."""
        question = question[:MOST_CHARACTERS]
        further = [keyword_form(f"{question} {earlier[-1][:MOST_CHARACTERS]}", language)] if earlier else []
        return list(dict.fromkeys([question, keyword_form(question, language), *further]))


@dataclass
class ModelQueries:
    """Queries that a model makes of the question. Where it fails, `KeywordQueries` do."""

    asker: Asker

    async def expand(self, question: str, language: str = "", earlier: Sequence[str] = ()) -> list[str]:
        """See `Expander`."""
        question = question[:MOST_CHARACTERS]
        before = "\n".join(one[:MOST_CHARACTERS] for one in earlier[-MOST_EARLIER:])
        values = {"question": as_data(question), "earlier": as_data(before), "most": str(MOST_QUERIES)}
        made = await self.asker.ask(QUERIES.request(values), _read_queries)
        return list(dict.fromkeys([question, *made]))


def keyword_form(question: str, language: str = "") -> str:
    """The words of a question that say what it is about; the question where none do."""
    name = bm25_language(language)
    left_out = stop_words(name) if name != NO_LANGUAGE else frozenset[str]()
    for code in (code for code, known in LANGUAGES.items() if known == name):
        left_out |= STOPWORDS.get(code, frozenset())  # a longer list: `know` says nothing of a question
    words = [word for word in _WORD.findall(question) if word.lower() not in left_out]
    return " ".join(dict.fromkeys(words)) or question


def _read_queries(text: str) -> list[str]:
    """The queries in a reply. Raises ModelError."""
    found = find_value(text, "queries")
    if not isinstance(found, list):
        raise ModelError("the reply holds no list of queries")
    queries = [" ".join(query.split())[:MOST_CHARACTERS] for query in found if isinstance(query, str)]
    return [query for query in queries if query][:MOST_QUERIES]
