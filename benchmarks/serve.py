"""How long students wait for the first word of `lmm serve` when many ask at once, and whether its memory grows.

python benchmarks/serve.py [--askers 50] [--delay 0.3] [--requests 10000] [--workers] [--apart] [--before CHECKOUT]
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
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

import psutil
from tables import machine, print_table, say

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "sample-book"
COPIES = 25  # of the book: about 3,000 chunks
ROUNDS = 6
TURNS = 2  # of two checkouts
WANTED = 0.450  # seconds to the first token, for 19 of 20
SAMPLES = 10  # of the memory
GROWTH = 0.05  # of the memory between its first sample and its last
QUESTIONS = (
    "When does the mean mislead?",
    "What is the standard error?",
    "How do I know that my residuals are fine?",
    "What does a confidence interval say?",
    "How large should my sample be?",
    "What is a residual plot good for?",
    "Why is the median robust?",
)
NUMBERS = itertools.count()  # for questions that are asked once


@dataclass(frozen=True)
class Heard:
    """One answer: seconds to its first token and to its end; why it was not whole, "" if it was."""

    first: float
    whole: float
    why: str = ""

    @property
    def good(self) -> bool:
        """Return True if it was whole."""
        return not self.why


def write_book(folder: Path, apart: bool = False) -> None:
    """The sample book, each chapter many times as long, or with each copy in a file of its own."""
    for path in BOOK.glob("*.md"):
        header, body = re.fullmatch(r"(---\n.*?\n---\n)?(.*)", path.read_text(encoding="utf-8"), re.S).groups("")
        copies = [body.replace("{#", f"{{#c{number}-") for number in range(COPIES)]
        for number, text in enumerate(copies if apart else ["\n\n".join(copies)]):
            file = f"{path.stem}-{number}.md" if apart else path.name
            own = re.sub(r"(?m)^(~?docid: .*)$", rf"\1-{number}", header) if apart else header
            (folder / file).write_text(own + text, encoding="utf-8", newline="")


def make_index(folder: Path, root: Path) -> None:
    """Index a folder by a checkout."""
    command = [sys.executable, "-m", "lmm_core", "index", "-q", "."]
    subprocess.run(command, cwd=folder, check=True, env=os.environ | {"PYTHONPATH": str(root)})


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
    return Heard(first, time.perf_counter() - began, "" if first and b"event: done" in data else why_not(data))


def why_not(data: bytes) -> str:
    """Return why an answer is not whole: its status and the error that it tells."""
    told = re.search(rb'"error": ?("(?:[^"\\\\]|\\\\.)*")', data)
    return f"{data[9:12].decode() or 'no status'} {json.loads(told[1]) if told else 'no end'}"


async def rounds(port: int, askers: int, own: bool = False) -> list[Heard]:
    """All ask in the same moment, some times over. own: nobody asks what was asked before."""
    heard: list[Heard] = []
    for number in range(ROUNDS):
        asked = [QUESTIONS[(at + number) % len(QUESTIONS)] for at in range(askers)]
        if own:
            asked = [f"{question} ({next(NUMBERS)})" for question in asked]
        heard += await asyncio.gather(*(ask(port, question) for question in asked))
    return heard


async def own_rounds(port: int, askers: int) -> list[Heard]:
    """All ask in the same moment, each another question."""
    return await rounds(port, askers, own=True)


async def without_end(port: int, askers: int) -> list[Heard]:
    """Each asks again as soon as it has an answer."""

    async def one(at: int) -> list[Heard]:
        return [await ask(port, QUESTIONS[(at + turn) % len(QUESTIONS)]) for turn in range(ROUNDS)]

    return [heard for some in await asyncio.gather(*map(one, range(askers))) for heard in some]


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


WAYS = {
    "one a second each": spread,
    "all in the same moment": rounds,
    "the same, no question twice": own_rounds,
    "again at once": without_end,
}


@contextmanager
def started(command: Sequence[str], wanted: str, folder: Path, **env: str) -> Iterator[tuple[str, int]]:
    """A process, with what it prints of a pattern, and its number."""
    log = folder / f"{time.monotonic_ns()}.log"
    with log.open("w") as file:
        process = subprocess.Popen(command, cwd=folder, stdout=file, stderr=file, env=os.environ | env)
    try:
        until = time.monotonic() + 60
        while not (found := re.search(wanted, log.read_text())):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{command}: {log.read_text()}")
            time.sleep(0.1)
        yield found[1], process.pid
    finally:
        process.terminate()
        process.wait(20)


def serve_model(delay: float) -> None:
    """A model that takes so many seconds, until killed: for a question it has four queries."""
    from tests.model_server import ModelServer, annotate

    def reply(body: dict) -> str:
        wants_queries = "`queries`" in body["messages"][0]["content"]
        return json.dumps({"queries": QUESTIONS[:4]}) if wants_queries else annotate(body)

    with ModelServer(reply=reply, delay=delay) as running:
        print(running.url, flush=True)
        threading.Event().wait()


def processes(folder: Path, askers: int) -> None:
    """Table (c)."""
    sys.path.insert(0, str(ROOT))
    from tests.qdrant_server import RealServer

    python, source = sys.executable, {"PYTHONPATH": str(ROOT)}
    rows = []
    with ExitStack() as stack:
        url = stack.enter_context(RealServer(folder / "qdrant")).url
        env = os.environ | source | {"LMM_STORAGE__URL": url}
        subprocess.run([python, "-m", "lmm_core", "index", "-q", "."], cwd=folder, check=True, env=env)
        for count in (1, 2):
            say(f"workers: {count}")
            with serving(folder, 0.0, "keywords", count, url) as (port, pid):
                tree = [psutil.Process(pid), *psutil.Process(pid).children()]
                for _ in range(2):  # every worker has read the notes
                    asyncio.run(without_end(port, askers // 2))
                before, began = sum(sum(one.cpu_times()[:2]) for one in tree), time.perf_counter()
                heard = asyncio.run(without_end(port, askers))
                seconds = time.perf_counter() - began
                spent = sum(sum(one.cpu_times()[:2]) for one in tree) - before
                good = sum(one.good for one in heard)
                rows.append([str(count), str(good), str(len(heard) - good), f"{good / seconds:.0f}",
                             f"{1000 * spent / len(heard):.1f}", f"{100 * spent / seconds:.0f} %"])  # fmt: skip
    columns = ["workers", "answers", "failed", "a second", "processor (ms)", "of one core"]
    print_table(f"(c) {askers} askers without a pause, an index on a server, a model of 0 ms", columns, rows)


@contextmanager
def serving(
    folder: Path, delay: float, queries: str, workers: int = 1, index: str = "", record: str = "off", root: Path = ROOT
) -> Iterator[tuple[int, int]]:
    """A server with a model that takes so many seconds; its port and its process. index: of the index's server; root:
    the checkout that serves."""
    served = f'rate = 1000000\nrecord = "{record}"\n'
    (folder / "config.toml").write_text(f'[ask]\nqueries = "{queries}"\n[serve]\n{served}', encoding="utf-8")
    python, source = sys.executable, {"PYTHONPATH": str(ROOT)}
    with ExitStack() as stack:
        model = [python, __file__, "--model", "--delay", str(delay)]
        url, _ = stack.enter_context(started(model, r"(http://\S+)", folder, **source))
        keys = {"OPENAI_API_KEY": "sk-bench", "OPENAI_BASE_URL": url} | ({"LMM_STORAGE__URL": index} if index else {})
        server = [python, "-m", "lmm_core", "serve", "--port", "0", "--workers", str(workers)]
        keys["PYTHONPATH"] = str(root)
        port, pid = stack.enter_context(started(server, r"at http://127\.0\.0\.1:(\d+)/", folder, **keys))
        asyncio.run(ask(int(port), QUESTIONS[0]))
        yield int(port), pid


def waits(folder: Path, askers: int, delay: float) -> None:
    """Table (a)."""
    rows, failures = [], Counter[str]()
    for queries in ("keywords", "model"):
        say(f"waits: {queries}")
        with serving(folder, delay, queries) as (port, pid):
            for name, way in WAYS.items():
                before = sum(psutil.Process(pid).cpu_times()[:2])
                heard = asyncio.run(way(port, askers))
                spent = sum(psutil.Process(pid).cpu_times()[:2]) - before
                good = [one for one in heard if one.good]
                failures.update(f"{queries}, {name}: {one.why}" for one in heard if one.why)
                firsts = sorted(one.first for one in good) or [0.0, 0.0]
                rows.append([
                    queries, name, str(len(heard)), str(len(heard) - len(good)), *(f"{1000 * one:.0f}" for one in (
                        median(firsts), quantiles(firsts, n=20)[-1], firsts[-1], spent / len(heard))),
                    f"<= {1000 * WANTED:.0f}" if queries == "keywords" else "",
                ])  # fmt: skip
    columns = ["queries by", "askers", "answers", "failed", "first token", "p95", "slowest", "processor", "wanted p95"]
    print_table(f"(a) {askers} askers, a model of {1000 * delay:.0f} ms: milliseconds", columns, rows)
    for why, count in failures.items():
        print(f"failed, {count} times: {why}")


def turns(folder: Path, askers: int, delay: float, before: Path, apart: bool) -> None:
    """Table (d)."""
    rows = []
    with ExitStack() as stack:
        servers = []
        for root in (before, ROOT):
            own = folder / f"book{len(servers)}"
            own.mkdir()
            write_book(own, apart)
            make_index(own, root)
            servers.append(stack.enter_context(serving(own, delay, "keywords", root=root)))
        for name, way in WAYS.items():
            say(f"by turns: {name}")
            heard: list[list[Heard]] = [[], []]
            spent = [0.0, 0.0]
            for at in [0, 1] * TURNS:
                port, pid = servers[at]
                began = sum(psutil.Process(pid).cpu_times()[:2])
                heard[at] += asyncio.run(way(port, askers))
                spent[at] += sum(psutil.Process(pid).cpu_times()[:2]) - began
            for at in (0, 1):
                firsts = sorted(one.first for one in heard[at] if one.good)
                times = (median(firsts), quantiles(firsts, n=20)[-1])
                failed = len(heard[at]) - len(firsts)
                rows.append([name, ("before", "after")[at], str(failed), *(f"{1000 * one:.0f}" for one in times),
                             f"{1000 * spent[at] / len(heard[at]):.1f}"])  # fmt: skip
    columns = ["askers", "checkout", "failed", "first token", "p95", "processor"]
    print_table(f"(d) {askers} askers, by keywords, two checkouts by turns: milliseconds", columns, rows)


def memory(folder: Path, requests: int) -> None:
    """Table (b)."""
    say("memory")
    rows, first = [], 0.0
    with serving(folder, 0.0, "keywords") as (port, pid):
        for sample in range(SAMPLES + 1):
            failed = asyncio.run(_many(port, requests // SAMPLES)) if sample else 0
            size = psutil.Process(pid).memory_info().rss / 1e6
            first = size if sample == 1 else first
            grown = f"{100 * (size / first - 1):+.1f}%" if first else ""
            rows.append([f"{sample * (requests // SAMPLES):,}", str(failed), f"{size:.1f}", grown])
    rows[-1].append(f"<= {100 * GROWTH:+.0f}%")
    print_table("(b) Memory of the server (RSS)", ["answers", "failed", "MB", "grown", "wanted"],
                [[*row, ""][:5] for row in rows])  # fmt: skip


async def _many(port: int, count: int) -> int:
    """Ask so often, eight at a time; returns how many answers failed."""
    left, failed = iter(range(count)), 0

    async def one() -> None:
        nonlocal failed
        for at in left:
            failed += not (await ask(port, f"{QUESTIONS[at % len(QUESTIONS)]} ({at})")).good

    await asyncio.gather(*(one() for _ in range(8)))
    return failed


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="lmm serve: waits and memory")
    parser.add_argument("--askers", type=int, default=50, metavar="N")
    parser.add_argument("--delay", type=float, default=0.3, metavar="SECONDS", help="of the model")
    parser.add_argument("--requests", type=int, default=10_000, metavar="N", help="for the memory; 0: not measured")
    parser.add_argument(
        "--workers", action="store_true", help="measure one and two workers, on a server that QDRANT_TEST_BINARY is"
    )
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="compare its server with this one's, by turns")
    parser.add_argument("--apart", action="store_true", help="each copy of a chapter is a file: 200 of them")
    parser.add_argument("--model", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.model:
        serve_model(chosen.delay)
    print(machine())
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        folder = Path(name)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        if chosen.before:
            turns(folder, chosen.askers, chosen.delay, chosen.before.resolve(), chosen.apart)
            return
        write_book(folder, chosen.apart)
        if chosen.workers:
            processes(folder, chosen.askers)
            return
        make_index(folder, ROOT)
        waits(folder, chosen.askers, chosen.delay)
        if chosen.requests:
            memory(folder, chosen.requests)


if __name__ == "__main__":
    main()
