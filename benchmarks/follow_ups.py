"""Measure ways of taking what was asked before into a search, by follow-up questions to the sample book.

python benchmarks/follow_ups.py [--asked]

The questions are those of `tests/retrieve/gold/follow_ups.jsonl`. What a model makes of a conversation (the
question rewritten so that it stands alone, and a summary) stands there too, written by a person as a good
model would. `--asked` asks the model that is configured, in place of that.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from tables import machine, print_table, say
from texts import ROOT

sys.path.insert(0, str(ROOT))
from questions import make_book

from lmm_core.errors import ModelError
from lmm_core.retrieve.context import build_context
from lmm_core.retrieve.library import Library, open_library
from lmm_core.retrieve.queries import ModelQueries
from lmm_core.retrieve.ranking.words import keyword_form
from lmm_core.retrieve.search import Retriever
from lmm_core.settings.models import Models
from lmm_core.settings.project import Project, load_project

FOLLOW_UPS = ROOT / "tests" / "retrieve" / "gold" / "follow_ups.jsonl"
BUDGET, FEW = 1000, 3
NEW_TOPIC = "new topic"


@dataclass(frozen=True)
class FollowUp:
    """A question after others.

    way: how it follows them; sections: those that answer it; rewritten, summary: what a good model makes of it."""

    way: str
    earlier: list[str]
    question: str
    sections: list[str]
    rewritten: str
    summary: str


@dataclass
class Given:
    """An expander whose queries are given."""

    queries: Sequence[str]

    async def expand(self, question: str, earlier: Sequence[str] = ()) -> list[str]:
        """Return the queries."""
        return list(self.queries)


def read_follow_ups() -> list[FollowUp]:
    return [FollowUp(**json.loads(line)) for line in FOLLOW_UPS.read_text(encoding="utf-8").splitlines()]


def ways(one: FollowUp, language: str) -> Mapping[str, Given | None]:
    """Return the ways to search for a follow-up question; with the queries in the order of their names."""
    together = keyword_form(f"{one.question} {one.earlier[-1]}", language)
    every = keyword_form(" ".join([one.question, *one.earlier]), language)
    return {
        "none": Given([one.question]),
        "last question": None,
        "last question, nothing else": Given([together]),
        "all questions": Given([one.question, every]),
        "rewriting": Given([one.question, one.rewritten]),
        "rewriting, nothing else": Given([one.rewritten]),
        "rewriting, last question": Given([one.question, together, one.rewritten]),
        "summary": Given([one.question, one.summary]),
        "summary, nothing else": Given([one.summary]),
    }


@dataclass(frozen=True)
class Seen:
    """The result of a search: the section is the first, among the first, in the context."""

    way: str
    first: bool
    few: bool
    context: bool


async def look(library: Library, one: FollowUp, queries: Given | ModelQueries | None) -> Seen:
    found = await Retriever(library, queries).retrieve(one.question, earlier=one.earlier)
    ranked = [f"{found_.section.source}#{found_.section.anchor}" for found_ in found.sections]
    shown = {f"{source.source}#{source.anchor}" for source in build_context(found, BUDGET).sources}
    wanted = set(one.sections)
    return Seen(one.way, not wanted.isdisjoint(ranked[:1]), not wanted.isdisjoint(ranked[:FEW]),
                not wanted.isdisjoint(shown))  # fmt: skip


def row(name: str, seen: Sequence[Seen]) -> list[str]:
    """A row of the table: all questions, those that go on, those on something else."""
    groups = [seen, [one for one in seen if one.way != NEW_TOPIC], [one for one in seen if one.way == NEW_TOPIC]]
    cells = [
        f"{100 * mean(getattr(one, name) for one in group):.0f}"
        for group in groups
        for name in ("first", "few", "context")
    ]
    return [name, *cells]


async def measure(project: Project, models: Models, asked: bool) -> list[list[str]]:
    library = await open_library(project, models)
    await library.material()
    questions = read_follow_ups()
    seen: dict[str, list[Seen]] = {}
    try:
        for one in questions:
            found = dict(ways(one, library.language))
            if asked:
                found = {"rewriting by the model": ModelQueries(models.asker(project, "aux"))}
            for name, expander in found.items():
                try:
                    seen.setdefault(name, []).append(await look(library, one, expander))
                except ModelError as error:
                    say(f"{one.question}: {error}")
                    seen[name].append(await look(library, one, Given([one.question])))
    finally:
        library.store.close()
        await models.close()
    return [row(name, of_way) for name, of_way in seen.items()]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--asked", action="store_true", help="let the configured model rewrite")
    chosen = options.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_CACHE_HOME"] = name
        book = make_book(Path(name), True)
        if Path("config.toml").is_file() and chosen.asked:
            shutil.copy("config.toml", book)
        rows = asyncio.run(measure(load_project(book / "-"), Models(warn=say), chosen.asked))
    columns = ["earlier turns", *(f"{group}{name}" for group in ("", "goes on: ", "new topic: ")
                                  for name in ("first", "of 3", "context"))]  # fmt: skip
    print_table("40 follow-up questions: the section that answers, in percent of the questions", columns, rows)


if __name__ == "__main__":
    main()
