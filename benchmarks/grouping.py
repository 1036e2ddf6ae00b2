"""Measure how well questions are grouped by meaning, without a model, at several thresholds.

python benchmarks/grouping.py [--intents FILE.csv ...]

Questions whose answer stands in one section, or that have one intent, belong together. The gold sets of
`tests/retrieve` are questions to the sample book: those that it answers with what its index finds for them,
the others by their words alone. The German and Russian questions of `../shared/eval/languages` are grouped
as if no notes answered them; those about one paragraph belong together, though they ask for different facts.
--intents: more sets, with the columns `text` and `category`, such as the test set of BANKING77.

The measure is B³: of each question, how many in its group belong to it (precision), and how many of those
that belong to it are in its group (recall). The last column leaves each set out: its F1 at the threshold that
is best for the others.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tables import machine, print_table
from texts import ROOT

sys.path.insert(0, str(ROOT))
from lmm_core.asked.features import QuestionVector, make_rows
from lmm_core.asked.groups import THRESHOLD
from lmm_core.asked.linkage import link
from lmm_core.asked.turns import RecordedSource, RecordedTurn
from lmm_core.logging import ListLogger
from lmm_core.models.embedders.bm25 import Bm25Encoder
from lmm_core.retrieve.ranking.words import asked_words
from lmm_core.retrieve.retriever import Retriever
from lmm_core.settings.project import load_project
from lmm_core.store.opening import open_store
from lmm_core.store.places import LocalStorage
from lmm_core.study.measures import section_address
from lmm_core.workflows.ask import open_library
from lmm_core.workflows.indexing.run import Upload
from lmm_core.workflows.models import Models
from tests.retrieve.questions import SETS, questions

THRESHOLDS = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
LANGUAGES = ROOT.parent / "shared" / "eval" / "languages"
FOUND = 8  # sections of a question


@dataclass(frozen=True)
class Labelled:
    """Turns with the label of what each belongs to."""

    name: str
    turns: Sequence[RecordedTurn]
    labels: Sequence[str]
    language: str = "en"

    def groups(self, threshold: float) -> list[list[int]]:
        """Return the groups, as numbers of turns."""
        encoder = Bm25Encoder(self.language)
        words = [" ".join(asked_words(turn.question, self.language)) for turn in self.turns]
        made = [QuestionVector(dict.fromkeys(encoder.encode_query(one, [self.language]).indices, 1.0)) for one in words]
        return link(make_rows(self.turns, made), threshold)

    def f1(self, threshold: float) -> tuple[float, float, float]:
        """Return precision, recall and F1 by B³."""
        group_of = {at: number for number, group in enumerate(self.groups(threshold)) for at in group}
        pairs = [(label, group_of[at]) for at, label in enumerate(self.labels)]
        both, label, group = Counter(pairs), Counter(self.labels), Counter(group_of.values())
        precision = sum(both[one] / group[one[1]] for one in pairs) / len(pairs)
        recall = sum(both[one] / label[one[0]] for one in pairs) / len(pairs)
        return precision, recall, 2 * precision * recall / (precision + recall)


async def gold() -> Labelled:
    """Return the questions to the sample book with what its index finds."""
    with tempfile.TemporaryDirectory() as folder:
        book = shutil.copytree(ROOT / "sample-book", Path(folder) / "book")
        project, models = load_project(book / "-"), Models()
        store = open_store(LocalStorage(project.root / project.index.folder))
        await Upload(project, store, models, False, False, ListLogger()).run(sorted(book.glob("*.*md")))
        store.close()
        library = await open_library(project, models)
        asked = [one for name in SETS for one in questions(name)]
        found = [(await Retriever(library).retrieve(question)).sections[:FOUND] for question, _ in asked]
        library.store.close()
    turns, labels = [], []
    for at, ((question, wanted), ranked) in enumerate(zip(asked, found, strict=True)):
        sources = [RecordedSource(section_address(one.section), (), k, one.score) for k, one in enumerate(ranked, 1)]
        outcome = "answered" if wanted else "refused"
        turns.append(RecordedTurn(str(at), "", "", question, outcome=outcome, sources=tuple(sources)))
        labels.append(wanted[0] if wanted else f"none {at}")
    return Labelled("sample book", turns, labels)


def unanswered(name: str, pairs: Sequence[tuple[str, str]], language: str = "en") -> Labelled:
    """Return questions that no notes answer; pairs: each with its label."""
    turns = [RecordedTurn(str(at), "", "", question, outcome="refused") for at, (question, _) in enumerate(pairs)]
    return Labelled(name, turns, [label for _, label in pairs], language)


def paragraphs(language: str) -> Labelled:
    """Return the questions of XQuAD in a language."""
    read = json.loads((LANGUAGES / f"xquad-{language}.json").read_text(encoding="utf-8"))["questions"]
    return unanswered(f"XQuAD {language}", [(one["question"], str(one["paragraph"])) for one in read], language)


def intents(path: Path) -> Labelled:
    """Return the questions of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return unanswered(path.stem, [(row["text"], row["category"]) for row in csv.DictReader(file)][:1000])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--intents", type=Path, nargs="*", default=[])
    sets = [asyncio.run(gold())]
    sets += [paragraphs(language) for language in ("de", "ru") if LANGUAGES.is_dir()]
    sets += [intents(path) for path in parser.parse_args().intents]
    print(f"{machine()}; the threshold is {THRESHOLD}")
    measured = {one.name: [one.f1(threshold) for threshold in THRESHOLDS] for one in sets}
    rows = [
        [name, *("/".join(f"{figure:.2f}" for figure in figures) for figures in found), left_out(name, measured)]
        for name, found in measured.items()
    ]
    print_table("B³: precision/recall/F1", ["questions", *map(str, THRESHOLDS), "left out"], rows)


def left_out(name: str, measured: dict[str, list[tuple[float, float, float]]]) -> str:
    """Return the F1 of a set at the threshold that is best for the others."""
    others = [found for other, found in measured.items() if other != name]
    if not others:
        return "-"
    best = max(range(len(THRESHOLDS)), key=lambda at: sum(found[at][2] for found in others))
    return f"{measured[name][best][2]:.2f} at {THRESHOLDS[best]}"


if __name__ == "__main__":
    main()
