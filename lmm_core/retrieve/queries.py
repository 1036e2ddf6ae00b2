"""Several queries made of one question, because different words find different passages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..errors import ModelError
from ..models.chat import Asker
from ..models.languages.words import fold
from ..models.prompts import QUERIES, Prompt, as_data
from ..models.replies import find_value
from .ranking.asking import without_asking
from .ranking.words import frequent_words

MOST_QUERIES = 4  # besides the question
MOST_EARLIER = 3  # earlier questions that a model is told
MOST_CHARACTERS = 2_000  # of a question; more is not searched for, since the beginning says what it is about
_WORD = re.compile(r"\w[\w'’-]*")


class Expander(Protocol):
    """Something that makes queries of a question."""

    async def expand(self, question: str, language: str = "", earlier: Sequence[str] = ()) -> list[str]:
        """Return the question and other ways to ask it, each once.

        language: of the material, as in `Library.language`; earlier: the questions before this one,
        which it may continue. Raise ModelError."""
        ...


class PlainQueries:
    """The question, made without a model into one that can be searched for.

    After another question, its words together with those of the one before are a further query."""

    async def expand(self, question: str, language: str = "", earlier: Sequence[str] = ()) -> list[str]:
        """See `Expander`."""
        question = question[:MOST_CHARACTERS]
        further = [keyword_form(f"{question} {earlier[-1][:MOST_CHARACTERS]}", language)] if earlier else []
        return list(dict.fromkeys([question, *further]))


@dataclass
class ModelQueries:
    """Queries that a model makes of the question."""

    asker: Asker
    prompt: Prompt = QUERIES

    async def expand(self, question: str, language: str = "", earlier: Sequence[str] = ()) -> list[str]:
        """See `Expander`."""
        question = question[:MOST_CHARACTERS]
        before = "\n".join(one[:MOST_CHARACTERS] for one in earlier[-MOST_EARLIER:])
        values = {"question": as_data(question), "earlier": as_data(before), "most": str(MOST_QUERIES)}
        made = await self.asker.ask(self.prompt.request(values), _read_queries)
        return list(dict.fromkeys([question, *made]))


def keyword_form(question: str, language: str = "") -> str:
    """Return the words of a question that say what it is about, or the question if none do."""
    left_out = frequent_words(language)
    words = [word for word in _WORD.findall(without_asking(question)) if fold(word) not in left_out]
    return " ".join(dict.fromkeys(words)) or question


def _read_queries(text: str) -> list[str]:
    """Return the queries in a reply. Raise ModelError if it holds no list of them."""
    found = find_value(text, "queries")
    if not isinstance(found, list):
        raise ModelError("the reply holds no list of queries")
    queries = [" ".join(query.split())[:MOST_CHARACTERS] for query in found if isinstance(query, str)]
    return [query for query in queries if query][:MOST_QUERIES]
