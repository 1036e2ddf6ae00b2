"""How well the index finds the passages that answer questions.

python benchmarks/retrieval.py [--encodings bm25 hybrid] [--sizes 1000 200t]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, pstdev

from tables import machine, print_table, say
from texts import ROOT

from lmm_core.index.collection import aquery
from lmm_core.models.tokens import estimate_tokens
from lmm_core.scan.options import SplitOpts
from lmm_core.settings.project import IndexOptions, Project
from lmm_core.store.opening import open_store
from lmm_core.store.vector_store import ScoredPoint, VectorStore
from lmm_core.workflows.index import Upload
from lmm_core.workflows.models import Models

EVAL = ROOT.parent / "shared" / "eval"
MODEL = ROOT.parent / "shared" / "models" / "all-MiniLM-L6-v2-int8"
CORPORA = ("articles", "speech")
# With annotations alone in a vector: there are only titles here, and none in the speech.
ON_TITLES = ("sparse", "sparse_content", "sparse_merged", "sparse_multivector")
ENCODINGS = ("bm25", "content", "merged", "multivector", "hybrid")
WITHOUT_MODEL = ("bm25", "sparse")
SIZES = ("500", "1000", "1500", "128t", "170t", "200t", "320t")
DEFAULT = "1000"
FEW, MANY = 5, 10
_HEADING = re.compile(r" ((?:= )+)(.+?) (?:= ?)+\n?")

Spans = list[tuple[int, int]]


@dataclass
class Corpus:
    """A text as markdown; `origin` is where each character of it stands in the file that
    the questions were made for, -1 for what is added."""

    text: str
    origin: list[int]
    lines: list[int]

    def span(self, content: str, line: int) -> tuple[int, int]:
        """Where a chunk that starts in a line stands in the original file."""
        start = self.text.index(content, self.lines[line - 1])
        found = [at for at in self.origin[start : start + len(content)] if at >= 0]
        return found[0], found[-1] + 1


@dataclass
class Question:
    """A question, and where the passages that answer it stand."""

    text: str
    corpus: str
    references: Spans


@dataclass
class Score:
    """What came of one question."""

    recall: float
    recall_many: float
    precision: float
    rank: float
    tokens: int


# Texts and questions


def as_markdown(text: str) -> Corpus:
    """The articles spell headings ` = = Title = = `, and a paragraph is a line."""
    parts: list[tuple[str, int]] = []
    wiki = any(map(_HEADING.fullmatch, text.splitlines(keepends=True)))
    at = 0
    for line in text.splitlines(keepends=True):
        if match := _HEADING.fullmatch(line):
            parts.append((f"{'#' * match[1].count('=')} {match[2]}\n\n", -1))
        else:
            parts.append((line, at))
            parts.append(("\n" if wiki else "", -1))
        at += len(line)
    made = "".join(part for part, _ in parts)
    origin = [at + n if at >= 0 else -1 for part, at in parts for n in range(len(part))]
    return Corpus(made, origin, [0, *(found.end() for found in re.finditer("\n", made))])


def questions() -> list[Question]:
    lines = (EVAL / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        Question(one["question"], one["corpus"], [(ref["start"], ref["end"]) for ref in one["references"]])
        for one in map(json.loads, lines)
    ]


# Measures


def union(spans: Spans) -> Spans:
    """The same characters, each once."""
    found: Spans = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def length(spans: Spans) -> int:
    return sum(end - start for start, end in spans)


def common(spans: Spans, others: Spans) -> int:
    """How many characters are in both."""
    return sum(max(0, min(end, b) - max(start, a)) for start, end in spans for a, b in others)


def score(question: Question, points: Sequence[ScoredPoint], corpora: dict[str, Corpus]) -> Score:
    places: list[Spans] = []  # of each chunk in the question's corpus; none for one of another
    for point in points:
        name = Path(point.payload["source"]).stem
        span = corpora[name].span(point.payload["page_content"], point.payload["line_start"])
        places.append([span] if name == question.corpus else [])
    references = union(question.references)

    def covered(count: int) -> int:
        return common(references, union([span for spans in places[:count] for span in spans]))

    few = points[:FEW]
    hits = [rank for rank, spans in enumerate(places, 1) if common(references, spans)]
    return Score(
        covered(FEW) / length(references),
        covered(MANY) / length(references),
        covered(FEW) / sum(len(point.payload["page_content"]) for point in few) if few else 0.0,
        1 / hits[0] if hits else 0.0,
        sum(estimate_tokens(point.payload["page_content"]) for point in few),
    )


# Runs


def split_options(size: str) -> SplitOpts:
    """`1000`: characters; `200t`: tokens. At most twice as many."""
    count = int(size.removesuffix("t"))
    return SplitOpts(count, 2 * count, unit="tokens" if size.endswith("t") else "characters", documents=-1)


@dataclass
class Bench:
    """Corpora as files in a folder, and a store for them."""

    folder: Path
    store: VectorStore
    corpora: dict[str, Corpus]
    asked: list[Question]
    recalls: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    async def measure(self, encoding: str, size: str) -> tuple[int, int, list[Score]]:
        """Chunks, their mean tokens, and the scores of all questions."""
        name = f"{encoding}-{size}"
        index = IndexOptions(encoding, collection=name, companion=f"{name}-documents", split=split_options(size))
        project = Project(self.folder, index=index)
        project.models["embedding"] = f"fastembed/{MODEL}"
        models = Models(warn=say)
        upload = Upload(project, self.store, models)
        await upload.run([self.folder / f"{corpus}.md" for corpus in CORPORA])
        assert upload.encoder is not None
        stored = [point.payload["page_content"] for point in self.store.scroll(name)]
        scores = []
        for question in self.asked:
            points = await aquery(self.store, name, upload.encoder, question.text, MANY)
            scores.append(score(question, points, self.corpora))
        await models.close()
        return len(stored), round(mean(map(estimate_tokens, stored))), scores

    def row(self, encoding: str, size: str) -> list[str]:
        count, tokens, scores = asyncio.run(self.measure(encoding, size))
        self.recalls[encoding, size] = [one.recall for one in scores]
        recalls = [one.recall for one in scores]
        return [
            encoding,
            shown(size),
            str(count),
            str(tokens),
            f"{100 * mean(recalls):.1f}",
            f"{100 * pstdev(recalls):.0f}",
            f"{100 * mean(one.recall_many for one in scores):.1f}",
            f"{mean(one.rank for one in scores):.3f}",
            f"{100 * mean(one.precision for one in scores):.1f}",
            f"{mean(one.tokens for one in scores):.0f}",
        ]

    def titles_row(self, size: str) -> list[str]:
        """Recall without the titles and with them, of each text and of both."""
        cells = [shown(size)]
        for names in (("articles",), ("speech",), CORPORA):
            found = [
                [100 * one for one, question in zip(self.recalls[encoding, size], self.asked, strict=True)
                 if question.corpus in names]
                for encoding in ("content", "merged")
            ]  # fmt: skip
            cells.append(f"{mean(found[0]):.1f} {mean(found[1]) - mean(found[0]):+.1f}")
        return cells


def shown(size: str) -> str:
    return f"{size.removesuffix('t')} tokens" if size.endswith("t") else f"{size} characters"


def in_headings(asked: Sequence[Question], corpora: dict[str, Corpus]) -> float:
    """The share of the references that no chunk can have."""
    texts = {name: set(corpus.origin) for name, corpus in corpora.items()}
    found = [at in texts[one.corpus] for one in asked for span in one.references for at in range(*span)]
    return 1 - mean(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Retrieval: encodings and chunk sizes")
    parser.add_argument("--encodings", nargs="+", default=[*ENCODINGS, *ON_TITLES], metavar="NAME")
    parser.add_argument("--sizes", nargs="+", default=SIZES, metavar="N", help="characters; 200t: tokens")
    chosen = parser.parse_args()
    if not (EVAL / "questions.jsonl").is_file():
        say(f"{EVAL} is not there: nothing is measured")
        return
    encodings = chosen.encodings
    if not MODEL.is_dir():
        say(f"{MODEL} is not there: encodings without a model alone")
        encodings = [name for name in encodings if name in WITHOUT_MODEL]
    corpora = {name: as_markdown((EVAL / f"{name}.md").read_text(encoding="utf-8")) for name in CORPORA}
    asked = questions()
    print(machine())
    share = in_headings(asked, corpora)
    print(f"{len(asked)} questions; {100 * share:.2f}% of the references are headings, which no chunk has")
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as folder:
        os.environ["XDG_CACHE_HOME"] = str(Path(folder, "cache"))
        for name, corpus in corpora.items():
            Path(folder, f"{name}.md").write_text(corpus.text, encoding="utf-8", newline="")
        bench = Bench(Path(folder), open_store(":memory:"), corpora, asked)
        rows = []
        for encoding in encodings:
            for size in chosen.sizes:
                if encoding in ON_TITLES and size != DEFAULT and len(chosen.sizes) > 1:
                    continue
                say(f"{encoding} {size}")
                rows.append(bench.row(encoding, size))
        bench.store.close()
    columns = ["encoding", "chunk size", "chunks", "tokens", f"recall@{FEW}", "±", f"recall@{MANY}", "MRR",
               f"precision@{FEW}", f"tokens@{FEW}"]  # fmt: skip
    print_table("(a) Recall and precision, in percent of characters", columns, rows)
    both = [size for size in chosen.sizes if {("content", size), ("merged", size)} <= set(bench.recalls)]
    if both:
        title = f"(b) Recall@{FEW} by the text alone (content), and what titles add (merged)"
        print_table(title, ["chunk size", "articles", "speech, no titles", "both"], list(map(bench.titles_row, both)))


if __name__ == "__main__":
    main()
