"""Measure how long students wait for the first word of `lmm serve` when many ask at once.

python benchmarks/serve.py [--askers 50] [--delay 0.3] [--before CHECKOUT]

The course is the sample book, each chapter many times as long; the model is one that waits and then says the same.
--before: another checkout and this one by turns.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median, quantiles

import psutil
from tables import machine, print_table, say
from texts import ROOT, SAMPLE_BOOK

COPIES = 25  # of the book: about 3,000 chunks
ROUNDS = 6
TURNS = 2  # of two checkouts
QUESTIONS = (
    "When does the mean mislead?",
    "What is the standard error?",
    "How do I know that my residuals are fine?",
    "What does a confidence interval say?",
    "How large should my sample be?",
    "What is a residual plot good for?",
    "Why is the median robust?",
)
CONFIG = """\
[ask]
queries = "keywords"
[serve]
rate = 1000000
record = "off"
"""
NUMBERS = itertools.count()  # for questions that are asked once


@dataclass(frozen=True)
class Heard:
    """One answer: seconds to its first word; why it was not whole, "" if it was."""

    first: float
    why: str = ""


async def ask(port: int, question: str) -> Heard:
    """Ask, and read to the end. By hand: a client would take more processor time than the server."""
    body = json.dumps({"question": question}).encode()
    head = f"POST /ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    began, first, data = time.perf_counter(), 0.0, b""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode() + body)
    while part := await reader.read(1 << 16):
        data += part
        if not first and b"event: part" in data:
            first = time.perf_counter() - began
    writer.close()
    return Heard(first, "" if first and b"event: done" in data else why_not(data))


def why_not(data: bytes) -> str:
    """Return why an answer is not whole: its status and the error that it tells."""
    told = re.search(rb'"error": ?("(?:[^"\\\\]|\\\\.)*")', data)
    return f"{data[9:12].decode() or 'no status'} {json.loads(told[1]) if told else 'no end'}"


async def spread(port: int, askers: int) -> list[Heard]:
    """Each asks at some moment of a second, each second."""

    async def one(at: int) -> list[Heard]:
        heard = []
        await asyncio.sleep(at / askers)
        for turn in range(ROUNDS):
            until = time.perf_counter() + 1.0
            heard.append(await ask(port, QUESTIONS[(at + turn) % len(QUESTIONS)]))
            await asyncio.sleep(max(0.0, until - time.perf_counter()))
        return heard

    return [heard for some in await asyncio.gather(*map(one, range(askers))) for heard in some]


async def rounds(port: int, askers: int, own: bool = False) -> list[Heard]:
    """All ask in the same moment, some times over. own: each asks what nobody has asked before."""
    heard: list[Heard] = []
    for number in range(ROUNDS):
        asked = [QUESTIONS[(at + number) % len(QUESTIONS)] for at in range(askers)]
        if own:
            asked = [f"{question} ({next(NUMBERS)})" for question in asked]
        heard += await asyncio.gather(*(ask(port, question) for question in asked))
    return heard


WAYS = {
    "one a second each": spread,
    "all in the same moment": rounds,
    "the same, no question twice": partial(rounds, own=True),
}


# Servers


@dataclass
class Server:
    """A running server, and what was heard of it by one way of asking."""

    name: str
    port: int
    pid: int
    heard: list[Heard] = field(default_factory=list)
    spent: float = 0.0

    def processor(self) -> float:
        """Return the seconds that processors have worked for it."""
        return sum(psutil.Process(self.pid).cpu_times()[:2])


def write_book(folder: Path) -> None:
    """Write the sample book, each chapter many times as long."""
    for path in SAMPLE_BOOK.glob("*.md"):
        match = re.fullmatch(r"(---\n.*?\n---\n)?(.*)", path.read_text(encoding="utf-8"), re.S)
        assert match is not None
        copies = [match[2].replace("{#", f"{{#c{number}-") for number in range(COPIES)]
        (folder / path.name).write_text((match[1] or "") + "\n\n".join(copies), encoding="utf-8", newline="")


@contextmanager
def serving(folder: Path, delay: float, name: str, root: Path) -> Iterator[Server]:
    """Index a new folder's book and serve it, with a model that takes so many seconds. root: the checkout."""
    folder.mkdir()
    write_book(folder)
    (folder / "config.toml").write_text(CONFIG, encoding="utf-8")
    lmm = [sys.executable, "-m", "lmm_core"]
    subprocess.run([*lmm, "index", "-q", "."], cwd=folder, check=True, env=os.environ | {"PYTHONPATH": str(root)})
    with ExitStack() as stack:
        model = [sys.executable, "-m", "tests.model_server", "--delay", str(delay)]
        url, _ = stack.enter_context(started(model, r"(http://\S+)", folder, PYTHONPATH=str(ROOT)))
        keys = {"OPENAI_API_KEY": "sk-bench", "OPENAI_BASE_URL": url, "PYTHONPATH": str(root)}
        command = [*lmm, "serve", "--port", "0"]
        port, pid = stack.enter_context(started(command, r"at http://127\.0\.0\.1:(\d+)/", folder, **keys))
        asyncio.run(ask(int(port), QUESTIONS[0]))
        yield Server(name, int(port), pid)


@contextmanager
def started(command: Sequence[str], wanted: str, folder: Path, **env: str) -> Iterator[tuple[str, int]]:
    """Start a process, and yield what it prints of a pattern, and its number."""
    log = folder / f"{time.monotonic_ns()}.log"
    with log.open("w") as file:
        process = subprocess.Popen(command, cwd=folder, stdout=file, stderr=file, env=os.environ | env)
    try:
        until = time.monotonic() + 60
        while not (match := re.search(wanted, log.read_text())):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{command}: {log.read_text()}")
            time.sleep(0.1)
        yield match[1], process.pid
    finally:
        process.terminate()
        process.wait(20)


def print_waits(servers: Sequence[Server], askers: int, delay: float) -> None:
    """Print how long askers wait, by each way of asking; several servers are asked by turns."""
    rows, failures = [], Counter[str]()
    for name, way in WAYS.items():
        say(name)
        for server in servers:
            server.heard, server.spent = [], 0.0
        for server in [*servers] * (TURNS if len(servers) > 1 else 1):
            before = server.processor()
            server.heard += asyncio.run(way(server.port, askers))
            server.spent += server.processor() - before
        for server in servers:
            firsts = sorted(each.first for each in server.heard if not each.why) or [0.0, 0.0]
            failures.update(f"{name}: {each.why}" for each in server.heard if each.why)
            times = (server.spent / len(server.heard), median(firsts), quantiles(firsts, n=20)[-1])
            failed = sum(bool(each.why) for each in server.heard)
            milliseconds = [f"{1000 * times[0]:.1f}", *(f"{1000 * value:.0f}" for value in times[1:])]
            rows.append([name, server.name, str(len(server.heard)), str(failed), *milliseconds])
    columns = ["how they ask", "checkout", "answers", "failed", "processor an answer, ms", "first word, ms", "p95"]
    print_table(f"{askers} askers, a model of {1000 * delay:.0f} ms", columns, rows)
    for why, count in failures.items():
        print(f"failed, {count} times: {why}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--askers", type=int, default=50, metavar="N")
    parser.add_argument("--delay", type=float, default=0.3, metavar="SECONDS", help="of the model")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="compare its server with this one's, by turns")
    chosen = parser.parse_args()
    print(machine())
    checkouts = {"before": chosen.before.resolve(), "after": ROOT} if chosen.before else {"this": ROOT}
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as folder, ExitStack() as stack:
        os.environ["XDG_CACHE_HOME"] = str(Path(folder, "cache"))
        servers = [
            stack.enter_context(serving(Path(folder, name), chosen.delay, name, root))
            for name, root in checkouts.items()
        ]
        print_waits(servers, chosen.askers, chosen.delay)


if __name__ == "__main__":
    main()
