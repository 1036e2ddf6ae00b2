"""Measure what each step of a course costs where nothing has changed, without any cache.

python benchmarks/course.py [--chapters 20 200] [--steps scan rag ...] [--profile STEP]

The chapters are made of the corpora's sections, in another order in each, 13.75 KB a chapter, and annotated by the
stand-in. Seconds of all processors together, those of child processes included, the least of three runs;
rendering takes seconds on the clock. --profile: the functions that take longest in one step.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tables import machine, print_table
from texts import corpora

from lmm_core.markdown import HeadingBlock, parse_markdown_text, serialize_blocks

BIN = Path(sys.executable).parent
CHAPTER = 13_750  # characters
RUNS = 3


@dataclass(frozen=True)
class Step:
    """A step of a course. budget: for 200 chapters, in seconds; is_render: measured once, on the clock."""

    words: list[str]
    budget: float
    is_render: bool = False


STEPS = {
    "scan": Step(["lmm", "scan", "."], 1.0),
    "rag": Step(["lmm", "rag", "."], 2.0),
    "check": Step(["lmm", "rag", ".", "--check"], 2.0),
    "filter": Step(["pandoc", "-F", "lmm-rag", "chapter-000.md", "-o", "chapter-000.md"], 0.6),
    "index": Step(["lmm", "index", "."], 0.6),
    "search": Step(["lmm", "search", "How is a value borrowed?"], 0.6),
    "render": Step(["lmm", "course", ".", "--steps", "render"], 30, is_render=True),
    "leaks": Step(["lmm", "course", ".", "--steps", "leaks"], 1.5),
}


def sections() -> list[str]:
    """Return the sections of all corpora, each with its heading, of 400 to 3,000 characters."""
    found: list[str] = []
    for text in (text for corpus in corpora() for text in corpus.texts):
        blocks = parse_markdown_text(text)
        heads = [at for at, block in enumerate(blocks) if isinstance(block, HeadingBlock)]
        found += [serialize_blocks(blocks[start:end]) for start, end in pairwise([*heads, len(blocks)])]
    return [section for section in found if 400 < len(section) < 3000 and "\n```{" not in section]


def write_course(folder: Path, chapters: int) -> None:
    """Write a course of so many chapters, each with an exercise."""
    chance, pool = random.Random(chapters), sections()
    (folder / ".git").mkdir(parents=True)
    for number in range(chapters):
        parts = [f"# Chapter {number}\n\n::: exercise\nCompute value number {number} of the course again.\n:::\n\n"]
        while sum(map(len, parts)) < CHAPTER:
            parts.append(chance.choice(pool).rstrip("\n") + "\n\n")
        (folder / f"chapter-{number:03}.md").write_text("".join(parts), encoding="utf-8", newline="")


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a machine without settings, keys and caches; modules are compiled at the first run."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LMM_", "OPENAI_", "PYTHON"))}
    paths = os.pathsep.join([str(BIN), os.environ["PATH"]])
    return kept | {"HOME": str(folder), "XDG_CACHE_HOME": "/dev/null", "PATH": paths}


def run(folder: Path, words: list[str]) -> tuple[float, float]:
    """Run a command in a course; return its seconds of the processors, and those on the clock."""
    begun, before = time.perf_counter(), os.times()
    done = subprocess.run(words, cwd=folder, env=environment(folder.parent), capture_output=True, text=True)
    after = os.times()
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr[-2000:]}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return used, time.perf_counter() - begun


def measure(folder: Path, chapters: int, names: list[str]) -> Iterator[list[str]]:
    """Yield a row for each step."""
    write_course(folder, chapters)
    run(folder, STEPS["rag"].words)
    if {"index", "search"} & {*names}:
        run(folder, STEPS["index"].words)
    for name, step in STEPS.items():
        if name in names or (name == "render" and "leaks" in names):
            seconds = (
                run(folder, step.words)[1] if step.is_render else min(run(folder, step.words)[0] for _ in range(RUNS))
            )
            budget = f"{step.budget if chapters > 20 or step.is_render else 0.5:.1f}"
            yield [f"{chapters}", name, f"{seconds:.2f}", budget]


def profile(folder: Path, chapters: int, name: str) -> None:
    """Print the functions that take longest in one step."""
    write_course(folder, chapters)
    run(folder, STEPS["rag"].words)
    os.chdir(folder)
    os.environ.update(environment(folder.parent))
    from lmm_core.cli import cli

    profiler = cProfile.Profile()
    with suppress(SystemExit):
        profiler.runcall(cli.main, STEPS[name].words[1:], standalone_mode=False)
    pstats.Stats(profiler, stream=sys.stderr).sort_stats("cumulative").print_stats(100)


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chapters", type=int, nargs="+", default=[20, 200])
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--profile", choices=STEPS)
    asked = parser.parse_args()
    print(machine())
    rows = []
    for chapters in asked.chapters:
        with tempfile.TemporaryDirectory() as folder:
            if asked.profile:
                profile(Path(folder) / "course", chapters, asked.profile)
            else:
                rows += measure(Path(folder) / "course", chapters, asked.steps)
    if rows:
        print_table("A course in which nothing has changed, without caches", ["chapters", "step", "s", "budget"], rows)


if __name__ == "__main__":
    main()
