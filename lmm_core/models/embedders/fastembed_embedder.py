"""Embedding models on this machine, by fastembed: no server, no key, and after
`lmm models get` no network.

A model is one that fastembed knows (`fastembed/BAAI/bge-small-en-v1.5`), got once into
the user's cache folder, or a folder (`fastembed/./models/x`) with an ONNX file and its
tokenizer. Loading never downloads: that is what `get_model` is for.
"""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import json
import math
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ...errors import ModelError
from ...files.user import cache_folder
from ..roles import ModelName, local_folder
from ..sources import FASTEMBED
from .embedder import batches

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import BaseModelDescription, DenseModelDescription, PoolingType
    from tokenizers import Tokenizer

Known = TypeVar("Known", bound="BaseModelDescription")
# So many texts go to the thread at a time: an interrupted program waits for them alone.
TEXTS_AT_ONCE = 16
UNKNOWN_WINDOW = 512
SECONDS_TO_THE_HUB = 5.0
_ONNX = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "onnx/model_quantized.onnx")
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
LOCAL = "lmm-local/"


class Listed(NamedTuple):
    """A model that can be got. `size` is in GB; present: it is on this machine."""

    name: str
    dimensions: int
    size: float
    present: bool


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model's files. `known` is fastembed's name for it, "" for a folder of one's own;
    `dimensions` is 0 where nothing but the model itself says it."""

    folder: Path
    onnx: str
    known: str
    dimensions: int


class FastEmbedder:
    """A model on this machine. Raises ModelError where it is not there.

    window: in tokens, those that the model puts around a text among them; dimensions: of
    a vector; space: tells vectors apart that must not be compared, also where a model has
    kept its name. Vectors have the length 1. Texts go to the model one at a time: the
    vectors of int8 models depend on what else is in a batch, and batches are not faster."""

    def __init__(self, name: ModelName, root: Path | None = None) -> None:
        self.name = str(name)
        folder = local_folder(name, root or Path.cwd())
        self._files = local_files(self.name, folder) if folder else cached_files(name.model)
        self.window = _window(self._files.folder)
        self.space = f"{self.name}@{fingerprint(self._files)}"
        self._lock = threading.Lock()
        self._model: TextEmbedding | None = None
        self._tokenizer: Tokenizer | None = None
        self._dimensions = self._files.dimensions

    @property
    def dimensions(self) -> int:
        """Numbers in a vector."""
        if not self._dimensions:
            self._embed(["dimensions"])
        return self._dimensions

    def count(self, text: str) -> int:
        """Tokens of a text, to be held against `window`."""
        with self._lock, explained(f"{self.name} cannot be used"):
            if self._tokenizer is None:
                from tokenizers import Tokenizer

                self._tokenizer = Tokenizer.from_file(str(self._files.folder / "tokenizer.json"))
                self._tokenizer.no_truncation()
                self._tokenizer.no_padding()
            return len(self._tokenizer.encode(encodable(text)).ids)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See `Embedder`."""
        found: list[list[float]] = []
        for group in batches(texts, TEXTS_AT_ONCE, 10**9):
            found += await asyncio.to_thread(self._embed, group)
        return found

    async def close(self) -> None:
        """See `Embedder`; frees the model's memory."""
        with self._lock:
            self._model = self._tokenizer = None

    def _embed(self, texts: list[str]) -> list[list[float]]:
        with self._lock, explained(f"{self.name} cannot be used"):
            self._model = self._model or _load(self._files)
            found = [_unit(vector) for vector in self._model.embed([*map(encodable, texts)], batch_size=1)]
            self._dimensions = self._dimensions or len(found[0])
            if any(len(vector) != self._dimensions for vector in found):
                raise ModelError(f"{self.name}: vectors of {len(found[0])}, not {self._dimensions} dimensions")
            return found


# Models that are got


def models_folder() -> Path:
    """Where models are kept that were got."""
    return cache_folder() / "fastembed"


def list_models() -> list[Listed]:
    """All models that fastembed knows, in the order of their names."""
    return [
        Listed(one.model, one.dim or 0, one.size_in_GB, _find(one) is not None)
        for one in sorted(_descriptions(), key=lambda one: one.model.lower())
    ]


def newest_model() -> str:
    """The model that was got last, "" for none."""
    with suppress(OSError):
        if any(models_folder().glob("models--*/snapshots/*")):  # without this, fastembed is not even imported
            here = [one for one in _descriptions() if _find(one)]
            return max(here, key=_got).model if here else ""
    return ""


def get_model(name: str) -> str:
    """Download a model, or a cross-encoder, where it is not on this machine; returns its
    name as it is written in `config.toml`. Raises ModelError."""
    model = _describe(name.strip().removeprefix(f"{FASTEMBED}/"), [*_descriptions(), *_cross_encoders()])
    if _find(model) is None:
        _download(model)
    with suppress(OSError):
        os.utime(_repository(model) / "snapshots")  # now it is the one that was got last
    return f"{FASTEMBED}/{model.model}"


def _download(model: BaseModelDescription) -> None:
    """Raises ModelError within seconds where the hub cannot be reached: fastembed itself
    would try for 39 seconds."""
    from fastembed import TextEmbedding
    from huggingface_hub import HfApi

    with explained(f"{model.model} cannot be got: the model hub cannot be reached"):
        HfApi().model_info(_repository_name(model), timeout=SECONDS_TO_THE_HUB)
    with explained(f"{model.model} was not got completely (what has come is kept: try again)"):
        models_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        TextEmbedding.download_model(model, str(models_folder()), retries=1)  # type: ignore[arg-type]
    if _find(model) is None:
        raise ModelError(f"{model.model} was not got completely: try again")


def _descriptions() -> list[DenseModelDescription]:
    """What fastembed knows of its models on the hub."""
    hush()
    from fastembed import TextEmbedding

    known = TextEmbedding._list_supported_models()
    return [one for one in known if one.sources.hf and not one.model.startswith(LOCAL)]


def _cross_encoders() -> list[BaseModelDescription]:
    """What fastembed knows of its rerankers on the hub."""
    hush()
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    known = TextCrossEncoder._list_supported_models()
    return [one for one in known if one.sources.hf and not one.model.startswith(LOCAL)]


def _describe(name: str, models: Sequence[Known]) -> Known:
    known = {one.model.lower(): one for one in models}
    if name.lower() in known:
        return known[name.lower()]
    near = difflib.get_close_matches(name.lower(), known, 1)
    meant = f"did you mean {known[near[0]].model}? " if near else ""
    raise ModelError(
        f"{FASTEMBED}/{name}: fastembed knows no such model: {meant}"
        "(lmm models list shows them; a folder is named from ./ or / on)",
        stop=True,
    )


def _find(model: BaseModelDescription) -> Path | None:
    """The folder of a model that was got completely."""
    if not _repository(model).is_dir():
        return None
    from fastembed import TextEmbedding

    with suppress(OSError, ValueError):
        return TextEmbedding.download_model(model, str(models_folder()), local_files_only=True)  # type: ignore[arg-type]
    return None


def _repository(model: BaseModelDescription) -> Path:
    return models_folder() / f"models--{_repository_name(model).replace('/', '--')}"


def _repository_name(model: BaseModelDescription) -> str:
    return model.sources.hf or ""


def _got(model: DenseModelDescription) -> float:
    """When a model was got, in seconds."""
    with suppress(OSError):
        return (_repository(model) / "snapshots").stat().st_mtime
    return 0.0


def cached_files(name: str, cross_encoder: bool = False) -> ModelFiles:
    """The files of a model that was got; of a reranker, where one is meant. Raises ModelError."""
    model = _describe(name, _cross_encoders() if cross_encoder else _descriptions())
    folder = _find(model)
    if folder is None:
        raise ModelError(
            f"{FASTEMBED}/{model.model} is not on this machine: lmm models get {model.model}", stop=True
        )  # fmt: skip
    return ModelFiles(folder, model.model_file, model.model, getattr(model, "dim", 0) or 0)


# Models in a folder


def local_files(name: str, folder: Path) -> ModelFiles:
    """The files of a model in a folder. Raises ModelError where some are missing."""
    onnx = next((file for file in _ONNX if (folder / file).is_file()), "")
    missing = [file for file in _TOKENIZER if not (folder / file).is_file()]
    if not onnx:
        missing.insert(0, _ONNX[0])
    if missing:
        where = folder if folder.is_dir() else f"no folder {folder}"
        raise ModelError(f"{name}: {where}: {', '.join(missing)} missing", stop=True)
    size = _json(folder / "config.json").get("hidden_size")
    return ModelFiles(folder, onnx, "", size if isinstance(size, int) and size > 0 else 0)


def _register(files: ModelFiles) -> str:
    """Make a folder known to fastembed; returns the name that it has there."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource

    name = f"{LOCAL}{fingerprint(files)}"
    if name not in {one.model for one in TextEmbedding._list_supported_models()}:
        source = ModelSource(hf=name)  # fastembed wants one; with a folder given it asks nobody
        TextEmbedding.add_custom_model(name, _pooling(files.folder), True, source, files.dimensions, files.onnx)
    return name


def _pooling(folder: Path) -> PoolingType:
    """How vectors of tokens become one, as the folder says (`1_Pooling` is of
    sentence-transformers), else the model that it is named after, else their mean."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import PoolingType

    said = _json(folder / "1_Pooling" / "config.json")
    for key, pooling in (
        ("pooling_mode_cls_token", PoolingType.CLS),
        ("pooling_mode_lasttoken", PoolingType.LAST_TOKEN),
        ("pooling_mode_mean_tokens", PoolingType.MEAN),
    ):
        if said.get(key) is True:
            return pooling
    kinds = {"OnnxTextEmbedding": PoolingType.CLS, "LastTokenNormalizedEmbedding": PoolingType.LAST_TOKEN}
    for kind in TextEmbedding.EMBEDDINGS_REGISTRY:
        names = (one.model.rpartition("/")[2].lower() for one in kind._list_supported_models())
        if kind.__name__ in kinds and any(folder.name.lower().startswith(name) for name in names):
            return kinds[kind.__name__]
    return PoolingType.MEAN


# Files


def _load(files: ModelFiles) -> TextEmbedding:
    hush()
    from fastembed import TextEmbedding

    # A folder that is there as the cache: fastembed makes the one that it is given.
    return TextEmbedding(
        files.known or _register(files), cache_dir=str(files.folder), specific_model_path=str(files.folder)
    )


def fingerprint(files: ModelFiles) -> str:
    """What changes with a model's files."""
    parts = [str(files.folder.resolve())]
    for name in (files.onnx, *_TOKENIZER, "config.json", "1_Pooling/config.json"):
        with suppress(OSError):
            found = (files.folder / name).stat()
            parts.append(f"{name} {found.st_size} {found.st_mtime_ns}")
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def _window(folder: Path) -> int:
    """Tokens that a model takes, as fastembed reads them; where nothing is said, few."""
    said = _json(folder / "tokenizer_config.json")
    found = [said.get("model_max_length"), said.get("max_length")]
    sizes = [size for size in found if type(size) is int and 0 < size < 2**31]
    return min(sizes, default=UNKNOWN_WINDOW)


def _json(file: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads(file.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def _unit(vector: Any) -> list[float]:
    """A vector of length 1, in the precision of the model (32 bits)."""
    import numpy as np

    found = np.asarray(vector, dtype=np.float32).ravel()
    length = float(np.linalg.norm(found))
    if not math.isfinite(length):
        raise ValueError("it gives no finite numbers")
    numbers: list[float] = (found / length if length else found).tolist()
    return numbers


def encodable(text: str) -> str:
    """Tokenizers take no halves of surrogate pairs."""
    return text.encode("utf-8", "replace").decode("utf-8")


def hush() -> None:
    """fastembed tells on standard error what our own errors say already."""
    from loguru import logger

    logger.disable("fastembed")


@contextmanager
def explained(said: str) -> Iterator[None]:
    """Whatever goes wrong in fastembed becomes a ModelError."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001  # tokenizers, onnxruntime and the hub raise bare Exceptions
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ModelError(f"{said}: {reason}", stop=True) from None
