"""How much of what answers a question comes into the context for the model, and how long that takes.

python benchmarks/ask.py [--encodings bm25 hybrid] [--rerank NAME …] [--budget 1000] [--runs 21]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, median, pstdev
from typing import Any

from evaluation import (
    EVAL,
    MEANS,
    MODEL,
    Corpus,
    Question,
    corpus_of,
    keep_cache,
    read_corpora,
    read_questions,
    shares,
    write_texts,
)
from retrieval import DEFAULT, WITHOUT_MODEL, split_options
from tables import machine, print_table, say
from texts import ROOT

from lmm_core.errors import ConfigError, ModelError
from lmm_core.logging import ListLogger
from lmm_core.markdown import find_markdown
from lmm_core.models.chat import run
from lmm_core.models.embedders.fastembed_embedder import FastEmbedder
from lmm_core.models.names import ModelName
from lmm_core.models.sources import ModelSource
from lmm_core.models.tokens import count_tokens
from lmm_core.retrieve.context import BUDGET, Context, build_context
from lmm_core.retrieve.library import Library
from lmm_core.retrieve.passages import Passage
from lmm_core.retrieve.queries import Expander, KeywordQueries
from lmm_core.retrieve.rerank import NoReranker, Reranker
from lmm_core.retrieve.retriever import Retrieval, Retriever
from lmm_core.settings.project import AskOptions, IndexOptions, Project, load_project
from lmm_core.store.opening import open_store
from lmm_core.store.places import LocalStorage
from lmm_core.store.vector_store import VectorStore
from lmm_core.workflows.ask import make_conversation, open_library
from lmm_core.workflows.index import Upload
from lmm_core.workflows.models import Models

ENCODINGS = ("bm25", "hybrid")
NONE, LOOPBACK = "none", "loopback"  # a reranker, and the source of another
CHUNKS = 20_000
WANTED = 0.100  # seconds
PARAGRAPHS, WORDS = 4, 30
SECTIONS, IN_CHAPTER = 50, 115  # sections of a chapter, and the chunks that they make


class QuestionAlone:
    """The question is the only query."""

    async def expand(self, question: str, language: str = "", earlier: Sequence[str] = ()) -> list[str]:
        return [question]


QUERIES: dict[str, Expander] = {"question": QuestionAlone(), "and keywords": KeywordQueries()}


@dataclass
class Bench:
    """Corpora as files in a folder, and a store for them."""

    folder: Path
    store: VectorStore
    corpora: dict[str, Corpus]
    asked: list[Question]
    budget: int

    async def rows(self, encoding: str) -> list[list[str]]:
        """A row for each strategy with an encoding."""
        library, models = await indexed(self.folder, self.store, encoding)
        made = []
        for name, expander in QUERIES.items():
            retriever = Retriever(library, expander)
            found = [await retriever.retrieve(question.text) for question in self.asked]
            made += [[encoding, name, "yes" if whole else "no", *self.cells(found, whole)] for whole in (False, True)]
        await models.close()
        return made

    async def reranked_rows(self, encoding: str, name: str, project: Project) -> list[list[str]]:
        """Rows with a reranker, by the queries that are made without a model. Raises NotMeasured."""
        library, models = await indexed(self.folder, self.store, encoding)
        try:
            reranker = Timed(reranker_of(project, name, models, library))
            retriever = Retriever(library, KeywordQueries(), reranker)
            found = [await retriever.retrieve(question.text) for question in self.asked]
        finally:
            await models.close()
        taken = f"{1000 * median(reranker.seconds):.0f}"
        return [[encoding, name, "yes" if whole else "no", *self.cells(found, whole), taken] for whole in (False, True)]

    def cells(self, found: Sequence[Retrieval], whole: bool) -> list[str]:
        contexts = [build_context(one, self.budget, whole=whole) for one in found]
        assert all(one.tokens <= self.budget for one in contexts)
        recalls = [self.recall(*both) for both in zip(self.asked, contexts, strict=True)]
        return [
            *shares(recalls, self.asked),
            f"{100 * pstdev(recalls):.0f}",
            f"{mean(one.tokens for one in contexts):.0f}",
            f"{mean(sum(count_tokens(source.text) for source in one.sources) for one in contexts):.0f}",
            f"{mean(len(one.sources) for one in contexts):.1f}",
        ]

    def recall(self, question: Question, context: Context) -> float:
        """The share of the characters that answer a question."""
        shown = [source.text for source in context.sources if corpus_of(source.source) == question.corpus]
        corpus = self.corpora[question.corpus]
        return question.share([span for text in shown for span in corpus.spans(text)])


async def indexed(folder: Path, store: VectorStore, encoding: str) -> tuple[Library, Models]:
    """A folder's index, and the models that are open for it."""
    index = IndexOptions(
        encoding, collection=encoding, companion=f"{encoding}-documents", split=split_options(DEFAULT)
    )  # fmt: skip
    project = Project(folder, index=index)
    project.models["embedding"] = f"fastembed/{MODEL}"
    models = Models(warn=say)
    await Upload(project, store, models, logger=ListLogger()).run(find_markdown([folder]))
    return await open_library(project, models, store), models


# Rerankers


class NotMeasured(Exception):
    """What keeps a reranker from being measured: `Retriever` would go on without it."""


@dataclass
class Timed:
    """A reranker, and how long it took for each question."""

    reranker: Reranker
    seconds: list[float] = field(default_factory=list)

    async def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """See `Reranker`. Raises NotMeasured."""
        begun = time.perf_counter()
        try:
            found = await self.reranker.rerank(question, passages)
        except ModelError as error:
            raise NotMeasured(str(error)) from None
        self.seconds.append(time.perf_counter() - begun)
        return found


def reranker_of(project: Project, name: str, models: Models, library: Library) -> Reranker:
    """What `rerank = name` in the project's `[ask]` gives. Raises NotMeasured."""
    try:
        made = make_conversation(replace(project, ask=AskOptions(rerank=name)), models, library).retriever.reranker
    except ModelError as error:
        raise NotMeasured(str(error)) from None
    if isinstance(made, NoReranker) and name != NONE:
        raise NotMeasured("no model is configured that could be asked")
    return made


@contextmanager
def with_loopback(project: Project) -> Iterator[Project]:
    """The project with one more source: a server of the shape of Jina's and Cohere's, in a thread, whose scores are
    the cosines of MiniLM's vectors of the question and of each passage."""
    sys.path.insert(0, str(ROOT))
    from tests.model_server import ModelServer

    embedder = FastEmbedder(ModelName("fastembed", str(MODEL)))

    def answer(body: dict[str, Any]) -> bytes:
        asked, *documents = run(embedder.embed([body["query"], *body["documents"]]))
        scores = [sum(map(float.__mul__, asked, vector)) for vector in documents]
        results = [{"index": at, "relevance_score": score} for at, score in enumerate(scores)]
        return json.dumps({"results": sorted(results, key=lambda one: -one["relevance_score"])}).encode()

    with ModelServer(reply=answer) as server:
        yield replace(project, sources={**project.sources, LOOPBACK: ModelSource(LOOPBACK, server.url)})


def rerank_table(bench: Bench, encodings: Sequence[str], names: Sequence[str], project: Project) -> None:
    """Table (b). What cannot be measured is said, and left out."""
    rows = []
    for encoding in encodings:
        for name in names:
            say(f"rerankers: {encoding}, {name}")
            try:
                rows += asyncio.run(bench.reranked_rows(encoding, name, project))
            except NotMeasured as error:
                say(f"{name} is left out: {error}")
    columns = ["encoding", "reranker", "whole sections", *MEANS, "±", "tokens", "of text", "sources", "ms"]
    title = f"(b) Recall within {bench.budget:,} tokens by reranker, and its milliseconds a question, median"
    print_table(title, columns, rows)


def measure_rerankers(bench: Bench, encodings: Sequence[str], wanted: Sequence[str], project: Project) -> None:
    """None, the one on loopback where its model is there, and those that are wanted."""
    if not MODEL.is_dir():
        say(f"{MODEL} is not there: no reranker on loopback")
        rerank_table(bench, encodings, [NONE, *wanted], project)
        return
    with with_loopback(project) as more:
        rerank_table(bench, encodings, [NONE, f"{LOOPBACK}/{MODEL.name}", *wanted], more)


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


async def timed(folder: Path, store: VectorStore, encoding: str, asked: Sequence[Question], runs: int) -> list[str]:
    """Medians of what comes between a question and the request to the model."""
    library, models = await indexed(folder, store, encoding)
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
    await models.close()
    chunks = f"{len((await library.material()).passages):,}"
    return [encoding, chunks, *(f"{1000 * median(one):.0f}" for one in (retrieving, building, both)),
            f"{1000 * max(both):.0f}", f"<= {1000 * WANTED:.0f}"]  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Contexts: recall within a budget, and time")
    parser.add_argument("--encodings", nargs="+", default=ENCODINGS, metavar="NAME")
    parser.add_argument(
        "--rerank", nargs="+", default=(), metavar="NAME", help="further rerankers, as [ask] rerank names them"
    )
    parser.add_argument("--budget", type=int, default=BUDGET, metavar="TOKENS")
    parser.add_argument("--runs", type=int, default=21, metavar="N", help="questions that are timed")
    parser.add_argument("--no-time", action="store_true", help="recall alone, without rerankers that are not named")
    chosen = parser.parse_args()
    if not (EVAL / "questions.jsonl").is_file():
        say(f"{EVAL} is not there: nothing is measured")
        return
    try:
        project = load_project(None)  # for `--rerank`: its sources, and its model
    except ConfigError as error:
        parser.error(str(error))
    encodings = list(chosen.encodings)
    if not MODEL.is_dir():
        say(f"{MODEL} is not there: encodings without a model alone")
        encodings = [name for name in encodings if name in WITHOUT_MODEL]
    corpora = read_corpora()
    asked = read_questions()
    print(machine())
    print(f"{len(asked)} questions; tokens are estimated where tiktoken's encoding is not on disk")
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        folder = Path(name, "texts")
        folder.mkdir()
        keep_cache()
        write_texts(folder, corpora)
        store = open_store(LocalStorage(Path(name, "index")))
        bench = Bench(folder, store, corpora, asked, chosen.budget)
        rows = []
        for encoding in encodings:
            say(f"recall: {encoding}")
            rows += asyncio.run(bench.rows(encoding))
        columns = ["encoding", "queries", "whole sections", *MEANS, "±", "tokens", "of text", "sources"]
        title = f"(a) Recall within {chosen.budget:,} tokens, in percent of characters; no reranker"
        print_table(title, columns, rows)
        if chosen.rerank or not chosen.no_time:
            measure_rerankers(bench, encodings, chosen.rerank, project)
        store.close()
        if not chosen.no_time:
            time_table(Path(name, "book"), corpora, asked, chosen.runs)


def time_table(folder: Path, corpora: dict[str, Corpus], asked: Sequence[Question], runs: int) -> None:
    """Table (c); without a model: embedding so many chunks takes half an hour, and a question then
    takes longer by what `benchmarks/indexing.py` says."""
    say("time: indexing")
    write_book(folder, corpora)
    store = open_store(LocalStorage(folder / "index"))
    rows = [asyncio.run(timed(folder, store, "bm25", asked, runs))]
    store.close()
    columns = ["encoding", "chunks", "retrieve", "context", "both", "slowest", "wanted"]
    print_table("(c) Milliseconds from a question to its context, warm, medians", columns, rows)


if __name__ == "__main__":
    main()
