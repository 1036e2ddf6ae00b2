"""SPLADE as sparse vectors: the words that a model weighs in a text, and those that it adds to them.

The model runs on this machine, by fastembed, and knows English. Loading it downloads nothing
(`lmm models get` does).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .embedder import Sparse
from .fastembed_models import ModelFiles, cached_files, fastembed_errors, replace_surrogates, silence_fastembed

if TYPE_CHECKING:
    from fastembed import SparseTextEmbedding


class SpladeEncoder:
    """An encoder of texts by a SPLADE model (`prithivida/Splade_PP_en_v1`).

    Raise ModelError if the model is not on this machine, or fails."""

    language = "en"
    idf = False  # the model has weighed how rare a word is

    def __init__(self, name: str) -> None:
        self.name = name
        self._files = cached_files(name, "sparse")
        self._lock = threading.Lock()
        self._model: SparseTextEmbedding | None = None

    def encode(self, texts: Sequence[str], languages: Sequence[str] = ()) -> list[Sparse]:
        """See `SparseEncoder`; the languages make no difference. A text of no words has an empty vector."""
        return [self._encode(text) if text.strip() else Sparse([], []) for text in texts]

    def encode_query(self, text: str, languages: Sequence[str] = ()) -> Sparse:
        """See `SparseEncoder`."""
        return self.encode([text])[0]

    def _encode(self, text: str) -> Sparse:
        with self._lock, fastembed_errors(f"{self.name} cannot be used"):
            self._model = self._model or _load(self._files)
            (found,) = self._model.embed([replace_surrogates(text)], batch_size=1)
            return Sparse(found.indices.tolist(), found.values.tolist())


def _load(files: ModelFiles) -> SparseTextEmbedding:
    silence_fastembed()
    from fastembed import SparseTextEmbedding

    return SparseTextEmbedding(files.known, cache_dir=str(files.folder), specific_model_path=str(files.folder))
