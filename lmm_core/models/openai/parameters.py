"""Adapt request parameters to a server.

OpenAI's reasoning models take `max_completion_tokens` instead of `max_tokens`, and no temperature. Refused
parameters are not sent again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..chat import Request

THOUGHTS = 16_000  # additional tokens for models that think first
_LIMIT, _NEW_LIMIT, _TEMPERATURE = "max_tokens", "max_completion_tokens", "temperature"
_COMPLETION = "in the completion"  # "you requested 2100 tokens (100 in the messages, 2000 in the completion)"
_TOO_LARGE = re.compile(r"too large|at most|exceed|maximum|less than|smaller than|range| > ", re.I)


@dataclass(slots=True)
class Parameters:
    """The parameters of a server.

    limit: name of the reply's limit, "" for none
    thinks: thoughts count against the limit"""

    limit: str = _LIMIT
    temperature: bool = True
    thinks: bool = False

    def of(self, request: Request, limited: bool = True) -> dict[str, Any]:
        """Return a request's parameters. limited: include a limit of the reply."""
        chosen = request.sampling
        parameters = dict(chosen.extra)
        if self.limit and limited:
            parameters[self.limit] = self.most_tokens(request)
        if chosen.temperature is not None and self.temperature:
            parameters[_TEMPERATURE] = chosen.temperature
        return parameters

    def most_tokens(self, request: Request) -> int:
        """Return the reply's limit in tokens."""
        return request.sampling.max_tokens or request.max_tokens + (THOUGHTS if self.thinks else 0)

    def refused(self, said: str, param: str, body: Mapping[str, Any]) -> str:
        """Return the parameter that a server's error names, or "". said, param: the error's text and field."""
        sent_keys = [key for key in (_TEMPERATURE, _LIMIT, _NEW_LIMIT) if key in body]
        named = next((key for key in sent_keys if key == param or re.search(rf"\b{key}\b", said)), "")
        return named or (self.limit if self.limit in body and _COMPLETION in said else "")

    def learn(self, key: str, said: str) -> bool:
        """Drop or rename a parameter. Return False if only its value was too large, so that later requests may use
        it."""
        if key == _TEMPERATURE:
            self.temperature = False
        elif _TOO_LARGE.search(said):
            return False
        else:
            self.limit = _NEW_LIMIT if key == _LIMIT and _NEW_LIMIT in said else ""
            self.thinks = self.thinks or self.limit == _NEW_LIMIT  # as do all models with the new name
        return True
