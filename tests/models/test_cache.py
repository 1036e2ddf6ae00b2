"""The reply cache, and asking through it."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmm_core.errors import CacheError, ModelError
from lmm_core.models.cache import Cache, CacheSize
from lmm_core.models.chat import Asker, ChatMessage, Request, Usage, run
from lmm_core.models.names import ModelName
from lmm_core.models.openai.chat import OpenAIChat
from lmm_core.models.sources import ModelOptions, ModelSource
from tests.commands import write
from tests.model_server import ModelServer

KEY = "sk-secret-0123456789"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def cache(tmp_path):
    cache = Cache(tmp_path / "cache")
    yield cache
    cache.close()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", KEY)
    with ModelServer() as server:
        yield server


class Asked(Asker):
    """An asker of a server's model that keeps its warnings."""

    def __init__(self, server, cache, model="m"):
        source = ModelSource("test", server.url, "TEST_API_KEY")
        self.warnings = []
        chat = OpenAIChat(ModelName("test", model), source, ModelOptions(max_retries=0))
        super().__init__(chat, cache, self.warnings.append)

    def answer(self, text="What is a mean?", read=str, **more):
        """The answer to one request."""

        async def ask():
            try:
                return await self.ask(Request((ChatMessage("user", text),), **more), read)
            finally:
                await self.model.close()

        return run(ask())


# Asking


def test_a_request_is_made_once(server, cache):
    asker = Asked(server, cache)
    assert asker.answer() == asker.answer()
    assert server.count == 1
    assert asker.model.usage == Usage(1, 100, 20, 1)


def test_another_process_finds_the_reply_to_the_same_request_and_model(server, cache):
    first = Asked(server, cache).answer()
    other = Asked(server, Cache(cache.path.parent))
    assert other.answer() == first
    assert (server.count, other.model.usage) == (1, Usage(0, 0, 0, 1))
    Asked(server, cache, "another").answer()
    for different in ({"text": "What is a median?"}, {"schema": {"type": "object"}}, {"instead": "An old answer."}):
        other.answer(**different)
    assert server.count == 5


def refuse(text):
    raise ModelError("of no use")


def test_a_reply_of_no_use_is_not_kept(server, cache):
    asker = Asked(server, cache)
    with pytest.raises(ModelError, match="of no use"):
        asker.answer(read=refuse)
    assert cache.size().replies == 0
    asker.answer()
    assert server.count == 2


# Where the cache cannot be used


def test_a_broken_file_is_not_used_until_it_is_cleared(server, cache):
    write(cache.path, b"not a database at all" * 99)
    asker = Asked(server, cache)
    assert asker.answer("one") and asker.answer("two")
    [warning] = asker.warnings
    assert warning.startswith(f"The cache is not used: {cache.path}: ")
    cache.clear()
    asker = Asked(server, cache)
    assert asker.answer() == asker.answer()
    assert (server.count, asker.warnings) == (3, [])


def test_a_file_in_the_place_of_the_folder_stays(server, cache):
    write(cache.path.parent, "I am no folder.")
    asker = Asked(server, cache)
    assert asker.answer() and len(asker.warnings) == 1
    with pytest.raises(CacheError, match=r"cache\.sqlite"):
        cache.clear()
    assert cache.path.parent.read_text() == "I am no folder."


# The file


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=20), st.text(st.characters(exclude_categories=["Cs"])))
def test_any_reply_comes_back(cache, key, reply):
    cache.keep_reply(key, "another one")
    cache.keep_reply(key, reply)
    assert cache.find_reply(key) == reply
    assert cache.find_reply(key + b"l") is None
    assert cache.clear() == CacheSize(1, 0, len(reply.encode()))
    assert cache.size() == CacheSize(0, 0, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_nobody_else_may_read_it(cache):
    old = os.umask(0)
    try:
        cache.keep_reply(b"k", "reply")
    finally:
        os.umask(old)
    assert cache.path.parent.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in cache.path.parent.iterdir()} == {0o600}


def test_it_holds_neither_requests_nor_keys(server, cache):
    asker = Asked(server, cache)
    asker.answer("What is heteroscedasticity?", schema={"title": "homoscedastic"}, instead="the former")
    cache.close()
    data = b"".join(file.read_bytes() for file in cache.path.parent.iterdir())
    assert b"Answer" in data
    for text in (KEY, "heteroscedasticity", "homoscedastic", "the former"):
        assert text.encode() not in data


# Several at once, and kills


def keep_many(folder, name):
    cache = Cache(Path(folder))
    for number in range(50):
        cache.keep_reply(f"{name} {number}".encode(), "reply")
        cache.keep_reply(b"shared", name)
        assert cache.find_reply(b"shared")


def test_several_processes_may_use_it_at_once(tmp_path):
    with ProcessPoolExecutor(4) as pool:
        list(pool.map(keep_many, [str(tmp_path)] * 4, "abcd"))
    assert Cache(tmp_path).size().replies == 201


KILLED = """
import asyncio, os, sys
from pathlib import Path
from lmm_core.models.cache import Cache
from tests.models.test_cache import Asked
from unittest.mock import Mock
asker = Asked(Mock(url=sys.argv[1]), Cache(Path(sys.argv[2])))
for number in range(10):
    asker.answer(str(number))
os.kill(os.getpid(), 9)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no kill -9")
def test_a_run_that_was_killed_pays_for_nothing_twice(server, cache):
    killed = subprocess.run([sys.executable, "-c", KILLED, server.url, str(cache.path.parent)], cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL
    asker = Asked(server, cache)
    for number in range(12):
        asker.answer(str(number))
    assert server.count == 12
    assert asker.model.usage.cached == 10
