"""Read what retrieval is measured with: corpora with questions, distractors, and texts in other languages."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean

from tables import say
from texts import CORPORA as DISTRACTORS
from texts import ROOT

from lmm_core.indexing.refresh import Refresh
from lmm_core.logging import ListLogger
from lmm_core.markdown import find_markdown
from lmm_core.models.embedders.fastembed_models import models_folder
from lmm_core.settings.models import Models
from lmm_core.settings.project import Project
from lmm_core.settings.tables import DatabaseOptions, EmbeddingOptions
from lmm_core.store.vector_store import VectorStore

EVAL = ROOT.parent / "shared" / "eval"
MODEL = ROOT.parent / "shared" / "models" / "all-MiniLM-L6-v2-int8"
CACHE = ROOT / ".cache" / "benchmarks"
QUESTIONS = ("questions.jsonl", "questions-medicine.jsonl")
CORPORA = ("articles", "speech", "medicine")
WITHOUT_MODEL = ("bm25", "sparse")
SEED = 16  # characters without white space; fewer that are equal may be chance
NEAR = 200  # characters after a match: there, a shorter one is none
_HEADING = re.compile(r" ((?:= )+)(.+?) (?:= ?)+\n?")

Spans = list[tuple[int, int]]  # of characters, the end excluded


@dataclass
class Corpus:
    """A text as markdown; `origin` is where each character of it stands in the file that
    the questions were made for, -1 for what is added."""

    text: str
    origin: list[int]

    @classmethod
    def of_file(cls, text: str) -> Corpus:
        """Return a file as it stands."""
        return cls(text, list(range(len(text))))

    @cached_property
    def places(self) -> list[int]:
        """Return where each character of the file that is no white space, and in the markdown, stands in the file."""
        return [at for sign, at in zip(self.text, self.origin, strict=True) if at >= 0 and not sign.isspace()]

    @cached_property
    def solid(self) -> str:
        """The same characters."""
        return "".join(
            sign for sign, at in zip(self.text, self.origin, strict=True) if at >= 0 and not sign.isspace()
        )  # fmt: skip

    def spans(self, shown: str) -> Spans:
        """Return where a text that is shown stands in the file.

        White space does not count, and what is not in the file (marks of gaps) is passed over: the
        longest piece that is equal is taken each time. What stands twice counts where it first stands."""
        wanted = "".join(shown.split())
        found: Spans = []
        at = last = 0
        while at < len(wanted):
            start, size = self._longest(wanted, at, last)
            if size:
                last = start + size
                found.append((self.places[start], self.places[last - 1] + 1))
            at += size or 1
        return found

    def _longest(self, wanted: str, at: int, last: int) -> tuple[int, int]:
        """Return where the longest piece of the text begins that is equal, and its length; 0 if there is none.

        last: where the piece before ends."""
        seed = wanted[at : at + SEED]
        if len(seed) < SEED:  # the last words: where they follow the others
            start = self.solid.find(seed, last, last + NEAR) if last else -1
            return (start, len(seed)) if start >= 0 else (0, 0)
        longest = start, size = 0, 0
        start = self.solid.find(seed)
        while start >= 0:
            size = equal(self.solid, start, wanted, at)
            if size > longest[1]:
                longest = start, size
            start = self.solid.find(seed, start + 1)
        return longest


def equal(one: str, at: int, other: str, there: int) -> int:
    """Return how many characters are equal from two places on."""
    low, high = 0, min(len(one) - at, len(other) - there)
    while low < high:
        middle = (low + high + 1) // 2
        if one[at + low : at + middle] == other[there + low : there + middle]:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass
class Question:
    """A question, its corpus, and where the passages that answer it stand in the file."""

    text: str
    corpus: str
    references: Spans

    def share(self, spans: Spans) -> float:
        """Return the share of the characters of the answering passages that these spans have."""
        references = union(self.references)
        return common(references, union(spans)) / length(references)


# Texts and questions


def as_markdown(text: str) -> Corpus:
    """The articles spell headings ` = = Title = = `, and a paragraph is a line; others stay as they are."""
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
    origin = [at + n if at >= 0 else -1 for part, at in parts for n in range(len(part))]
    return Corpus("".join(part for part, _ in parts), origin)


def read_corpora() -> dict[str, Corpus]:
    """The corpora that there are questions for."""
    return {name: as_markdown((EVAL / f"{name}.md").read_bytes().decode("utf-8")) for name in CORPORA}


def read_questions() -> list[Question]:
    """All questions, corpus by corpus."""
    lines = [line for name in QUESTIONS for line in (EVAL / name).read_text(encoding="utf-8").splitlines()]
    return [
        Question(one["question"], one["corpus"], [(ref["start"], ref["end"]) for ref in one["references"]])
        for one in map(json.loads, lines)
    ]


def write_texts(folder: Path, corpora: Mapping[str, Corpus]) -> None:
    """Write the corpora and the distractors into a new folder."""
    folder.mkdir()
    for name, corpus in corpora.items():
        Path(folder, f"{name}.md").write_text(corpus.text, encoding="utf-8", newline="")
    for path in find_markdown([DISTRACTORS]) if DISTRACTORS.is_dir() else ():
        copy = folder / "distractors" / path.resolve().relative_to(DISTRACTORS.resolve())
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())


def keep_cache(folder: Path = CACHE) -> None:
    """Let vectors be cached in a folder, that of the checkout from run to run; models that were got are the user's."""
    got = models_folder()
    os.environ["XDG_CACHE_HOME"] = str(folder)
    if got.is_dir() and not models_folder().exists():
        models_folder().parent.mkdir(parents=True, exist_ok=True)
        models_folder().symlink_to(got, target_is_directory=True)


def without_model(encodings: Sequence[str]) -> list[str]:
    """Return the encodings that can be measured here; if some cannot, it is said."""
    if MODEL.is_dir():
        return list(encodings)
    say(f"{MODEL} is not there: encodings without a model alone")
    return [name for name in encodings if name in WITHOUT_MODEL]


async def index_project(folder: Path, store: VectorStore, encoding: str) -> tuple[Project, Models]:
    """Index a folder as `lmm index` does, each encoding a collection, and return the project and its open models."""
    Path(folder, "config.toml").touch()  # so that documents are named from here
    database = DatabaseOptions(encoding, f"{encoding}-documents")
    project = Project(folder, embeddings=EmbeddingOptions(encoding=encoding), database=database)
    project.models["embedding"] = f"fastembed/{MODEL}"
    models = Models(warn=say)
    await Refresh(project, store, models, logger=ListLogger()).run(find_markdown([folder]))
    return project, models


def corpus_of(source: str) -> str:
    """Return the corpus that a file of an index is, or the file's name if it is a distractor."""
    return source.removesuffix(".md") if source.removesuffix(".md") in CORPORA else source


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
    """Return how many characters there are."""
    return sum(end - start for start, end in spans)


def common(spans: Spans, others: Spans) -> int:
    """Return how many characters are in both."""
    return sum(max(0, min(end, b) - max(start, a)) for start, end in spans for a, b in others)


def by_corpus(values: Sequence[float], asked: Sequence[Question]) -> dict[str, float]:
    """Return the mean of a measure for each corpus."""
    of_corpus: dict[str, list[float]] = {}
    for value, question in zip(values, asked, strict=True):
        of_corpus.setdefault(question.corpus, []).append(value)
    return {name: mean(found) for name, found in of_corpus.items()}


MEANS = (*CORPORA, "corpora", "questions")  # columns: each corpus, and the means over corpora and over questions


def shares(values: Sequence[float], asked: Sequence[Question]) -> list[str]:
    """Return cells for `MEANS`, in percent."""
    means = by_corpus(values, asked)
    return [f"{100 * one:.1f}" for one in (*(means[name] for name in CORPORA), mean(means.values()), mean(values))]
