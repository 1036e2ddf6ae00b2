"""How long a user waits for commands with little to do, beside an empty Python.

python benchmarks/startup.py [--runs 15]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tables import machine, print_table

from filters import environment

NOTES = "---\ntitle: Notes\n---\n\n# Mean\n\nThe mean is the sum of all values, divided by their number.\n"
EMPTY = "an empty Python"
COMMANDS = {
    EMPTY: [sys.executable, "-c", "pass"],
    **{f"lmm {words}": ["lmm", *words.split()] for words in ("--help", "scan --help", "scan notes.md", "models list")},
}


def milliseconds(command: list[str], folder: Path) -> float:
    """The time of one run."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, check=True)
    return 1000 * (time.perf_counter() - start)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Time that commands take to start")
    parser.add_argument("--runs", type=int, default=15, help="runs of each command")
    runs = parser.parse_args().runs
    print(machine())
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        folder = Path(name)
        (folder / "notes.md").write_text(NOTES, encoding="utf-8")
        for command in COMMANDS.values():  # compiles the modules, and asks fastembed which models it knows
            milliseconds(command, folder)
        # they take turns, so that what else the machine does meets all of them
        times = [[milliseconds(command, folder) for command in COMMANDS.values()] for _ in range(runs)]
    columns = list(zip(*times, strict=True))
    rows = [
        [label, f"{median(column):.0f}", f"{median(column) / median(columns[0]):.1f}", f"{min(column):.0f}",
         f"{min(column) / min(columns[0]):.1f}"]
        for label, column in zip(COMMANDS, columns, strict=True)
    ]  # fmt: skip
    print_table(f"Start-up: {runs} runs", ["command", "median ms", "times empty", "least ms", "times empty"], rows)


if __name__ == "__main__":
    main()
