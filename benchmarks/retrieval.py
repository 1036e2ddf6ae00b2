"""How well the index finds the passages that answer questions.

python benchmarks/retrieval.py [--encodings bm25 hybrid] [--sizes 1000 200t]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, pstdev

import languages
from evaluation import (
    EVAL,
    MEANS,
    MODEL,
    Corpus,
    Question,
    Spans,
    corpus_of,
    keep_cache,
    length,
    read_corpora,
    read_questions,
    shares,
    union,
    without_model,
    write_texts,
)
from tables import machine, print_table, say

from lmm_core.indexing.collection import aquery
from lmm_core.indexing.refresh import Refresh
from lmm_core.logging import ListLogger
from lmm_core.markdown import find_markdown
from lmm_core.models.tokens import count_tokens
from lmm_core.settings.models import Models
from lmm_core.settings.project import Project
from lmm_core.settings.tables import DatabaseOptions, EmbeddingOptions, SplitOpts
from lmm_core.store.places import LocalStorage, open_store
from lmm_core.store.vector_store import ScoredPoint, VectorStore

# With annotations alone in a vector: there are only titles here, and those of the articles and distractors alone.
ON_TITLES = ("sparse", "sparse_content", "sparse_merged", "sparse_multivector")
ENCODINGS = ("bm25", "content", "merged", "multivector", "hybrid")
SIZES = ("500", "1000", "1500", "128t", "170t", "200t", "320t")
DEFAULT = "1000"
FEW, MANY = 5, 10


@dataclass
class Score:
    """What came of one question."""

    recall: float
    recall_many: float
    precision: float
    rank: float
    tokens: int


# Measures


def score(question: Question, points: Sequence[ScoredPoint], corpora: dict[str, Corpus]) -> Score:
    places: list[Spans] = []  # of each chunk in the question's corpus; none for one of another
    for point in points:
        here = corpus_of(point.payload["source"]) == question.corpus
        places.append(corpora[question.corpus].spans(point.payload["page_content"]) if here else [])
    few = points[:FEW]
    recalls = [question.share([span for spans in places[:count] for span in spans]) for count in (FEW, MANY)]
    covered = recalls[0] * length(union(question.references))
    hits = [rank for rank, spans in enumerate(places, 1) if question.share(spans)]
    return Score(
        *recalls,
        covered / sum(len(point.payload["page_content"]) for point in few) if few else 0.0,
        1 / hits[0] if hits else 0.0,
        sum(count_tokens(point.payload["page_content"]) for point in few),
    )


# Runs


def split_options(size: str) -> SplitOpts:
    """`1000`: characters; `200t`: tokens. At most twice as many."""
    count = int(size.removesuffix("t"))
    return SplitOpts(count, 2 * count, unit="tokens" if size.endswith("t") else "characters")


@dataclass
class Bench:
    """Texts as files in a folder, and a store for them."""

    folder: Path
    store: VectorStore
    corpora: dict[str, Corpus]
    asked: list[Question]
    recalls: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    async def measure(self, encoding: str, size: str) -> tuple[int, int, list[Score]]:
        """Chunks, their mean tokens, and the scores of all questions."""
        name = f"{encoding}-{size}"
        database, embeddings = DatabaseOptions(name, f"{name}-documents"), EmbeddingOptions(encoding=encoding)
        project = Project(self.folder, database=database, embeddings=embeddings, split=split_options(size))
        project.models["embedding"] = f"fastembed/{MODEL}"
        models = Models(warn=say)
        upload = Refresh(project, self.store, models, logger=ListLogger())
        await upload.run(find_markdown([self.folder]))
        assert upload.encoder is not None
        stored = [point.payload["page_content"] for point in self.store.scroll(name)]
        scores = []
        for question in self.asked:
            points = await aquery(self.store, name, upload.encoder, question.text, MANY)
            scores.append(score(question, points, self.corpora))
        await models.close()
        return len(stored), round(mean(map(count_tokens, stored))), scores

    def row(self, encoding: str, size: str) -> list[str]:
        count, tokens, scores = asyncio.run(self.measure(encoding, size))
        self.recalls[encoding, size] = recalls = [one.recall for one in scores]
        return [
            encoding,
            shown(size),
            str(count),
            str(tokens),
            f"{100 * mean(recalls):.1f}",
            f"{100 * pstdev(recalls):.0f}",
            *shares([one.recall_many for one in scores], self.asked),
            f"{mean(one.rank for one in scores):.3f}",
            f"{100 * mean(one.precision for one in scores):.1f}",
            f"{mean(one.tokens for one in scores):.0f}",
        ]

    def titles_row(self, size: str) -> list[str]:
        """Recall without the titles and what they add, as in `MEANS`."""
        without, with_titles = (shares(self.recalls[encoding, size], self.asked) for encoding in ("content", "merged"))
        added = [float(one) - float(other) for one, other in zip(with_titles, without, strict=True)]
        return [shown(size), *(f"{one} {more:+.1f}" for one, more in zip(without, added, strict=True))]


def shown(size: str) -> str:
    return f"{size.removesuffix('t')} tokens" if size.endswith("t") else f"{size} characters"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Retrieval: encodings and chunk sizes")
    parser.add_argument("--encodings", nargs="+", default=[*ENCODINGS, *ON_TITLES], metavar="NAME")
    parser.add_argument("--sizes", nargs="+", default=SIZES, metavar="N", help="characters; 200t: tokens")
    chosen = parser.parse_args()
    if not (EVAL / "questions.jsonl").is_file():
        say(f"{EVAL} is not there: nothing is measured")
        return
    encodings = without_model(chosen.encodings)
    corpora, asked = read_corpora(), read_questions()
    print(machine())
    print(f"{len(asked)} questions")
    keep_cache()
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        folder = Path(name, "texts")
        write_texts(folder, corpora)
        Path(folder, "config.toml").touch()  # so that documents are named from here
        bench = Bench(folder, open_store(LocalStorage(Path(name, "index"))), corpora, asked)
        rows = []
        for encoding in encodings:
            for size in chosen.sizes:
                if encoding in ON_TITLES and size != DEFAULT and len(chosen.sizes) > 1:
                    continue
                say(f"{encoding} {size}")
                rows.append(bench.row(encoding, size))
        bench.store.close()
    many = [f"@{MANY} {column}" for column in MEANS]
    columns = ["encoding", "chunk size", "chunks", "tokens", f"recall@{FEW}", "±", *many, "MRR", f"precision@{FEW}",
               f"tokens@{FEW}"]  # fmt: skip
    print_table("(a) Recall and precision, in percent of characters", columns, rows)
    both = [size for size in chosen.sizes if {("content", size), ("merged", size)} <= set(bench.recalls)]
    if both:
        title = f"(b) Recall@{FEW} by the text alone (content), and what titles add (merged)"
        print_table(title, ["chunk size", *MEANS], list(map(bench.titles_row, both)))
    if (EVAL / "languages").is_dir():
        known = [name for name in encodings if name in languages.ENCODINGS]
        languages.print_languages("(c) Other languages: hit@1 / hit@5 of the paragraph, in percent", known)


if __name__ == "__main__":
    main()
