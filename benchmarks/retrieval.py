"""Measure how well questions find what answers them, without a model or with a small embedding model.

python benchmarks/retrieval.py [courses] [book] [texts] [languages] [--annotated] [--encodings bm25 hybrid] [--peers]

courses    `lmm search`, `lmm ask` and the search box on public courses; --annotated: with questions and summaries
book       the same on the sample book
texts      the share of an answer that is in a context of 1,000 tokens; --peers: by other packages, too
languages  the paragraph that answers, in other languages than English

Without names: all. The box needs node, and all but the book what is beside this checkout, in ../shared.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from functools import cache
from importlib.metadata import version
from pathlib import Path
from statistics import mean
from typing import Any

from evaluation import (
    CACHE,
    CORPORA,
    EVAL,
    MODEL,
    Corpus,
    Question,
    index_project,
    read_corpora,
    read_questions,
    write_texts,
)
from tables import machine, print_table, say
from texts import ROOT, SHARED

sys.path.insert(0, str(ROOT))
from lmm_core.markdown import find_markdown
from lmm_core.models.tokens import count_tokens
from lmm_core.retrieve.answer import make_conversation
from lmm_core.retrieve.context import BUDGET, build_context
from lmm_core.retrieve.library import open_library
from lmm_core.retrieve.search import Retriever, search_points
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from lmm_core.store.places import LocalStorage, open_store
from tests.courses import bilingual_book
from tests.retrieve.questions import BOX, SETS, Asked, ask, box, figures, questions, search, write_box_data

COURSES = SHARED / "courses"
SEARCH, ASK, SEARCH_BOX = WAYS = ("lmm search", "lmm ask", "search box")
LIST = 5  # hits of a list that are seen
FIRST, AMONG, WRONGLY, RIGHTLY = "first right", f"among {LIST}", "refused wrongly", "refused rightly"
FOUND = ("questions", FIRST, AMONG, WRONGLY, RIGHTLY)
LANGUAGES = ("de", "ru", "zh")
WITHOUT_MODEL = ("bm25", "sparse")

Counts = Counter[tuple[str, str]]  # by way and column
Hit = tuple[str, set[int]]  # a file and lines of it
Shown = Sequence[tuple[str, str]]  # texts that are shown for a question, each with the name of its file


# Public courses


def print_courses(chosen: argparse.Namespace) -> None:
    """Print what is found in public courses. `measure.py` beside them decides by lines which hits are right."""
    folder = COURSES / ("annotations/courses" if chosen.annotated else "courses")
    asked: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (COURSES / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        asked[question["course"]].append(question)
    total, counts_of = Counter[tuple[str, str]](), {}
    for course in sorted(path for path in folder.iterdir() if path.name in asked):
        say(f"courses: {course.name}")
        counts_of[course.name] = counts = measure_course(course, asked[course.name])
        total.update(counts)
    rows = [
        [name, way, *(str(counts[way, column]) if (way, column) in counts else "" for column in FOUND)]
        for name, counts in {**counts_of, "all": total}.items()
        for way in WAYS
        if (way, FIRST) in counts
    ]
    print_table("Questions to public courses, without a model", ["course", "asked by", *FOUND], rows)


def measure_course(course: Path, asked: Sequence[dict[str, Any]]) -> Counts:
    """Return the counts of a course, of which a copy is indexed."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(course, Path(folder) / course.name)).resolve()
        index(copy)
        counts = asyncio.run(ask_course(copy, asked))
        if shutil.which("node"):
            counts.update(asyncio.run(ask_box(copy, Path(folder), asked)))
    return counts


def index(folder: Path) -> None:
    """Index a folder by this Python's `lmm`."""
    subprocess.run([sys.executable, "-m", "lmm_core", "index", "-q", "."], cwd=folder, check=True)


async def ask_course(course: Path, asked: Sequence[dict[str, Any]]) -> Counts:
    """Return the counts of `lmm search` and `lmm ask`."""
    project, counts = load_project(course / "-"), Counter[tuple[str, str]]()
    library = await open_library(project, Models())
    try:
        for question in asked:
            text = question["question"]
            answer = await make_conversation(project, Models(), library, with_model=False).ask(text)
            counts[ASK, WRONGLY if question["gold"] else RIGHTLY] += not answer.answered
            if question["gold"]:
                found = [point.payload for point in await search_points(library, text, LIST)]
                hits = [hit(course, each["source"], each["line_start"], each["line_end"]) for each in found]
                count_hits(counts, SEARCH, question, course, hits)
                hits = [hit(course, source.source, source.line_start, source.line_end) for source in answer.sources]
                count_hits(counts, ASK, question, course, hits)
    finally:
        library.store.close()
    return counts


async def ask_box(course: Path, data: Path, asked: Sequence[dict[str, Any]]) -> Counts:
    """Return the counts of the search box. All headings are taken to have anchors; a hit is its section's own text."""
    asked = [question for question in asked if question["gold"]]
    write_box_data(course, data, "es" if course.name.endswith("-es") else "en")
    done = subprocess.run(
        ["node", ROOT / "tests" / "box_search.js", BOX, data], input="\n".join(each["question"] for each in asked),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    library = await open_library(load_project(course / "-"), Models())
    lines: dict[tuple[str, str], set[int]] = defaultdict(set)
    for section in (await library.material()).walk():
        for passage in section.passages:
            _, own = hit(course, section.source, passage.line_start, passage.line_end)
            lines[section.source, section.anchor] |= own
    library.store.close()
    counts = Counter[tuple[str, str]]()
    for question, line in zip(asked, done.stdout.splitlines(), strict=True):
        hits = [(row["source"], lines[row["source"], row["anchor"]]) for row in json.loads(line)[:LIST]]
        count_hits(counts, SEARCH_BOX, question, course, hits)
    return counts


def hit(course: Path, source: str, start: int, end: int) -> Hit:
    """Return a hit by its first and its last line."""
    return source, judge().text_lines(course, source, start, end)


def count_hits(counts: Counts, way: str, question: dict[str, Any], course: Path, hits: Sequence[Hit]) -> None:
    """Count a question that is answered by a list of hits, the best first."""
    gold = judge().gold_lines(course, question["gold"])
    right = [judge().right(gold, *hit) for hit in hits]
    counts[way, "questions"] += 1
    counts[way, FIRST] += right[:1] == [True]
    counts[way, AMONG] += any(right)


@cache
def judge() -> Any:
    """Return the module that decides which hits are right."""
    spec = importlib.util.spec_from_file_location("measure", COURSES / "measure.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The sample book


def print_book(_chosen: argparse.Namespace) -> None:
    """Print what is found in the sample book; the questions are those of `tests/retrieve/gold`."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        book = bilingual_book(Path(folder) / "book")
        index(book)
        for name in SETS:
            for way, asked in ask_book(book, name, Path(folder)):
                rows.append([name, way, *(f"{value:.0f}" for value in astuple(figures(asked)))])
                for question in asked if way == ASK else ():
                    if not question.right:
                        say(f"{name}, {way}: {question.question!r} gave {', '.join(question.cited) or 'no answer'}")
    columns = ["questions", "asked by", FIRST, "among 3", WRONGLY, RIGHTLY]
    print_table("Questions to the sample book, in percent, without a model", columns, rows)


def ask_book(book: Path, name: str, data: Path) -> Iterator[tuple[str, list[Asked]]]:
    """Yield what each way finds for a set of questions."""
    asked = questions(name)
    yield SEARCH, asyncio.run(search(book, asked))
    yield ASK, [answer for answer, _ in asyncio.run(ask(book, asked))]
    if shutil.which("node"):
        yield SEARCH_BOX, box(book, asked, data)


# Long texts


def print_texts(chosen: argparse.Namespace) -> None:
    """Print how much of what answers a question is in the context that a model is shown."""
    corpora, asked, rows = read_corpora(), read_questions(), []
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        folder = Path(name, "texts")
        write_texts(folder, corpora)
        for encoding in chosen.encodings:
            say(f"texts: {encoding}")
            shown = asyncio.run(contexts(folder, Path(name, encoding), encoding, asked))
            rows.append([encoding, *share_cells(corpora, asked, shown)])
        for label, split in splitters() if chosen.peers else ():
            say(f"texts: {label}")
            rows.append([label, *share_cells(corpora, asked, [*plain_contexts(split, folder, asked)])])
    columns = ["by", *CORPORA, "questions", "tokens", "sources"]
    print_table(f"Share of the answers in {BUDGET:,} tokens, in percent of characters", columns, rows)


async def contexts(folder: Path, place: Path, encoding: str, asked: Sequence[Question]) -> list[Shown]:
    """Return the texts of the context for each question."""
    store = open_store(LocalStorage(place))
    project, models = await index_project(folder, store, encoding)
    retriever = Retriever(await open_library(project, models, store))
    built = [build_context(await retriever.retrieve(question.text)) for question in asked]
    await models.close()
    store.close()
    assert all(context.tokens <= BUDGET for context in built)
    return [[(source.source, source.text) for source in context.sources] for context in built]


def share_cells(corpora: Mapping[str, Corpus], asked: Sequence[Question], shown: Sequence[Shown]) -> list[str]:
    """Return the mean share by text and of all questions, in percent, and the mean tokens and texts that are shown."""
    shares: dict[str, list[float]] = defaultdict(list)
    for question, texts in zip(asked, shown, strict=True):
        corpus = corpora[question.corpus]
        own = [text for name, text in texts if name == f"{question.corpus}.md"]
        shares[question.corpus].append(question.share([span for text in own for span in corpus.spans(text)]))
    means = [mean(shares[name]) for name in CORPORA] + [mean(share for each in shares.values() for share in each)]
    tokens = mean(sum(count_tokens(text) for _, text in texts) for texts in shown)
    return [*(f"{100 * value:.1f}" for value in means), f"{tokens:.0f}", f"{mean(map(len, shown)):.1f}"]


def splitters() -> Iterator[tuple[str, Callable[[str], list[str]]]]:
    """Yield other packages' splitters, each with the size that was best for a context of 1,000 tokens."""
    from chonkie import RecursiveChunker
    from llama_index.core.node_parser import SentenceSplitter

    chunker = RecursiveChunker(chunk_size=1000)
    yield (
        f"llama-index-core {version('llama-index-core')}, 256 tokens, and BM25",
        SentenceSplitter(chunk_size=256, chunk_overlap=51).split_text,
    )
    yield (
        f"chonkie {version('chonkie')}, 1,000 characters, and BM25",
        lambda text: [chunk.text for chunk in chunker.chunk(text)],
    )


def plain_contexts(split: Callable[[str], list[str]], folder: Path, asked: Sequence[Question]) -> Iterator[Shown]:
    """Yield the chunks that a plain BM25 finds for each question, the best first, as many as fit."""
    from rank_bm25 import BM25Okapi

    texts = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in find_markdown([folder])}
    chunks = [(name, chunk) for name, text in texts.items() for chunk in split(text) if words(chunk)]
    bm25, sizes = BM25Okapi([words(chunk) for _, chunk in chunks]), [count_tokens(chunk) for _, chunk in chunks]
    for question in asked:
        room, shown = BUDGET, []
        for at in bm25.get_scores(words(question.text)).argsort()[::-1]:
            if sizes[at] <= room:
                room -= sizes[at]
                shown.append(chunks[at])
        yield shown


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return re.findall(r"\w+", text.lower())


# Other languages


def print_languages(chosen: argparse.Namespace) -> None:
    """Print how often the paragraph that answers comes first, and among the first five."""
    rows = []
    for encoding in chosen.encodings:
        cells = []
        for language in LANGUAGES:
            say(f"languages: {encoding}, {language}")
            with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
                ranks = asyncio.run(paragraph_ranks(Path(name), encoding, language))
            cells.append(" / ".join(f"{100 * mean(0 < rank <= most for rank in ranks):.1f}" for most in (1, LIST)))
        rows.append([encoding, *cells])
    print_table(f"The paragraph that answers: first / among {LIST}, in percent", ["encoding", *LANGUAGES], rows)


async def paragraph_ranks(folder: Path, encoding: str, language: str) -> list[int]:
    """Return the rank of the right paragraph for each question, 0 if it is not found. folder: a new one."""
    data = json.loads((EVAL / "languages" / f"xquad-{language}.json").read_text(encoding="utf-8"))
    write_articles(folder, language, data["paragraphs"])
    store = open_store(LocalStorage(folder / ".lmm" / "index"))
    project, models = await index_project(folder, store, encoding)
    retriever, ranks = Retriever(await open_library(project, models, store)), []
    for question in data["questions"]:
        passages = (await retriever.retrieve(question["question"])).passages
        numbers = list(dict.fromkeys(int(passage.titles[-1]) for passage in passages))
        ranks.append(numbers.index(question["paragraph"]) + 1 if question["paragraph"] in numbers else 0)
    await models.close()
    store.close()
    return ranks


def write_articles(folder: Path, language: str, paragraphs: Sequence[dict[str, Any]]) -> None:
    """Write articles as notes: each paragraph a section whose title is its number."""
    articles: dict[str, list[str]] = defaultdict(list)
    for paragraph in paragraphs:
        text = paragraph["text"].replace("\ufeff", "").strip()
        articles[paragraph["title"]].append(f"## {paragraph['id']}\n\n{text}")
    for title, sections in articles.items():
        body = "\n\n".join(sections)
        text = f"---\ntitle: {language}\nlang: {language}\n---\n\n{body}\n"
        Path(folder, f"{title}.md").write_text(text, encoding="utf-8", newline="")


# Each table, with what it is read from
TABLES: dict[str, tuple[Callable[[argparse.Namespace], None], Path]] = {
    "courses": (print_courses, COURSES),
    "book": (print_book, ROOT / "sample-book"),
    "texts": (print_texts, EVAL),
    "languages": (print_languages, EVAL / "languages"),
}


def main() -> None:
    """Print the tables that are asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--annotated", action="store_true", help="the two courses that have annotations")
    parser.add_argument("--encodings", nargs="+", default=["bm25"], metavar="NAME", help="of texts and languages")
    parser.add_argument("--peers", action="store_true", help="texts by splitters that come with the extra `bench`")
    chosen = parser.parse_args()
    if chosen.peers and not all(map(importlib.util.find_spec, ("chonkie", "llama_index", "rank_bm25"))):
        parser.error("--peers needs other packages: pip install -e '.[bench]'")
    if not MODEL.is_dir() and (with_model := set(chosen.encodings) - set(WITHOUT_MODEL)):
        say(f"{MODEL} is not there: not measured by {', '.join(sorted(with_model))}")
        chosen.encodings = [name for name in chosen.encodings if name in WITHOUT_MODEL]
    if not shutil.which("node"):
        say("node is not installed: the search box is not measured")
    os.environ["XDG_CACHE_HOME"] = str(CACHE)  # vectors are kept from run to run
    print(machine())
    with tempfile.TemporaryDirectory() as settings:
        os.environ["XDG_CONFIG_HOME"] = settings  # none of the user's
        for name in chosen.tables or TABLES:
            table, source = TABLES[name]
            if source.is_dir():
                table(chosen)
            else:
                say(f"{source} is not there: no table of {name}")


if __name__ == "__main__":
    main()
