"""What each step of CI takes for a course of a thousand chapters: from nothing, and after one edited paragraph.

python benchmarks/thousand.py [--chapters 10 100 1000] [--runs 3] [--site] [--keep FOLDER]

The chapters are made of the corpora's sections, in another order and with other words in each, 20 KB and
12 sections a chapter; a local server's model annotates them. --site: also render the site with pandoc
(minutes), and measure the data of the ask box and the leak check.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

from annotate import server
from tables import machine, print_table
from texts import corpora

from lmm_core.markdown import HeadingBlock, parse_markdown_text, serialize_blocks

COMMAND = str(Path(sys.executable).with_name("lmm"))
CHAPTER = 20_000  # characters
WORD = re.compile(r"\b[a-z]{6,}\b")
SYLLABLES = [first + second for first in "bdfgklmnprst" for second in "aeiou"]
CONFIG = """
[models.bench]
url = "{url}"

[major]
model = "bench/model"
"""


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
