"""Measure what writing and searching cost in a folder, beside qdrant-client's folder mode and the bare engine.

python benchmarks/store.py [--points 2000 20000] [--queries 200] [--alone] [--server] [--folder /tmp]

--server: a folder beside a server (QDRANT_TEST_BINARY), with chunks that are made of the corpora's sentences.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from statistics import median
from uuid import UUID

import numpy
import psutil
from qdrant_client import QdrantClient
from tables import machine, print_table
from texts import ROOT, corpora

from lmm_core.models.embedders.bm25 import Bm25Encoder
from lmm_core.models.embedders.embedder import Sparse
from lmm_core.store.edge_engine import edge_config, edge_point
from lmm_core.store.places import LocalStorage, RemoteSource, open_store
from lmm_core.store.points import in_batches
from lmm_core.store.vector_store import Point, Search, VectorSpec, VectorStore, Where

DIMENSIONS = 384
SPEC = VectorSpec(dense={"content": DIMENSIONS}, sparse=("words",))
INDEXES = {"type": "keyword", "docid": "keyword"}
CLIENT_MOST = 20_000  # qdrant-client's folder mode needs minutes for 100,000 points, and seconds for a search
CLIENT_QUERIES = 15  # of about a second each
BATCH = 5_000  # points that are made before they are written
CHANGED = 0.03  # share of points that an update writes anew before the next search


COMMON = list(accumulate(1 / (rank + 50) for rank in range(30_000)))  # of words that are no stop words


def words(chance: random.Random, count: int) -> Sparse:
    """A chunk of so many words, weighed as BM25 does."""
    found = Counter(chance.choices(range(len(COMMON)), cum_weights=COMMON, k=count))
    length = 0.25 + 0.75 * count / 100
    return Sparse(list(found), [times * 2.2 / (times + 1.2 * length) for times in found.values()])


def query(chance: random.Random) -> Sparse:
    """The words of a question."""
    found = set(chance.choices(range(len(COMMON)), cum_weights=COMMON, k=5))
    return Sparse(list(found), [1.0] * len(found))


def dense(chance: random.Random) -> list[float]:
    return [chance.gauss(0, 1) for _ in range(DIMENSIONS)]


def points(count: int) -> Iterator[Point]:
    """Chunks of 1,000 characters, with what the index keeps of each."""
    chance = random.Random(1)
    for number in range(count):
        docid = f"chapter-{number // 50}.md"
        kind = "question" if number % 50 == 7 else "text"
        payload = {"page_content": "x" * 1_000, "docid": docid, "type": kind, "sequence": number, "titles": "A - B"}
        vectors = {"content": dense(chance), "words": words(chance, chance.randint(60, 140))}
        yield Point(str(UUID(int=chance.getrandbits(128), version=4)), vectors, payload)


Clocks = tuple[float, float]  # seconds on the clock, and of the processor


def clocks() -> Clocks:
    return time.perf_counter(), time.process_time()


def write(count: int, upsert: Callable[[list[Point]], None]) -> Clocks:
    """Measure writing points; making them is not counted."""
    left, spent = points(count), [0.0, 0.0]
    while batch := list(islice(left, BATCH)):
        begun = clocks()
        upsert(batch)
        spent = [had + now - start for had, now, start in zip(spent, clocks(), begun, strict=True)]
    return spent[0], spent[1]


def rates(count: int, writing: Clocks, closing: Clocks) -> list[str]:
    """Points a second on the clock, and in processor time, until the collection is closed."""
    return [f"{count / (one + other):,.0f}" for one, other in zip(writing, closing, strict=True)]


def searches(store: VectorStore, count: int, **more: object) -> float:
    """The median time of a hybrid search, in milliseconds."""
    chance, times = random.Random(2), []
    for _ in range(count):
        search = Search({"content": dense(chance), "words": query(chance)}, limit=10, **more)
        start = time.perf_counter()
        found = store.search("notes", search)
        times.append(time.perf_counter() - start)
        assert len(found) == 10
    return median(times) * 1000


def ours(folder: Path, count: int, queries: int) -> list[str]:
    """A row: the folder of this package."""
    store = open_store(LocalStorage(folder))
    store.create("notes", SPEC, {}, INDEXES)
    spent = write(count, partial(store.upsert, "notes"))
    plain = searches(store, queries)
    filtered = [searches(store, queries, where=Where({"type": kind})) for kind in ("text", "question")]
    closing = timed(store.close)
    store = open_store(LocalStorage(folder))
    opening, _ = timed(lambda: store.count("notes"))
    first = searches(store, 1)  # waits for the disk: the engine drops what it closes from the system's cache
    store.upsert("notes", list(points(int(CHANGED * count))))
    updated = searches(store, 1)
    store.close()
    ratios = [f"{each / plain:.2f} x" for each in filtered]
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    cells = [
        f"{plain:.2f}",
        *ratios,
        f"{first:.1f}",
        f"{updated:.1f}",
        f"{closing[0]:.2f}",
        f"{opening:.2f}",
        f"{size:,.1f}",
    ]
    return [f"{count:,}", "lmm_core.store", *rates(count, spent, closing), *cells]


def timed(action: Callable[[], object]) -> Clocks:
    """Measure an action."""
    begun = clocks()
    action()
    ended = clocks()
    return ended[0] - begun[0], ended[1] - begun[1]


def engine(folder: Path, count: int) -> list[str]:
    """A row: the engine alone with the same configuration, which nothing checks or settles.

    What it takes to make its objects of ours is counted: it takes no other ones."""
    import qdrant_edge as edge

    folder.mkdir()
    shard = edge.EdgeShard.create(str(folder), edge_config(SPEC))
    for key in INDEXES:
        shard.update(edge.UpdateOperation.create_field_index(key, edge.KeywordIndexParams(memory=edge.Memory.Cold)))

    def upsert(batch: list[Point]) -> None:
        for part in in_batches(batch, 256):
            shard.update(edge.UpdateOperation.upsert_points([edge_point(point, edge) for point in part]))

    spent = write(count, upsert)
    return [f"{count:,}", "qdrant-edge alone", *rates(count, spent, timed(shard.close)), *[""] * 8]


def theirs(folder: Path, count: int) -> list[str]:
    """A row: qdrant-client with a path."""
    from qdrant_client import QdrantClient

    from lmm_core.store.qdrant_store import QdrantStore

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "not recommended for more than 20,000 points"
        store = QdrantStore(QdrantClient(path=str(folder)))
        store.create("notes", SPEC, {}, INDEXES)
        spent = write(count, partial(store.upsert, "notes"))
    plain = searches(store, CLIENT_QUERIES)
    return [f"{count:,}", "qdrant-client", *rates(count, spent, timed(store.close)), f"{plain:.2f}", *[""] * 7]


# Beside a server


def mixed_points(count: int, sentences: Sequence[str], encoder: Bm25Encoder) -> Iterator[Point]:
    """Chunks of five sentences from anywhere, with their words and a vector that means nothing."""
    chance, numbers = random.Random(3), numpy.random.default_rng(3)
    for number in range(count):
        text = " ".join(chance.choices(sentences, k=5))
        payload = {"page_content": text, "docid": f"chapter-{number // 50}.md", "type": "text", "sequence": number}
        vectors = {"content": numbers.standard_normal(DIMENSIONS).tolist(), "words": encoder.encode([text])[0]}
        yield Point(str(UUID(int=chance.getrandbits(128), version=4)), vectors, payload)


def beside(
    place: LocalStorage | RemoteSource, process: int, count: int, queries: int
) -> tuple[list[str], list[set[str]]]:
    """A row of the table of folder and server, and what the hybrid searches find. process: whose memory is counted."""
    texts = [text for corpus in corpora() for text in corpus.texts]
    sentences = [sentence for text in texts for sentence in re.findall(r"[A-Z][^.\n]{40,200}\.", text)]
    encoder, chance = Bm25Encoder("en"), random.Random(5)
    before = psutil.Process(process).memory_info().rss
    store = open_store(place)
    store.create("notes", SPEC, {}, INDEXES)
    left, spent = mixed_points(count, sentences, encoder), 0.0
    while batch := list(islice(left, BATCH)):
        began = time.perf_counter()
        store.upsert("notes", batch)
        spent += time.perf_counter() - began
    if isinstance(place, RemoteSource):
        spent += wait_until_green(place.url)
    asked = [encoder.encode_query(" ".join(chance.choice(sentences).split()[:6])) for _ in range(queries)]
    by_words = [Search({"words": one}, limit=40) for one in asked]
    hybrid = [Search({"words": one, "content": dense(chance)}, limit=40) for one in asked]
    cells = [f"{count / spent:,.0f}"]
    for queries_of in (by_words, hybrid):
        times = sorted(timed(partial(store.search, "notes", one))[0] * 1000 for one in queries_of)
        cells += [f"{median(times):.1f}", f"{times[int(0.95 * len(times))]:.1f}"]
    with ThreadPoolExecutor(20) as pool:
        seconds, _ = timed(lambda: list(pool.map(partial(store.search, "notes"), hybrid)))
    hits = [{point.id for point in store.search("notes", one)} for one in hybrid]
    memory = psutil.Process(process).memory_info().rss
    store.close()
    grown = memory - before if isinstance(place, LocalStorage) else memory
    return [f"{count:,}", type(place).__name__, *cells, f"{queries / seconds:,.0f}", f"{grown / 1e6:,.0f}"], hits


def wait_until_green(url: str) -> float:
    """Return the seconds until a server has made its segments and their graphs."""
    began = time.perf_counter()
    with closing(QdrantClient(url=url, check_compatibility=False)) as client:
        while str(client.get_collection("notes").status) != "green":
            time.sleep(0.1)
    return time.perf_counter() - began


def compare_server(counts: Sequence[int], queries: int, folder: Path | None) -> None:
    """Print the table of folder and server."""
    sys.path.insert(0, str(ROOT))
    from tests.qdrant_server import RealServer

    rows = []
    for count in counts:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            row, in_folder = beside(LocalStorage(Path(name) / "index"), os.getpid(), count, queries)
            rows.append([*row, ""])
            with RealServer(Path(name) / "qdrant") as server:
                row, on_server = beside(RemoteSource(server.url), server.process.pid, count, queries)
            same = sum(len(one & other) / len(one) for one, other in zip(in_folder, on_server, strict=True)) / queries
            rows.append([*row, f"{100 * same:.1f} %"])
    columns = [
        "points",
        "place",
        "written/s",
        "words, ms",
        "p95",
        "hybrid, ms",
        "p95",
        "20 at once, /s",
        "MB",
        "the same",
    ]
    print_table("A folder and a server, 40 results", columns, rows)
    print(f"load average {os.getloadavg()[0]:.1f}")


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, nargs="+", default=[2_000, 20_000, 100_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--alone", action="store_true", help="without qdrant-client, which takes minutes")
    parser.add_argument("--folder", type=Path, help="where to write (the system's folder of temporary files)")
    parser.add_argument("--server", action="store_true", help="a folder beside a server (QDRANT_TEST_BINARY) alone")
    asked = parser.parse_args()
    print(machine())
    if asked.server:
        compare_server(asked.points, asked.queries, asked.folder)
        return
    rows = []
    for count in asked.points:
        with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
            rows.append(ours(Path(folder) / "ours", count, asked.queries))
            rows.append(engine(Path(folder) / "engine", count))
            if asked.alone:
                continue
            if count <= CLIENT_MOST:
                rows.append(theirs(Path(folder) / "theirs", count))
            else:
                rows.append([f"{count:,}", "qdrant-client", "not run", *[""] * 9])
    written = ["points", "folder", "written/s", "per CPU s"]
    searched = ["search, ms", "common type", "rare type", "first, ms", "updated, ms", "close, s", "open, s", "MB"]
    print_table("Store: 384 dimensions and BM25 in a folder, p50 of hybrid searches", written + searched, rows)


if __name__ == "__main__":
    main()
