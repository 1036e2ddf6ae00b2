"""Cross-encoders on this machine, by fastembed: they score texts by how well each answers a question.

They need no server and no key, and download nothing (`lmm models get` does).
"""

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
    """A cross-encoder on this machine.

    It was downloaded before (`fastembed/Xenova/ms-marco-MiniLM-L-6-v2`), or lies in a folder
    (`fastembed/./models/x`, relative to `root`). Raise ModelError if it is missing."""

    def __init__(self, name: ModelName, root: Path | None = None) -> None:
        self.name = str(name)
        self._files = find_files(name, root, "cross-encoder")
        self._lock = threading.Lock()
        self._model: TextCrossEncoder | None = None

    async def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return a score for each text; the better it answers the question, the higher.

        The scores have no unit. Raise ModelError if the model fails."""
        return await asyncio.to_thread(self._score, question, list(texts))

    def _score(self, question: str, texts: list[str]) -> list[float]:
        with self._lock, fastembed_errors(f"{self.name} cannot be used"):
            self._model = self._model or load_model(self._files, "cross-encoder")
            # one at a time: see FastEmbedder
            question, texts = replace_surrogates(question), [*map(replace_surrogates, texts)]
            found = [*map(float, self._model.rerank(question, texts, batch_size=1))]
            if len(found) != len(texts) or not all(map(math.isfinite, found)):
                raise ModelError(
                    f"{self.name}: the model returned no number for a text. Is it a cross-encoder?", stop=True
                )
            return found
