"""Imports point one way (DESIGN, "The parts"), and heavy libraries wait until they
are needed: start-up is part of the user's wait."""

import ast
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests import import_graph
from tests.commands import run, write
from tests.import_graph import count_modules, find_circles, find_modules, is_part, parse

ROOT = Path(__file__).parents[1]
CORE = ROOT / "lmm_core"
# The packages from the bottom up: each may import itself and those before it.
LAYERS = ("files", "markdown", "models", "settings", "scan", "store", "indexing", "retrieve")
BESIDE = ("study", "crawl", "llmd", "importing")  # on the layers, not on each other
ANYWHERE = {"lmm_core", "arguments", "ending", "errors", "installation", "logging"}  # what every module may import
LIBRARY = {*LAYERS, *BESIDE}
BELOW_CLI = {*LIBRARY, "api", "ending", "quarto", "course", "serving", "langchain", "vector_store_qdrant"}
MAY_IMPORT: dict[str, set[str]] = {
    "arguments": set(),
    "ending": set(),
    "errors": set(),
    "installation": {"lmm_core", "errors"},
    "logging": {"errors"},
    **{part: ANYWHERE | set(LAYERS[:number]) for number, part in enumerate(LAYERS)},
    **{part: ANYWHERE | set(LAYERS) for part in BESIDE},
    **dict.fromkeys(("api", "serving", "langchain", "vector_store_qdrant"), ANYWHERE | LIBRARY),
    "quarto": ANYWHERE | LIBRARY | {"ending"},
    "course": ANYWHERE | LIBRARY | {"quarto"},
    "cli": ANYWHERE | BELOW_CLI,
    "filters": ANYWHERE | BELOW_CLI,
    "lmm_core": ANYWHERE | BELOW_CLI,  # the API by name
    "__main__": {"lmm_core", "cli"},
    "quarto-ext": set(),  # it runs where the package may not be installed
}
MOST_MODULES = 12
# Lines, blank ones included, and a tenth: growth is a decision. Lowered as a part shrinks.
MOST_LINES = {
    "api": 218,
    "arguments": 89,
    "cli": 4341,
    "course": 1289,
    "crawl": 1059,
    "ending": 22,
    "errors": 162,
    "files": 1377,
    "filters": 2504,
    "importing": 200,
    "indexing": 3969,
    "installation": 146,
    "langchain": 156,
    "llmd": 1867,
    "lmm_core": 167,
    "logging": 245,
    "markdown": 4153,
    "models": 4116,
    "quarto": 2941,
    "quarto-ext": 103,
    "retrieve": 3824,
    "scan": 4941,
    "serving": 1607,
    "settings": 1797,
    "store": 1907,
    "study": 2464,
    "vector_store_qdrant": 165,
}
pytestmark = pytest.mark.xdist_group("syntax trees")  # of all modules, which one process parses
HEAVY = [
    "openai", "qdrant_client", "qdrant_edge", "fastembed", "onnxruntime", "numpy", "pydantic",
    "markitdown", "mcp", "starlette", "uvicorn", "genanki", "markdown_it", "pathspec", "selectolax",
]  # fmt: skip


find_imports = cache(import_graph.find_imports)


def part_of(module):
    """Return the part of the layout that a module belongs to: a package, or a module at the top."""
    package, _, rest = module.partition(".")
    if package == "lmm_core":
        return rest.partition(".")[0] or package
    return {"lmm_filters": "filters", "lmm_quarto": "quarto-ext"}[package]


def wrong_imports(checkout):
    """Return what is imported against the order, each with the file, its line and what is allowed."""
    found = []
    for one in find_imports(checkout):
        part, target = part_of(one.source), part_of(one.target)
        allowed = MAY_IMPORT.get(part, set())
        if target != part and target not in allowed:
            found.append(f"{one}; {part} may import {', '.join(sorted(allowed)) or 'nothing of ours'}")
    return found


def circles(checkout):
    """Return the circles of modules that import each other, each as the imports it consists of."""
    imports = find_imports(checkout)
    return [
        "\n  ".join(["a circle:", *(str(one) for one in imports if is_part(one, circle))])
        for circle in find_circles(imports)
    ]


def crowded(checkout):
    """Return the folders of lmm_core and filters that hold too many modules."""
    return [
        f"{folder} holds {count} modules, at most {MOST_MODULES} are allowed"
        for folder, count in count_modules(checkout).items()
        if count > MOST_MODULES
    ]


def without_docstring(checkout):
    """Return the packages whose `__init__` does not say what they are for."""
    paths = [path for path in find_modules(checkout).values() if path.name == "__init__.py"]
    return [
        f"{path.relative_to(checkout).as_posix()} has no docstring"
        for path in paths
        if not ast.get_docstring(parse(path))
    ]


def count_lines(checkout):
    """Return the lines of each part, `__main__` counted with the package that it runs."""
    lines = Counter()
    for module, path in find_modules(checkout).items():
        part = part_of(module)
        lines["lmm_core" if part == "__main__" else part] += len(path.read_text(encoding="utf-8").splitlines())
    return lines


def grown(checkout):
    """Return the parts that hold more lines than they may."""
    return [
        f"{part} has {lines} lines, at most {MOST_LINES.get(part, 0)} are allowed (MOST_LINES)"
        for part, lines in sorted(count_lines(checkout).items())
        if lines > MOST_LINES.get(part, 0)
    ]


def shared_names(checkout):
    """Return the names that more than one class has."""
    nodes = (node for path in find_modules(checkout).values() for node in ast.walk(parse(path)))
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    return {name for name, count in names.items() if count > 1}


@pytest.mark.parametrize("rule", [wrong_imports, circles, crowded, without_docstring, grown])
def test_the_layout(rule):
    broken = rule(ROOT)
    assert not broken, "\n" + "\n".join(broken)


def test_one_name_stands_for_one_class():
    assert shared_names(ROOT) == set(), "take a name that no class has"


def test_every_part_has_its_place_in_the_order():
    parts = {part_of(module) for module in find_modules(ROOT)}
    assert parts <= MAY_IMPORT.keys(), f"not in MAY_IMPORT: {parts - MAY_IMPORT.keys()}"


def test_every_package_is_in_the_wheel():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders = {name: ROOT / folder for name, folder in settings["package-dir"].items()}
    there = {
        ".".join((name, *file.parent.relative_to(folder).parts))
        for name, folder in folders.items()
        for file in folder.rglob("__init__.py")
    }
    assert there - set(settings["packages"]) == set()


# What is not imported


def test_the_core_knows_no_pandoc_library_and_no_terminal():
    for path in CORE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert "import panflute" not in source, path
        assert "import click" not in source or "cli" in path.relative_to(CORE).parts, path


def imported_by(path):
    """Yield the top packages that a module imports from elsewhere."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.split(".")[0]


def test_markdown_needs_the_standard_library_and_yaml_alone():
    for path in (CORE / "markdown").rglob("*.py"):
        assert set(imported_by(path)) <= sys.stdlib_module_names | {"yaml"}, path


# What is loaded when a command ends

NOTES = "# Mean\n\nThe mean adds up.\n\n::: exercise\nCompute the mean of these nine values.\n:::\n"
MODELS = ["asyncio", "sqlite3", "ssl", "urllib.request", "lmm_core.models.chat", "lmm_core.models.prompts"]
READING = ["yaml", "lmm_core.markdown", "lmm_core.settings.project"]


def write_program(name, module, call="main()"):
    """Write a program that runs a command, and lists all modules that are loaded when it ends."""
    write(
        name,
        f"""#!{sys.executable}
import atexit, sys
from {module} import {call.partition("(")[0]}
atexit.register(lambda: open("loaded", "w").write("\\n".join(sys.modules)))
sys.exit({call})
""",
    ).chmod(0o755)


def loaded_by(words, pandoc=None):
    """Run a command line that has to succeed, and return the modules that were loaded at its end."""
    done = run(words, pandoc)
    assert done.returncode == 0, done.stderr
    return Path("loaded").read_text().split("\n")


def test_commands_import_nothing_heavy_before_they_are_called():
    commands = [module for module in find_modules(ROOT) if module.startswith("lmm_core.cli.")]
    heavy = [*HEAVY, "panflute"]
    code = f"import sys, lmm_core.scan, {', '.join(commands)}; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [("--help", [*MODELS, *READING, "lmm_core.cli.commands"]), ("scan notes.md", MODELS)],
)
def test_a_command_imports_what_it_uses(arguments, unneeded):
    write("notes.md", NOTES)
    write_program("lmm", "lmm_core.cli")
    loaded = loaded_by(f"./lmm {arguments}")
    assert [name for name in [*HEAVY, *unneeded] if name in loaded] == []


# Our modules that each command loads, where it has work to do
LOADED = {"lmm-rag": 99, "scan": 80, "rag": 100, "index": 131, "search": 110, "ask": 130}


@pytest.mark.slow
def test_commands_load_no_more_modules_than_they_may(pandoc):
    write_program("lmm-rag", "lmm_filters.lmm_rag")
    write_program("lmm", "lmm_core.cli")
    write("notes.md", NOTES)
    counts = {}
    for command, words in [
        ("lmm-rag", "pandoc -F ./lmm-rag notes.md -o notes.md"),
        *((name, f"./lmm {name} .") for name in ("scan", "rag", "index")),
        *((name, f"./lmm {name} 'What is the mean?'") for name in ("search", "ask")),
    ]:
        ours = [name for name in loaded_by(words, pandoc) if name.startswith(("lmm_core", "lmm_filters"))]
        counts[command] = len(ours)
    assert {name: count for name, count in counts.items() if count > LOADED[name]} == {}, counts


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["pre-render", "post-render"])
def test_a_hook_of_quarto_imports_no_model_where_nothing_is_annotated_or_indexed(stage):
    write("_quarto.yml", "project: {type: website}\nfilters: [lmm]\nlmm: {index: false, ask: true}\n")
    write("notes.qmd", NOTES)
    write("_site/notes.html", "<html><head></head><body><h1 id='mean'>Mean</h1><p>The mean adds up.</p></body></html>")
    write_program("hook", "lmm_core.quarto.render", f"run_script('{stage}')")
    loaded = loaded_by("./hook")
    heavy = [name for name in HEAVY if name != "selectolax"]  # which reads the pages for the ask box
    assert [name for name in [*heavy, "click", "lmm_core.models.chat"] if name in loaded] == []
