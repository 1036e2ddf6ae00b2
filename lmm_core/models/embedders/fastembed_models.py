"""Models of fastembed on this machine: listed, downloaded, and found.

A model is one that fastembed knows (`fastembed/BAAI/bge-small-en-v1.5`), downloaded once to
the user's cache folder, or a folder (`fastembed/./models/x`) with an ONNX file and its
tokenizer. Only `get_model` downloads.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from ...errors import ModelError
from ...files.user import cache_folder
from ..addresses import doubt_environment, usable_environment
from ..sources import FASTEMBED

if TYPE_CHECKING:
    from fastembed.common.model_description import BaseModelDescription, DenseModelDescription

Known = TypeVar("Known", bound="BaseModelDescription")
SECONDS_TO_THE_HUB = 5.0
_ONNX = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "onnx/model_quantized.onnx")
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
LOCAL = "lmm-local/"  # begins the names under which folders are made known to fastembed


class ListedModel(NamedTuple):
    """A model that can be downloaded: its size in GB, and whether it is on this machine already."""

    name: str
    dimensions: int
    size: float
    present: bool


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model.

    onnx: the ONNX file in the folder; known: fastembed's name of the model, "" for a folder of the
    user's own; dimensions: 0 if only running the model tells."""

    folder: Path
    onnx: str
    known: str
    dimensions: int


def models_folder() -> Path:
    """Return the folder of downloaded models."""
    return cache_folder() / "fastembed"


def list_models() -> list[ListedModel]:
    """Return all embedding models that fastembed knows, by name."""
    known = sorted(_descriptions(), key=lambda one: one.model.lower())
    return [ListedModel(one.model, one.dim or 0, one.size_in_GB, _find(one) is not None) for one in known]


def get_model(name: str) -> str:
    """Download an embedding model, a cross-encoder or a SPLADE model, unless it is here, and return its full name.

    The name (of a SPLADE model without `fastembed/`) is the one to write into `config.toml`. Raise
    ModelError if there is no such model, or the download fails."""
    known = [*_descriptions(), *_cross_encoders(), *_sparse_models()]
    model = _describe(name.strip().removeprefix(f"{FASTEMBED}/"), known)
    if _find(model) is None:
        _download(model)
    return f"{FASTEMBED}/{model.model}"


def _download(model: BaseModelDescription) -> None:
    """Download a model.

    Raise ModelError within seconds if the hub cannot be reached; fastembed itself would try for
    39 seconds."""
    from fastembed import TextEmbedding
    from huggingface_hub import HfApi

    with usable_environment(partial(ModelError, stop=True)):
        unreachable = f"{model.model} cannot be downloaded: the model hub cannot be reached. {doubt_environment()}"
    with fastembed_errors(unreachable.rstrip(" .")):
        HfApi().model_info(_repository_name(model), timeout=SECONDS_TO_THE_HUB)
    with fastembed_errors(f"{model.model} was not downloaded completely (what has arrived is kept, so try again)"):
        models_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        TextEmbedding.download_model(model, str(models_folder()), retries=1)  # type: ignore[arg-type]
    if _find(model) is None:
        raise ModelError(f"{model.model} was not downloaded completely: try again")


def _descriptions() -> list[DenseModelDescription]:
    """Return fastembed's descriptions of embedding models on the hub."""
    silence_fastembed()
    from fastembed import TextEmbedding

    known = TextEmbedding._list_supported_models()
    return [one for one in known if one.sources.hf and not one.model.startswith(LOCAL)]


def _cross_encoders() -> list[BaseModelDescription]:
    """Return fastembed's descriptions of cross-encoders on the hub."""
    silence_fastembed()
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    known = TextCrossEncoder._list_supported_models()
    return [one for one in known if one.sources.hf and not one.model.startswith(LOCAL)]


def _sparse_models() -> list[BaseModelDescription]:
    """Return fastembed's descriptions of SPLADE models on the hub."""
    silence_fastembed()
    from fastembed.sparse.splade_pp import SpladePP

    return [one for one in SpladePP._list_supported_models() if one.sources.hf]


def _describe(name: str, models: Sequence[Known]) -> Known:
    known = {one.model.lower(): one for one in models}
    if name.lower() in known:
        return known[name.lower()]
    near = difflib.get_close_matches(name.lower(), known, 1)
    meant = f"Did you mean {known[near[0]].model}? " if near else ""
    raise ModelError(
        f"{FASTEMBED}/{name}: fastembed does not know this model. {meant}"
        "To see all models, run `lmm models list`. The name of a folder begins with ./ or /.",
        stop=True,
    )


def _find(model: BaseModelDescription) -> Path | None:
    """Return the folder of a model if it was downloaded completely, or None."""
    if not (models_folder() / f"models--{_repository_name(model).replace('/', '--')}").is_dir():
        return None
    from fastembed import TextEmbedding

    with suppress(OSError, ValueError):
        return TextEmbedding.download_model(model, str(models_folder()), local_files_only=True)  # type: ignore[arg-type]
    return None


def _repository_name(model: BaseModelDescription) -> str:
    return model.sources.hf or ""


def cached_files(name: str, kind: Literal["dense", "sparse", "cross-encoder"] = "dense") -> ModelFiles:
    """Return the files of a downloaded model of a kind.

    Raise ModelError if it is not on this machine."""
    listed: dict[str, Callable[[], Sequence[BaseModelDescription]]] = {
        "dense": _descriptions, "sparse": _sparse_models, "cross-encoder": _cross_encoders,
    }  # fmt: skip
    model = _describe(name, listed[kind]())
    folder = _find(model)
    if folder is None:
        raise ModelError(
            f"{FASTEMBED}/{model.model} is not on this machine. To download it, run `lmm models get {model.model}`.",
            stop=True,
        )
    return ModelFiles(folder, model.model_file, model.model, getattr(model, "dim", 0) or 0)


def local_files(name: str, folder: Path) -> ModelFiles:
    """Return the files of a model in a folder. Raise ModelError if some are missing."""
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
    """Return a hash that changes when a model's files change."""
    parts = [str(files.folder.resolve())]
    for name in (files.onnx, *_TOKENIZER, "config.json", "1_Pooling/config.json"):
        with suppress(OSError):
            found = (files.folder / name).stat()
            parts.append(f"{name} {found.st_size} {found.st_mtime_ns}")
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def read_json(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file, or an empty one if it cannot be read."""
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads(file.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def replace_surrogates(text: str) -> str:
    """Return a text without halves of surrogate pairs, which tokenizers reject."""
    return text.encode("utf-8", "replace").decode("utf-8")


def silence_fastembed() -> None:
    """Keep fastembed from printing to standard error what our own errors say."""
    from loguru import logger

    logger.disable("fastembed")


@contextmanager
def fastembed_errors(said: str) -> Iterator[None]:
    """Turn every error of fastembed into a ModelError."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001  # tokenizers, onnxruntime and the hub raise bare Exceptions
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ModelError(f"{said}: {reason}", stop=True) from None
