"""Embedding models on this machine; nothing here reaches a network."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from lmm_core.cli import cli
from lmm_core.cli.doctor import examine
from lmm_core.errors import ConfigError, ModelError
from lmm_core.models.cache import Cache
from lmm_core.models.embedders.cached_embedder import CachedEmbedder
from lmm_core.models.embedders.embedder import Embedder
from lmm_core.models.embedders.fastembed_embedder import FastEmbedder
from lmm_core.models.embedders.fastembed_models import list_models, models_folder
from lmm_core.models.names import ModelName, leads_outside, parse_name
from lmm_core.models.sources import known_sources
from lmm_core.settings.models import Models
from lmm_core.settings.project import for_document, load_project

ROOT = Path(__file__).parents[3]
MINILM = ROOT.parent / "shared" / "models" / "all-MiniLM-L6-v2-int8"
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
def test_a_text_becomes_a_vector_of_length_1(minilm):
    (vector,) = embed(minilm, NEAR[0])
    assert (len(vector), minilm.window) == (384, 254)
    assert dot(vector, vector) == pytest.approx(1, abs=1e-5)
    assert all(type(number) is float for number in vector)
    assert isinstance(minilm, Embedder)


@needs_model
def test_texts_that_say_the_same_are_nearer(minilm):
    one, same, other = embed(minilm, *NEAR)
    assert dot(one, same) > dot(one, other) + 0.2


@needs_model
def test_a_vector_does_not_depend_on_what_else_is_embedded(minilm):
    texts = [*NEAR, "short", "long " * 200, *(f"text {number} " * number for number in range(20))]
    together = embed(minilm, *texts)
    assert together == [embed(minilm, text)[0] for text in texts]
    assert together == list(reversed(embed(minilm, *reversed(texts))))
    assert together[:3] == embed(FastEmbedder(name(MINILM)), *NEAR)


@needs_model
def test_vectors_are_those_of_fastembed(minilm):
    from fastembed import TextEmbedding

    own = TextEmbedding(HUB_NAME, cache_dir=str(MINILM), specific_model_path=str(MINILM))
    for vector, other in zip(embed(minilm, *NEAR), own.embed(list(NEAR), batch_size=1), strict=True):
        assert vector == pytest.approx(other.tolist(), abs=1e-6)


@needs_model
def test_what_is_beyond_the_window_is_cut_off_and_can_be_counted(minilm):
    assert minilm.count("") == 0
    assert minilm.count("hello world") == 2 == minilm.count("hello") + minilm.count("world")
    assert minilm.count("word " * 1000) == 1000
    long = "word " * minilm.window
    assert embed(minilm, long) != embed(minilm, "word " * (minilm.window - 1))
    assert embed(minilm, long) == embed(minilm, long + "and what nobody sees")
    assert embed(minilm, long) != embed(minilm, "other " + long)


@needs_model
@pytest.mark.parametrize("text", ["", " ", "\0", "\ud800", "日本語", "e\u0301" * 50, "x" * 100_000])
def test_any_text_has_a_vector(minilm, text):
    (vector,) = embed(minilm, text)
    assert dot(vector, vector) == pytest.approx(1, abs=1e-5)
    assert minilm.count(f"{text} word") == minilm.count(text) + 1


@needs_model
def test_nothing_to_embed_loads_nothing():
    embedder = FastEmbedder(name(MINILM))
    assert embed(embedder) == []
    assert embedder._model is None


@needs_model
def test_a_closed_model_is_opened_again(minilm):
    before = embed(minilm, "text")
    asyncio.run(minilm.close())
    assert embed(minilm, "text") == before


@needs_model
def test_embeddings_that_are_asked_for_at_the_same_time(minilm):
    async def work():
        return await asyncio.gather(*(minilm.embed([text]) for text in NEAR))

    assert [vector for (vector,) in asyncio.run(work())] == embed(minilm, *NEAR)


@needs_model
def test_a_cached_vector_is_the_very_same(minilm, tmp_path):
    cache = Cache(tmp_path)
    first = embed(CachedEmbedder(minilm, cache), *NEAR)
    again = CachedEmbedder(minilm, cache)
    assert embed(again, *NEAR) == first == embed(minilm, *NEAR)
    assert (again.hits, again.embedded) == (3, 0)


@needs_model
def test_a_model_that_was_exchanged_has_another_space(own_model):
    before = FastEmbedder(name("./model"))
    assert before.space == FastEmbedder(name("./model")).space
    os.utime(own_model / "model.onnx", (1, 1))
    after = FastEmbedder(name("./model"))
    assert (before.name, before.space) != (after.name, after.space)
    assert before.name == after.name == "fastembed/./model"


# Folders


@needs_model
def test_a_folder_goes_from_the_projects_root_on(own_model, tmp_path):
    (tmp_path / "book" / "part").mkdir(parents=True)
    Path("config.toml").write_text('[embeddings]\ndense_model = "fastembed/./model"\n')
    for path in (None, tmp_path / "book" / "part" / "notes.md"):
        embedder = Models().embedder(load_project(path))
        assert embedder.name == "fastembed/./model"
        assert len(embed(embedder, "text")[0]) == 384


@needs_model
def test_a_folder_that_does_not_say_its_dimensions(own_model):
    (own_model / "config.json").unlink()
    assert len(embed(FastEmbedder(name("./model")), "text")[0]) == 384


@needs_model
def test_a_folder_that_says_wrong_dimensions(own_model):
    (own_model / "config.json").write_text('{"hidden_size": 100, "pad_token_id": 0}')
    with pytest.raises(ModelError, match="384 dimensions instead of 100"):
        embed(FastEmbedder(name("./model")), "text")


@needs_model
def test_the_folder_says_how_tokens_become_one_vector(own_model, minilm):
    (own_model / "1_Pooling").mkdir()
    (own_model / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    assert embed(FastEmbedder(name("./model")), "text") != embed(minilm, "text")


@needs_model
@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_a_folder_in_which_a_file_is_missing(own_model, file):
    (own_model / file).unlink()
    with pytest.raises(ModelError, match=f"lacks {file}") as caught:
        FastEmbedder(name("./model"))
    assert caught.value.stop


def test_a_folder_that_is_not_there():
    with pytest.raises(ModelError, match=r"no folder .*nowhere"):
        FastEmbedder(name("./nowhere"))


@needs_model
@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("data", [b"", b"{}", b"\xff" * 1000])
def test_a_folder_with_a_broken_file(own_model, file, data):
    (own_model / file).write_bytes(data)
    with pytest.raises(ModelError, match=r"fastembed/\./model cannot be used: .+"):
        embed(FastEmbedder(name("./model")), "text")


@pytest.mark.parametrize(
    ("model", "outside"),
    [
        ("./models/x", False),
        ("./a/../b", False),
        ("../x", True),
        ("./../x", True),
        ("/etc", True),
        ("./link", True),
        ("./nul\0", True),
        ("BAAI/bge-small-en-v1.5", False),
        ("..", False),  # no folder, but a name that fastembed does not know
    ],
)
def test_which_folders_lead_outside(model, outside, tmp_path):
    (tmp_path / "link").symlink_to("/etc")
    assert leads_outside(name(model), tmp_path) == outside


def test_a_file_cannot_name_a_folder_outside(monkeypatch):
    Path("config.toml").write_text('[embeddings]\ndense_model = "fastembed/../model"\n')
    with pytest.raises(ConfigError, match=r"`embeddings.dense_model`: should be a folder inside"):
        load_project(None)
    Path("config.toml").unlink()
    with pytest.raises(ConfigError, match=r"`model.embedding`: should be a folder inside"):
        for_document(load_project(None), {"model": {"embedding": "fastembed//model"}})
    monkeypatch.setenv("LMM_MODEL_EMBEDDING", "fastembed//model")
    assert load_project(None).models["embedding"] == "fastembed//model"


# Models that are got


@needs_model
def test_a_model_that_was_got_is_used_once_it_is_named(minilm, monkeypatch):
    put_on_machine()
    assert Models().embedder(load_project(None)) is None
    assert [one.name for one in list_models() if one.present] == [HUB_NAME]
    done = CliRunner().invoke(cli, ["models", "get"])  # the recommended one
    assert (done.exit_code, done.stdout) == (0, "")
    monkeypatch.setenv("LMM_MODEL_EMBEDDING", f"fastembed/{HUB_NAME}")
    embedder = Models().embedder(load_project(None))
    assert (embedder.name, embedder.window) == (f"fastembed/{HUB_NAME}", 254)
    assert embed(embedder, *NEAR) == embed(minilm, *NEAR)


@needs_model
def test_a_model_that_was_not_got_completely_is_not_there():
    folder = put_on_machine()
    next(folder.rglob("model.onnx")).unlink()
    with pytest.raises(ModelError, match="is not on this machine"):
        FastEmbedder(name(HUB_NAME))


def test_a_model_that_fastembed_does_not_know():
    with pytest.raises(ModelError, match="Did you mean BAAI/bge-small-en"):
        FastEmbedder(name("BAAI/bge-smal-en"))


def test_what_embeds_cannot_be_asked():
    with pytest.raises(ModelError, match="only for embeddings"):
        Models("fastembed/BAAI/bge-small-en").asker(load_project(None), "major")
    with pytest.raises(ModelError, match="name a model"):
        parse_name("fastembed", known_sources())


OFFLINE = """
import socket, sys, time
def refuse(*arguments, **more):
    print("asked the network", file=sys.stderr)
    raise OSError("no network in this test")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
import fastembed  # not to count how long this takes
from lmm_core.errors import ModelError
from lmm_core.models.embedders.fastembed_embedder import FastEmbedder
from lmm_core.models.embedders.fastembed_models import get_model
from lmm_core.models.names import ModelName
began = time.process_time()
try:
    {code}
except ModelError as error:
    print(error)
print(time.process_time() - began)
"""


def offline(code):
    """What some code prints, the seconds it computes, and its standard error, where every socket fails."""
    done = subprocess.run([sys.executable, "-c", OFFLINE.format(code=code)], cwd=ROOT, capture_output=True, text=True)
    *said, seconds = done.stdout.splitlines()
    return "\n".join(said), float(seconds), done.stderr


@pytest.mark.slow
def test_a_model_that_is_not_there_asks_no_network():
    said, seconds, errors = offline("FastEmbedder(ModelName('fastembed', 'BAAI/bge-small-en-v1.5'))")
    assert (
        said
        == "fastembed/BAAI/bge-small-en-v1.5 is not on this machine. To download it, run `lmm models get BAAI/bge-small-en-v1.5`."
    )
    assert (seconds < 1, errors) == (True, "")


@needs_model
def test_a_model_that_is_there_asks_no_network():
    put_on_machine()
    code = f"import asyncio; e = FastEmbedder(ModelName('fastembed', '{HUB_NAME}')); asyncio.run(e.embed(['a'])); print(e.window)"
    said, _, errors = offline(code)
    assert (said, errors) == ("254", "")


@pytest.mark.slow
def test_a_hub_that_cannot_be_reached_is_said_within_seconds():
    said, seconds, errors = offline("get_model('BAAI/bge-small-en-v1.5')")
    assert said.startswith("BAAI/bge-small-en-v1.5 cannot be downloaded: the model hub cannot be reached: ")
    assert len(said.splitlines()) == 1
    assert seconds < 10
    assert set(errors.splitlines()) == {"asked the network"}


# Commands


def test_models_for_texts_are_listed_the_recommended_one_first():
    listed = json.loads(CliRunner().invoke(cli, ["models", "list", "--json"]).stdout)
    by_name = {one["name"]: one for one in listed}
    assert by_name["BAAI/bge-small-en-v1.5"]["dimensions"] == 384
    assert [one["name"] for one in listed if one["recommended"]] == [listed[0]["name"]] == [HUB_NAME]
    assert not any(one["present"] or "clip" in one["name"].lower() for one in listed)
    lines = CliRunner().invoke(cli, ["models", "list"]).stdout.splitlines()
    assert len(lines) == len(listed) > 20
    assert "recommended" in lines[0] and not any("recommended" in line for line in lines[1:])


def test_a_model_that_does_not_exist_cannot_be_got():
    done = CliRunner().invoke(cli, ["models", "get", "nobody/nothing"])
    assert done.exit_code == 1
    assert "fastembed does not know this model" in done.stderr


def embedding_finding():
    return next(finding for finding in examine() if finding.what == "embedding")


def test_the_doctor_says_what_embeds(monkeypatch):
    assert embedding_finding().found.startswith("none: ")
    assert "dense_model" in embedding_finding().advice
    monkeypatch.setenv("LMM_MODEL_EMBEDDING", "fastembed/BAAI/bge-small-en")
    assert "is not on this machine" in embedding_finding().found
    if MINILM.is_dir():
        monkeypatch.setenv("LMM_MODEL_EMBEDDING", f"fastembed/{MINILM}")
        assert embedding_finding().found.endswith("on this machine; no key, no network")


def test_naming_a_folder_imports_nothing_heavy():
    code = (
        "import sys, lmm_core.cli.commands.machine, lmm_core.models.embedders.cached_embedder\n"
        "print([n for n in ('fastembed', 'onnxruntime', 'numpy', 'tokenizers') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.long
@needs_model
def test_one_text_at_a_time_is_about_as_fast_as_fastembeds_batches(minilm):
    from fastembed import TextEmbedding

    own = TextEmbedding(HUB_NAME, cache_dir=str(MINILM), specific_model_path=str(MINILM))
    texts = [f"{NEAR[number % 3]} {number} " * 10 for number in range(24)]

    def seconds(work):
        work()
        times = []
        for _ in range(3):
            began = time.perf_counter()
            work()
            times.append(time.perf_counter() - began)
        return min(times)

    assert seconds(lambda: embed(minilm, *texts)) < 2 * seconds(lambda: list(own.embed(texts)))
