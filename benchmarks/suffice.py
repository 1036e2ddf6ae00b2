"""Measure when a question's own words suffice, so that a model need not be asked for queries.

python benchmarks/suffice.py [--encodings bm25 hybrid]

They suffice where the best passage has a share of what the question says (`ENOUGH` in
`lmm_core/retrieve/search.py`), counted by how rare the words are.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from ask import ENCODINGS, Bench, shown_texts
from evaluation import EVAL, index_project, keep_cache, read_corpora, read_questions, without_model, write_texts
from questions import BOOKS, make_book
from tables import machine, print_table, say
from texts import ROOT

sys.path.insert(0, str(ROOT))
from lmm_core.models.chat import run
from lmm_core.retrieve.context import BUDGET, build_context
from lmm_core.retrieve.library import open_library
from lmm_core.retrieve.search import ENOUGH, Retrieval, Retriever
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from lmm_core.store.opening import open_store
from lmm_core.store.places import LocalStorage
from tests.retrieve.questions import SETS, questions, section

SHARES = (0.5, 0.6, 0.7, 0.8, ENOUGH, 0.99)
LOSS = 0.005  # of the recall, that all of a model's queries could win back, at most


@dataclass(frozen=True)
class Found:
    """A question to a group of texts: the share of it that its best passage has, and the recall of its context."""

    group: str
    share: float
    recall: float


def share_of(found: Retrieval) -> float:
    matched = found.lexical.match(found.text, found.passages[:1])
    return next((one.share for one in matched.values()), 0.0)


def scores(found: Retrieval) -> list[float]:
    """Other signs that were tried: how far the best span stands out from the second, and from the sixth."""
    best = [one.score for one in found.spans[:6]] or [0.0]
    return [1 - best[at] / best[0] if len(best) > at and best[0] else 0.0 for at in (1, 5)]


async def measure(bench: Bench, encoding: str) -> tuple[list[Found], list[list[float]]]:
    project, models = await index_project(bench.folder, bench.store, encoding)
    library = await open_library(project, models, bench.store)
    found, signs = [], []
    for question in bench.asked:
        one = await Retriever(library).retrieve(question.text)
        recall = bench.recall(question, shown_texts(build_context(one, BUDGET)))
        found.append(Found(question.corpus, share_of(one), recall))
        signs.append([found[-1].share, *scores(one)])
    await models.close()
    return found, signs


async def measure_book(book: Path, name: str) -> list[Found]:
    """Questions to the sample book: whether a section that answers is in the context."""
    library = await open_library(load_project(book / "-"), Models())
    found = []
    try:
        for question, wanted in questions(name):
            one = await Retriever(library).retrieve(question)
            shown = {section(source.source, source.anchor) for source in build_context(one, BUDGET).sources}
            if wanted:
                found.append(Found(name, share_of(one), float(not shown.isdisjoint(wanted))))
    finally:
        library.store.close()
    return found


def cells(found: Sequence[Found], share: float) -> list[str]:
    """The questions whose own words suffice, the recall with these and with the others, and what could be lost."""
    enough, others = [one for one in found if one.share >= share], [one for one in found if one.share < share]
    recalls = [f"{100 * mean(one.recall for one in some):.1f}" if some else "" for some in (enough, others)]
    return [f"{100 * len(enough) / len(found):.0f}", *recalls, f"{100 * loss(found, share):.1f}"]


def loss(found: Sequence[Found], share: float) -> float:
    """Return the recall that all questions miss because the model was not asked, if it knew everything."""
    return sum(1 - one.recall for one in found if one.share >= share) / len(found)


def held_out(found: Sequence[Found]) -> list[list[str]]:
    """Rows in which the share is chosen on the other groups, and measured on the one."""
    rows = []
    for group in dict.fromkeys(one.group for one in found):
        others, own = [one for one in found if one.group != group], [one for one in found if one.group == group]
        share = next((one for one in SHARES if loss(others, one) <= LOSS), SHARES[-1])
        rows.append([group, f"{share:g}", *cells(own, share)])
    return rows


def order(found: Sequence[Found], signs: Sequence[Sequence[float]]) -> list[str]:
    """For each sign: how often a question whose context is whole has more of it than one whose context is not (AUC)."""
    whole = [own for one, own in zip(found, signs, strict=True) if one.recall >= 0.99]
    others = [own for one, own in zip(found, signs, strict=True) if one.recall < 0.99]
    return [
        f"{mean((a[at] > b[at]) + 0.5 * (a[at] == b[at]) for a in whole for b in others):.2f}"
        for at in range(len(signs[0]))
    ]


def book_table(folder: Path) -> None:
    rows = []
    for annotated, described in zip((True, False), BOOKS, strict=True):
        book = make_book(folder, annotated)
        for name in SETS:
            found = run(measure_book(book, name))
            rows += [[described, name, f"{share:g}", *cells(found, share)] for share in SHARES]
    columns = ["sample book", "questions", "share", "suffice, %", "answered then", "else", "lost at most"]
    print_table("(a) Questions to the sample book; answered: the section is in the context, %", columns, rows)


def text_tables(folder: Path, encodings: Sequence[str]) -> None:
    store = open_store(LocalStorage(folder / "index"))
    bench = Bench(folder / "texts", store, read_corpora(), read_questions(), BUDGET)
    write_texts(bench.folder, bench.corpora)
    rows, chosen, signs = [], [], []
    for encoding in without_model(encodings):
        say(f"own words: {encoding}")
        found, of_each = run(measure(bench, encoding))
        rows += [[encoding, f"{share:g}", *cells(found, share)] for share in SHARES]
        chosen += [[encoding, *row] for row in held_out(found)]
        signs.append([encoding, *order(found, of_each)])
    store.close()
    columns = ["suffice, %", "recall then", "else", "lost at most"]
    print_table(f"(b) Recall within {BUDGET:,} tokens, %", ["encoding", "share", *columns], rows)
    title = f"(c) The share chosen on the other corpora, so that at most {100 * LOSS:g} % are lost there"
    print_table(title, ["encoding", "corpus", "share", *columns], chosen)
    print_table("(d) What tells a whole context from others (AUC)",
                ["encoding", "share", "ahead of the second span", "ahead of the sixth"], signs)  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="When a question's own words suffice")
    parser.add_argument("--encodings", nargs="+", default=ENCODINGS, metavar="NAME")
    chosen = parser.parse_args()
    print(machine())
    keep_cache()
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        book_table(Path(name))
        if (EVAL / "questions.jsonl").is_file():
            text_tables(Path(name), chosen.encodings)


if __name__ == "__main__":
    main()
