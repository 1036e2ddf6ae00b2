"""What annotating by a model costs: requests and seconds, against a local server that
answers after 300 ms.

python benchmarks/annotate.py [--runs 3]
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from openai import AsyncOpenAI
from tables import machine, print_table
from texts import ROOT

from filters import environment
from lmm_core.logging import ListLogger
from lmm_core.markdown import blocks_to_tree, parse_markdown_text, sections, serialize_blocks
from lmm_core.markdown.visibility import KnitRules
from lmm_core.models.annotators.model_annotator import ModelAnnotator, make_request
from lmm_core.models.cache import Cache
from lmm_core.models.chat import Asker, Usage
from lmm_core.models.names import ModelName
from lmm_core.models.openai.chat import OpenAIChat
from lmm_core.models.sources import ModelSource, RequestLimits
from lmm_core.scan import scan, scan_rag
from lmm_core.scan.annotations.sections import SectionTexts

DELAY = 0.3
AT_ONCE = 16
CHAPTERS, SECTIONS, SUBSECTIONS = 5, 3, 6  # 5 + 15 + 90 = 110 sections
PARAGRAPH = (
    "The mean of {0} is the sum of its values divided by their number. It is the best known measure of centre. "
    "It is also the one that a single wild value can move as far as it likes, which is why careful people look at "
    "the median as well. They draw the data of {0} first, and decide afterwards which of the two tells the story."
)
OVERHEAD_REQUESTS = 200


def document() -> str:
    """A header and 110 sections in three levels, a paragraph of 70 words in each."""
    parts = ["---\ntitle: Notes\ndocid: notes\n---\n"]
    for chapter in range(1, CHAPTERS + 1):
        parts.append(_section(f"{chapter}", 1))
        for section in range(1, SECTIONS + 1):
            parts.append(_section(f"{chapter}.{section}", 2))
            parts += [_section(f"{chapter}.{section}.{below}", 3) for below in range(1, SUBSECTIONS + 1)]
    return "\n".join(parts)


def _section(number: str, level: int) -> str:
    return f"{'#' * level} Part {number}\n\n{PARAGRAPH.format(f'sample {number}')}\n"


# Servers and models


@contextmanager
def server(delay: float) -> Iterator[str]:
    """The address of a server in a process of its own."""
    with serving("-m", "tests.model_server", "--delay", str(delay)) as url:
        yield url


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """The address that a Python process prints while it serves."""
    command = [sys.executable, *arguments]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    try:
        yield running.stdout.readline().strip()
    finally:
        running.kill()
        running.wait()


def annotator(url: str, folder: Path, at_once: int = AT_ONCE) -> ModelAnnotator:
    """The model at an address, with a reply cache in a folder."""
    chat = OpenAIChat(ModelName("bench", "model"), ModelSource("bench", url), RequestLimits(max_concurrency=at_once))
    return ModelAnnotator(Asker(chat, Cache(folder)))


def annotate(text: str, url: str, folder: Path, at_once: int = AT_ONCE) -> tuple[str, float, Usage]:
    """The annotated text, the seconds that the passes took, and what was asked."""
    model, logger = annotator(url, folder, at_once), ListLogger()
    start = time.perf_counter()
    blocks = scan(parse_markdown_text(text), "notes", "notes.md", logger)
    made = serialize_blocks(scan_rag(blocks, annotator=model, docid="notes.md", logger=logger))
    seconds = time.perf_counter() - start
    if logger.count():
        raise SystemExit(f"not annotated: {logger.reports[0]}")
    return made, seconds, model.asker.model.usage


@contextmanager
def fresh_folder() -> Iterator[Path]:
    """An empty folder."""
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        yield Path(name)


# (a) A whole document


def pass_seconds(text: str, url: str) -> tuple[float, int]:
    """Seconds and requests of the passes alone, with nothing in the cache."""
    with fresh_folder() as folder:
        _, seconds, usage = annotate(text, url, folder)
    return seconds, usage.requests


def command_seconds(text: str, url: str, known: Mapping[str, str]) -> tuple[float, int]:
    """The same of `lmm rag`, from start to end, in an environment."""
    with fresh_folder() as folder:
        (folder / "notes.md").write_text(text, encoding="utf-8")
        env = {**known, "XDG_CACHE_HOME": str(folder), "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": url}
        start = time.perf_counter()
        done = subprocess.run(["lmm", "rag", "notes.md"], cwd=folder, env=env, capture_output=True, text=True)
        seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"lmm rag: {done.stderr}")
    found = re.search(r"(\d+) requests", done.stderr)
    if found is None:
        raise SystemExit(f"lmm rag tells no number of requests: {done.stderr}")
    return seconds, int(found[1])


def ideal(text: str) -> tuple[int, float]:
    """The longest chain of requests of which each waits for the one before, and the
    seconds that no run can be faster than."""
    tree = blocks_to_tree(parse_markdown_text(text))
    assert tree is not None
    depths: dict[int, int] = {}
    for node in sections(tree, post=True):
        depths[id(node)] = 1 + max((depths[id(child)] for child in node.sections), default=0)
    chain = depths[id(tree)]
    return chain, max(chain * DELAY, len(depths) * DELAY / AT_ONCE)


def least_rounds(text: str) -> int:
    """The rounds of requests that no order of them gets below: in each, those that are farthest from the document go
    first, which is best where all take the same time and at most one waits for each (T. C. Hu, 1961)."""
    tree = blocks_to_tree(parse_markdown_text(text))
    assert tree is not None
    depths = {id(tree): 0}
    for node in sections(tree):
        depths |= {id(child): depths[id(node)] + 1 for child in node.sections}
    left = sorted(sections(tree), key=lambda node: -depths[id(node)])
    rounds = 0
    while left:
        waiting = {id(node) for node in left}
        ready = [node for node in left if waiting.isdisjoint(map(id, node.sections))]
        going = {id(node) for node in ready[:AT_ONCE]}
        left = [node for node in left if id(node) not in going]
        rounds += 1
    return rounds


def import_seconds() -> float:
    """Seconds that a new Python takes to import the client."""
    script = "import time; start = time.perf_counter(); import openai; print(time.perf_counter() - start)"
    return float(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout)


def print_whole(text: str, url: str, runs: int) -> None:
    """Table (a)."""
    chain, least = ideal(text)

    def row(name: str, seconds: float, *counts: int) -> list[str]:
        requests, waiting = map(str, counts or ("", ""))
        return [name, requests, waiting, f"{seconds:.2f}", f"{least:.2f}", f"{seconds / least:.2f}"]

    rows = [row("the fewest rounds", least_rounds(text) * DELAY)]
    rows.append(row("the import of openai", median(import_seconds() for _ in range(runs))))
    with fresh_folder() as folder:
        known = environment(folder)
        ways: dict[str, Callable[[], tuple[float, int]]] = {
            "the passes": lambda: pass_seconds(text, url),
            "lmm rag": lambda: command_seconds(text, url, known),
        }
        for name, measure in ways.items():
            measure()  # imports and compiles the modules
            results = [measure() for _ in range(runs)]
            rows.append(row(name, median(seconds for seconds, _ in results), results[0][1], chain))
    columns = ["", "requests", "chain", "seconds", "ideal", "ratio"]
    print_table(f"(a) A document of 110 sections: medians of {runs} runs", columns, rows)


# (b) The same document again


def print_again(text: str, url: str) -> None:
    """Table (b)."""
    leaf, chapter = PARAGRAPH.format("sample 3.2.4"), PARAGRAPH.format("sample 3")
    edits: dict[str, Callable[[str], str]] = {
        "nothing": lambda made: made,
        "a paragraph of a subsection, edited": lambda made: _replaced(made, leaf, f"New. {leaf}"),
        "a paragraph of a chapter, edited": lambda made: _replaced(made, chapter, f"New. {chapter}"),
        "a paragraph, wrapped again": lambda made: _replaced(made, leaf, leaf.replace(". ", ".\n")),
        "the file as it was before": lambda made: text,
    }
    rows = []
    with fresh_folder() as folder:
        made, _, _ = annotate(text, url, folder)
        for name, edit in edits.items():
            _, seconds, usage = annotate(edit(made), url, folder)
            rows.append([name, str(usage.requests), str(usage.cached), f"{seconds:.2f}"])
    print_table("(b) The same document again", ["changed", "requests", "from cache", "seconds"], rows)


def _replaced(text: str, before: str, after: str) -> str:
    if text.count(before) != 1:
        raise SystemExit(f"not once in the text: {before}")
    return text.replace(before, after)


# (c) Our own time


async def bare_seconds(text: str, url: str) -> float:
    """Seconds of a request of the client alone: the same questions, one after the other."""
    tree = blocks_to_tree(parse_markdown_text(text))
    assert tree is not None
    texts = SectionTexts(tree, KnitRules())
    requests = [make_request(texts.section(node), ["questions", "summary"]) for node in sections(tree)]
    client = AsyncOpenAI(api_key="none", base_url=url)
    times = []
    for number in range(OVERHEAD_REQUESTS):
        request = requests[number % len(requests)]
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        schema = {"name": "reply", "strict": True, "schema": dict(request.schema or {})}
        start = time.perf_counter()
        await client.chat.completions.create(
            model="model",
            messages=messages,  # type: ignore[arg-type]
            response_format={"type": "json_schema", "json_schema": schema},  # type: ignore[typeddict-item]
        )
        times.append(time.perf_counter() - start)
    await client.close()
    return median(times)


def print_overhead(text: str, runs: int) -> None:
    """Table (c)."""
    with server(0) as url:
        bare = median(asyncio.run(bare_seconds(text, url)) for _ in range(runs))
        times = []
        for _ in range(runs):
            with fresh_folder() as folder:
                _, seconds, usage = annotate(text, url, folder, at_once=1)
            times.append(seconds / usage.requests)
    ours = median(times)
    row = [f"{1000 * value:.2f}" for value in (ours, bare, ours - bare)]
    columns = ["", "ms a request", "the bare client", "our own"]
    print_table("(c) Our own time: a server that answers at once, one request after the other", columns, [["", *row]])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Requests and seconds of annotating by a model")
    parser.add_argument("--runs", type=int, default=3, help="runs of which the median is taken")
    runs = max(1, parser.parse_args().runs)
    text = document()
    print(machine())
    with server(DELAY) as url:
        print_whole(text, url, runs)
        print_again(text, url)
    print_overhead(text, runs)


if __name__ == "__main__":
    main()
