"""Define sources of models (server and key variable), and the options of requests to them.

All use the OpenAI protocol. Keys are read from the environment for each request, and never stored.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..arguments import key as config_key
from ..errors import ModelError
from .addresses import Url, Variable, address_of, is_loopback, key_refusal, server_of

STAND_IN = "extractive"
STAND_IN_NAME = "extractive/default"
FASTEMBED = "fastembed"
NONE = "none"
CHAT_MODEL = "gpt-5.4-mini"  # default with OPENAI_API_KEY
ANNOTATION_TOKENS = 1_000  # default limit of a reply with annotations

# Parameters of providers that settings may contain. Others may store the request, search the web, forward it to other
# servers, or multiply the cost.
EXTRA_PARAMETERS = frozenset({
    "top_p", "top_k", "min_p", "typical_p", "seed", "stop", "logit_bias", "frequency_penalty", "presence_penalty",
    "repetition_penalty", "repeat_penalty", "repeat_last_n", "reasoning_effort", "reasoning", "verbosity", "think",
    "enable_thinking", "chat_template_kwargs", "safe_prompt", "cache_prompt",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A server of models: `[sources.NAME]`.

    file: the `config.toml` that sets the server or the variable, else ""
    server_file: the same for the server alone"""

    name: str
    base_url: Url = field(metadata={"description": "its address, with http:// or https://"})
    key_variable: Variable = config_key("", "the NAME of the environment variable that holds the key")
    chat_model: str = config_key("", "the chat model to use if none is named")
    embedding_model: str = config_key("", "the embedding model to use if none is named")
    file: str = ""
    server_file: str = ""

    @property
    def local(self) -> bool:
        return is_loopback(self.base_url)

    @property
    def has_key(self) -> bool:
        """Return True if the variable holds a key, even one that may not be sent."""
        return bool(self._key())

    @property
    def refusal(self) -> str:
        """Return why the key is not sent to the server, or ""."""
        if not self.has_key:
            return ""
        return key_refusal(self.base_url, self.key_variable, self.file, _own_hosts(self.key_variable), self._advice)

    @property
    def _advice(self) -> str:
        variable = f"LMM_SOURCES__{self.name.upper()}__"
        return (
            f"; if you trust the network, name the server in the environment ({variable}BASE_URL={self.base_url} and "
            f"{variable}KEY_VARIABLE={self.key_variable}, and neither of them in [sources.{self.name}]); "
            'if the server needs no key, write key_variable = "" there'
        )

    @property
    def needs_key(self) -> bool:
        """Return True if a key is required: never for local servers, nor for sources that are local by default."""
        own = SOURCES.get(self.name)
        return bool(self.key_variable) and not self.local and not (own and own.local)

    @property
    def detour(self) -> str:
        """Return a warning, to be shown before sending, if a file replaces the server of one of our sources, or ""."""
        own, actual = SOURCES.get(self.name), server_of(self.base_url)
        if own is None or not self.server_file or self.local or actual == server_of(own.base_url):
            return ""
        return f"{self.server_file} sends what goes to `{self.name}` to {actual}, not to {server_of(own.base_url)}"

    def key(self) -> str:
        """Return the key, or "". Raise ModelError if it may not be sent to the server."""
        if refusal := self.refusal:
            raise ModelError(f"{self.name}: {refusal}", stop=True)
        return self._key()

    def _key(self) -> str:
        return os.environ.get(self.key_variable, "").strip() if self.key_variable else ""


SOURCES: dict[str, ModelSource] = {
    source.name: source
    for source in (
        ModelSource(
            "openai", "https://api.openai.com/v1", "OPENAI_API_KEY", CHAT_MODEL, "text-embedding-3-small"
        ),
        ModelSource(
            "mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral-small-latest", "mistral-embed"
        ),
        ModelSource("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
        ModelSource("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
        ModelSource("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        ModelSource("ollama", "http://localhost:11434/v1"),
        ModelSource("vllm", "http://localhost:8000/v1", "VLLM_API_KEY"),
        ModelSource("llamacpp", "http://localhost:8080/v1"),
    )
}  # fmt: skip


def known_sources(configured: Mapping[str, ModelSource] | None = None) -> dict[str, ModelSource]:
    """Return our sources, OpenAI's at `OPENAI_BASE_URL`, and the configured ones."""
    sources = dict(SOURCES)
    if url := os.environ.get("OPENAI_BASE_URL", "").strip():
        sources["openai"] = replace(sources["openai"], base_url=url)
    return sources | dict(configured or {})


def _own_hosts(variable: str) -> set[str]:
    return {address_of(own.base_url).host for own in SOURCES.values() if own.key_variable == variable}


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """A language model, and the options of requests to it: `[major]`, `[minor]`, `[aux]`."""

    model: str = config_key("default", '"source/model", a source alone ("openai"), or "default"')
    timeout: float = config_key(60.0, "seconds for one request", gt=0, allow_inf_nan=False)
    max_retries: int = config_key(2, "further attempts after a failed request", ge=0)
    max_concurrency: int = config_key(16, "requests at the same time", ge=1)
    context_tokens: int = config_key(
        100_000, "most tokens that a chat or an edit sends; set less for small models", ge=1000
    )
    max_tokens: int = config_key(0, "most tokens of a reply; 0: depends on the task", ge=0)
    temperature: float = config_key(
        -1.0, "0 to 2: how freely replies are worded; -1: the server's default", ge=-1, le=2
    )
    extra: Mapping[str, Any] = field(
        default_factory=dict, metadata={"description": "further parameters of the provider: { top_p = 0.9 }"}
    )

    def __post_init__(self) -> None:
        if other := sorted(self.extra.keys() - EXTRA_PARAMETERS):
            raise ValueError(f"extra may hold {', '.join(sorted(EXTRA_PARAMETERS))}; not {', '.join(other)}")

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters that shape replies, apart from their length."""
        return {**self.extra, **({"temperature": self.temperature} if self.temperature >= 0 else {})}
