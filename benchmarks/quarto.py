"""Measure what the extension adds to a render by the Quarto on PATH, of the sample book and of one chapter of it.

python benchmarks/quarto.py [--runs 5]

Renders with the extension and without it take turns. The processor time is that of all processes which a render
starts, those that outlive it included, which Linux tells.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from tables import machine, print_table, say
from texts import SAMPLE_BOOK

from filters import environment
from lmm_core.quarto.extension import packaged_extension

RENDERS = {"eight pages": (), "one page": ("05-linear-models.md",)}
_SET_CHILD_SUBREAPER = 36  # prctl(2): processes whose parent has ended become children of this one


def write_books(folder: Path) -> tuple[Path, Path]:
    """The sample book without the extension, and with it."""
    ignored = shutil.ignore_patterns("__pycache__", "_book", "_extensions", ".quarto")
    without, used = (Path(shutil.copytree(SAMPLE_BOOK, folder / name, ignore=ignored)) for name in ("without", "with"))
    settings = without / "_quarto.yml"
    kept = settings.read_text(encoding="utf-8").partition("# It runs first")[0]
    settings.write_text(kept, encoding="utf-8")
    shutil.copytree(packaged_extension(), used / "_extensions" / "lmm")
    return without, used


def render(book: Path, files: Sequence[str], known: Mapping[str, str]) -> tuple[float, float]:
    """The seconds of processor time, and of time on the clock, that a render takes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(["quarto", "render", *files], cwd=book, env=known, capture_output=True, check=True)
    clock = time.perf_counter() - start
    _wait_for_all()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock


def _wait_for_all() -> None:
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def compare(books: tuple[Path, Path], files: Sequence[str], known: Mapping[str, str], runs: int) -> list[str]:
    """The cells of a row: medians of seconds, and of the ratios of neighbouring renders."""
    for book in books:
        render(book, files, known)  # compiles the modules, makes the index
    pairs = [[render(book, files, known) for book in books] for _ in range(runs)]
    cells: list[str] = []
    for kind in (0, 1):
        without, used = ([pair[at][kind] for pair in pairs] for at in (0, 1))
        ratio = median(more / less for less, more in zip(without, used, strict=True))
        cells += [f"{median(without):.2f}", f"{median(used):.2f}", f"{ratio:.2f}"]
    return cells


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Time that the extension adds to a render by Quarto")
    parser.add_argument("--runs", type=int, default=5, help="renders of each kind")
    runs = parser.parse_args().runs
    if shutil.which("quarto") is None:
        say("no Quarto found on PATH: nothing is measured")
        return
    print(machine())
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        books, known = write_books(Path(name)), environment(Path(name))
        rows = [[label, *compare(books, files, known, runs)] for label, files in RENDERS.items()]
    columns = ["render", "CPU s without", "with", "ratio", "clock s without", "with", "ratio"]
    print_table(f"Renders by Quarto: {runs} runs", columns, rows)


if __name__ == "__main__":
    main()
