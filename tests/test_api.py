"""The documented names of `lmm_core`: lazy, complete, each with an example that runs."""

import ast
import doctest
import importlib.util
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

import lmm_core
from tests.commands import write

ROOT = Path(__file__).parents[1]


def docs_module():
    spec = importlib.util.spec_from_file_location("docs_api", ROOT / "docs" / "api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


API = docs_module()
EXAMPLES = API.examples()
PUBLIC = [name for name in dir(lmm_core) if not name.startswith("_")]


def test_importing_the_package_imports_none_of_its_modules():
    code = "import sys, lmm_core; print([name for name in sys.modules if name.startswith('lmm_core.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_help_begins_with_the_five_functions():
    described = pydoc.plaintext.document(lmm_core).partition("DESCRIPTION")[2].split("PACKAGE CONTENTS")[0]
    assert re.findall(r"(\w+)\(", described) == ["annotate", "knit", "index", "search", "ask"]


def test_notes_are_annotated_indexed_found_asked_about_and_knitted(tmp_path):
    write("bad.md", "caf\xe9".encode("latin-1"))
    write("notes.md", "# Mean\n\nThe mean adds up.\n\n::: exercise\nAdd nine values, then divide.\n:::\n")
    logger = lmm_core.ListLogger()
    (annotated,) = lmm_core.annotate(".", logger=logger)
    assert annotated.path == Path("notes.md") and "bad.md" in str(logger.reports[0])
    assert lmm_core.index(tmp_path, logger=logger).written == 2
    (exercise,) = lmm_core.search("mean", type="exercise")
    assert exercise.place.startswith("notes.md:") and "nine values" in exercise.text
    assert lmm_core.ask("What does the mean do?", tmp_path).cited == (1,)
    assert lmm_core.knit("notes.md") == "# Mean\n\nThe mean adds up.\n"
    Path("notes.md").unlink()
    assert lmm_core.index(".", logger=logger).removed == 2


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: lmm_core.knit("nowhere.md"), FileNotFoundError),
        (lambda: lmm_core.search("mean"), lmm_core.LmmError),
        (lambda: lmm_core.ask("  "), lmm_core.LmmError),
        (lambda: lmm_core.search("mean", limit="many"), ValidationError),
    ],
)
def test_what_cannot_be_done_raises(call, error):
    with pytest.raises(error):
        call()


def test_type_checkers_see_the_same_names():
    tree = ast.parse((ROOT / "lmm_core" / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    assert seen == {name: module for module, names in lmm_core._MODULES.items() for name in names.split()}


def test_every_name_is_on_the_page_and_nothing_else():
    assert sorted(EXAMPLES) == sorted(PUBLIC)


@pytest.mark.slow  # reads all modules
def test_the_page_is_current():
    assert (ROOT / "docs" / "api.md").read_text(encoding="utf-8") == API.make_page(), "run: python docs/api.py"


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs(name, indexed_book):
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name], {}, name, "docs/api.in.md", 0)
    assert name in EXAMPLES[name], f"the example does not use {name}"
    told = []
    failed = doctest.DocTestRunner(verbose=False).run(example, out=told.append).failed
    assert not failed, "".join(told)
