"""How much of what answers a question comes into the context for the model, and how long that takes.

python benchmarks/ask.py [--encodings bm25 hybrid] [--rerank NAME …] [--budget 1000] [--runs 21]
python benchmarks/ask.py --encodings bm25 --no-time    # the share alone: in half a minute
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, pstdev

import chunk_peers
from evaluation import (
    EVAL,
    MEANS,
    Corpus,
    Question,
    corpus_of,
    index_project,
    keep_cache,
    read_corpora,
    read_questions,
    shares,
    without_model,
    write_texts,
)
from rerankers import NONE, NotMeasured, Timed, reranker_of
from tables import machine, print_table, say
from texts import MB

from lmm_core.errors import ConfigError
from lmm_core.markdown import find_markdown
from lmm_core.models.tokens import count_tokens
from lmm_core.retrieve.context import BUDGET, Context, build_context
from lmm_core.retrieve.library import open_library
from lmm_core.retrieve.search import Retrieval, Retriever
from lmm_core.settings.project import Project, load_project
from lmm_core.store.places import LocalStorage, open_store
from lmm_core.store.vector_store import VectorStore

ENCODINGS = ("bm25", "hybrid")
CHUNKS = 20_000
WANTED = 0.100  # seconds
PARAGRAPHS, WORDS = 4, 30
SECTIONS, IN_CHAPTER = 50, 115  # sections of a chapter, and the chunks that they make
COLUMNS = (*MEANS, "±", "tokens", "of text", "sources")


# Recall


@dataclass
class Bench:
    """Texts as files in a folder, and a store for them."""

    folder: Path
    store: VectorStore
    corpora: dict[str, Corpus]
    asked: list[Question]
    budget: int

    async def rows(self, encoding: str) -> list[list[str]]:
        """A row with whole sections and one without, for an encoding."""
        project, models = await index_project(self.folder, self.store, encoding)
        library = await open_library(project, models, self.store)
        retriever = Retriever(library)
        found = [await retriever.retrieve(question.text) for question in self.asked]
        await models.close()
        return [[encoding, "yes" if whole else "no", *self.cells(found, whole)] for whole in (False, True)]

    async def reranked_rows(self, encoding: str, name: str, project: Project) -> list[list[str]]:
        """Rows with a reranker, by the queries that are made without a model. Raises NotMeasured."""
        indexed, models = await index_project(self.folder, self.store, encoding)
        library = await open_library(indexed, models, self.store)
        try:
            reranker = Timed(reranker_of(project, name, models, library))
            retriever = Retriever(library, None, reranker)
            found = [await retriever.retrieve(question.text) for question in self.asked]
        finally:
            await models.close()
        taken = f"{1000 * median(reranker.seconds):.0f}"
        return [[encoding, name, "yes" if whole else "no", *self.cells(found, whole), taken] for whole in (False, True)]

    def peer_rows(self) -> list[list[str]]:
        """A row for each splitter of another package with a plain BM25; the contexts have no headers."""
        texts = {
            corpus_of(path.relative_to(self.folder).as_posix()): path.read_bytes().decode("utf-8")
            for path in find_markdown([self.folder])
        }
        rows = []
        for name, split in chunk_peers.splitters().items():
            say(f"peers: {name}")
            shown = chunk_peers.fill(split, texts, [one.text for one in self.asked], self.budget)
            sizes = [f"{mean(sum(count_tokens(text) for _, text in one) for one in shown):.0f}"]
            rows.append([name, *self.shares(shown), *sizes, *sizes, f"{mean(map(len, shown)):.1f}"])
        return rows

    def cells(self, found: Sequence[Retrieval], whole: bool) -> list[str]:
        contexts = [build_context(one, self.budget, whole=whole) for one in found]
        assert all(one.tokens <= self.budget for one in contexts)
        texts = [shown_texts(one) for one in contexts]
        return [
            *self.shares(texts),
            f"{mean(one.tokens for one in contexts):.0f}",
            f"{mean(sum(count_tokens(text) for _, text in one) for one in texts):.0f}",
            f"{mean(map(len, texts)):.1f}",
        ]

    def shares(self, shown: Sequence[Sequence[tuple[str, str]]]) -> list[str]:
        """Cells of what the texts shown for each question have of its answer, as in `MEANS`, and the deviation."""
        recalls = [self.recall(*both) for both in zip(self.asked, shown, strict=True)]
        return [*shares(recalls, self.asked), f"{100 * pstdev(recalls):.0f}"]

    def recall(self, question: Question, shown: Sequence[tuple[str, str]]) -> float:
        """The share of the characters that answer a question."""
        corpus = self.corpora[question.corpus]
        texts = [text for name, text in shown if name == question.corpus]
        return question.share([span for text in texts for span in corpus.spans(text)])


def shown_texts(context: Context) -> list[tuple[str, str]]:
    """Return the text of each source, without its header, beside its corpus."""
    return [(corpus_of(source.source), source.text) for source in context.sources]


def rerank_table(bench: Bench, encodings: Sequence[str], names: Sequence[str], project: Project) -> None:
    """Table (c). What cannot be measured is said, and left out."""
    rows = []
    for encoding in encodings:
        for name in names:
            say(f"rerankers: {encoding}, {name}")
            try:
                rows += asyncio.run(bench.reranked_rows(encoding, name, project))
            except NotMeasured as error:
                say(f"{name} is left out: {error}")
    columns = ["encoding", "reranker", "whole sections", *COLUMNS, "ms"]
    title = f"(c) Recall within {bench.budget:,} tokens by reranker, and its milliseconds a question, median"
    print_table(title, columns, rows)


# Time


def write_book(folder: Path, corpora: dict[str, Corpus]) -> None:
    """Chapters that make about `CHUNKS` chunks: the texts' paragraphs in other orders, in
    sections of some paragraphs."""
    texts = [part for corpus in corpora.values() for part in re.split(r"\n\s*\n", corpus.text)]
    texts = [text for text in texts if len(text.split()) >= WORDS]
    folder.mkdir()
    for number in range(CHUNKS // IN_CHAPTER):
        lines = [f"# Chapter {number}"]
        for section in range(SECTIONS):
            start = (number * 131 + section * 17) % len(texts)
            own = [f"{texts[(start + step) % len(texts)]} ({number}, {section})"[:900] for step in range(PARAGRAPHS)]
            lines += [f"## Part {section} of {number}", *own]
        Path(folder, f"{number:03}.md").write_text("\n\n".join(lines) + "\n", encoding="utf-8", newline="")


async def timed(name: str, folder: Path, encoding: str, asked: Sequence[Question], runs: int) -> list[str]:
    """An index's size, the time to make it, and medians of what comes between question and request to the model."""
    place = folder / ".lmm" / "index"
    store = open_store(LocalStorage(place))
    begun = time.perf_counter()
    project, models = await index_project(folder, store, encoding)
    indexing = time.perf_counter() - begun
    library = await open_library(project, models, store)
    retriever, retrieving, building = Retriever(library), [], []
    await retriever.retrieve(asked[0].text)  # reads the material
    for question in asked[1 : runs + 1]:
        begun = time.perf_counter()
        found = await retriever.retrieve(question.text)
        retrieved = time.perf_counter()
        build_context(found)
        retrieving.append(retrieved - begun)
        building.append(time.perf_counter() - retrieved)
    both = [one + other for one, other in zip(retrieving, building, strict=True)]
    chunks = f"{len((await library.material()).passages):,}"
    await models.close()
    store.close()
    size = 512 * sum(path.stat().st_blocks for path in place.rglob("*") if path.is_file())
    return [name, encoding, chunks, f"{indexing:.1f}", f"{size / MB:.1f}",
            *(f"{1000 * median(one):.0f}" for one in (retrieving, building, both)),
            f"{1000 * max(both):.0f}", f"<= {1000 * WANTED:.0f}"]  # fmt: skip


def time_table(folder: Path, bench: Bench, encodings: Sequence[str], runs: int) -> None:
    """Table (d); 20,000 chunks without a model: embedding so many takes half an hour."""
    folder.mkdir()
    keep_cache(folder / "cache")  # an empty one: what is embedded counts
    rows = []
    for encoding in encodings:
        say(f"time: {encoding}")
        write_texts(folder / encoding, bench.corpora)
        rows.append(asyncio.run(timed("these texts", folder / encoding, encoding, bench.asked, runs)))
    say(f"time: {CHUNKS:,} chunks")
    write_book(folder / "book", bench.corpora)
    rows.append(asyncio.run(timed("a large book", folder / "book", "bm25", bench.asked, runs)))
    columns = ["texts", "encoding", "chunks", "to index, s", "on disk, MB", "retrieve, ms", "context", "both",
               "slowest", "wanted"]  # fmt: skip
    print_table("(d) The index, and milliseconds from a question to its context, warm, medians", columns, rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Contexts: recall within a budget, and time")
    parser.add_argument("--encodings", nargs="+", default=ENCODINGS, metavar="NAME")
    parser.add_argument("--rerank", nargs="+", default=(), metavar="NAME", help="rerankers, as [ask] rerank names them")
    parser.add_argument("--budget", type=int, default=BUDGET, metavar="TOKENS")
    parser.add_argument("--runs", type=int, default=21, metavar="N", help="questions that are timed")
    parser.add_argument("--no-time", action="store_true", help="table (a) alone, and rerankers that are named")
    chosen = parser.parse_args()
    if not (EVAL / "questions.jsonl").is_file():
        say(f"{EVAL} is not there: nothing is measured")
        return
    try:
        project = load_project(None)  # for `--rerank`: its sources, and its model
    except ConfigError as error:
        parser.error(str(error))
    print(machine())
    keep_cache()
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        store = open_store(LocalStorage(Path(name, "index")))
        bench = Bench(Path(name, "texts"), store, read_corpora(), read_questions(), chosen.budget)
        write_texts(bench.folder, bench.corpora)
        print_tables(bench, without_model(chosen.encodings), chosen, project)
        store.close()
        if not chosen.no_time:
            time_table(Path(name, "time"), bench, without_model(chosen.encodings), chosen.runs)


def print_tables(bench: Bench, encodings: Sequence[str], chosen: argparse.Namespace, project: Project) -> None:
    """Tables (a) to (c)."""
    print(f"{len(bench.asked)} questions; tokens are estimated")
    rows = []
    for encoding in encodings:
        say(f"recall: {encoding}")
        rows += asyncio.run(bench.rows(encoding))
    title = f"Recall within {bench.budget:,} tokens, in percent of characters"
    print_table(f"(a) {title}; no reranker", ["encoding", "whole sections", *COLUMNS], rows)
    if not chosen.no_time:
        print_table(f"(b) {title}: other splitters and a plain BM25", ["splitter", *COLUMNS], bench.peer_rows())
    if chosen.rerank:
        rerank_table(bench, encodings, [NONE, *chosen.rerank], project)


if __name__ == "__main__":
    main()
