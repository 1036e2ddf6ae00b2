"""Long texts with questions, and what is needed to index them: what of an answer is in a text that is shown?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tables import say
from texts import CORPORA as DISTRACTORS
from texts import ROOT, SHARED

from lmm_core.indexing.refresh import Refresh
from lmm_core.logging import ListLogger
from lmm_core.markdown import find_markdown
from lmm_core.settings.models import Models
from lmm_core.settings.project import Project
from lmm_core.settings.tables import DatabaseOptions, EmbeddingOptions
from lmm_core.store.vector_store import VectorStore

EVAL = SHARED / "eval"
MODEL = SHARED / "models" / "all-MiniLM-L6-v2-int8"
CACHE = ROOT / ".cache" / "benchmarks"
QUESTIONS = ("questions.jsonl", "questions-medicine.jsonl")
CORPORA = ("articles", "speech", "medicine")
SEED = 16  # characters without white space; fewer that are equal may be chance
NEAR = 200  # characters after a match in which a shorter one may follow
_WIKI_HEADING = re.compile(r" ((?:= )+)(.+?) (?:= ?)+\n?")

Spans = list[tuple[int, int]]  # of characters, the end excluded


@dataclass
class Corpus:
    """A text as markdown. origin: where each character stands in the file that the questions were made for, or -1."""

    text: str
    origin: list[int]

    @cached_property
    def places(self) -> list[int]:
        """Return where each character of `solid` stands in the file."""
        return [at for sign, at in zip(self.text, self.origin, strict=True) if at >= 0 and not sign.isspace()]

    @cached_property
    def solid(self) -> str:
        """Return the characters of the file that are no white space."""
        signs = zip(self.text, self.origin, strict=True)
        return "".join(sign for sign, at in signs if at >= 0 and not sign.isspace())

    def spans(self, shown: str) -> Spans:
        """Return where a text that is shown stands in the file.

        White space does not count, and what is not in the file (marks of gaps) is passed over: the
        longest piece that is equal is taken each time. What stands twice counts where it first stands."""
        wanted = "".join(shown.split())
        spans: Spans = []
        at = last = 0
        while at < len(wanted):
            start, size = self._longest(wanted[at:], last)
            if size:
                last = start + size
                spans.append((self.places[start], self.places[last - 1] + 1))
            at += size or 1
        return spans

    def _longest(self, wanted: str, last: int) -> tuple[int, int]:
        """Return where the longest beginning of a text stands, and its length; 0 if there is none.

        last: where the piece before ends"""
        seed = wanted[:SEED]
        if len(seed) < SEED:  # the last words: where they follow the others
            start = self.solid.find(seed, last, last + NEAR) if last else -1
            return (start, len(seed)) if start >= 0 else (0, 0)
        longest = start, size = 0, 0
        start = self.solid.find(seed)
        while start >= 0:
            size = equal(self.solid[start : start + len(wanted)], wanted)
            if size > longest[1]:
                longest = start, size
            start = self.solid.find(seed, start + 1)
        return longest


def equal(text: str, other: str) -> int:
    """Return how many characters two texts have in common from their beginnings on."""
    pairs = zip(text, other, strict=False)
    return next((at for at, (sign, another) in enumerate(pairs) if sign != another), min(len(text), len(other)))


@dataclass
class Question:
    """A question, its corpus, and where the passages that answer it stand in the file."""

    text: str
    corpus: str
    references: Spans

    def share(self, spans: Spans) -> float:
        """Return the share of the characters of the answering passages that are in some spans."""
        references = characters(self.references)
        return len(references & characters(spans)) / len(references)


def characters(spans: Iterable[tuple[int, int]]) -> set[int]:
    """Return the places of all characters of some spans."""
    return {at for start, end in spans for at in range(start, end)}


def read_corpora() -> dict[str, Corpus]:
    """Return the texts that there are questions for."""
    return {name: as_markdown((EVAL / f"{name}.md").read_bytes().decode("utf-8")) for name in CORPORA}


def as_markdown(text: str) -> Corpus:
    """Return a text with headings of markdown.

    The articles spell headings ` = = Title = = `, and a paragraph is a line; other texts stay as they are."""
    lines = text.splitlines(keepends=True)
    parts: list[tuple[str, int]] = []
    is_wiki = any(map(wiki_heading, lines))
    at = 0
    for line in lines:
        if heading := wiki_heading(line):
            parts.append((f"{heading}\n\n", -1))
        else:
            parts.append((line, at))
            parts.append(("\n" if is_wiki else "", -1))
        at += len(line)
    origin = [at + n if at >= 0 else -1 for part, at in parts for n in range(len(part))]
    return Corpus("".join(part for part, _ in parts), origin)


def wiki_heading(line: str) -> str:
    """Return a line like ` = = Title = = ` as a heading of markdown, or ""."""
    match = _WIKI_HEADING.fullmatch(line)
    return f"{'#' * match[1].count('=')} {match[2]}" if match else ""


def read_questions() -> list[Question]:
    """Return all questions, text by text."""
    lines = [line for name in QUESTIONS for line in (EVAL / name).read_text(encoding="utf-8").splitlines()]
    return [
        Question(data["question"], data["corpus"], [(part["start"], part["end"]) for part in data["references"]])
        for data in map(json.loads, lines)
    ]


def write_texts(folder: Path, corpora: Mapping[str, Corpus]) -> None:
    """Write the texts into a new folder, with files that answer no question."""
    folder.mkdir()
    for name, corpus in corpora.items():
        Path(folder, f"{name}.md").write_text(corpus.text, encoding="utf-8", newline="")
    for path in find_markdown([DISTRACTORS]) if DISTRACTORS.is_dir() else ():
        copy = folder / "distractors" / path.resolve().relative_to(DISTRACTORS.resolve())
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())


async def index_project(folder: Path, store: VectorStore, encoding: str) -> tuple[Project, Models]:
    """Index a folder as `lmm index` does, each encoding a collection, and return the project and its open models."""
    Path(folder, "config.toml").touch()  # so that documents are named from here
    database = DatabaseOptions(encoding, f"{encoding}-documents")
    project = Project(folder, embeddings=EmbeddingOptions(encoding=encoding), database=database)
    project.models["embedding"] = f"fastembed/{MODEL}"
    models = Models(warn=say)
    await Refresh(project, store, models, logger=ListLogger()).run(find_markdown([folder]))
    return project, models
