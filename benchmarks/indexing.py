"""What indexing and `lmm search` cost, beside what they cannot do without.

python benchmarks/indexing.py [--runs 7]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from tables import machine, print_table, say
from texts import ROOT, corpora

from lmm_core.indexing.documents import blocklist_encode
from lmm_core.indexing.records import Counts
from lmm_core.indexing.refresh import Refresh
from lmm_core.logging import ListLogger
from lmm_core.markdown import parse_markdown_text
from lmm_core.models.embedders.embedder import Embedder
from lmm_core.models.embedders.fastembed_models import FastEmbedder
from lmm_core.models.names import parse_name
from lmm_core.models.sources import known_sources
from lmm_core.settings.models import Models
from lmm_core.settings.project import Project
from lmm_core.settings.tables import EmbeddingOptions
from lmm_core.store.places import LocalStorage, open_store

MODEL = ROOT.parent / "shared" / "models" / "all-MiniLM-L6-v2-int8"
CHAPTERS = 100
DENSE_CHUNKS = 200  # making collections takes 0.2 s, however few there are
DENSE_RUNS = 3
SEARCH_CHUNKS = 2_000
QUESTION = "how is memory given back?"
REFRESH, BM25, DENSE, SEARCH = 0.05, 2_500, 0.90, 0.400  # what is wanted
WRITING = ("create", "drop", "upsert", "set_payload", "delete", "close")


class Timed:
    """A store, and the time that writing into it takes (on the clock)."""

    def __init__(self, folder: Path) -> None:
        self._store = open_store(LocalStorage(folder))
        self.writing = 0.0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in WRITING:
            return found

        def timed(*values: Any) -> Any:
            begun = time.perf_counter()
            try:
                return found(*values)
            finally:
                self.writing += time.perf_counter() - begun

        return timed


class Nowhere:
    """A store that keeps nothing: what is left is our own work."""

    def __init__(self) -> None:
        self.made: dict[str, dict[str, Any]] = {}

    def metadata(self, name: str) -> dict[str, Any] | None:
        return self.made.get(name)

    def create(self, name: str, spec: Any, metadata: dict[str, Any], indexes: Any) -> None:
        self.made[name] = metadata

    def scroll(self, *_: Any) -> Iterator[Any]:
        return iter(())

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


@dataclass
class Opened(Models):
    """Models of which the embedding model is open already, as the one beside it is."""

    one: Embedder | None = field(default=None, kw_only=True)

    def embedder(self, project: Project) -> Embedder | None:
        return self.one


@dataclass
class Run:
    """One `lmm index`, without Python's start."""

    seconds: float
    writing: float
    counts: Counts


def index(project: Project, files: list[Path], models: Models) -> Run:
    """Index files, and close the store."""
    begun = time.perf_counter()
    store = Timed(project.root / project.storage.folder)
    counts = asyncio.run(Refresh(project, store, models, logger=ListLogger()).run(files))
    store.close()
    return Run(time.perf_counter() - begun, store.writing, counts)


# Books


def chapters() -> list[str]:
    """A hundred texts of the corpora, repeated where there are not as many."""
    texts = [text for corpus in corpora() for text in corpus.texts]
    return (texts * (1 + CHAPTERS // len(texts)))[:CHAPTERS]


def write_book(folder: Path, texts: list[str]) -> list[Path]:
    folder.mkdir(parents=True)
    (folder / ".git").mkdir()  # a project's root
    for number, text in enumerate(texts):
        (folder / f"{number:03}.md").write_text(text, encoding="utf-8", newline="")
    return sorted(folder.glob("*.md"))


def enough(texts: list[str], wanted: int) -> list[str]:
    """The first texts that make so many chunks."""
    found, count = [], 0
    for number, text in enumerate(texts * (1 + wanted)):
        if count >= wanted:
            break
        blocks = parse_markdown_text(text)
        count += len(blocklist_encode(blocks, Project(ROOT), docid=str(number), logger=ListLogger()).chunks)
        found.append(text)
    return found


# Measurements


def first_and_again(folder: Path, texts: list[str], runs: int) -> list[list[str]]:
    """The rows for the first index of a book, and for a refresh."""
    firsts: list[Run] = []
    agains: list[Run] = []
    for number in range(runs):
        files = write_book(folder / f"book-{number}", texts)
        project = Project(files[0].parent, embeddings=EmbeddingOptions(encoding="bm25"))
        with working_in(project.root):
            firsts.append(index(project, files, Models()))
            agains.append(index(project, files, Models()))
    first = median(run.seconds for run in firsts)
    again = median(run.seconds for run in agains)
    writing = median(run.writing for run in firsts)
    own = own_work(project, files, runs)
    chunks, same = firsts[0].counts.written, agains[0].counts.unchanged
    assert chunks == same
    return [
        ["first index", f"{first:.2f}", f"{chunks} chunks of {len(texts)} chapters", ""],
        ["… of it the store's writing", f"{writing:.2f}", "", ""],
        ["our own work (processor time)", f"{own:.2f}", f"{chunks / own:,.0f} chunks/s", f">= {BM25:,}"],
        ["refresh, nothing changed", f"{again:.3f}", f"{100 * again / first:.1f}% of the first", f"<= {REFRESH:.0%}"],
    ]


def own_work(project: Project, files: list[Path], runs: int) -> float:
    """Processor time of a first index into nothing."""
    times = []
    for _ in range(runs):
        begun = time.process_time()
        with working_in(project.root):
            asyncio.run(Refresh(project, Nowhere(), Models(), logger=ListLogger()).run(files))
        times.append(time.process_time() - begun)
    return median(times)


def dense(folder: Path, texts: list[str], runs: int) -> list[list[str]]:
    """The rows for embedding: the bare model, and the index; the model is loaded before."""
    name = parse_name(f"fastembed/{MODEL}", known_sources({}))
    model = FastEmbedder(name)
    asyncio.run(model.embed(["so that it is loaded"]))
    raw, ours, apart = [], [], []
    for number in range(runs):
        files = write_book(folder / f"dense-{number}", texts)
        os.environ["XDG_CACHE_HOME"] = str(folder / f"cache-{number}")
        project = Project(files[0].parent, embeddings=EmbeddingOptions(encoding="content"))
        with working_in(project.root):
            run = index(project, files, Opened(one=model))
        store = open_store(LocalStorage(project.root / project.storage.folder))
        contents = [point.payload["page_content"] for point in store.scroll(project.database.collection_name)]
        store.close()
        assert run.counts.written == len(contents)
        assert model._model is not None
        begun = time.perf_counter()
        assert len(list(model._model.embed(contents, batch_size=1))) == len(contents)
        raw.append(len(contents) / (time.perf_counter() - begun))
        ours.append(len(contents) / run.seconds)
        apart.append(len(contents) / (run.seconds - run.writing))

    def share(found: list[float]) -> str:
        return f"{100 * median(one / other for one, other in zip(found, raw, strict=True)):.0f}%"

    return [
        ["the bare model", f"{median(raw):.1f}", "", ""],
        ["first index, encoding content", f"{median(ours):.1f}", share(ours), f">= {DENSE:.0%}"],
        ["… without the store's writing", f"{median(apart):.1f}", share(apart), ""],
    ]


def search(folder: Path, texts: list[str], runs: int) -> list[list[str]]:
    """The row for `lmm search` as a process, and what of it is Python's own start."""
    files = write_book(folder / "search", texts)
    project = Project(files[0].parent, embeddings=EmbeddingOptions(encoding="bm25"))
    with working_in(project.root):
        count = index(project, files, Models()).counts.written
    command = str(Path(sys.executable).parent / "lmm")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LMM_")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")

    def clock(arguments: list[str], shown: bytes) -> tuple[float, float]:
        """Seconds on the clock, and of the processor."""
        begun, before = time.perf_counter(), os.times()
        done = subprocess.run(arguments, cwd=project.root, env=environment, capture_output=True)
        spent, after = time.perf_counter() - begun, os.times()
        assert done.returncode == 0 and shown in done.stdout, done.stderr.decode()
        return spent, after.children_user + after.children_system - before.children_user - before.children_system

    commands: dict[str, tuple[list[str], bytes]] = {
        "python -c pass": ([sys.executable, "-c", "pass"], b""),
        "lmm --version": ([command, "--version"], b""),
        f"lmm search, {count} chunks": ([command, "search", QUESTION], b".md:"),
    }
    for arguments, shown in commands.values():
        clock(arguments, shown)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, (arguments, shown) in commands.items():
            times[name].append(clock(arguments, shown))
    return [
        [
            name,
            *(f"{1000 * median(column):.0f}" for column in zip(*found, strict=True)),
            f"{1000 * min(found)[0]:.0f}",
            wanted,
        ]
        for (name, found), wanted in zip(times.items(), ("", "", f"<= {1000 * SEARCH:.0f}"), strict=True)
    ]


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    here = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="What indexing and searching cost")
    parser.add_argument("--runs", type=int, default=7, help="runs of each")
    runs = parser.parse_args().runs
    print(machine())
    texts = chapters()
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        folder = Path(name)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        rows = first_and_again(folder, texts, runs)
        title = f"(a) A book by words (BM25), into a folder: medians of {runs} runs"
        print_table(title, ["", "seconds", "", "wanted"], rows)
        if MODEL.is_dir():
            rows = dense(folder, enough(texts, DENSE_CHUNKS), DENSE_RUNS)
            print_table(
                f"(b) By meaning (MiniLM, int8), {DENSE_CHUNKS} chunks: medians of {DENSE_RUNS} runs",
                ["", "chunks/s", "share", "wanted"],
                rows,
            )
        else:
            say(f"{MODEL} is not there: no table (b)")
        rows = search(folder, enough(texts, SEARCH_CHUNKS), runs)
        print_table(
            f"(c) Searching, a process each: medians of {runs} runs",
            ["", "ms", "processor ms", "best ms", "wanted"],
            rows,
        )


if __name__ == "__main__":
    main()
