"""Measure the code itself: where things are, how long they are, how their docstrings open.

python benchmarks/structure.py [CHECKOUT] [--names] [--no-runs]

Tables for a checkout of this project (default: this one), of today's layout or of an older
one: modules a folder, import circles, class names defined twice, lengths, docstrings, comments,
and how many of our modules run for a filter, for `lmm index` and for `lmm ask`.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
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
# Words that are verbs at the start of a docstring, unless `NO_VERB_BEFORE` follows: "Name of the file".
VERBS = frozenset(
    """
    abort accept add adjust allow annotate answer append apply arrange ask assemble assert assign attach avoid
    await begin bind block bring build cache calculate call cancel carry change check choose clean clear close
    collapse collect combine compare compile complete compress compute configure connect consume continue convert
    copy correct count cover create cut declare decide decode decrease define delete deliver derive describe
    detect determine discard display divide do download draw drop embed emit empty enable encode end ensure
    enter enumerate erase escape estimate evaluate exclude execute exit expand export expose extend extract
    fail feed fetch fill filter find finish fit fix flag flush fold follow forget format free freeze gather
    generate get give go group guard guess hand handle hash have hide hold identify ignore import include increase
    index indent inform inherit initialise initialize insert inspect install invoke iterate join judge keep
    knit label launch lay leave lend let limit link list listen load locate lock log look lower make map mark mask
    match measure merge migrate mix mount move name narrow normalise normalize note number offer open order
    overwrite pack pad parse pass pick place plan point post prefer prepare print process produce propose protect
    prove provide prune publish pull push put query queue quote raise rank read rebuild recall receive recognise
    recognize record recover reduce refer refresh refuse register reject release remember remove rename render
    repeat replace reply report represent request require reserve reset resolve respond restart restore return
    reuse rewrite round run save say scale scan score search see select send separate serialise serialize serve
    set share shorten show shut sign simplify skip sort spell split start state step stop store strip style
    substitute suggest sum summarise summarize supply switch take tell test tokenize trace track train transform
    translate treat trim truncate try turn undo unescape unfold unite unpack unquote unwrap update upload upsert
    use validate verify visit wait walk warn watch weigh wrap write yield
    """.split()
)
NO_VERB_BEFORE = frozenset({"of", "is", "are"})
INVERTED = ("where it", "where there", "where none")


@dataclass
class Source:
    """A file of the checkout, read and parsed."""

    path: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> list[str]:
        """The lines that are not blank."""
        return [line for line in self.text.splitlines() if line.strip()]


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
    docstrings_tables(sources)
    prose_table(sources)
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


# Functions and their docstrings


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


def docstrings_tables(sources: Sequence[Source]) -> None:
    """Print how many public functions are documented, and how docstrings of functions open."""
    nodes = [node for source in sources for node in functions(source.tree)]
    public = [node for source in sources for node in public_functions(source.tree)]
    rows = [["public functions", str(len(public)), *share(sum(map(has_docstring, public)), len(public))]]
    print_table("Documented", ["", "all", "documented", "share"], rows)
    others: Counter[str] = Counter()
    rows = []
    for kind in ("function", "generator", "property"):
        docs = [ast.get_docstring(node) or "" for node in nodes if kind_of(node) == kind and has_docstring(node)]
        wrong = [doc for doc in docs if not opens_with_verb(doc)]
        rows.append([kind, str(len(docs)), *share(len(wrong), len(docs))])
        if kind == "function":
            others.update(first_words(doc)[0] for doc in wrong)
    print_table("Openings of docstrings", ["kind", "docstrings", "no verb", "share"], rows)
    print(f"\nFirst words that are no imperative verb, functions only: {others.total()}, {len(others)} different\n")
    print_counts(others)


def public_functions(node: ast.AST) -> Iterator[Function]:
    """Yield functions and methods that are public and in nothing private, no inner functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function) and not child.name.startswith("_"):
            yield child
        elif isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from public_functions(child)


def has_docstring(node: Function) -> bool:
    """Return True if a function has a docstring."""
    return bool(ast.get_docstring(node))


def share(part: int, whole: int) -> list[str]:
    """Return two cells: a number and its percentage of the whole."""
    return [str(part), f"{part / max(whole, 1):.1%}"]


def kind_of(node: Function) -> str:
    """Return "property", "generator" or "function"."""
    decorators = {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}
    if decorators & {"property", "cached_property"}:
        return "property"
    own = (child for child in walk_own(node) if isinstance(child, ast.Yield | ast.YieldFrom))
    return "generator" if any(own) and not any("contextmanager" in one for one in decorators) else "function"


def walk_own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is below a node, but nothing of the functions inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function | ast.Lambda):
            yield child
            yield from walk_own(child)


def first_words(docstring: str) -> list[str]:
    """Return the first two words of a docstring, without punctuation after them."""
    return [word.rstrip(".,:;") for word in docstring.split()[:2]]


def opens_with_verb(docstring: str) -> bool:
    """Return True if a docstring starts with an imperative verb: "Name the file", not "Name of the file"."""
    first, *second = first_words(docstring)
    return first.lower() in VERBS and not NO_VERB_BEFORE & set(second)


def print_counts(counts: Counter[str]) -> None:
    """Print words with their counts, the commonest first, in lines of up to 100 characters."""
    line = " "
    for word, count in counts.most_common():
        entry = f" {word} {count}"
        if len(line) + len(entry) > 100:
            print(line)
            line = " "
        line += entry + ","
    print(line.rstrip(","))


# Prose


def prose_table(sources: Sequence[Source]) -> None:
    """Print how much is said in docstrings and comments, and how often in inverted sentences."""
    docstrings = [doc for source in sources for doc in docstrings_of(source.tree)]
    lines = sum(len(source.lines) for source in sources)
    found = [comment for source in sources for comment in comments_of(source.text)]
    own_line = sum(line.lstrip().startswith("#") for source in sources for line in source.lines)
    prose = " ".join(" ".join([*docstrings, *found]).lower().split())
    words, inverted = len(prose.split()), {phrase: len(re.findall(rf"\b{phrase}\b", prose)) for phrase in INVERTED}
    rows = [
        ["lines with a comment, of those not blank", *share(len(found), lines)],
        ["  of these, lines that are nothing else", *share(own_line, lines)],
        ["words in docstrings and comments", str(words), ""],
        *([f'"{phrase}"', str(count), f"{count * 1000 / words:.1f}"] for phrase, count in inverted.items()),
        ["all three", str(sum(inverted.values())), f"{sum(inverted.values()) * 1000 / words:.1f}"],
    ]
    print_table("Prose (phrases: in 1,000 words)", ["", "count", "share"], rows)


def docstrings_of(tree: ast.Module) -> Iterator[str]:
    """Yield the docstrings of a file: its own, and those of classes and functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            yield ast.get_docstring(node) or ""


def comments_of(text: str) -> list[str]:
    """Return the comments of a file, without `#` and without those for tools."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = (token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT)
    return [one for one in comments if not one.startswith(("noqa", "type:", "fmt:", "pragma"))]


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
