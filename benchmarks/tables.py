"""Timing and plain-text tables, for the benchmarks."""

from __future__ import annotations

import gc
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median


def seconds(work: Callable[[], object], runs: int = 5) -> float:
    """The median time of several runs. What takes over two seconds is run once.

    Processor time, so that other work on the machine counts little."""
    times: list[float] = []
    while len(times) < runs and not (times and times[0] > 2):
        gc.collect()
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return median(times)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table with aligned columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    print(f"\n{title}\n")
    for row in (columns, ["-" * width for width in widths], *rows):
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join([row[0].ljust(widths[0]), *cells[1:]]).rstrip(), flush=True)


def machine() -> str:
    """What the numbers depend on: Python, YAML reader, cores, system."""
    import yaml

    reader = "libyaml" if hasattr(yaml, "CSafeLoader") else "PyYAML without libyaml"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, {reader}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def say(text: str) -> None:
    """A remark: to standard error, so that the tables stay tables."""
    print(text, file=sys.stderr, flush=True)
