"""A real model on servers of its own."""

import pytest

from tests.effort import PATIENCE
from tests.llama_server import NOT_INSTALLED, SOON, LlamaServer, assemble_model, is_installed


@pytest.fixture(scope="session")
def model_file(tmp_path_factory):
    """The model's file, for the session."""
    if not is_installed():
        pytest.skip(NOT_INSTALLED)
    path = assemble_model(tmp_path_factory.mktemp("gemma"))
    yield path
    path.unlink()


@pytest.fixture(scope="session")
def _one_server(model_file, tmp_path_factory):
    with LlamaServer(model_file, tmp_path_factory.mktemp("llama") / "log") as server:
        yield server


@pytest.fixture
def server(_one_server):
    """The server, which computes nothing before the test, and is not left computing after it."""
    assert _one_server.is_idle_within(PATIENCE)
    yield _one_server
    assert _one_server.is_idle_within(SOON), "the server was left computing"


@pytest.fixture
def own_server(model_file, tmp_path):
    """A server of the test's own, to be killed."""
    with LlamaServer(model_file, tmp_path / "llama.log") as server:
        yield server
