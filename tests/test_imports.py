"""Imports point one way (DESIGN, "The parts"), and heavy libraries wait until they
are needed: start-up is part of the user's wait."""

import ast
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.import_graph import count_modules, find_circles, find_imports, find_modules, is_part

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
TOP = {
    "api",
    "arguments",
    "__init__",
    "__main__",
    "ending",
    "errors",
    "importing",
    "installation",
    "logging",
    "langchain",
    "vector_store_qdrant",
}
MOST_MODULES = 12
# Lines, blank ones included, and a tenth: growth is a decision. Lowered as a part shrinks.
MOST_LINES = {
    "api": 228,
    "arguments": 64,
    "cli": 4924,
    "course": 1331,
    "crawl": 1176,
    "ending": 22,
    "errors": 169,
    "files": 1492,
    "filters": 2703,
    "importing": 212,
    "indexing": 4421,
    "installation": 161,
    "langchain": 161,
    "llmd": 2083,
    "lmm_core": 178,
    "logging": 241,
    "markdown": 4196,
    "models": 4451,
    "quarto": 3177,
    "quarto-ext": 104,
    "retrieve": 4319,
    "scan": 5187,
    "serving": 1688,
    "settings": 2054,
    "store": 2098,
    "study": 2789,
    "vector_store_qdrant": 180,
}
HEAVY = [
    "openai", "qdrant_client", "qdrant_edge", "fastembed", "onnxruntime", "numpy", "pydantic",
    "markitdown", "mcp", "starlette", "uvicorn", "genanki", "markdown_it", "pathspec", "selectolax",
]  # fmt: skip


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
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
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
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in find_modules(checkout).values()]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
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


def test_no_module_lies_loose_beside_the_packages():
    assert {path.stem for path in CORE.glob("*.py")} <= TOP


# The rules, on small trees


def tree(folder, **sources):
    """Write modules of lmm_core, their names with `__` for a dot ("store__points")."""
    for name, source in sources.items():
        path = folder.joinpath("lmm_core", *name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(source, encoding="utf-8")
    return folder


RIGHT = {
    "files__walk": "import os\nfrom ..logging import say\n",
    "store__points": "from ..files.walk import walk\nfrom . import places\n",
    "store__places": "from __future__ import annotations\n",
    "logging": "def say(): ...\n",
}


def test_a_tree_in_order_breaks_no_rule(tmp_path):
    tree(tmp_path, **RIGHT)
    assert wrong_imports(tmp_path) == circles(tmp_path) == crowded(tmp_path) == []


@pytest.mark.parametrize(
    ("source", "line", "target"),
    [
        ("from ..store.points import Point\n", 1, "lmm_core.store.points"),
        ("from ..store import Store\n", 1, "lmm_core.store"),
        ("import os\n\ndef late():\n    from .. import store\n", 4, "lmm_core.store inside a function"),
        ("try:\n    from ..cli import main\nexcept ImportError:\n    pass\n", 2, "lmm_core.cli"),
    ],
)
def test_an_import_against_the_order_is_found(source, line, target, tmp_path):
    tree(tmp_path, **RIGHT, cli__page="", models__chat=source)
    (found,) = wrong_imports(tmp_path)
    assert found == (
        f"lmm_core/models/chat.py:{line} imports {target}; models may import arguments, ending, errors, files, installation, lmm_core, logging, markdown"
    )


def test_imports_for_types_alone_are_free(tmp_path):
    code = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..store import points\n"
    tree(tmp_path, **RIGHT, models__chat=code)
    assert wrong_imports(tmp_path) == []
    tree(tmp_path, models__chat=code + "else:\n    from ..store import points\n")
    assert len(wrong_imports(tmp_path)) == 1


def test_a_circle_is_found_when_one_of_its_imports_is_inside_a_function(tmp_path):
    tree(tmp_path, scan__rag="from . import boxes\n", scan__boxes="from .edit import edit\n",
         scan__edit="def edit():\n    from .rag import scan\n", scan__knit="from .rag import scan\n")  # fmt: skip
    (found,) = circles(tmp_path)
    assert found.splitlines() == [
        "a circle:",
        "  lmm_core/scan/boxes.py:1 imports lmm_core.scan.edit",
        "  lmm_core/scan/edit.py:2 imports lmm_core.scan.rag inside a function",
        "  lmm_core/scan/rag.py:1 imports lmm_core.scan.boxes",
    ]


def test_a_circle_through_the_init_of_a_package_is_found(tmp_path):
    """Importing a module of another package runs that package's `__init__` first."""
    tree(
        tmp_path,
        scan__options="",
        indexing__split="from .merge import pool\n",
        indexing__merge="from ..scan.options import X\n",
    )
    (tmp_path / "lmm_core/scan/__init__.py").write_text("from ..indexing.split import split\n")
    (found,) = circles(tmp_path)
    assert found.splitlines() == [
        "a circle:",
        "  lmm_core/indexing/merge.py:1 imports lmm_core.scan.options",
        "  lmm_core/indexing/split.py:1 imports lmm_core.indexing.merge",
        "  lmm_core/scan/__init__.py:1 imports lmm_core.indexing.split",
    ]


# What is not imported


def test_nothing_imports_the_filters():
    for path in CORE.rglob("*.py"):
        assert "lmm_filters" not in path.read_text(encoding="utf-8"), path


def test_the_core_knows_no_pandoc_library_and_no_terminal():
    for path in CORE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert "import panflute" not in source, path
        assert "import click" not in source or "cli" in path.relative_to(CORE).parts, path


def test_markdown_needs_the_standard_library_and_yaml_alone():
    for path in (CORE / "markdown").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in names:
                assert name.split(".")[0] in sys.stdlib_module_names | {"yaml"}, f"{path.name} imports {name}"


COMMANDS = [module for module in find_modules(ROOT) if module.startswith("lmm_core.cli.")]


def test_the_command_imports_no_commands_but_the_one_that_is_called():
    code = "import sys, lmm_core.cli; print([n for n in sys.modules if n.startswith('lmm_core.cli.commands.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "module", ["lmm_filters.lmm_rag", "lmm_filters.lmm_knit", "lmm_core.scan", ", ".join(COMMANDS)]
)
def test_start_up_imports_nothing_heavy(module):
    heavy = [*HEAVY, "panflute"]
    code = f"import sys, {module}; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


MODELS = ["asyncio", "sqlite3", "ssl", "urllib.request", "lmm_core.models.chat", "lmm_core.models.prompts"]
NOTES = ["yaml", "lmm_core.markdown", "lmm_core.settings.project"]


@pytest.mark.parametrize(
    ("arguments", "unneeded", "most"),
    [
        ("--help", [*MODELS, *NOTES, "lmm_core.cli.commands"], 160),
        ("scan notes.md", MODELS, 270),
    ],
)
def test_a_command_imports_what_it_uses(arguments, unneeded, most, tmp_path, monkeypatch):
    """`most`: of modules together, with those of Python itself."""
    from tests.commands import write

    monkeypatch.chdir(tmp_path)
    write("notes.md", "# Mean\n\nThe mean adds up and divides.\n")
    code = (
        "import atexit, sys\nfrom lmm_core.cli import main\n"
        "atexit.register(lambda: open('seen', 'w').write('\\n'.join(sys.modules)))\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments.split()], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seen = Path("seen").read_text().split("\n")
    assert [name for name in [*HEAVY, *unneeded] if name in seen] == []
    assert len(seen) <= most


# Our modules that each command loads, where it has work to do
LOADED = {"lmm-rag": 99, "scan": 80, "rag": 100, "index": 131, "search": 110, "ask": 130}


def test_commands_load_no_more_modules_than_they_may(pandoc, tmp_path, monkeypatch):
    from tests.commands import run, write

    monkeypatch.chdir(tmp_path)
    code = (
        f"#!{sys.executable}\nimport atexit, sys\nfrom {{module}} import main\n"
        "ours = lambda: [n for n in sys.modules if n.startswith(('lmm_core', 'lmm_filters'))]\n"
        "atexit.register(lambda: open('loaded', 'w').write('\\n'.join(ours())))\nmain()\n"
    )
    for name, module in [("lmm-rag", "lmm_filters.lmm_rag"), ("lmm", "lmm_core.cli")]:
        write(name, code.format(module=module)).chmod(0o755)
    write("notes.md", "# Mean\n\nThe mean adds up.\n\n::: exercise\nCompute the mean of these nine values.\n:::\n")
    loaded = {}
    for command, words in [
        ("lmm-rag", "pandoc -F ./lmm-rag notes.md -o notes.md"),
        *((name, f"./lmm {name} .") for name in ("scan", "rag", "index")),
        *((name, f"./lmm {name} 'What is the mean?'") for name in ("search", "ask")),
    ]:
        done = run(words, pandoc)
        assert done.returncode == 0, done.stderr
        loaded[command] = len(Path("loaded").read_text().split())
    assert {name: count for name, count in loaded.items() if count > LOADED[name]} == {}, loaded


ANNOTATING = ["lmm_core.settings.models", "lmm_core.scan.documents.passes"]
# What asks models, shows them something, or shares much work among processes
UNASKED = [
    "lmm_core.models.chat", "lmm_core.models.prompts", "lmm_core.retrieve.context", "lmm_core.scan.rag",
    "lmm_core.scan.documents.passes", "concurrent.futures.process", "multiprocessing.context",
]  # fmt: skip


@pytest.mark.parametrize(
    ("stage", "unneeded", "most"),
    [
        (
            "pre-render",
            [
                *MODELS,
                *ANNOTATING,
                "click",
                "hashlib",
                "subprocess",
                "lmm_core.quarto.after_render",
                "lmm_core.indexing",
            ],
            235,
        ),
        ("post-render", [*UNASKED, "click", "urllib.request", "lmm_core.quarto.before_render"], 380),
    ],
)
def test_a_hook_of_quarto_imports_what_it_uses(stage, unneeded, most, tmp_path, monkeypatch):
    """Where nothing is annotated or indexed: before a render no models; neither time what checks settings."""
    from tests.commands import write

    monkeypatch.chdir(tmp_path)
    write("_quarto.yml", "project: {type: website}\nfilters: [lmm]\nlmm: {index: false, ask: true}\n")
    write("notes.qmd", "# Mean\n\nThe mean adds up.\n\n::: exercise\nCompute the mean of these nine values.\n:::\n")
    write("_site/notes.html", "<html><head></head><body><h1 id='mean'>Mean</h1><p>The mean adds up.</p></body></html>")
    code = (
        "import atexit, sys\nfrom lmm_core.quarto.render import run_script\n"
        "atexit.register(lambda: open('seen', 'w').write('\\n'.join(sys.modules)))\nsys.exit(run_script(sys.argv[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, stage], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seen = Path("seen").read_text().split("\n")
    heavy = [name for name in HEAVY if name != "selectolax"]  # which reads the pages for the ask box
    assert [name for name in [*heavy, *unneeded] if name in seen] == []
    assert len(seen) <= most


EXERCISE = "\n---\ntype: exercise\n---\n\n# B\n\nSECRET\n"


@pytest.mark.parametrize(
    ("command", "more", "unneeded"),
    [
        ("lmm-rag", "", ["panflute"]),
        ("lmm-knit", "", ["hashlib"]),
        ("lmm-knit", EXERCISE, ["hashlib"]),
    ],
)
def test_a_filter_imports_little_where_the_source_is_known(command, more, unneeded, pandoc, tmp_path):
    """Seen from inside a run: modules that are loaded when the filter ends."""
    from tests.commands import run, write

    module = f"lmm_filters.{command.replace('-', '_')}"
    code = (
        f"import atexit, sys\nfrom {module} import main\n"
        f"atexit.register(lambda: open('seen', 'w').write(repr([n for n in {[*HEAVY, *unneeded]} if n in sys.modules])))\n"
        "main()\n"
    )
    path = write(command, f"#!{sys.executable}\n{code}")
    path.chmod(0o755)
    write("notes.md", f"---\ntitle: T\ndocid: d\n---\n\n# A\n\nShort.\n{more}")
    target = "markdown" if command == "lmm-rag" else "html"
    done = run(f"pandoc -F ./{command} notes.md -t {target}", pandoc)
    assert done.returncode == 0, done.stderr
    assert b"SECRET" not in done.stdout
    assert Path("seen").read_text() == "[]"


def test_no_pattern_trusts_possessive_groups():
    """Before Python 3.11.5 they keep what failed in them; 3.11.2 is Debian's."""
    for path in [*CORE.rglob("*.py"), *(ROOT / "filters").rglob("*.py")]:
        source = path.read_text(encoding="utf-8")
        assert not any(sign in source for sign in (")*+", ")++", ")?+", "(?>")), path
