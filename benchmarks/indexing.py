"""Measure what indexing costs, and a search of points in a folder and on a server.

python benchmarks/indexing.py [book] [folder] [store] [--points 2000 10000] [--queries 200]

book    a book by words, and by meaning: the first index, and one when nothing has changed
folder  any folder of markdown (`lmm md-index`)
store   points in a folder, and on a server that QDRANT_TEST_BINARY starts
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from uuid import UUID

import numpy
import psutil
from evaluation import MODEL, index_project
from qdrant_client import QdrantClient
from tables import machine, print_table, say
from texts import MB, ROOT, corpora, size

sys.path.insert(0, str(ROOT))
from lmm_core.models.embedders.bm25 import Bm25Encoder
from lmm_core.models.embedders.fastembed_models import FastEmbedder
from lmm_core.models.names import parse_name
from lmm_core.models.sources import known_sources
from lmm_core.store.places import LocalStorage, RemoteSource, open_store
from lmm_core.store.vector_store import Point, Search, VectorSpec
from tests.qdrant_server import BINARY, RealServer

CHAPTERS = {"bm25": 100, "content": 5}  # of the book, by encoding; embedding a hundred takes minutes
FILES, FILE = 1_000, 10_000  # of the folder, and the least bytes of each
DIMENSIONS = 384
SPEC = VectorSpec(dense={"content": DIMENSIONS}, sparse=("words",))
INDEXES = {"type": "keyword", "docid": "keyword"}
BATCH = 5_000  # points that are made before they are written
ASKERS = 20  # threads that search at once


# A book


def print_book(_chosen: argparse.Namespace) -> None:
    """Print what it costs to index a book. Processor time: waiting for the disk does not count."""
    rows: list[list[str]] = []
    for encoding in CHAPTERS if MODEL.is_dir() else ("bm25",):
        say(f"book: {encoding}")
        with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
            os.environ["XDG_CACHE_HOME"] = name  # every chunk is embedded
            rows += asyncio.run(book_rows(Path(name, "book"), encoding))
    if not MODEL.is_dir():
        say(f"{MODEL} is not there: nothing is indexed by meaning")
    print_table("A book: processor time", ["encoding", "", "chunks", "s", "chunks/s"], rows)


async def book_rows(folder: Path, encoding: str) -> list[list[str]]:
    """Return a row for the first index, and for one when nothing has changed; for a model, one for the model alone."""
    texts = [text for corpus in corpora() for text in corpus.texts]
    folder.mkdir()
    for number in range(CHAPTERS[encoding]):
        (folder / f"{number:03}.md").write_text(texts[number % len(texts)], encoding="utf-8", newline="")
    model = FastEmbedder(parse_name(f"fastembed/{MODEL}", known_sources({})))
    if encoding == "content":
        await model.embed(["so that the library is loaded"])
    rows, chunks = [], []
    for label in ("first index", "nothing has changed"):
        begun = time.process_time()
        store = open_store(LocalStorage(folder / ".lmm" / "index"))
        _, models = await index_project(folder, store, encoding)
        spent = time.process_time() - begun
        chunks = [point.payload["page_content"] for point in store.scroll(encoding)]
        await models.close()
        store.close()
        rows.append([encoding, label, f"{len(chunks):,}", f"{spent:.2f}", f"{len(chunks) / spent:,.0f}"])
    if encoding == "content":
        begun = time.process_time()
        await model.embed(chunks)
        spent = time.process_time() - begun
        rows.append([encoding, "the model alone", f"{len(chunks):,}", f"{spent:.2f}", f"{len(chunks) / spent:,.0f}"])
    return rows


# Any folder of markdown


def print_folder(_chosen: argparse.Namespace) -> None:
    """Print what `lmm md-index` and `lmm md-search` cost on a folder of the corpora's sections."""
    chance = random.Random(1)
    parts = [part for corpus in corpora() for text in corpus.texts for part in text.split("\n\n## ") if part.strip()]
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        docs = Path(name, "docs")
        docs.mkdir()
        for number in range(FILES):
            text = f"# File {number}"
            while size(text) < FILE:
                text += "\n\n## " + chance.choice(parts)
            (docs / f"{number:05}.md").write_text(text + "\n", encoding="utf-8", newline="")
        total = sum(path.stat().st_size for path in docs.iterdir()) / MB
        index, rows = "md-index -q --root docs", []
        for label, command in (("first index", index), ("nothing has changed", index)):
            rows.append([label, f"{run_lmm(Path(name), command):.2f}"])
        with (docs / "00000.md").open("a", encoding="utf-8", newline="") as file:
            file.write("\nOne line more.\n")
        for label, command in (("one file is longer", index), ("md-search", "md-search borrowed value")):
            rows.append([label, f"{run_lmm(Path(name), command):.2f}"])
    print_table(f"A folder of {FILES:,} files, {total:.0f} MB: processor time", ["", "s"], rows)


def run_lmm(folder: Path, command: str) -> float:
    """Run `lmm …` in a folder, and return the seconds that the processors worked."""
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    before = os.times()
    subprocess.run(
        [sys.executable, "-m", "lmm_core", *command.split()], cwd=folder, env=environment, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


# Points in a folder and on a server


def print_store(chosen: argparse.Namespace) -> None:
    """Print what writing and searching points cost. The searches of the server are compared with the folder's."""
    if not BINARY:
        say("QDRANT_TEST_BINARY names no server: a folder alone is measured")
    rows = []
    for count in chosen.points:
        with tempfile.TemporaryDirectory() as name:
            say(f"store: {count:,} points")
            row, in_folder = measure_store(LocalStorage(Path(name, "index")), os.getpid(), count, chosen.queries)
            rows.append([*row, ""])
            if BINARY:
                with RealServer(Path(name, "qdrant")) as server:
                    place, process = RemoteSource(server.url), server.process.pid
                    row, on_server = measure_store(place, process, count, chosen.queries)
                pairs = zip(in_folder, on_server, strict=True)
                same = sum(len(hits & others) / len(hits) for hits, others in pairs) / chosen.queries
                rows.append([*row, f"{100 * same:.1f} %"])
    columns = ["points", "place", "written/s", "words, ms", "p95", "hybrid, ms", "p95", f"{ASKERS} at once, /s", "MB",
               "the same"]  # fmt: skip
    print_table("Points in a folder and on a server, 40 results", columns, rows)
    print(f"load average {os.getloadavg()[0]:.1f}")


def measure_store(
    place: LocalStorage | RemoteSource, process: int, count: int, queries: int
) -> tuple[list[str], list[set[str]]]:
    """Return a row, and the ids that the hybrid searches find. process: whose memory is counted."""
    texts = [text for corpus in corpora() for text in corpus.texts]
    sentences = [sentence for text in texts for sentence in re.findall(r"[A-Z][^.\n]{40,200}\.", text)]
    encoder, chance = Bm25Encoder("en"), random.Random(5)
    before = psutil.Process(process).memory_info().rss
    store = open_store(place)
    store.create("notes", SPEC, {}, INDEXES)
    left, spent = points(count, sentences, encoder), 0.0
    while batch := list(islice(left, BATCH)):
        spent += timed(partial(store.upsert, "notes", batch))
    if isinstance(place, RemoteSource):
        spent += timed(partial(wait_until_green, place.url))
    asked = [encoder.encode_query(" ".join(chance.choice(sentences).split()[:6])) for _ in range(queries)]
    by_words = [Search({"words": query}, limit=40) for query in asked]
    hybrid = [
        Search({"words": query, "content": [chance.gauss(0, 1) for _ in range(DIMENSIONS)]}, limit=40)
        for query in asked
    ]
    cells = [f"{count / spent:,.0f}"]
    for searches in (by_words, hybrid):
        times = sorted(1000 * timed(partial(store.search, "notes", search)) for search in searches)
        cells += [f"{median(times):.1f}", f"{times[int(0.95 * len(times))]:.1f}"]
    with ThreadPoolExecutor(ASKERS) as pool:
        spent = timed(lambda: list(pool.map(partial(store.search, "notes"), hybrid)))
    hits = [{point.id for point in store.search("notes", search)} for search in hybrid]
    memory = psutil.Process(process).memory_info().rss - (before if isinstance(place, LocalStorage) else 0)
    store.close()
    return [f"{count:,}", type(place).__name__, *cells, f"{queries / spent:,.0f}", f"{memory / MB:,.0f}"], hits


def points(count: int, sentences: Sequence[str], encoder: Bm25Encoder) -> Iterator[Point]:
    """Yield chunks of five sentences from anywhere, with their words and a vector that means nothing."""
    chance, numbers = random.Random(3), numpy.random.default_rng(3)
    for number in range(count):
        text = " ".join(chance.choices(sentences, k=5))
        payload = {"page_content": text, "docid": f"chapter-{number // 50}.md", "type": "text", "sequence": number}
        vectors = {"content": numbers.standard_normal(DIMENSIONS).tolist(), "words": encoder.encode([text])[0]}
        yield Point(str(UUID(int=chance.getrandbits(128), version=4)), vectors, payload)


def timed(action: Callable[[], object]) -> float:
    """Return the seconds that an action takes on the clock."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def wait_until_green(url: str) -> None:
    """Wait until a server has made its segments and their graphs."""
    with closing(QdrantClient(url=url, check_compatibility=False)) as client:
        while str(client.get_collection("notes").status) != "green":
            time.sleep(0.1)


TABLES: dict[str, Callable[[argparse.Namespace], None]] = {
    "book": print_book,
    "folder": print_folder,
    "store": print_store,
}


def main() -> None:
    """Print the tables that are asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--points", type=int, nargs="+", default=[2_000, 10_000], help="of the store")
    parser.add_argument("--queries", type=int, default=200, help="to the store")
    chosen = parser.parse_args()
    print(machine())
    for name in chosen.tables or TABLES:
        TABLES[name](chosen)


if __name__ == "__main__":
    main()
