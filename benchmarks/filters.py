"""What our filters add to pandoc's own time on a file with nothing left to do.

python benchmarks/filters.py [--runs 15]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tables import machine, print_table, say
from texts import SAMPLE_BOOK, annotate

from lmm_core.markdown import Spelling, parse_markdown_text

CHAPTERS = ("02-describing.md", "03-chance.md")
SPELLINGS: tuple[Spelling, ...] = ("native", "div")
NOTHING = f"""#!{sys.executable}
import panflute

def action(elem, doc):
    pass

panflute.run_filter(action)
"""


def pandocs() -> list[Path]:
    """PATH's pandoc, pypandoc's, and those of LMM_TEST_PANDOCS; each once."""
    found = [shutil.which("pandoc"), packaged_pandoc()]
    found += os.environ.get("LMM_TEST_PANDOCS", "").split(os.pathsep)
    paths = [Path(path).resolve() for path in found if path]
    return list(dict.fromkeys(path for path in paths if path.is_file()))


def packaged_pandoc() -> str | None:
    """The pandoc that comes with pypandoc_binary."""
    try:
        import pypandoc
    except ModuleNotFoundError:
        return None
    path = Path(pypandoc.__file__).parent / "files" / ("pandoc.exe" if os.name == "nt" else "pandoc")
    return str(path) if path.exists() else None


def annotated_file(spelling: Spelling) -> str:
    """About 30 KB: two chapters of the sample book as one document, annotated."""
    first, second = ((SAMPLE_BOOK / name).read_text(encoding="utf-8") for name in CHAPTERS)
    body = "".join(block.source for block in parse_markdown_text(second)[1:])
    return annotate(f"{first}\n{body}", spelling)


def write_filter(folder: Path) -> Path:
    """A panflute filter that does nothing."""
    path = folder / "nothing"
    path.write_text(NOTHING, encoding="utf-8")
    path.chmod(0o755)
    return path


def environment(folder: Path) -> dict[str, str]:
    """The environment of a run: our commands on PATH, none of our settings, and
    modules compiled once, as installed ones are (whatever this shell says)."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LMM_", "OPENAI_", "QUARTO_"))}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    return {**kept, "PATH": path, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


class Bench:
    """Runs of one pandoc in a folder."""

    def __init__(self, pandoc: Path, folder: Path) -> None:
        self.pandoc = pandoc
        self.folder = folder
        self.environment = environment(folder)

    def run(self, arguments: list[str]) -> float:
        """Seconds of one run."""
        start = time.perf_counter()
        done = subprocess.run(
            [str(self.pandoc), *arguments], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        if done.returncode:
            raise SystemExit(f"pandoc {' '.join(arguments)}: {done.stderr.decode('utf-8', 'replace')}")
        return seconds

    def medians(self, commands: list[list[str]], runs: int) -> list[float]:
        """Median seconds of each command; they take turns, so that what else the
        machine does meets all of them."""
        for command in commands:
            self.run(command)
        times = [[self.run(command) for command in commands] for _ in range(runs)]
        return [median(column) for column in zip(*times, strict=True)]

    def version(self) -> str:
        """Pandoc's version."""
        said = subprocess.run([str(self.pandoc), "--version"], capture_output=True, text=True, check=True).stdout
        return said.split()[1]

    def settle(self, name: str) -> None:
        """Run lmm-rag until it has nothing to do."""
        for _ in range(3):
            before = (self.folder / name).read_bytes()
            self.run(["-F", "lmm-rag", name, "-t", "markdown", "-o", name])
            if (self.folder / name).read_bytes() == before:
                return
        raise SystemExit(f"lmm-rag changes its own output ({name}): nothing is measured")


def rows_of(bench: Bench, spelling: Spelling, runs: int) -> list[list[str]]:
    """The table's rows for a pandoc and a spelling."""
    name = f"notes-{spelling}.md"
    (bench.folder / name).write_text(annotated_file(spelling), encoding="utf-8", newline="")
    bench.settle(name)
    kilobytes = f"{(bench.folder / name).stat().st_size / 1000:.1f}"
    nothing = str(write_filter(bench.folder))
    rows: list[list[str]] = []
    for target, ours in (("markdown", "lmm-rag"), ("html", "lmm-knit")):
        filters = {"none": [], "panflute, does nothing": ["-F", nothing], ours: ["-F", ours]}
        times = bench.medians([[*chosen, name, "-t", target] for chosen in filters.values()], runs)
        for label, seconds in zip(filters, times, strict=True):
            extra, empty = seconds - times[0], times[1] - times[0]
            added = [f"{1000 * extra:+.0f}", f"{extra / empty:.2f}"] if label != "none" else ["", ""]
            rows.append([bench.version(), spelling, kilobytes, target, label, f"{1000 * seconds:.0f}", *added])
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Time that filters add to pandoc")
    parser.add_argument("--runs", type=int, default=15, help="runs of each command (9 at least)")
    runs = max(9, parser.parse_args().runs)
    found = pandocs()
    if not found:
        say("no pandoc found: nothing is measured")
        return
    print(machine())
    with tempfile.TemporaryDirectory(prefix="lmm-bench-") as folder:
        rows = [
            row
            for pandoc in found
            for spelling in SPELLINGS
            for row in rows_of(Bench(pandoc, Path(folder)), spelling, runs)
        ]
    columns = ["pandoc", "spelling", "KB", "-t", "filter", "ms", "added", "times empty"]
    print_table(f"Filters on an annotated file: medians of {runs} runs", columns, rows)


if __name__ == "__main__":
    main()
