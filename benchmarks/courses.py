"""Measure how well strangers' courses can be searched without a model: `lmm search`, `lmm ask` and the search box.

python benchmarks/courses.py [--annotated]

Reads courses and questions beside this checkout (../shared/courses), and decides by `measure.py` there which hits are
right: by their lines. The box needs node; all headings are taken to have anchors, and a hit is its section's own text.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tables import machine, print_table
from texts import ROOT

sys.path.insert(0, str(ROOT))
from lmm_core.models.chat import run
from lmm_core.retrieve.answer import make_conversation
from lmm_core.retrieve.library import Library, open_library
from lmm_core.retrieve.search import search_points
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from tests.retrieve.questions import BOX, write_box_data

COURSES = ROOT.parent / "shared" / "courses"
LIST = 5  # hits of a list that are seen
Hit = tuple[str, set[int]]  # a file and lines of it


def _load_judge() -> Any:
    spec = importlib.util.spec_from_file_location("measure", COURSES / "measure.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"{COURSES} is not there")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


JUDGE = _load_judge()


def main() -> None:
    """Print a row for each course."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--annotated", action="store_true", help="the courses with annotations")
    folder = COURSES / "annotations" / "courses" if parser.parse_args().annotated else COURSES / "courses"
    asked: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (COURSES / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        asked[json.loads(line)["course"]].append(json.loads(line))
    counts = {name: measure(folder / name, questions) for name, questions in asked.items() if (folder / name).is_dir()}
    counts["all"] = sum(counts.values(), Counter())
    columns = ("answered", "search 1", f"search {LIST}", "ask 1", "ask: refused", "not in the text",
               "ask: refused there", "box 1", f"box {LIST}")  # fmt: skip
    rows = [(name, *(str(count[column]) for column in columns)) for name, count in counts.items()]
    print(machine())
    print_table("questions to courses, without a model", ("course", *columns), rows)


def measure(course: Path, questions: Sequence[dict[str, Any]]) -> Counter[str]:
    """Return the counts of a course, by column."""
    with tempfile.TemporaryDirectory() as folder:
        book = Path(shutil.copytree(course, Path(folder) / course.name)).resolve()
        subprocess.run(["lmm", "index", "-q", "."], cwd=book, check=True)
        counts = run(by_words(book, questions))
        if shutil.which("node"):
            counts.update(by_box(book, Path(folder), questions))
    return counts


async def by_words(book: Path, questions: Sequence[dict[str, Any]]) -> Counter[str]:
    """Return the counts of `lmm search` and `lmm ask`."""
    project, counts = load_project(book / "-"), Counter[str]()
    library = await open_library(project, Models())
    try:
        for question in questions:
            counts.update(await asked_of(library, question, book))
    finally:
        library.store.close()
    return counts


async def asked_of(library: Library, question: dict[str, Any], book: Path) -> list[str]:
    """Return the columns in which a question counts."""
    talk = make_conversation(library.project, Models(), library, with_model=False)
    answer = await talk.ask(question["question"])
    if not question["gold"]:
        return ["not in the text", *([] if answer.answered else ["ask: refused there"])]
    points = await search_points(library, question["question"], LIST)
    places = [(one.payload["source"], one.payload["line_start"], one.payload["line_end"]) for one in points]
    cited = [(source.source, source.line_start, source.line_end) for source in answer.sources[:1]]
    search, ask = ([(place[0], JUDGE.text_lines(book, *place)) for place in way] for way in (places, cited))
    columns = ["answered", *columns_of("search", search, question, book), *columns_of("ask", ask, question, book)[:1]]
    return columns if answer.answered else [*columns, "ask: refused"]


def by_box(book: Path, data: Path, questions: Sequence[dict[str, Any]]) -> Counter[str]:
    """Return the counts of the search box."""
    write_box_data(book, data, "es" if book.name.endswith("-es") else "en")
    asked = [question for question in questions if question["gold"]]
    done = subprocess.run(
        ["node", ROOT / "tests" / "box_search.js", BOX, data], input="\n".join(one["question"] for one in asked),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines, counts = run(section_lines(book)), Counter[str]()
    for question, line in zip(asked, done.stdout.splitlines(), strict=True):
        hits = [(hit["source"], lines[hit["source"], hit["anchor"]]) for hit in json.loads(line)[:LIST]]
        counts.update(columns_of("box", hits, question, book))
    return counts


async def section_lines(book: Path) -> dict[tuple[str, str], set[int]]:
    """Return the lines of the sections' own text, by file and anchor."""
    library = await open_library(load_project(book / "-"), Models())
    lines: dict[tuple[str, str], set[int]] = defaultdict(set)
    try:
        for section in (await library.material()).walk():
            for one in section.passages:
                own = JUDGE.text_lines(book, section.source, one.line_start, one.line_end)
                lines[section.source, section.anchor] |= own
    finally:
        library.store.close()
    return lines


def columns_of(way: str, hits: Sequence[Hit], question: dict[str, Any], book: Path) -> list[str]:
    """Return the columns in which a list of hits counts: the first is right, and any is."""
    gold = JUDGE.gold_lines(book, question["gold"])
    right = [JUDGE.right(gold, *hit) for hit in hits]
    return [*([f"{way} 1"] if right[:1] == [True] else []), *([f"{way} {LIST}"] if any(right) else [])]


if __name__ == "__main__":
    main()
