"""Measure the code itself: where things are, how long they are, and what a command loads.

python benchmarks/structure.py [CHECKOUT] [--names] [--no-runs]

Tables for a checkout of this project (default: this one), of today's layout or of an older
one: modules and lines a folder, import circles, class names defined twice, lengths of functions,
and how many of our modules run for a filter, for `lmm index` and for `lmm ask`.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from tables import print_table
from texts import ROOT

sys.path.insert(0, str(ROOT))
from tests.import_graph import PACKAGES, Import, find_circles, find_imports, find_modules, is_part

LONG_MODULE = 400
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Source:
    """A file of the checkout, read and parsed."""

    path: str
    text: str
    tree: ast.Module


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--names", action="store_true", help="name the modules that run for each command")
    parser.add_argument("--no-runs", action="store_true", help="run no command")
    arguments = parser.parse_args()
    checkout = arguments.checkout.resolve()
    sources = read_sources(checkout)
    folders_table(sources)
    circles_list(find_imports(checkout))
    classes_list(sources)
    lengths_table(sources)
    if not arguments.no_runs:
        runs_table(checkout, arguments.names)


def read_sources(checkout: Path) -> list[Source]:
    """Return the files of our packages, in order of their paths."""
    found = []
    for path in sorted(find_modules(checkout).values()):
        text = path.read_text(encoding="utf-8")
        found.append(Source(path.relative_to(checkout).as_posix(), text, ast.parse(text)))
    return found


# Modules, circles, names


def folders_table(sources: Sequence[Source]) -> None:
    """Print how many modules each folder holds, and which modules are long."""
    rows = []
    for folder in sorted({folder_of(source) for source in sources}):
        inside = [source for source in sources if folder_of(source) == folder]
        modules = [source for source in inside if not source.path.endswith("__init__.py")]
        rows.append([folder, str(len(modules)), str(count_lines(inside))])
    rows.append(["all", str(sum(int(row[1]) for row in rows)), str(count_lines(sources))])
    print_table("Modules a folder (`__init__` not counted)", ["folder", "modules", "lines"], rows)
    long = [source for source in sources if count_lines([source]) > LONG_MODULE]
    print_list(f"Modules over {LONG_MODULE} lines", [f"{one.path} {count_lines([one])}" for one in long])


def folder_of(source: Source) -> str:
    """Return the folder of a file, relative to the checkout."""
    return source.path.rpartition("/")[0]


def count_lines(sources: Sequence[Source]) -> int:
    """Return the number of lines of some files, blank ones included."""
    return sum(len(source.text.splitlines()) for source in sources)


def print_list(title: str, lines: Sequence[str]) -> None:
    """Print a title with a count and a list below it."""
    print(f"\n{title}: {len(lines)}\n")
    for line in lines:
        print(f"  {line}")


def circles_list(imports: Sequence[Import]) -> None:
    """Print the circles of imports, an import inside a function as `~>`."""
    eager = len(find_circles(one for one in imports if not one.lazy))
    circles = find_circles(imports)
    arrows = [
        sorted({f"{one.source} {'~>' if one.lazy else '->'} {one.target}" for one in imports if is_part(one, circle)})
        for circle in circles
    ]
    print_list(f"Import circles ({eager} of them at module level)", ["; ".join(lines) for lines in arrows])


def classes_list(sources: Sequence[Source]) -> None:
    """Print the class names that several classes share, with their files."""
    places: dict[str, list[str]] = {}
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(source.path)
    twice = [f"{name}: {', '.join(paths)}" for name, paths in sorted(places.items()) if len(paths) > 1]
    print_list("Class names defined more than once", twice)


# Functions


def lengths_table(sources: Sequence[Source]) -> None:
    """Print how long functions are, from `def` to their last line."""
    rows = []
    for package in [*PACKAGES.values(), ""]:
        inside = [source for source in sources if source.path.startswith(package)]
        lengths = sorted(length_of(node) for source in inside for node in functions(source.tree))
        rows.append([package or "all", *length_cells(lengths)])
    columns = ["package", "functions", "median", "90 %", "longest", "over 20", "over 50"]
    print_table("Lengths of functions (lines, docstring included)", columns, rows)


def functions(tree: ast.AST) -> Iterator[Function]:
    """Yield all functions and methods of a file, inner ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length_of(node: Function) -> int:
    """Return the lines of a function, without decorators."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def length_cells(lengths: Sequence[int]) -> list[str]:
    """Return the cells of a row: count, median, 90th percentile, longest, and how many are long."""
    tenths = quantiles(lengths, n=10) if len(lengths) > 1 else [*lengths] * 9
    return [
        str(len(lengths)),
        f"{median(lengths):.0f}",
        f"{tenths[8]:.0f}",
        str(max(lengths)),
        str(sum(length > 20 for length in lengths)),
        str(sum(length > 50 for length in lengths)),
    ]


# Which modules run

COMMANDS = {
    "pandoc -F lmm-rag": ["pandoc", "-F", "lmm-rag", "{chapter}", "-t", "markdown", "-o", "../out.md"],
    "lmm index": ["lmm", "index", "."],
    "lmm ask": ["lmm", "ask", "What is a residual?"],
}
MAINS = {"lmm": "lmm_core.cli", "lmm-rag": "lmm_filters.lmm_rag"}
RUNNER = """#!{python}
import atexit, os, sys, threading

called = set()

def watch(frame, event, argument):
    if event == "call" and frame.f_code.co_flags & 1:  # a function, no body of a module or class
        called.add(frame.f_code.co_filename)

def note():
    sys.setprofile(None)
    with open(os.environ["STRUCTURE_SEEN"], "a") as seen:
        for name, module in sorted(sys.modules.items()):
            if name.split(".")[0] in {packages} and module is not None:
                print(name, "called" if module.__file__ in called else "loaded", file=seen)

atexit.register(note)
threading.setprofile(watch)
sys.setprofile(watch)
from {module} import main
main()
"""


def runs_table(checkout: Path, with_names: bool) -> None:
    """Print how many of our modules are loaded, and how many do something, for each command."""
    with tempfile.TemporaryDirectory() as folder:
        found = run_commands(checkout, Path(folder))
    rows = [
        [command, str(len(names)), str(sum(names.values())), str(sum(name.startswith("lmm_filters") for name in names))]
        for command, names in found.items()
    ]
    columns = ["command", "files loaded", "with a function called", "files of filters"]
    print_table("Our files that run for a command (`__init__` counted)", columns, rows)
    if with_names:
        for command, names in found.items():
            print_list(f"{command} (* a function of it is called)", [f"{'* ' * names[name]}{name}" for name in names])


def run_commands(checkout: Path, folder: Path) -> dict[str, dict[str, bool]]:
    """Run the commands on a copy of the checkout's sample book.

    Return the modules that each loads, with True for those of which a function is called."""
    book = Path(shutil.copytree(checkout / "sample-book", folder / "book"))
    chapter = min(book.glob("0*.md")).name
    environment = prepare(checkout, folder)
    found = {}
    for command, words in COMMANDS.items():
        seen = folder / "seen"
        seen.unlink(missing_ok=True)
        words = [word.format(chapter=chapter) for word in words]
        done = subprocess.run(words, cwd=book, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{command} failed: {done.stderr}")
        lines = [line.split() for line in seen.read_text(encoding="utf-8").splitlines()]
        found[command] = {name: how == "called" for name, how in lines}
    return found


def prepare(checkout: Path, folder: Path) -> dict[str, str]:
    """Put the checkout's packages and its commands into a folder; return the environment that finds them.

    No settings, keys and caches of this machine count."""
    for package, place in PACKAGES.items():
        (folder / package).symlink_to(checkout / place)
    (folder / "bin").mkdir()
    for name, module in MAINS.items():
        script = folder / "bin" / name
        script.write_text(RUNNER.format(python=sys.executable, module=module, packages=set(PACKAGES)), encoding="utf-8")
        script.chmod(0o755)
    kept: dict[str, Any] = {name: os.environ[name] for name in ("LANG", "LC_ALL", "SYSTEMROOT") if name in os.environ}
    bins = [str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    own = {"HOME": str(folder), "PYTHONPATH": str(folder), "STRUCTURE_SEEN": str(folder / "seen")}
    return {**kept, **own, "PATH": os.pathsep.join(bins)}


if __name__ == "__main__":
    main()
