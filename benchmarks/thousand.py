"""What each step of CI takes for a course of a thousand chapters: from nothing, and after one edited paragraph.

python benchmarks/thousand.py [--chapters 10 100 1000] [--runs 3] [--site]

The chapters are made of the corpora's sections, in another order and with other words in each, 20 KB and
some 16 headings a chapter; a local server's model annotates them. --site: also render the site with pandoc
(minutes), and measure the data of the ask box and the leak check.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from annotate import serving
from tables import machine, print_table
from texts import corpora

from lmm_core.markdown import HeadingBlock, parse_markdown_text, serialize_blocks

COMMAND = str(Path(sys.executable).with_name("lmm"))
CHAPTER = 20_000  # characters
WORD = re.compile(r"\b[a-z]{6,}\b")
SYLLABLES = [first + second for first in "bdfgklmnprst" for second in "aeiou"]
CONFIG = """
[minor]
model = "bench/m"

[sources.bench]
base_url = "{url}"
"""
SERVE = """
import re, json, sys, time
from tests.model_server import ModelServer
def reply(body):
    asked = [one["content"] for one in body["messages"] if one["role"] == "user"][-1]
    words = sorted(set(re.findall("[a-z]{6,}", asked.split("<text>")[-1])), key=len)[-6:]
    return json.dumps({"questions": [f"What of {' '.join(words)}?"], "summary": f"About {' '.join(words)}."})
with ModelServer(reply=reply) as server:
    print(server.url, flush=True)
    time.sleep(10**6)
"""
EDIT = "This paragraph was written today, about {}.\n"
STEPS = {
    "lmm scan": ["scan", "."],
    "lmm rag --check": ["rag", ".", "--check", "-q"],
    "lmm course --steps check": ["course", ".", "--steps", "check", "--json"],
    "lmm index": ["index", "."],
}
ASK_DATA = """
from pathlib import Path
from lmm_core.course.run import open_course
from lmm_core.logging import ListLogger
from lmm_core.quarto.after_render import write_site_box
course = open_course(Path(), None, ListLogger())
write_site_box(course.workshop.site, course.folder, course.logger)
"""
SITE = {"ask data": ["-c", ASK_DATA], "leak check": ["course", ".", "--steps", "leaks", "--json"]}


def sections() -> list[str]:
    """The sections of all corpora, each with its heading, of 400 to 3,000 characters."""
    found: list[str] = []
    for text in (text for corpus in corpora() for text in corpus.texts):
        blocks = parse_markdown_text(text)
        heads = [at for at, block in enumerate(blocks) if isinstance(block, HeadingBlock)]
        found += [serialize_blocks(blocks[start:end]) for start, end in pairwise([*heads, len(blocks)])]
    return [section for section in found if 400 < len(section) < 3000 and "\n```{" not in section]


def varied(text: str, chance: random.Random) -> str:
    """A text with some words of prose replaced by invented ones; code and markup stay."""
    lines = text.splitlines(keepends=True)
    return "".join(
        WORD.sub(lambda word: _invented(chance) if chance.random() < 0.05 else word[0], line)
        if re.match(r"[A-Za-z]", line) and not re.search(r"[`\[<{]|://", line)
        else line
        for line in lines
    )


def _invented(chance: random.Random) -> str:
    return "".join(chance.choices(SYLLABLES, k=3))


def write_course(folder: Path, chapters: int) -> None:
    """A course of so many chapters in a folder."""
    chance, pool = random.Random(chapters), sections()
    (folder / ".git").mkdir(parents=True)
    for number in range(chapters):
        parts = [f"---\ntitle: Chapter {number}\n---\n\n# Chapter {number}\n\n"]
        while sum(map(len, parts)) < CHAPTER:
            parts.append(varied(chance.choice(pool), chance).rstrip("\n") + "\n\n")
        (folder / f"chapter-{number:04}.md").write_text("".join(parts), encoding="utf-8", newline="")


@dataclass(frozen=True)
class Step:
    """A command that was run: seconds, and the memory it held at most, in MB."""

    seconds: float
    memory: float


def run(folder: Path, words: list[str], wanted: int = 0) -> Step:
    """Run a command in a course, with a cache of its own."""
    environment = os.environ | {"HOME": str(folder.parent), "XDG_CACHE_HOME": str(folder.parent / "cache")}
    begun = time.perf_counter()
    command = [sys.executable] if words[0] == "-c" else [COMMAND]
    process = subprocess.Popen([*command, *words], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=-1)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != wanted:
        raise SystemExit(f"lmm {' '.join(words)}: {said.decode()[-2000:]}")
    return Step(time.perf_counter() - begun, usage.ru_maxrss / 1000)


def edit(folder: Path, number: int) -> None:
    """Write a paragraph at the end of a chapter."""
    chapter = folder / f"chapter-{number % len(list(folder.glob('chapter-*.md'))):04}.md"
    chapter.write_text(chapter.read_text(encoding="utf-8") + "\n" + EDIT.format(number), encoding="utf-8", newline="")


def measure(folder: Path, chapters: int, runs: int, with_site: bool) -> Iterator[list[str]]:
    """A row for each step: from nothing, and the median after an edited paragraph."""
    write_course(folder, chapters)
    with serving("-c", SERVE) as url:
        (folder / "config.toml").write_text(CONFIG.format(url=url), encoding="utf-8")
        annotated = run(folder, ["rag", ".", "-q"])
        yield [
            f"{chapters:,}",
            "lmm rag (with its model)",
            f"{annotated.seconds:.2f}",
            "",
            "",
            f"{annotated.memory:.0f}",
        ]
        if with_site:
            run(folder, ["course", ".", "--steps", "render"])
        steps = STEPS | (SITE if with_site else {})
        first = {name: run(folder, words) for name, words in steps.items()}
        later: dict[str, list[Step]] = {name: [] for name in steps}
        for number in range(runs):
            edit(folder, number)
            for name, words in steps.items():
                later[name].append(run(folder, words, wanted=int("--check" in words)))
    for name in steps:
        after = median(step.seconds for step in later[name])
        memory = max(step.memory for step in (first[name], *later[name]))
        wanted = "<= 1" if chapters == 1_000 else ""
        yield [f"{chapters:,}", name, f"{first[name].seconds:.2f}", f"{after:.2f}", wanted, f"{memory:.0f}"]
    total = sum(median(step.seconds for step in found) for found in later.values())
    whole = sum(step.seconds for step in first.values())
    yield [f"{chapters:,}", "sum", f"{whole:.2f}", f"{total:.2f}", "<= 3" if chapters == 1_000 else "", ""]


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chapters", type=int, nargs="+", default=[10, 100, 1_000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--site", action="store_true", help="render the site, too, and look for leaks in it")
    asked = parser.parse_args()
    print(machine())
    rows = []
    for chapters in asked.chapters:
        with tempfile.TemporaryDirectory() as folder:
            rows += measure(Path(folder) / "course", chapters, asked.runs, asked.site)
    columns = ["chapters", "step", "from nothing, s", "after an edit, s", "wanted", "MB"]
    print_table(f"A course of 20 KB a chapter: each step of CI, medians of {asked.runs} edits", columns, rows)


if __name__ == "__main__":
    main()
