"""The modules of a checkout and what they import of each other, read from the source."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Packages as they are installed, and their folders in a checkout.
PACKAGES = {"lmm_core": "lmm_core", "lmm_filters": "filters", "lmm_quarto": "quarto-ext/_extensions/lmm"}


@dataclass(frozen=True)
class Import:
    """One import of a module of ours by another."""

    source: str
    target: str
    path: Path  # of the file that imports, relative to the checkout
    line: int
    lazy: bool  # inside a function

    @property
    def runs(self) -> set[str]:
        """The modules that this runs: the target and the packages around it, without those around the source."""
        parts = self.target.split(".")
        packages = {".".join(parts[:end]) for end in range(1, len(parts))}
        return {self.target} | {package for package in packages if not f"{self.source}.".startswith(f"{package}.")}

    def __str__(self) -> str:
        where = " inside a function" if self.lazy else ""
        return f"{self.path.as_posix()}:{self.line} imports {self.target}{where}"


def find_modules(checkout: Path) -> dict[str, Path]:
    """Return the files of our packages by their names as modules ("lmm_core.scan.rag")."""
    found: dict[str, Path] = {}
    for package, folder in PACKAGES.items():
        for path in sorted((checkout / folder).rglob("*.py")):
            parts = (package, *path.relative_to(checkout / folder).with_suffix("").parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def find_imports(checkout: Path) -> list[Import]:
    """Return every import of one of our modules by another, those inside functions included.

    Imports below `if TYPE_CHECKING` never run and are left out. Modules whose name is put
    together at run time (`import_module`) are not seen."""
    modules = find_modules(checkout)
    return [
        Import(name, target, path.relative_to(checkout), node.lineno, lazy)
        for name, path in modules.items()
        for node, lazy in _statements(parse(path).body)
        for target in sorted(_targets(node, _package(name, path), modules))
        if target != name
    ]


def _statements(nodes: Iterable[ast.AST], lazy: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Yield the import statements below some nodes, each with True if a function holds it."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, lazy
        elif isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            yield from _statements(node.orelse, lazy)
        elif not isinstance(node, ast.expr):
            inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _statements(ast.iter_child_nodes(node), inside)


def _package(name: str, path: Path) -> list[str]:
    """Return the package that relative imports of a module start from."""
    parts = name.split(".")
    return parts if path.name == "__init__.py" else parts[:-1]


def _targets(node: ast.Import | ast.ImportFrom, package: list[str], modules: Mapping[str, Path]) -> set[str]:
    """Return which modules a statement imports: `from . import x` means the module x, if it is one."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & modules.keys()
    base = package[: len(package) - node.level + 1] if node.level else []
    start = ".".join([*base, *(node.module.split(".") if node.module else [])])
    names = {f"{start}.{alias.name}" for alias in node.names}
    return {name if name in modules else start for name in names} & modules.keys()


def find_circles(imports: Iterable[Import]) -> list[list[str]]:
    """Return the groups of modules that import each other in a circle, each sorted."""
    targets: dict[str, set[str]] = {}
    for one in imports:
        targets.setdefault(one.source, set()).update(one.runs)
    reached = {name: _reach(name, targets) for name in targets}
    circles = {tuple(sorted(m for m in reached[name] if name in reached.get(m, ()))) for name in targets}
    return [list(circle) for circle in sorted(circles) if circle]


def is_part(one: Import, circle: Iterable[str]) -> bool:
    """Return True if an import leads from one module of a circle to another."""
    return one.source in circle and bool(one.runs & set(circle))


def _reach(start: str, targets: dict[str, set[str]]) -> set[str]:
    """Return every module that one leads to, directly or through others."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = targets.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def count_modules(checkout: Path) -> dict[str, int]:
    """Return how many modules each folder of our packages holds, `__init__` not counted."""
    counts: dict[str, int] = {}
    for path in find_modules(checkout).values():
        folder = path.parent.relative_to(checkout).as_posix()
        counts[folder] = counts.get(folder, 0) + (path.name != "__init__.py")
    return counts
