"""An index on a server is rebuilt while students ask: nobody is ever without answers."""

import asyncio
import threading
import time

import pytest

from lmm_core.errors import LmmError, StoreError
from lmm_core.retrieve.library import Library
from lmm_core.retrieve.search import find_candidates
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from lmm_core.store import qdrant_store
from lmm_core.store.places import RemoteSource, open_store
from tests.commands import in_process, write
from tests.effort import PATIENCE
from tests.indexing import counts, document, found
from tests.qdrant_server import FailingServer, Fault

pytestmark = pytest.mark.qdrant
NAMES = ["chunks", "chunks.files", "documents"]
WORDS = ("alpha", "beta", "gamma", "delta")


@pytest.fixture
def server(qdrant, monkeypatch):
    """A server that fails on demand, with the index of two files."""
    monkeypatch.setattr(qdrant_store, "WAITS", (0.01,))
    with FailingServer(qdrant) as server:
        monkeypatch.setenv("LMM_STORAGE__URL", server.url)
        write("a.md", document("alpha", "beta"))
        write("b.md", document("gamma"))
        counts(".")
        yield server


def opened(server):
    return open_store(RemoteSource(server.url))


def on_server(server):
    """The collections, and what has which name."""
    store = opened(server)
    try:
        return store.collections(), store.aliases()
    finally:
        store.close()


def check_clean(server):
    """Each name has one collection of one run, and nothing else is there."""
    there, aliases = on_server(server)
    if aliases:
        assert sorted(aliases) == NAMES and sorted(aliases.values()) == there
        assert len({name.removesuffix(".files").rpartition("-")[2] for name in there}) == 1
    else:
        assert there == NAMES


class Asking:
    """A server's library, asked all the time by another thread, as `lmm serve` does."""

    def __init__(self, word="alpha"):
        self.word, self.answers, self.failures = word, 0, []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._ask()))

    async def _ask(self):
        library = Library(load_project(None), Models())
        while not self._stop.is_set():
            await self._once(library)
        await library.close()

    async def _once(self, library):
        """Ask; what fails for a moment is asked again, as in `lmm_core.serving.answers`."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                async with library.use() as lent:
                    await lent.material()
                    hits = (await find_candidates(lent, [self.word], 20, None, print)).words[0]
                assert any(self.word in one.text for one in hits), hits
                self.answers += 1
                return
            except StoreError as error:
                if time.monotonic() > until:
                    self.failures.append(str(error))
                    return
                await asyncio.sleep(0.01)
            except (LmmError, AssertionError) as error:
                self.failures.append(repr(error))
                return

    def __enter__(self):
        self._thread.start()
        self.wait_for(2)
        return self

    def wait_for(self, more):
        """Wait until there have been so many answers more."""
        wanted, until = self.answers + more, time.monotonic() + PATIENCE
        while self.answers < wanted and not self.failures and time.monotonic() < until:
            time.sleep(0.005)

    def __exit__(self, *_):
        self.wait_for(2)
        self._stop.set()
        self._thread.join()


def test_it_is_made_anew_beside_the_one_that_is_asked(server):
    with Asking() as asking:
        for at in range(2):
            write("c.md", document(WORDS[3]) + "x" * at)
            assert counts("--rebuild .")[:2] == (4, 0)
            check_clean(server)
    assert not asking.failures and asking.answers > 4
    assert found("delta")[0]["source"] == "c.md"
    assert counts(".") == (0, 0, 0, 4, 0)


@pytest.mark.slow
def test_whichever_request_is_the_last_the_next_rebuild_leaves_nothing_behind(server):
    """The server is out of reach from some request on, as for a run that is killed; the old index answers, or the new."""
    counts("--rebuild .")  # from now on, names are given by aliases
    server.requests.clear()
    counts("--rebuild .")
    for after in range(0, len(server.requests), 9):
        server.faults.append(Fault(after=after, times=10_000, status=400))
        in_process("index --rebuild -q .")
        server.faults.clear()
        assert found("alpha")[0]["source"] == "a.md", after
        counts("--rebuild .")
        check_clean(server)
        assert {one["source"] for word in WORDS[:3] for one in found(word)} == {"a.md", "b.md"}, after
