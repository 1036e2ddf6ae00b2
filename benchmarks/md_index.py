"""What indexing any folder of markdown costs: crawling and cutting, indexing, searching.

python benchmarks/md_index.py [--files 10000] [--size 100]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

import psutil
from evaluation import CORPORA, EVAL, MODEL, Corpus, Question, Spans, read_questions
from tables import machine, print_table, say
from texts import MB, corpora, size

from lmm_core.crawl import FOLDER
from lmm_core.crawl.catalogue import database_at
from lmm_core.crawl.indexer import FolderIndexer
from lmm_core.crawl.reader import crawl, cut_windows, read
from lmm_core.crawl.search import MOST_SHOWN, Indexes, SnippetHit
from lmm_core.files.walk import WalkedFile
from lmm_core.indexing.encoding import EncodingModel
from lmm_core.logging import ListLogger
from lmm_core.models.tokens import count_tokens
from lmm_core.settings.models import Models
from lmm_core.settings.project import Project
from lmm_core.settings.tables import EmbeddingOptions

SECOND, P95, MEMORY = 0.05, 150, 500  # what else is wanted: of the first run, ms, MB
FOLDERS = 100
INDEXES = 5
SEARCHES = 200
FEW = 5

Count = Callable[[str], int]


# A folder to work on


def write_folder(folder: Path, files: int, wanted: int) -> int:
    """A folder of so many files with about `wanted` bytes: sections of the corpora, mixed.
    Returns the bytes."""
    rnd = random.Random(1)
    parts = [part for corpus in corpora() for text in corpus.texts for part in text.split("\n\n## ") if part.strip()]
    written = 0
    for number in range(files):
        path = folder / f"part-{number % FOLDERS:02}" / f"{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f"# File {number}"
        while size(text) < wanted / files:
            text += "\n\n## " + rnd.choice(parts)
        text = text.encode("utf-8")[: wanted // files - 1].decode("utf-8", "ignore")
        path.write_text(text + "\n", encoding="utf-8", newline="")
        written += size(text) + 1
    return written


# Crawling and cutting


def crawl_and_cut(folder: Path, count: Count | None) -> tuple[float, int]:
    """Processor time, and how many windows came out. count: counts tokens; None to find and read only."""
    begun, made = time.process_time(), 0
    for one in crawl(folder):
        if isinstance(one, WalkedFile):
            text = read(one)
            assert isinstance(text, str)
            if count is not None:
                made += len(cut_windows(text, one.name, one.name, EncodingModel.BM25, count=count))
    return time.process_time() - begun, made


def quick_count(text: str) -> int:
    """About what `count_tokens` gives on the corpora, for nothing."""
    return 2 * len(text) // 7


def crawling_rows(folder: Path, written: int) -> list[list[str]]:
    """The rows for crawling and cutting."""
    rows = []
    for name, count in (
        ("finding and reading", None),
        ("… and cutting, apart from counting tokens", quick_count),
        ("… and cutting, with counting tokens", count_tokens),
    ):
        spent, made = crawl_and_cut(folder, count)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append([name, f"{written / MB / spent:.1f}", f"{made}", f"{peak:.0f}"])
    return rows


# Runs


def run_command(command: str, folder: Path) -> tuple[float, float, float, dict[str, Any]]:
    """Seconds of `lmm …`, its most memory (MB: its own, and with the pages of mapped files, which the system takes back
    when it needs them), and the JSON that it prints."""
    start, own, mapped = time.perf_counter(), 0, 0
    with subprocess.Popen(
        [sys.executable, "-m", "lmm_core", *command.split()], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        known = psutil.Process(process.pid)
        while process.poll() is None:
            alone, share = _memory(known)
            own, mapped = max(own, alone), max(mapped, share)
            time.sleep(0.2)
        assert process.stdout is not None
        return time.perf_counter() - start, own / MB, mapped / MB, json.loads(process.stdout.read())


def _memory(process: psutil.Process) -> tuple[int, int]:
    """What is its own, neither shared nor a file's (bytes), and its part of all that is resident,
    of which processes that share something have each a part."""
    try:
        plain, full = process.memory_info(), process.memory_full_info()
    except psutil.Error:
        return 0, 0
    return plain.rss - getattr(plain, "shared", 0), getattr(full, "pss", plain.rss)


def print_runs(folder: Path, files: int, megabytes: float) -> None:
    """The first run on `folder/docs`, and others when nothing has changed."""
    say("first run")
    first, own, mapped, done = run_command("md-index --root docs --json", folder)
    others = [run_command("md-index --root docs --json", folder) for _ in range(5)]
    second = median(other[0] for other in others)
    edited = median(run_after_edit(folder) for _ in range(5))
    rows = [
        ["first", f"{first:.1f}", f"{megabytes / first:.1f}", "", f"{own:.0f}", f"{mapped:.0f}", str(done["written"])],
        ["one file edited", f"{edited:.2f}", "", f"{edited / first:.1%}", "", "", ""],
        ["unchanged", f"{second:.2f}", "", f"{second / first:.1%}", f"{others[0][1]:.0f}", f"{others[0][2]:.0f}", "0"],
    ]
    title = f"(b) lmm md-index, {files} files, {megabytes:.0f} MB (wanted: under {SECOND:.0%}, under {MEMORY} MB)"
    print_table(title, ["Run", "s", "MB/s", "of the first", "memory, MB", "with mapped files", "snippets"], rows)


def run_after_edit(folder: Path) -> float:
    """Seconds of a run after one file has become longer."""
    path = next((folder / "docs").rglob("*.md"))
    path.write_text(path.read_text(encoding="utf-8") + "\nOne line more.\n", encoding="utf-8", newline="")
    return run_command("md-index --root docs --json", folder)[0]


# Search


def project(folder: Path, encoding: str = "bm25") -> Project:
    """A project without a configuration but for the encoding."""
    made = Project(folder, embeddings=EmbeddingOptions(encoding=encoding))
    return replace(made, models=made.models | {"embedding": f"fastembed/{MODEL}"}) if encoding == "hybrid" else made


async def with_indexes(made: Project, roots: Sequence[Path], work: Callable[[Indexes], Any]) -> Any:
    """Index folders, each by itself, and do some work with the indexes."""
    models = Models(warn=ListLogger().warning)
    database = database_at(made, made.root / FOLDER)
    for root in roots:
        await FolderIndexer(database, models).index(root)
    indexes = Indexes(database, models)
    try:
        return await work(indexes)
    finally:
        await indexes.close()
        await models.close()


async def time_searches(indexes: Indexes) -> list[float]:
    """Seconds of searches in all indexes, which are open."""
    questions = [question.text for question in read_questions()]
    found = []
    await indexes.search("warm")
    for question in questions[:SEARCHES]:
        start = time.perf_counter()
        await indexes.search(question)
        found.append(time.perf_counter() - start)
    return found


def print_searches(folder: Path, files: int, megabytes: float) -> None:
    """How long a search over five indexes takes, each of a fifth of the size."""
    roots = [folder / f"docs{at}" for at in range(INDEXES)]
    for root in roots:
        write_folder(root, files // INDEXES, int(megabytes * MB / INDEXES))
    say("five indexes")
    times = asyncio.run(with_indexes(project(folder), roots, time_searches))
    rows = [["bm25", f"{median(times) * 1000:.0f}", f"{quantiles(times, n=20)[-1] * 1000:.0f}"]]
    title = f"(c) Search over {INDEXES} open indexes of {megabytes / INDEXES:.0f} MB each (wanted: p95 under {P95} ms)"
    print_table(title, ["Encoding", "p50, ms", "p95, ms"], rows)


# What is found


async def answer(indexes: Indexes) -> list[list[str]]:
    """A row for each corpus: how well the questions that were made for it are answered by
    the first five snippets of all indexes."""
    rows = []
    asked = read_questions()
    for corpus in CORPORA:
        text = Corpus.of_file((EVAL / f"{corpus}.md").read_bytes().decode("utf-8"))
        of_it = [question for question in asked if question.corpus == corpus]
        covered = [
            _covered(text, one, await indexes.search(one.text, k=FEW, most_characters=MOST_SHOWN)) for one in of_it
        ]
        firsts = [next((at for at, share in enumerate(shares, 1) if share), 0) for shares in covered]
        hits = [sum(0 < first <= most for first in firsts) / len(firsts) for most in (1, FEW)]
        rank = mean(1 / first if first else 0.0 for first in firsts)
        recall = mean(shares[-1] if shares else 0.0 for shares in covered)
        rows.append([corpus, str(len(of_it)), f"{hits[0]:.2f}", f"{hits[1]:.2f}", f"{rank:.2f}", f"{recall:.2f}"])
    return rows


def _covered(text: Corpus, question: Question, found: Sequence[SnippetHit]) -> list[float]:
    """After each result, the share of the characters of the right passages that is in
    what was found."""
    seen: Spans = []
    shares = []
    for match in found:
        seen += text.spans(match.snippet) if match.index == question.corpus else []
        shares.append(question.share(seen))
    return shares


def print_retrieval(folder: Path) -> None:
    """How well questions are answered, each corpus an index of its own."""
    rows = []
    for encoding in ("bm25", "hybrid") if MODEL.is_dir() else ("bm25",):
        say(encoding)
        place = folder / encoding
        for corpus in CORPORA:
            (place / corpus).mkdir(parents=True)
            (place / corpus / f"{corpus}.md").write_bytes((EVAL / f"{corpus}.md").read_bytes())
        made = project(place, encoding)
        found = asyncio.run(with_indexes(made, [place / corpus for corpus in CORPORA], answer))
        rows += [[encoding, *row] for row in found]
    columns = ["Encoding", "corpus", "questions", "hit@1", f"hit@{FEW}", "MRR", f"recall@{FEW}"]
    print_table("(d) Questions to three indexes at once (`all`)", columns, rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="What indexing any folder of markdown costs")
    parser.add_argument("--files", type=int, default=10_000, help="files of the folder")
    parser.add_argument("--size", type=int, default=100, help="its size in MB")
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        folder = Path(name, "docs")
        written = write_folder(folder, options.files, options.size * MB)
        title = f"(a) Crawling and cutting {options.files} files, {written / MB:.0f} MB, in one process"
        print_table(title, ["", "MB/s", "snippets", "MiB at most"], crawling_rows(folder, written))
        os.environ["XDG_CACHE_HOME"] = name
        print_runs(Path(name), options.files, written / MB)
        print_searches(Path(name, "searches"), options.files, options.size)
        print_retrieval(Path(name, "retrieval"))


if __name__ == "__main__":
    main()
