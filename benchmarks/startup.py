"""How long a user waits for commands with little to do, and a render by Quarto for ours, beside an empty Python.

python benchmarks/startup.py [--runs 15]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tables import machine, print_table, say
from texts import SAMPLE_BOOK

from filters import environment, pandocs
from lmm_core.quarto.extension import packaged_extension

NOTES = "---\ntitle: Notes\n---\n\n# Mean\n\nThe mean is the sum of all values, divided by their number.\n"
EMPTY = "an empty Python"
COMMANDS = ("--help", "scan --help", "scan notes.md", "models list")
CHAPTER = "05-linear-models.md"
# What Quarto puts into the metadata of a page, and the extension's filter with it.
META = ("-M", "quarto-version=1.9.38", "-M", "lmm-asked=true")


@dataclass(frozen=True)
class Run:
    """A command, and where and with what it runs."""

    command: list[str]
    folder: Path
    environment: Mapping[str, str]
    data: bytes = b""

    def milliseconds(self) -> float:
        """The time of one run."""
        start = time.perf_counter()
        subprocess.run(
            self.command, cwd=self.folder, env=self.environment, input=self.data, capture_output=True, check=True
        )
        return 1000 * (time.perf_counter() - start)


def command_runs(folder: Path) -> dict[str, Run]:
    """Commands in a folder with a short document."""
    (folder / "notes.md").write_text(NOTES, encoding="utf-8")
    known = environment(folder)
    return {f"lmm {words}": Run(["lmm", *words.split()], folder, known) for words in COMMANDS}


def quarto_runs(folder: Path) -> dict[str, Run]:
    """What a render of the sample book waits for: the hooks as Quarto runs them, after a render that changed
    nothing, and the filter of a page. The pages are those that pandoc makes."""
    pandoc = pandocs()[0]
    book = Path(shutil.copytree(SAMPLE_BOOK, folder / "book"))
    extension = Path(shutil.copytree(packaged_extension(), book / "_extensions" / "lmm"))
    output = book / "_book"
    output.mkdir()
    known = environment(folder) | {"QUARTO_PROJECT_DIR": str(book), "QUARTO_PROJECT_OUTPUT_DIR": str(output)}
    for page in [*book.glob("*.md"), *book.glob("*.qmd")]:
        made = str(output / f"{page.stem}.html")
        call = [str(pandoc), "-f", "markdown", "-s", "-F", "lmm-knit", page.name, "-o", made]
        subprocess.run(call, cwd=book, env=environment(folder), capture_output=True, check=True)
    ast = subprocess.run([str(pandoc), CHAPTER, "-t", "json", *META], cwd=book, capture_output=True, check=True).stdout
    of_page = known | {"QUARTO_DOCUMENT_PATH": str(book), "QUARTO_DOCUMENT_FILE": CHAPTER}
    script = [sys.executable, "-I", "-S", str(extension / "render.py")]
    knit = [str(Path(sys.executable).with_name("lmm-knit")), "html"]
    return {
        "before a render": Run([*script, "pre-render"], book, known),
        "the filter of a page": Run(knit, book, of_page, ast),
        "after a render": Run([*script, "post-render"], book, known),
    }


def print_times(title: str, runs: Mapping[str, Run], count: int) -> None:
    """Print the times of some commands."""
    for run in runs.values():  # compiles the modules, asks fastembed which models it knows, makes the index
        run.milliseconds()
    # they take turns, so that what else the machine does meets all of them
    times = [[run.milliseconds() for run in runs.values()] for _ in range(count)]
    columns = list(zip(*times, strict=True))
    rows = [
        [label, f"{median(column):.0f}", f"{median(column) / median(columns[0]):.1f}", f"{min(column):.0f}",
         f"{min(column) / min(columns[0]):.1f}"]
        for label, column in zip(runs, columns, strict=True)
    ]  # fmt: skip
    print_table(f"{title}: {count} runs", ["command", "median ms", "times empty", "least ms", "times empty"], rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Time that commands take to start")
    parser.add_argument("--runs", type=int, default=15, help="runs of each command")
    count = parser.parse_args().runs
    print(machine())
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as name:
        folder = Path(name)
        empty = {EMPTY: Run([sys.executable, "-c", "pass"], folder, environment(folder))}
        print_times("Start-up", empty | command_runs(folder), count)
        if pandocs():
            print_times("In a render by Quarto", empty | quarto_runs(folder), count)
        else:
            say("no pandoc found: the hooks of Quarto are not measured")


if __name__ == "__main__":
    main()
