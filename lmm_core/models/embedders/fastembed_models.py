"""List, download and find fastembed models, and embed and score texts with them.

A model is one of fastembed's (`fastembed/BAAI/bge-small-en-v1.5`), in the user's cache folder, or a folder
(`fastembed/./models/x`) with an ONNX file and its tokenizer. Only `get_model` downloads.
"""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import json
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ...errors import ModelError
from ...files.names import cache_folder
from ..addresses import doubt_environment
from ..names import ModelName, local_folder
from ..sources import FASTEMBED
from .embedder import batches

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import BaseModelDescription, PoolingType
    from fastembed.rerank.cross_encoder import TextCrossEncoder
    from tokenizers import Tokenizer

Kind = Literal["dense", "cross-encoder"]
RECOMMENDED = "sentence-transformers/all-MiniLM-L6-v2"  # small; as good as larger ones in hybrid search
SECONDS_TO_THE_HUB = 5.0
_ONNX = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "onnx/model_quantized.onnx")
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
# Errors of the libraries; tokenizers raises bare Exceptions
_LIBRARY_ERRORS = (OSError, ValueError, RuntimeError, LookupError)
_LIBRARIES = ("onnxruntime", "huggingface_hub", "httpx", "requests")
TEXTS_AT_ONCE = 16  # per call in a thread; Ctrl-C has to wait for these
UNKNOWN_WINDOW = 512  # tokens, for a model without a stated limit
_LOCAL = "lmm-local/"  # prefix under which folders are registered with fastembed


class ListedModel(NamedTuple):
    """A model that can be downloaded. size: in GB; present: on this machine"""

    name: str
    dimensions: int
    size: float
    present: bool
    recommended: bool


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model.

    onnx: path in the folder
    registered: fastembed's name for the model, or "" for a user's folder
    dimensions: 0 if unknown before the model runs"""

    folder: Path
    onnx: str
    registered: str
    dimensions: int


def models_folder() -> Path:
    return cache_folder() / "fastembed"


def list_models() -> list[ListedModel]:
    """Return fastembed's text embedding models, the recommended one first, then by name."""
    models = [model for model in _descriptions("dense") if "text&image" not in model.description]
    models.sort(key=lambda model: (model.model != RECOMMENDED, model.model.lower()))
    return [
        ListedModel(
            model.model, _dimensions(model), model.size_in_GB, _find(model) is not None, model.model == RECOMMENDED
        )
        for model in models
    ]


def get_model(name: str = RECOMMENDED) -> str:
    """Download an embedding model or a cross-encoder, unless present. Return its name for `config.toml`.

    Raise ModelError for an unknown model or a failed download."""
    descriptions = [*_descriptions("dense"), *_descriptions("cross-encoder")]
    model = _describe(name.strip().removeprefix(f"{FASTEMBED}/"), descriptions)
    if _find(model) is None:
        _download(model)
    return f"{FASTEMBED}/{model.model}"


def _download(model: BaseModelDescription) -> None:
    """Download a model. Raise ModelError at once if the hub is unreachable; fastembed would retry for 39 seconds."""
    from fastembed import TextEmbedding
    from huggingface_hub import HfApi

    unreachable = f"{model.model} cannot be downloaded: the model hub cannot be reached. {doubt_environment()}"
    with fastembed_errors(unreachable.rstrip(" .")):
        HfApi().model_info(_repository_name(model), timeout=SECONDS_TO_THE_HUB)
    with fastembed_errors(f"{model.model} was not downloaded completely (what has arrived is kept, so try again)"):
        models_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        TextEmbedding.download_model(model, str(models_folder()), retries=1)  # type: ignore[arg-type]
    if _find(model) is None:
        raise ModelError(f"{model.model} was not downloaded completely: try again")


def _class_of(kind: Kind) -> Any:
    from loguru import logger

    logger.disable("fastembed")
    if kind == "dense":
        from fastembed import TextEmbedding

        return TextEmbedding
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    return TextCrossEncoder


def _descriptions(kind: Kind) -> list[BaseModelDescription]:
    models = _class_of(kind)._list_supported_models()
    return [model for model in models if model.sources.hf and not model.model.startswith(_LOCAL)]


def _describe(name: str, models: list[BaseModelDescription]) -> BaseModelDescription:
    by_name = {model.model.lower(): model for model in models}
    if name.lower() in by_name:
        return by_name[name.lower()]
    near = difflib.get_close_matches(name.lower(), by_name, 1)
    hint = f"Did you mean {by_name[near[0]].model}? " if near else ""
    raise ModelError(
        f"{FASTEMBED}/{name}: fastembed does not know this model. {hint}"
        "To see all models, run `lmm models list`. The name of a folder begins with ./ or /.",
        stop=True,
    )


def _find(model: BaseModelDescription) -> Path | None:
    """Return the folder of a complete download, or None."""
    if not (models_folder() / f"models--{_repository_name(model).replace('/', '--')}").is_dir():
        return None
    from fastembed import TextEmbedding

    with suppress(OSError, ValueError):
        return TextEmbedding.download_model(model, str(models_folder()), local_files_only=True)  # type: ignore[arg-type]
    return None


def _repository_name(model: BaseModelDescription) -> str:
    return model.sources.hf or ""


def _dimensions(model: BaseModelDescription) -> int:
    return getattr(model, "dim", 0) or 0


def find_files(name: ModelName, root: Path | None, kind: Kind) -> ModelFiles:
    """Return the files of a downloaded model, or of a folder. Raise ModelError if some are missing.

    root: base of a folder's path; by default the working folder"""
    if folder := local_folder(name, root or Path.cwd()):
        return _local_files(str(name), folder)
    model = _describe(name.model, _descriptions(kind))
    folder = _find(model)
    if folder is None:
        raise ModelError(
            f"{FASTEMBED}/{model.model} is not on this machine. To download it, run `lmm models get {model.model}`.",
            stop=True,
        )
    return ModelFiles(folder, model.model_file, model.model, _dimensions(model))


def load_model(files: ModelFiles, kind: Kind) -> Any:
    model, name = _class_of(kind), files.registered
    if not name:  # register a folder under its own name
        from fastembed.common.model_description import ModelSource

        name = f"{_LOCAL}{fingerprint(files)}"
        if name not in {description.model for description in model._list_supported_models()}:
            source = ModelSource(hf=name)  # required but unused
            vectors = (_pooling(files.folder), True) if kind == "dense" else ()
            sizes = (files.dimensions,) if kind == "dense" else ()
            model.add_custom_model(name, *vectors, source, *sizes, files.onnx)
    # cache_dir is not used, but fastembed would create it: name a folder that exists
    return model(name, cache_dir=str(files.folder), specific_model_path=str(files.folder))


def _pooling(folder: Path) -> PoolingType:
    """Return a model's way of pooling, which sentence-transformers declares."""
    from fastembed.common.model_description import PoolingType

    config = read_json(folder / "1_Pooling" / "config.json")
    if config.get("pooling_mode_cls_token") is True:
        return PoolingType.CLS
    return PoolingType.LAST_TOKEN if config.get("pooling_mode_lasttoken") is True else PoolingType.MEAN


def _local_files(name: str, folder: Path) -> ModelFiles:
    onnx = next((file for file in _ONNX if (folder / file).is_file()), "")
    missing = [file for file in _TOKENIZER if not (folder / file).is_file()]
    if not onnx:
        missing.insert(0, _ONNX[0])
    if missing:
        where = f"the folder {folder} lacks" if folder.is_dir() else f"there is no folder {folder} with"
        raise ModelError(f"{name}: {where} {', '.join(missing)}", stop=True)
    size = read_json(folder / "config.json").get("hidden_size")
    return ModelFiles(folder, onnx, "", size if isinstance(size, int) and size > 0 else 0)


def fingerprint(files: ModelFiles) -> str:
    """Return a hash that changes with a model's files."""
    parts = [str(files.folder.resolve())]
    for name in (files.onnx, *_TOKENIZER, "config.json", "1_Pooling/config.json"):
        with suppress(OSError):
            status = (files.folder / name).stat()
            parts.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def read_json(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file, or {} if there is none or it cannot be read."""
    with suppress(OSError, ValueError, RecursionError):
        content = json.loads(file.read_text(encoding="utf-8"))
        return content if isinstance(content, dict) else {}
    return {}


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which tokenizers reject."""
    return text.encode("utf-8", "replace").decode("utf-8")


@contextmanager
def fastembed_errors(failure: str) -> Iterator[None]:
    """Turn errors of fastembed and its libraries into a ModelError that begins with `failure`."""
    try:
        yield
    except Exception as error:
        library = type(error).__module__.partition(".")[0]
        if not (type(error) is Exception or isinstance(error, _LIBRARY_ERRORS) or library in _LIBRARIES):
            raise
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ModelError(f"{failure}: {reason}", stop=True) from None


# Embedding models


class FastEmbedder:
    """A local embedding model, which makes vectors of length 1. Raise ModelError if it is missing.

    Texts are embedded one at a time: with an int8 model, a vector depends on its batch, and batches are no faster.
    space: changes with the model's files, since vectors of different files must not be mixed"""

    def __init__(self, name: ModelName, root: Path | None = None) -> None:
        self.name = str(name)
        self._files = find_files(name, root, "dense")
        self.space = f"{self.name}@{fingerprint(self._files)}"
        self._lock = threading.Lock()
        self._model: TextEmbedding | None = None
        self._tokenizer: Tokenizer | None = None

    @property
    def window(self) -> int:
        """The number of tokens that the model reads of a text, without special ones."""
        with self._lock, fastembed_errors(f"{self.name} cannot be used"):
            return _window(self._files.folder) - self._load_tokenizer().num_special_tokens_to_add(False)

    def count(self, text: str) -> int:
        """Return the number of a text's tokens."""
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
            return [_unit(vector) for vector in self._model.embed([*map(replace_surrogates, texts)], batch_size=1)]


def _window(folder: Path) -> int:
    """Return the model's limit in tokens, with special ones, from the files that fastembed uses."""
    config = read_json(folder / "tokenizer_config.json")
    lengths = [config.get("model_max_length"), config.get("max_length")]
    sizes = [size for size in lengths if type(size) is int and 0 < size < 2**31]
    return min(sizes, default=UNKNOWN_WINDOW)


def _unit(vector: Any) -> list[float]:
    import numpy as np

    array = np.asarray(vector, dtype=np.float32).ravel()
    length = float(np.linalg.norm(array))
    if not math.isfinite(length):
        raise ValueError("the model returned numbers that are not finite")
    numbers: list[float] = (array / length if length else array).tolist()
    return numbers


# Cross-encoders


class CrossEncoder:
    """A local cross-encoder, downloaded (`fastembed/Xenova/ms-marco-MiniLM-L-6-v2`) or in a folder relative to `root`
    (`fastembed/./models/x`). Raise ModelError if it is missing."""

    def __init__(self, name: ModelName, root: Path | None = None) -> None:
        self.name = str(name)
        self._files = find_files(name, root, "cross-encoder")
        self._lock = threading.Lock()
        self._model: TextCrossEncoder | None = None

    async def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return a score for each text: any number, higher for a better match. Raise ModelError."""
        return await asyncio.to_thread(self._score, question, list(texts))

    def _score(self, question: str, texts: list[str]) -> list[float]:
        with self._lock, fastembed_errors(f"{self.name} cannot be used"):
            self._model = self._model or load_model(self._files, "cross-encoder")
            # one at a time, as in FastEmbedder
            question, texts = replace_surrogates(question), [*map(replace_surrogates, texts)]
            scores = [*map(float, self._model.rerank(question, texts, batch_size=1))]
            if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
                raise ModelError(
                    f"{self.name}: the model returned no number for a text. Is it a cross-encoder?", stop=True
                )
            return scores
