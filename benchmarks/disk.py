"""What `lmm index` of the sample book waits for: a disk against a RAM disk, quiet and busy; its syncs and sizes.

python benchmarks/disk.py [--runs 7] [--disk /tmp] [--ram /dev/shm]

Busy: another process writes to the disk, and syncs, all the while. Syncs are counted by strace, where there is one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from tables import machine, print_table, say
from texts import ROOT

COMMAND = Path(sys.executable).with_name("lmm")
WRITES = """
import os, sys
with open(sys.argv[1], "wb") as file:
    while True:
        file.seek(0)
        file.write(os.urandom(4_000_000))
        file.flush()
        os.fsync(file.fileno())
"""


def book(folder: Path) -> Path:
    """A copy of the sample book that is not indexed."""
    copy = Path(shutil.copytree(ROOT / "sample-book", folder / "book", ignore=shutil.ignore_patterns(".lmm", "index")))
    (copy / ".git").mkdir(exist_ok=True)
    return copy


def index(copy: Path, before: tuple[str, ...] = ()) -> float:
    """Seconds of `lmm index`."""
    environment = os.environ | {"HOME": str(copy.parent), "XDG_CACHE_HOME": str(copy.parent / "cache")}
    files = sorted(path.name for path in copy.glob("0*.md"))
    begun = time.perf_counter()
    done = subprocess.run([*before, str(COMMAND), "index", *files], cwd=copy, env=environment, capture_output=True)
    spent = time.perf_counter() - begun
    assert done.returncode == 0, done.stderr.decode()
    return spent


def index_anew(folder: Path) -> float:
    """Seconds of `lmm index` of a new copy in a folder."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        return index(book(Path(place)))


@contextmanager
def busy(folder: Path) -> Iterator[None]:
    """Keep the disk writing."""
    other = subprocess.Popen([sys.executable, "-c", WRITES, str(folder / "noise")])
    try:
        yield
    finally:
        other.kill()
        other.wait()


def waits(disk: Path, ram: Path, runs: int) -> list[list[str]]:
    """Rows: medians on the disk and in memory, in turn."""
    rows = []
    for state in ("quiet", "busy"):
        times: dict[Path, list[float]] = {disk: [], ram: []}
        with ExitStack() as using:
            if state == "busy":
                using.enter_context(busy(disk))
            for _ in range(runs + 1):
                for folder in times:
                    times[folder].append(index_anew(folder))
        on_disk, in_memory = (median(found[1:]) for found in times.values())
        wanted = "<= 1.3 x" if state == "quiet" else "<= 2 x"
        rows.append([state, f"{on_disk:.2f}", f"{in_memory:.2f}", f"{on_disk / in_memory:.2f} x", wanted])
    return rows


def syncs(folder: Path) -> Counter[str]:
    """The number of calls by name."""
    record = folder / "calls"
    index(book(folder), ("strace", "-f", "-e", "trace=fsync,fdatasync,msync,sync_file_range", "-o", str(record)))
    return Counter(re.findall(r"\b(fsync|fdatasync|msync|sync_file_range)\(", record.read_text()))


def sizes(copy: Path) -> list[list[str]]:
    """A row: bytes by the files' lengths, and on the disk."""
    files = [path.stat() for path in (copy / ".lmm").rglob("*") if path.is_file()]
    long, stored = sum(file.st_size for file in files) / 1e6, sum(512 * file.st_blocks for file in files) / 1e6
    return [[f"{long:,.2f}", f"{stored:,.2f}", str(len(files)), "<= 20"]]


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--disk", type=Path, default=Path("/tmp"))
    parser.add_argument("--ram", type=Path, default=Path("/dev/shm"))
    asked = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(dir=asked.disk) as disk, tempfile.TemporaryDirectory(dir=asked.ram) as ram:
        rows = waits(Path(disk), Path(ram), asked.runs)
        print_table("`lmm index` of the sample book, whole process", ["disk", "s", "RAM disk, s", "", "wanted"], rows)
        (Path(disk) / "sizes").mkdir()
        copy = book(Path(disk) / "sizes")
        index(copy)
        print_table("Its index, MB", ["by length", "on the disk", "files", "wanted"], sizes(copy))
        if shutil.which("strace"):
            (Path(disk) / "syncs").mkdir()
            calls = syncs(Path(disk) / "syncs")
            print_table("Its syncs", [*calls], [[str(count) for count in calls.values()]])
        else:
            say("strace is not there: syncs are not counted")


if __name__ == "__main__":
    main()
