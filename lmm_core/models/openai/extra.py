"""Free parameters of a provider: which of them may be set, and by whom.

A `config.toml` may come with a folder from somebody else. Among the parameters that providers take
are some that keep what is sent, search the web with it, hand it to other providers or servers, or
multiply what it costs. So a file may set only those that shape a reply; the person at the keyboard
may set others in the environment.
"""

from __future__ import annotations

import json
from typing import Any

# These are what a request itself says, or have a setting of their own.
OWN_PARAMETERS = frozenset({
    "model", "models", "messages", "prompt", "input", "stream", "stream_options", "response_format", "tools",
    "tool_choice", "functions", "function_call", "n", "max_tokens", "max_completion_tokens", "temperature",
})  # fmt: skip
FILE_PARAMETERS = frozenset({
    "top_p", "top_k", "min_p", "typical_p", "seed", "stop", "logit_bias", "frequency_penalty", "presence_penalty",
    "repetition_penalty", "repeat_penalty", "repeat_last_n", "reasoning_effort", "reasoning", "verbosity", "think",
    "enable_thinking", "chat_template_kwargs", "safe_prompt", "cache_prompt",
})  # fmt: skip
MOST_CHARACTERS = 2_000  # as JSON, since they go with every request


def checked_extra(extra: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters. Raise ValueError if one is not to be set here, or cannot be sent."""
    if own := sorted(OWN_PARAMETERS & extra.keys()):
        raise ValueError(f"should not hold {', '.join(own)}: what is asked, or a setting of its own, decides on that")
    try:
        size = len(json.dumps(extra, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise ValueError("should hold texts, numbers, true, false, lists and tables of them") from None
    if size > MOST_CHARACTERS:
        raise ValueError(
            f"should have at most {MOST_CHARACTERS:,} characters as JSON, since it goes with every request"
        )
    return extra
