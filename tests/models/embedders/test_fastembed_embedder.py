"""Embedding models on this machine; nothing here reaches a network."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lmm_core.errors import ConfigError, ModelError
from lmm_core.models.embedders.fastembed_models import FastEmbedder, list_models, models_folder
from lmm_core.models.names import ModelName
from lmm_core.settings.models import Models
from lmm_core.settings.project import for_document, load_project
from tests.commands import in_process
from tests.effort import PATIENCE

ROOT = Path(__file__).parents[3]
MINILM = ROOT.parent / "shared" / "models" / "all-MiniLM-L6-v2-int8"
COUNTING = ROOT / "tests/retrieve/counting"  # a model that counts a word
HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"
NEAR = ("The mean is pulled by extreme values.", "Outliers move the average.", "We went to the beach by bus.")

REASON = "no models beside the repository"


def needs_model(test):
    """Mark a test of the real model, which takes seconds to load."""
    return pytest.mark.slow(pytest.mark.skipif(not MINILM.is_dir(), reason=REASON)(test))


def name(model):
    return ModelName("fastembed", str(model))


def embed(embedder, *texts):
    return asyncio.run(embedder.embed(texts))


def dot(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def minilm():
    return FastEmbedder(name(MINILM))


@pytest.fixture
def own_model(tmp_path):
    """Copy the model to the working folder's `model`, where a test may break it."""
    folder = shutil.copytree(MINILM, tmp_path / "model", copy_function=shutil.copyfile)
    os.chmod(folder, 0o755)
    return folder


def put_on_machine(hub="Qdrant/all-MiniLM-L6-v2-onnx", files=MINILM, model_file="model.onnx"):
    """Put into the cache folder what a download leaves there."""
    folder = models_folder() / f"models--{hub.replace('/', '--')}"
    revision = "0123456789abcdef0123456789abcdef01234567"
    shutil.copytree(files, folder / "snapshots" / revision, copy_function=shutil.copyfile)
    os.chmod(folder / "snapshots" / revision, 0o755)
    (folder / "snapshots" / revision / "model.onnx").rename(folder / "snapshots" / revision / model_file)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(revision)
    return folder


# Vectors


@needs_model
def test_a_text_becomes_a_vector_that_is_near_to_those_that_say_the_same(minilm):
    one, same, other = embed(minilm, *NEAR)
    assert (len(one), minilm.window) == (384, 254)
    assert dot(one, one) == pytest.approx(1, abs=1e-5)
    assert dot(one, same) > dot(one, other) + 0.2


# Folders


@needs_model
def test_a_folder_goes_from_the_projects_root_on(own_model, tmp_path):
    (tmp_path / "book" / "part").mkdir(parents=True)
    Path("config.toml").write_text('[embeddings]\ndense_model = "fastembed/./model"\n')
    for path in (None, tmp_path / "book" / "part" / "notes.md"):
        embedder = Models().embedder(load_project(path))
        assert embedder.name == "fastembed/./model"
        assert len(embed(embedder, "text")[0]) == 384


def test_a_folder_says_how_many_tokens_it_reads_and_which_files_it_has(tmp_path):
    """Before anything is embedded: vectors of other files are not mixed with those of before."""
    folder = shutil.copytree(COUNTING, tmp_path / "model")
    embedder = FastEmbedder(name(folder))
    assert (embedder.count("how are residuals residuals?"), embedder.window) == (5, 128)
    (folder / "model.onnx").write_bytes(b"another")
    assert FastEmbedder(name(folder)).space != embedder.space


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("./nowhere", r"no folder .*nowhere with model\.onnx, "),
        pytest.param("BAAI/bge-smal-en", "Did you mean BAAI/bge-small-en", marks=pytest.mark.slow),  # imports fastembed
    ],
)
def test_a_model_that_does_not_exist(model, said):
    with pytest.raises(ModelError, match=said):
        FastEmbedder(name(model))


def test_a_file_cannot_name_a_folder_outside(monkeypatch):
    with pytest.raises(ConfigError, match=r"`model.embedding`: should be a folder inside"):
        for_document(load_project(None), {"model": {"embedding": "fastembed//model"}})
    Path("config.toml").write_text('[embeddings]\ndense_model = "fastembed/../model"\n')
    with pytest.raises(ConfigError, match=r"`embeddings.dense_model`: should be a folder inside"):
        load_project(None)


# Models that are got


@needs_model
def test_a_model_that_was_got_is_used_once_it_is_named(minilm, monkeypatch):
    put_on_machine()
    assert Models().embedder(load_project(None)) is None
    assert [one.name for one in list_models() if one.present] == [HUB_NAME]
    done = in_process("models get")  # the recommended one
    assert (done.exit_code, done.stdout) == (0, "")
    monkeypatch.setenv("LMM_MODEL_EMBEDDING", f"fastembed/{HUB_NAME}")
    embedder = Models().embedder(load_project(None))
    assert (embedder.name, embedder.window) == (f"fastembed/{HUB_NAME}", 254)
    assert embed(embedder, *NEAR) == embed(minilm, *NEAR)


OFFLINE = """
import socket, sys
def refuse(*arguments, **more):
    print("asked the network", file=sys.stderr)
    raise OSError("no network in this test")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
from lmm_core.errors import ModelError
from lmm_core.models.embedders.fastembed_models import FastEmbedder
from lmm_core.models.embedders.fastembed_models import get_model
from lmm_core.models.names import ModelName
try:
    {code}
except ModelError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "said", "is_asked"),
    [
        (
            "FastEmbedder(ModelName('fastembed', 'BAAI/bge-small-en-v1.5'))",
            "fastembed/BAAI/bge-small-en-v1.5 is not on this machine. To download it, run `lmm models get BAAI/",
            False,
        ),
        (
            "get_model('BAAI/bge-small-en-v1.5')",
            "BAAI/bge-small-en-v1.5 cannot be downloaded: the model hub cannot be reached: ",
            True,
        ),
    ],
)
def test_the_network_is_asked_only_for_a_model_that_is_to_be_downloaded(code, said, is_asked):
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE.format(code=code)], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout.startswith(said) and done.stdout.count("\n") == 1
    assert set(done.stderr.splitlines()) == ({"asked the network"} if is_asked else set())


# Commands


@pytest.mark.slow
def test_models_for_texts_are_listed_the_recommended_one_first():
    listed = json.loads(in_process("models list --json").stdout)
    by_name = {one["name"]: one for one in listed}
    assert by_name["BAAI/bge-small-en-v1.5"]["dimensions"] == 384
    assert [one["name"] for one in listed if one["recommended"]] == [listed[0]["name"]] == [HUB_NAME]
    assert len(in_process("models list").stdout.splitlines()) == len(listed) > 20
