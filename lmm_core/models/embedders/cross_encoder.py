"""Cross-encoders on this machine, by fastembed: how well texts answer a question, each
read together with it. No server, no key; nothing is downloaded (`lmm models get` is for
that)."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ModelError
from ..roles import ModelName, local_folder
from .fastembed_embedder import LOCAL, ModelFiles, cached_files, encodable, explained, fingerprint, hush, local_files

if TYPE_CHECKING:
    from fastembed.rerank.cross_encoder import TextCrossEncoder


class CrossEncoder:
    """A model that was got (`fastembed/Xenova/ms-marco-MiniLM-L-6-v2`), or one in a folder
    (`fastembed/./models/x`; root: what it is relative to). Raises ModelError where it is not
    there."""

    def __init__(self, name: ModelName, root: Path | None = None) -> None:
        self.name = str(name)
        folder = local_folder(name, root or Path.cwd())
        self._files = local_files(self.name, folder) if folder else cached_files(name.model, cross_encoder=True)
        self._lock = threading.Lock()
        self._model: TextCrossEncoder | None = None

    async def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """For each text how well it answers the question: numbers without a unit, the
        higher the better. Raises ModelError."""
        return await asyncio.to_thread(self._score, question, list(texts))

    def _score(self, question: str, texts: list[str]) -> list[float]:
        with self._lock, explained(f"{self.name} cannot be used"):
            self._model = self._model or _load(self._files)
            # one at a time: see FastEmbedder
            found = [*map(float, self._model.rerank(encodable(question), [*map(encodable, texts)], batch_size=1))]
            if len(found) != len(texts) or not all(map(math.isfinite, found)):
                raise ModelError(f"{self.name}: gives no number for a text: is it a cross-encoder?", stop=True)
            return found


def _load(files: ModelFiles) -> TextCrossEncoder:
    hush()
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    name = files.known or _register(files)
    return TextCrossEncoder(name, cache_dir=str(files.folder), specific_model_path=str(files.folder))


def _register(files: ModelFiles) -> str:
    """Make a folder known to fastembed; returns the name that it has there."""
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    name = f"{LOCAL}{fingerprint(files)}"
    if name not in {one.model for one in TextCrossEncoder._list_supported_models()}:
        TextCrossEncoder.add_custom_model(name, ModelSource(hf=name), files.onnx)
    return name
