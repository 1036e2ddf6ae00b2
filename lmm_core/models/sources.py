"""Sources of models: where a server is, and which variable holds its key.

Every source speaks the OpenAI protocol. A key itself is never part of a source: it
is read from the environment when a request is made.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..errors import ModelError
from .trust import address_of, key_refusal

STAND_IN = "extractive"
STAND_IN_NAME = "extractive/default"
FASTEMBED = "fastembed"
NONE = "none"


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A server. `key_variable` is empty where none is needed; `chat_model` and
    `embedding_model` are what is taken where no model is named, if anything. `file`: the
    `config.toml` that names the server or the variable; "" where we do, or the person does
    (environment, code); `server_file`: the same for the server alone."""

    name: str
    base_url: str
    key_variable: str = ""
    chat_model: str = ""
    embedding_model: str = ""
    file: str = ""
    server_file: str = ""

    @property
    def local(self) -> bool:
        """Whether the server is on this machine."""
        return is_loopback(self.base_url)

    @property
    def has_key(self) -> bool:
        """Whether the variable holds a key, wherever that may go."""
        return bool(self._key())

    @property
    def refusal(self) -> str:
        """Why the key is not sent to the server, in a sentence; "" where it may be, or there is none."""
        if not self.has_key:
            return ""
        return key_refusal(self.base_url, self.key_variable, self.file, _homes(self.key_variable), self._otherwise)

    @property
    def _otherwise(self) -> str:
        """What who has a server without https in a network that they trust can do."""
        variable = f"LMM_SOURCES__{self.name.upper()}__"
        return (
            f"; if you trust the network, name the server in the environment ({variable}BASE_URL={self.base_url} and "
            f"{variable}KEY_VARIABLE={self.key_variable}, and neither of them in [sources.{self.name}]); "
            'if the server wants no key, say key_variable = "" there'
        )

    @property
    def needs_key(self) -> bool:
        """Whether a key has to be there: not for this machine, nor for what people run themselves (vLLM)."""
        own = SOURCES.get(self.name)
        return bool(self.key_variable) and not self.local and not (own and own.local)

    @property
    def detour(self) -> str:
        """What is to be said before anything is sent, where a file puts another server into the
        place of one of ours, in a sentence; "" elsewhere."""
        own, there = SOURCES.get(self.name), _server(self.base_url)
        if own is None or not self.server_file or self.local or there == _server(own.base_url):
            return ""
        return f"{self.server_file} sends what goes to `{self.name}` to {there}, not to {_server(own.base_url)}"

    def key(self) -> str:
        """The key, "" where there is none. Raises ModelError where it may not go to the server."""
        if refusal := self.refusal:
            raise ModelError(f"{self.name}: {refusal}", stop=True)
        return self._key()

    def _key(self) -> str:
        return os.environ.get(self.key_variable, "").strip() if self.key_variable else ""


SOURCES: dict[str, ModelSource] = {
    source.name: source
    for source in (
        ModelSource(
            "openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-4o-mini", "text-embedding-3-small"
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
    """The table, with `OPENAI_BASE_URL` honoured, and what the configuration adds."""
    sources = dict(SOURCES)
    if url := os.environ.get("OPENAI_BASE_URL", "").strip():
        openai = sources["openai"]
        sources["openai"] = ModelSource(
            openai.name, url, openai.key_variable, openai.chat_model, openai.embedding_model
        )  # fmt: skip
    return sources | dict(configured or {})


def _homes(variable: str) -> set[str]:
    """The hosts of the sources of ours whose key a variable holds."""
    return {address_of(own.base_url).host for own in SOURCES.values() if own.key_variable == variable}


def is_address(url: str) -> bool:
    """Whether a URL can be that of a server."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def shown_address(url: str) -> str:
    """An address without what may be secret in it: a password, a query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _server(url: str) -> str:
    """Scheme, host and port of an address, as they are shown."""
    parts = urlsplit(shown_address(url))
    return f"{parts.scheme}://{parts.netloc}".lower()


def is_loopback(url: str) -> bool:
    """Whether a URL's host is this machine."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
