"""The reply cache, and asking through it."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmm_core.errors import CacheError, ModelError
from lmm_core.files.user import cache_folder
from lmm_core.models.cache import Cache, CacheSize, request_key
from lmm_core.models.chat import Asker, ChatMessage, Request, Usage, run
from lmm_core.models.names import ModelName
from lmm_core.models.openai.chat import OpenAIChat
from lmm_core.models.sources import ModelSource, RequestLimits
from tests.model_server import ModelServer

KEY = "sk-secret-0123456789"
ROOT = Path(__file__).parents[2]
as_root = hasattr(os, "geteuid") and os.geteuid() == 0


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
        chat = OpenAIChat(ModelName("test", model), source, RequestLimits(max_retries=0))
        super().__init__(chat, cache, self.warnings.append)

    def answer(self, text="What is a mean?", read=str, **more):
        """The answer to one request."""

        async def ask():
            try:
                return await self.ask(Request((ChatMessage("user", text),), **more), read)
            finally:
                await self.model.close()

        return run(ask())


def folder_bytes(folder):
    return b"".join(file.read_bytes() for file in folder.iterdir())


# Asking


def test_a_request_is_made_once(server, cache):
    asker = Asked(server, cache)
    assert asker.answer() == asker.answer()
    assert server.count == 1
    assert asker.model.usage == Usage(1, 100, 20, 1)


def test_another_process_finds_the_reply(server, cache):
    first = Asked(server, cache).answer()
    other = Asked(server, Cache(cache.path.parent))
    assert other.answer() == first
    assert other.model.usage == Usage(0, 0, 0, 1)
    assert server.count == 1


@pytest.mark.parametrize(
    "other",
    [{"text": "What is a median?"}, {"schema": {"type": "object"}}, {"instead": "An old answer."}],
)
def test_another_request_is_asked(server, cache, other):
    asker = Asked(server, cache)
    asker.answer()
    asker.answer(**other)
    asker.answer(**other)
    assert server.count == 2


def test_another_model_is_asked(server, cache):
    Asked(server, cache, "m").answer()
    Asked(server, cache, "another").answer()
    assert server.count == 2


def refuse(text):
    raise ModelError("of no use")


def test_a_reply_of_no_use_is_not_kept(server, cache):
    asker = Asked(server, cache)
    with pytest.raises(ModelError, match="of no use"):
        asker.answer(read=refuse)
    assert cache.size().replies == 0
    asker.answer()
    assert server.count == 2


def test_a_kept_reply_that_is_of_no_use_any_more_is_asked_again(server, cache):
    asker = Asked(server, cache)
    old = asker.answer()
    server.reply = "a new reply"

    def read(text):
        return refuse(text) if text == old else text

    assert asker.answer(read=read) == "a new reply"
    assert asker.answer(read=read) == "a new reply"
    assert server.count == 2


def test_without_a_cache_every_request_is_made(server):
    asker = Asked(server, None)
    asker.answer()
    asker.answer()
    assert (server.count, asker.warnings) == (2, [])


def test_a_reply_that_no_file_can_hold_is_kept_all_the_same(server, cache):
    server.reply = "nul \0 and \ud800"
    asker = Asked(server, cache)
    asker.answer()
    assert asker.answer() == "nul \0 and ?"
    assert (server.count, asker.warnings) == (1, [])


# Where the cache cannot be used


def goes_on(server, cache):
    """Check that two requests are answered with one warning, and return the asker."""
    asker = Asked(server, cache)
    assert asker.answer("one")
    assert asker.answer("two")
    assert len(asker.warnings) == 1
    assert asker.warnings[0].startswith(f"The cache is not used: {cache.path}: ")
    return asker


@pytest.mark.parametrize("data", [b"not a database at all" * 99])
def test_a_broken_file(server, cache, data):
    cache.path.parent.mkdir()
    cache.path.write_bytes(data)
    goes_on(server, cache)
    assert cache.clear() == CacheSize(0, 0, 0)
    asker = Asked(server, cache)
    asker.answer()
    asker.answer()
    assert (server.count, asker.warnings) == (3, [])


def test_a_file_that_breaks_while_it_is_used(server, cache):
    Asked(server, cache).answer()
    cache.close()
    with cache.path.open("r+b") as file:
        file.seek(100)
        file.write(os.urandom(8000))
    goes_on(server, cache)
    cache.clear()
    assert cache.size() == CacheSize(0, 0, 0)


def test_a_file_in_the_place_of_the_folder(server, cache):
    cache.path.parent.write_text("I am no folder.")
    goes_on(server, cache)
    assert cache.path.parent.read_text() == "I am no folder."
    with pytest.raises(CacheError, match=r"cache\.sqlite"):
        cache.clear()


def test_a_folder_that_cannot_be(server, tmp_path):
    cache = Cache(tmp_path / ("x" * 300))
    goes_on(server, cache)
    for use in (cache.size, cache.clear):
        with pytest.raises(CacheError, match=r"cache\.sqlite"):
            use()


@pytest.mark.skipif(as_root, reason="root may write everywhere")
def test_a_folder_that_is_read_only(server, cache):
    cache.path.parent.mkdir()
    cache.path.parent.chmod(0o500)
    goes_on(server, cache)
    cache.path.parent.chmod(0o700)


# The file


def test_what_is_kept_is_found(cache):
    cache.keep_reply(b"k", "one")
    cache.keep_reply(b"k", "two")
    assert cache.find_reply(b"k") == "two"
    assert cache.find_reply(b"l") is None
    assert cache.size() == CacheSize(1, 0, 3)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=20), st.text(st.characters(exclude_categories=["Cs"])))
def test_any_reply_comes_back(cache, key, reply):
    cache.keep_reply(key, reply)
    assert cache.find_reply(key) == reply


def test_clearing_says_what_was_there(cache):
    cache.keep_reply(b"k", "größer")
    assert cache.clear() == CacheSize(1, 0, 8)
    assert cache.size() == CacheSize(0, 0, 0)
    assert list(cache.path.parent.iterdir()) == []
    cache.keep_reply(b"k", "again")
    assert cache.find_reply(b"k") == "again"


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
    data = folder_bytes(cache.path.parent)
    assert b"Answer" in data
    for text in (KEY, "heteroscedasticity", "homoscedastic", "the former"):
        assert text.encode() not in data


def test_requests_that_differ_have_other_keys():
    assert request_key(["a", "b"]) != request_key(["ab"])
    assert request_key([{"a": 1, "b": 2}]) == request_key([{"b": 2, "a": 1}])
    assert len(request_key(["\ud800 ü"])) == 20


def test_the_replies_used_longest_ago_go(tmp_path):
    cache = Cache(tmp_path, most_bytes=5_000)
    for number in range(200):
        cache.keep_reply(b"%d" % number, "y" * 100)
    cache.close()
    again = Cache(tmp_path, most_bytes=5_000)
    again.keep_reply(b"last", "z")
    assert again.size().bytes <= 5_000
    assert again.size().replies > 30
    assert all(again.find_reply(key) for key in (b"199", b"last"))
    assert again.find_reply(b"0") is None


def test_a_reply_larger_than_the_whole_cache(tmp_path):
    cache = Cache(tmp_path, most_bytes=100)
    cache.keep_reply(b"k", "x" * 1000)
    assert cache.size().bytes == 0


@pytest.mark.parametrize(
    ("environment", "folder"),
    [({"XDG_CACHE_HOME": "/x/y"}, "/x/y/lmm"), ({"XDG_CACHE_HOME": "", "HOME": "/home/a"}, "/home/a/.cache/lmm")],
)
def test_where_it_is(environment, folder, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == Path(folder)
    assert Cache().path == Path(folder, "cache.sqlite")


def test_without_a_home_nothing_is_kept(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(Path, "home", Mock(side_effect=RuntimeError("Could not determine home directory.")))
    with pytest.raises(CacheError):
        Cache().keep_reply(b"k", "x")


# Several at once


KEEPER = """
import sys
from pathlib import Path
from unittest.mock import Mock
from lmm_core.models.cache import Cache
cache = Cache(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for number in range(100):
    cache.keep_reply(f"{sys.argv[2]} {number}".encode(), "reply")
    cache.keep_reply(b"shared", sys.argv[2])
    assert cache.find_reply(b"shared")
"""


def python(code, *arguments, **more):
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], cwd=ROOT, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)  # fmt: skip


def test_processes_that_write_at_once(tmp_path):
    running = [python(KEEPER, tmp_path, name, stdin=subprocess.PIPE) for name in "abcde"]
    assert [process.stdout.readline() for process in running] == ["ready\n"] * 5
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate()[1] for process in running] == [""] * 5
    assert Cache(tmp_path).size().replies == 501


def test_threads_that_use_one_cache_at_once(cache):
    errors = []

    def work(name):
        try:
            for number in range(50):
                cache.keep_reply(f"{name} {number}".encode(), "reply")
                assert cache.find_reply(f"{name} {number}".encode()) == "reply"
        except (CacheError, AssertionError) as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert cache.size().replies == 400


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no kill -9")
def test_a_run_that_was_killed_pays_for_nothing_twice(server, cache):
    code = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from lmm_core.models.cache import Cache\n"
        "from lmm_core.models.chat import Asker, ChatMessage, Request\n"
        "from lmm_core.models.openai.chat import OpenAIChat\n"
        "from lmm_core.models.names import ModelName\n"
        "from lmm_core.models.sources import ModelSource\n"
        "chat = OpenAIChat(ModelName('test', 'm'), ModelSource('test', sys.argv[1], 'TEST_API_KEY'))\n"
        "asker = Asker(chat, Cache(Path(sys.argv[2])))\n"
        "async def work():\n"
        "    await asyncio.gather(*(asker.ask(Request((ChatMessage('user', str(n)),)), str) for n in range(10)))\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(work())\n"
    )
    process = python(code, server.url, cache.path.parent)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    asker = Asked(server, cache)
    for number in range(12):
        asker.answer(str(number))
    assert server.count == 12
    assert asker.model.usage.cached == 10


def test_usage_adds_up():
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)
    assert str(Usage(2, 12345, 3, 1)) == "2 requests, 12,345 + 3 tokens, 1 from cache"


def test_an_asker_closes_its_model_and_its_cache(server, cache):
    asker = Asked(server, cache)
    asker.answer()
    asyncio.run(asker.close())
    assert not cache.path.with_name("cache.sqlite-wal").exists()
    assert asker.answer()
    assert asker.model.usage.cached == 1
