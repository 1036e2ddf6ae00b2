"""Several queries for one question, made by a model, since different words find different passages.

In the same reply it can say whether the question is about a subject of the course.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import ModelError
from ..models.chat import Asker
from ..models.prompts import QUERIES, as_data, with_topic_check
from ..models.replies import find_value
from .search import MOST_CHARACTERS, OffTopic

MOST_QUERIES = 4  # besides the question
MOST_EARLIER = 3  # earlier questions that a model is told
MOST_CHECKED = 10_000  # of a question whose subject is checked: all that a model will be sent of it
_DENIED = re.compile(r'"on_topic"\s*:\s*false')  # anywhere in a reply: a question may have put another object before


@dataclass
class ModelQueries:
    """A model that makes queries.

    A question after others is replaced by its queries, which name what it takes from these. subjects: those of the
    course, if questions about others are refused; prompt: the instructions, in place of ours."""

    asker: Asker
    subjects: Sequence[str] = ()

    async def expand(self, question: str, earlier: Sequence[str] = ()) -> list[str]:
        """Return the question, other ways to ask it, or both, each once.

        earlier: the questions before it. Raise ModelError, or OffTopic if the subject is checked."""
        most = MOST_CHECKED if self.subjects else MOST_CHARACTERS  # what is not seen is not checked
        before = "\n".join(asked[:MOST_CHARACTERS] for asked in earlier[-MOST_EARLIER:])
        values = {"question": as_data(question[:most]), "earlier": as_data(before), "most": str(MOST_QUERIES)}
        request = QUERIES.request(values)
        question = question[:MOST_CHARACTERS]
        if not self.subjects:
            queries = await self.asker.ask(request, _read_queries)
        elif (checked := await self.asker.ask(with_topic_check(request, self.subjects), _read_checked)) is None:
            raise OffTopic
        else:
            queries = checked
        own = [] if earlier and queries else [question]
        return list(dict.fromkeys([*own, *queries]))


def _read_queries(text: str) -> list[str]:
    """Return the queries in a reply. Raise ModelError if there is no list."""
    value = find_value(text, "queries")
    if not isinstance(value, list):
        raise ModelError("the reply holds no list of queries")
    queries = [" ".join(query.split())[:MOST_CHARACTERS] for query in value if isinstance(query, str)]
    return [query for query in queries if query][:MOST_QUERIES]


def _read_checked(text: str) -> list[str] | None:
    """Return the queries in a reply, or None if it says off topic.

    Raise ModelError unless it says clearly on topic: a question may try to mislead the model."""
    on_topic = find_value(text, "on_topic")
    if not isinstance(on_topic, bool):
        raise ModelError("the reply does not say whether the question is on topic")
    if not on_topic or _DENIED.search(text):
        return None
    return _read_queries(text)
