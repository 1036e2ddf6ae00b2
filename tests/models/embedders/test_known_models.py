"""What fastembed knows is asked once for each version of it."""

import pytest

from lmm_core.files.user import cache_folder
from lmm_core.models.embedders import known_models as module
from lmm_core.models.embedders.known_models import KnownModel, known_models

SMALL, LARGE = KnownModel("a/small", 384, 0.07, "hub/small"), KnownModel("a/large", 1024, 1.2, "hub/large")


@pytest.fixture(autouse=True)
def version(monkeypatch):
    """Say that a version of fastembed is installed."""

    def install(name):
        monkeypatch.setattr(module, "_version", lambda: name)

    install("fastembed-1.0.0.dist-info")
    return install


def never():
    raise AssertionError("fastembed was asked")


def test_what_is_known_is_asked_once():
    assert known_models(lambda: [SMALL, LARGE]) == [SMALL, LARGE]
    assert known_models(never) == [SMALL, LARGE]


def test_another_version_is_asked_again(version):
    known_models(lambda: [SMALL])
    version("fastembed-1.1.0.dist-info")
    assert known_models(lambda: [SMALL, LARGE]) == [SMALL, LARGE]
    assert known_models(never) == [SMALL, LARGE]


def test_a_version_that_cannot_be_told_is_asked_each_time(version):
    version("")
    assert known_models(lambda: [SMALL]) == [SMALL]
    assert known_models(lambda: [LARGE]) == [LARGE]


@pytest.mark.parametrize("kept", ["", "[]", "{}", '{"version": "fastembed-1.0.0.dist-info", "models": [["a"]]}'])
def test_a_file_that_says_nothing_is_written_anew(kept):
    cache_folder().mkdir(parents=True, exist_ok=True)
    (cache_folder() / "fastembed-models.json").write_text(kept, encoding="utf-8")
    assert known_models(lambda: [SMALL]) == [SMALL]
    assert known_models(never) == [SMALL]


def test_a_cache_that_cannot_be_written_is_done_without(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert known_models(lambda: [SMALL]) == [SMALL]
