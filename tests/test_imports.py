"""Imports point one way (DESIGN, "The parts"), and heavy libraries wait until they
are needed: start-up is part of the user's wait."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "lmm_core"
# What each part may import besides itself, the standard library and `logging`.
MAY_IMPORT = {
    "files": set(),
    "markdown": set(),
    "models": {"markdown"},
    "scan": {"markdown", "models"},
    "store": {"markdown", "models", "scan"},
    "retrieve": {"markdown", "models", "scan", "store"},
    "llmd": {"markdown", "models", "scan"},
    "crawl": {"markdown", "models", "scan", "store", "retrieve"},
}
HEAVY = [
    "openai", "qdrant_client", "qdrant_edge", "fastembed", "tiktoken", "onnxruntime", "numpy", "pydantic",
    "mcp", "starlette", "uvicorn", "genanki", "markdown_it", "pathspec",
]  # fmt: skip


def imported(path):
    """Names of modules of lmm_core that a file imports, absolute and without lmm_core."""
    package = path.relative_to(CORE).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            module = [*base, *(node.module.split(".") if node.module else [])]
            yield ".".join(module) or node.names[0].name
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            yield from (name.removeprefix("lmm_core.") for name in names if name.startswith("lmm_core"))


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_imports_point_one_way(part):
    allowed = MAY_IMPORT[part] | {part, "files", "logging", ""}
    for path in (CORE / part).rglob("*.py"):
        for module in imported(path):
            assert module.split(".")[0] in allowed, f"{path.name} imports {module}"


def test_nothing_imports_the_filters():
    for path in CORE.rglob("*.py"):
        assert "lmm_filters" not in path.read_text(encoding="utf-8"), path


def test_the_core_knows_no_pandoc_library_and_no_terminal():
    for path in CORE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert "import panflute" not in source, path
        assert "import click" not in source or path.parent.name == "cli", path


def test_markdown_needs_the_standard_library_and_yaml_alone():
    for path in (CORE / "markdown").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in names:
                assert name.split(".")[0] in sys.stdlib_module_names | {"yaml"}, f"{path.name} imports {name}"


COMMANDS = [f"lmm_core.cli.{path.stem}" for path in sorted((CORE / "cli").glob("[a-z]*.py"))]


def test_the_command_imports_no_commands_but_the_one_that_is_called():
    code = "import sys, lmm_core.cli; print([n for n in sys.modules if n.startswith('lmm_core.cli.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "module", ["lmm_filters.lmm_rag", "lmm_filters.lmm_knit", "lmm_core.scan", ", ".join(["lmm_core.cli", *COMMANDS])]
)
def test_start_up_imports_nothing_heavy(module):
    heavy = [*HEAVY, "panflute"]
    code = f"import sys, {module}; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", ["lmm-rag", "lmm-knit"])
def test_a_filter_with_nothing_to_do_imports_no_panflute(command, pandoc, tmp_path):
    """Seen from inside a run: modules that are loaded when the filter ends."""
    from tests.commands import run, write

    module = f"lmm_filters.{command.replace('-', '_')}"
    code = (
        f"import atexit, sys\nfrom {module} import main\n"
        f"atexit.register(lambda: open('seen', 'w').write(repr([n for n in {[*HEAVY, 'panflute']} if n in sys.modules])))\n"
        "main()\n"
    )
    path = write(command, f"#!{sys.executable}\n{code}")
    path.chmod(0o755)
    write("notes.md", "---\ntitle: T\ndocid: d\n---\n\n# A\n\nShort.\n")
    target = "markdown" if command == "lmm-rag" else "html"
    done = run(f"pandoc -F ./{command} notes.md -t {target}", pandoc)
    assert done.returncode == 0, done.stderr
    assert Path("seen").read_text() == "[]"


def test_no_pattern_trusts_possessive_groups():
    """Before Python 3.11.5 they keep what failed in them; 3.11.2 is Debian's."""
    for path in [*CORE.rglob("*.py"), *(ROOT / "filters").rglob("*.py")]:
        source = path.read_text(encoding="utf-8")
        assert not any(sign in source for sign in (")*+", ")++", ")?+", "(?>")), path
