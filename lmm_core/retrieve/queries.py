"""Generate several queries for a question by a model, since different words find different passages.

The same reply may check the question against the course's subjects.
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

MOST_QUERIES = 4  # in addition to the question
MOST_EARLIER = 3  # previous questions in the prompt
MOST_CHECKED = 10_000  # of a question under subject check: all that a model will receive
_DENIED = re.compile(
    r'"on_topic"\s*:\s*false'
)  # anywhere in a reply: a question may have injected another object before


@dataclass
class ModelQueries:
    """A model that generates queries.

    A follow-up question is replaced by self-contained queries. subjects: of the course, to refuse other questions;
    prompt: custom instructions."""

    asker: Asker
    subjects: Sequence[str] = ()

    async def expand(self, question: str, earlier: Sequence[str] = ()) -> list[str]:
        """Return distinct queries, including the question where useful. earlier: previous questions.

        Raise ModelError, or OffTopic if the subject is checked."""
        most = MOST_CHECKED if self.subjects else MOST_CHARACTERS  # check all that will be seen
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
    """Return the queries in a reply. Raise ModelError without a list."""
    value = find_value(text, "queries")
    if not isinstance(value, list):
        raise ModelError("the reply holds no list of queries")
    queries = [" ".join(query.split())[:MOST_CHARACTERS] for query in value if isinstance(query, str)]
    return [query for query in queries if query][:MOST_QUERIES]


def _read_checked(text: str) -> list[str] | None:
    """Return the queries in a reply, or None if off topic.

    Raise ModelError unless clearly on topic: a question may try to mislead the model."""
    on_topic = find_value(text, "on_topic")
    if not isinstance(on_topic, bool):
        raise ModelError("the reply does not say whether the question is on topic")
    if not on_topic or _DENIED.search(text):
        return None
    return _read_queries(text)
