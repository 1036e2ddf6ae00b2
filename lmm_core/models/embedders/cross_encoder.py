"""Score texts against a question with local cross-encoders of fastembed."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ModelError
from ..names import ModelName
from .fastembed_models import fastembed_errors, find_files, load_model, replace_surrogates

if TYPE_CHECKING:
    from fastembed.rerank.cross_encoder import TextCrossEncoder


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
