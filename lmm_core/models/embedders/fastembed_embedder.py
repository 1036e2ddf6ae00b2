"""Embed and score texts locally with fastembed. Nothing is downloaded: see `fastembed_models.get_model`."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from ..names import ModelName
from .embedder import batches
from .fastembed_models import fastembed_errors, find_files, fingerprint, load_model, read_json, replace_surrogates

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from fastembed.rerank.cross_encoder import TextCrossEncoder
    from tokenizers import Tokenizer

# Texts per thread call: an interrupt waits for these
TEXTS_AT_ONCE = 16
UNKNOWN_WINDOW = 512  # default, in tokens


class FastEmbedder:
    """A local embedding model with unit vectors. Raise ModelError if it is missing.

    Texts are embedded one at a time: int8 models depend on the rest of the batch, and batches are no faster.
    space: changes with the model's files, whose vectors must not be mixed."""

    def __init__(self, name: ModelName, root: Path | None = None) -> None:
        self.name = str(name)
        self._files = find_files(name, root, "dense")
        self.space = f"{self.name}@{fingerprint(self._files)}"
        self._lock = threading.Lock()
        self._model: TextEmbedding | None = None
        self._tokenizer: Tokenizer | None = None
        self._dimensions = self._files.dimensions

    @property
    def window(self) -> int:
        """The tokens that the model reads, special ones excluded."""
        with self._lock, fastembed_errors(f"{self.name} cannot be used"):
            return _window(self._files.folder) - self._load_tokenizer().num_special_tokens_to_add(False)

    def count(self, text: str) -> int:
        """Return a text's tokens, comparable with `window`."""
        with self._lock, fastembed_errors(f"{self.name} cannot be used"):
            return len(self._load_tokenizer().encode(replace_surrogates(text), add_special_tokens=False).ids)

    def _load_tokenizer(self) -> Tokenizer:
        if self._tokenizer is None:
            from tokenizers import Tokenizer

            self._tokenizer = Tokenizer.from_file(str(self._files.folder / "tokenizer.json"))
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()
        return self._tokenizer

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for group in batches(texts, TEXTS_AT_ONCE, 10**9):
            vectors += await asyncio.to_thread(self._embed, group)
        return vectors

    async def close(self) -> None:
        """Free the model's memory."""
        with self._lock:
            self._model = self._tokenizer = None

    def _embed(self, texts: list[str]) -> list[list[float]]:
        with self._lock, fastembed_errors(f"{self.name} cannot be used"):
            self._model = self._model or load_model(self._files, "dense")
            vectors = [_unit(vector) for vector in self._model.embed([*map(replace_surrogates, texts)], batch_size=1)]
            self._dimensions = self._dimensions or len(vectors[0])
            if any(len(vector) != self._dimensions for vector in vectors):
                size = len(vectors[0])
                raise ModelError(f"{self.name}: the model returned {size} dimensions instead of {self._dimensions}")
            return vectors


def _window(folder: Path) -> int:
    """Return the model's limit in tokens, special ones included, as fastembed reads it."""
    config = read_json(folder / "tokenizer_config.json")
    lengths = [config.get("model_max_length"), config.get("max_length")]
    sizes = [size for size in lengths if type(size) is int and 0 < size < 2**31]
    return min(sizes, default=UNKNOWN_WINDOW)


def _unit(vector: Any) -> list[float]:
    """Return a vector of length 1, in 32-bit precision."""
    import numpy as np

    array = np.asarray(vector, dtype=np.float32).ravel()
    length = float(np.linalg.norm(array))
    if not math.isfinite(length):
        raise ValueError("the model returned numbers that are not finite")
    numbers: list[float] = (array / length if length else array).tolist()
    return numbers


# Cross-encoders


class CrossEncoder:
    """A local cross-encoder, downloaded (`fastembed/Xenova/ms-marco-MiniLM-L-6-v2`) or in a folder
    (`fastembed/./models/x`,
    relative to `root`). Raise ModelError if it is missing."""

    def __init__(self, name: ModelName, root: Path | None = None) -> None:
        self.name = str(name)
        self._files = find_files(name, root, "cross-encoder")
        self._lock = threading.Lock()
        self._model: TextCrossEncoder | None = None

    async def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return a unitless score per text, higher is better. Raise ModelError."""
        return await asyncio.to_thread(self._score, question, list(texts))

    def _score(self, question: str, texts: list[str]) -> list[float]:
        with self._lock, fastembed_errors(f"{self.name} cannot be used"):
            self._model = self._model or load_model(self._files, "cross-encoder")
            # one at a time: see FastEmbedder
            question, texts = replace_surrogates(question), [*map(replace_surrogates, texts)]
            scores = [*map(float, self._model.rerank(question, texts, batch_size=1))]
            if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
                raise ModelError(
                    f"{self.name}: the model returned no number for a text. Is it a cross-encoder?", stop=True
                )
            return scores
