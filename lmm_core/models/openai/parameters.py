"""Parameters of requests besides messages and schema, as one server takes them.

OpenAI's reasoning models want `max_completion_tokens` in place of `max_tokens`, and refuse a temperature. A
parameter that a server refused by name is not sent again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..chat import Request

THOUGHTS = 16_000  # tokens for a model that thinks before it answers, beside those of the answer
_LIMIT, _NEW_LIMIT, _TEMPERATURE = "max_tokens", "max_completion_tokens", "temperature"
_COMPLETION = "in the completion"  # "you requested 2100 tokens (100 in the messages, 2000 in the completion)"
_TOO_LARGE = re.compile(r"too large|at most|exceed|maximum|less than|smaller than|range| > ", re.I)


@dataclass(slots=True)
class Parameters:
    """The parameters that a server takes.

    limit: the name of the limit of a reply, "" for none; thinks: the model thinks before it answers, which counts
    against the limit."""

    limit: str = _LIMIT
    temperature: bool = True
    thinks: bool = False

    def of(self, request: Request, limited: bool = True) -> dict[str, Any]:
        """Return the parameters of a request. limited: with a limit of the reply."""
        chosen = request.sampling
        parameters = dict(chosen.extra)
        if self.limit and limited:
            parameters[self.limit] = self.most_tokens(request)
        if chosen.temperature is not None and self.temperature:
            parameters[_TEMPERATURE] = chosen.temperature
        return parameters

    def most_tokens(self, request: Request) -> int:
        """Return the limit of tokens of a reply."""
        return request.sampling.max_tokens or request.max_tokens + (THOUGHTS if self.thinks else 0)

    def refused(self, said: str, param: str, body: Mapping[str, Any]) -> str:
        """Return the parameter that a server's error names, or "".

        said, param: the error's text, and its field for the parameter."""
        sent_keys = [key for key in (_TEMPERATURE, _LIMIT, _NEW_LIMIT) if key in body]
        named = next((key for key in sent_keys if key == param or re.search(rf"\b{key}\b", said)), "")
        return named or (self.limit if self.limit in body and _COMPLETION in said else "")

    def learn(self, key: str, said: str) -> bool:
        """Stop sending the parameter `key`, or send it under another name.

        Return False if only its value was too large, so that the next request may have it."""
        if key == _TEMPERATURE:
            self.temperature = False
        elif _TOO_LARGE.search(said):
            return False
        else:
            self.limit = _NEW_LIMIT if key == _LIMIT and _NEW_LIMIT in said else ""
            self.thinks = self.thinks or self.limit == _NEW_LIMIT  # so do all models that want the new name
        return True
