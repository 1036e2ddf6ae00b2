"""Measure what recording adds to an answer of `lmm serve` when many ask in the same moment.

Servers that record and that do not are asked in turns, so that whatever else the machine does slows both down.

python benchmarks/recording.py [--askers 50] [--seconds 60] [--delay 0.0]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles

import psutil
from serve import BOOK, QUESTIONS, ROOT, ask, serving
from tables import machine, print_table

RECORDS = ("off", "off again", "questions", "conversations")  # the second: what a difference of nothing looks like
WANTED = 2.0  # ms more for 19 of 20
LEAST = 5  # rounds, however long they take


async def one_round(port: int, askers: int, number: int) -> float:
    """All ask in the same moment; the milliseconds within which 19 of 20 have their whole answer."""
    asked = [f"{QUESTIONS[at % len(QUESTIONS)]} ({number}, {at})" for at in range(askers)]
    heard = await asyncio.gather(*(ask(port, question) for question in asked))
    if not all(one.good for one in heard):
        raise RuntimeError("an answer was not whole")
    return 1000 * quantiles([one.whole for one in heard], n=20)[-1]


def measure(folders: dict[str, Path], askers: int, seconds: float, delay: float) -> tuple[int, list[list[str]]]:
    """Return how many rounds there was time for, and the rows of the table."""
    spent, waited = dict.fromkeys(folders, 0.0), {name: [] for name in folders}
    with ExitStack() as stack:
        ports = {}
        for name, folder in folders.items():
            record = name.partition(" ")[0]
            ports[name] = stack.enter_context(serving(folder, delay, "keywords", record=record))
            for number in range(1):
                asyncio.run(one_round(ports[name][0], askers, -number - 1))
        number, until = 0, time.monotonic() + seconds
        while number < LEAST or time.monotonic() < until:
            order = list(folders)[:: 1 if number % 2 else -1]
            for name in order:
                port, pid = ports[name]
                before = sum(psutil.Process(pid).cpu_times()[:2])
                waited[name].append(asyncio.run(one_round(port, askers, number)))
                spent[name] += sum(psutil.Process(pid).cpu_times()[:2]) - before
            number += 1
    return number, [row_of(name, waited, spent, askers * number) for name in folders]


def row_of(name: str, waited: dict[str, list[float]], spent: dict[str, float], answers: int) -> list[str]:
    """A row: the median of the rounds, of their differences to the round beside it, and the processor's time."""
    more = [one - other for one, other in zip(waited[name], waited["off"], strict=True)]
    cost = 1000 * (spent[name] - spent["off"]) / answers
    wanted = "" if name.startswith("off") else f"<= {WANTED:+.0f}"
    return [name, f"{median(waited[name]):.1f}", f"{median(more):+.1f}", wanted, f"{1000 * spent[name] / answers:.2f}",
            f"{cost:+.2f}"]  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="lmm serve: what recording costs")
    parser.add_argument("--askers", type=int, default=50, metavar="N")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="N", help="for all rounds")
    parser.add_argument("--delay", type=float, default=0.0, metavar="SECONDS", help="of the model")
    chosen = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        os.environ["XDG_CACHE_HOME"] = str(Path(name, "cache"))
        folders = {record: Path(name, record.replace(" ", "-")) for record in RECORDS}
        first, *others = folders.values()
        shutil.copytree(BOOK, first)
        subprocess.run([sys.executable, "-m", "lmm_core", "index", "-q", "."], cwd=first, check=True,
                       env=os.environ | {"PYTHONPATH": str(ROOT)})  # fmt: skip
        for folder in others:
            shutil.copytree(first, folder)
        rounds, rows = measure(folders, chosen.askers, chosen.seconds, chosen.delay)
    columns = ["record", "p95 (ms)", "more than off", "wanted", "processor (ms)", "more than off"]
    print_table(f"{chosen.askers} ask in the same moment, {rounds} times", columns, rows)


if __name__ == "__main__":
    main()
