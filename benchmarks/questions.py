"""Measure how many questions to the sample book search, ask and the ask box answer rightly without a model.

python benchmarks/questions.py [--sets gold held_out]

The questions are those of `tests/retrieve/gold`. The box needs node.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

from tables import machine, print_table, say
from texts import ROOT

sys.path.insert(0, str(ROOT))
from lmm_core.indexing.collection import open_index
from lmm_core.indexing.refresh import Refresh
from lmm_core.logging import ListLogger
from lmm_core.models.chat import run
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from tests.courses import bilingual_book
from tests.retrieve.questions import (
    SETS,
    Asked,
    ask,
    box,
    figures,
    questions,
    search,
)

BOOKS = ("as it is", "no questions, no summaries")


def make_book(folder: Path, annotated: bool) -> Path:
    """Return a copy of the sample book with its German chapter, indexed without an embedding model."""
    book = bilingual_book(folder / ("annotated" if annotated else "plain"))
    if not annotated:
        without_annotations(book)
    index_book(book)
    return book


def without_annotations(folder: Path) -> None:
    """Take the questions and summaries out of the files of a folder."""
    block = re.compile(r"::: \{\.lmm \.content-hidden\}\n``` yaml\n(.*?)```\n:::\n\n", re.S)
    for path in sorted(Path(folder).glob("0*")):
        text = block.sub(_without, path.read_text(encoding="utf-8"))
        path.write_text(re.sub(r"^summary: >-\n(?:  [^\n]*\n)+", "", text, flags=re.M), encoding="utf-8")


def _without(found: re.Match[str]) -> str:
    kept = re.findall(r"^(?:type|skip|frozen):.*\n", found[1], re.M)
    return found[0].replace(found[1], "".join(kept)) if kept else ""


def index_book(book: Path) -> None:
    """Index a copy of the sample book without an embedding model."""
    project, models = load_project(book / "-"), Models()

    async def index() -> None:
        async with open_index(project, models) as store:
            await Refresh(project, store, models, logger=ListLogger()).run(sorted(book.glob("*md")))

    run(index())


def answered(book: Path, name: str, data: Path) -> Iterator[tuple[str, list[Asked]]]:
    """Return the figures of each way to ask, for a set of questions."""
    asked = questions(name)
    yield "lmm search", run(search(book, asked))
    yield "lmm ask", [one for one, _ in run(ask(book, asked))]
    if shutil.which("node"):
        yield "ask box", box(book, asked, data)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    chosen = options.parse_args()
    say(machine())
    rows, wrong = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_CACHE_HOME"] = os.environ["XDG_CONFIG_HOME"] = str(folder)
        for annotated, described in zip((True, False), BOOKS, strict=True):
            book = make_book(folder, annotated)
            for one in chosen.sets:
                for way, found in answered(book, one, folder):
                    rows.append([one, described, way, *(f"{value:.0f}" for value in astuple(figures(found)))])
                    wrong += [(one, described, way, asked) for asked in found if way == "lmm ask" and not asked.right]
    columns = ["questions", "book", "asked by", "first", "any", "refused wrongly", "refused rightly"]
    print_table("Percent of the questions: first citation right, any right, …", columns, rows)
    for one, described, way, asked in wrong:
        say(f"{one}, {described}, {way}: {asked.question!r} gave {', '.join(asked.cited) or 'no answer'}")


if __name__ == "__main__":
    main()
