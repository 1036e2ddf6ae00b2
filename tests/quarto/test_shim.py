"""The Lua filter of the Quarto extension hands each page to `lmm-knit`."""

import json
from pathlib import Path

import pytest

from tests.commands import BIN, run, write

ROOT = Path(__file__).parents[2]
SHIM = ROOT / "quarto-ext" / "_extensions" / "lmm" / "lmm.lua"
BLOCK = "::: {.lmm .content-hidden}\n``` yaml\nnote: METADATA\n```\n:::\n"
TYPE = BLOCK.replace("note: METADATA", "type: exercise")
DIV = "# A\n\nStays.\n\n::: exercise\nGONE\n:::\n"
# What the filter leaves out of them is not the matter here (tests/routes.py has that)
CASES = {
    "empty": "",
    "header": f"---\ntitle: T\n~title: U\n~~hash: {{summary: [a, b]}}\nquestions=: q\nlmm:\n  keep: [x]\n---\n\n{DIV}",
    "blocks": f"# A\n\n{TYPE}\n## Practice\n\nGONE\n\n## After\n\nStays.\n\n{TYPE}",
    "tabset": f"::: panel-tabset\n## R\n\n{BLOCK}\nStays.\n\n## Python\n\nStays.\n:::\n",
    "nested": f"::: callout-note\n{TYPE}\nGONE\n\nStays.\n:::\n\n1. one\n\n   ::: topic\n   GONE\n   :::\n",
    "whole": "---\nknit: false\n---\n\n# A\n\nGONE\n",
    "raw": "```{=lmm}\ntype: topic\n```\n\nGONE\n\nStays.\n",
    "named like Quarto's": "---\nlmm: {div-types: x}\n---\n\n::: {#quarto-1 .x}\nGONE\n:::\n",
    "kept by the document": f"---\nlmm:\n  keep: all\n---\n\n{TYPE}\nGONE\n\n::: {{.rag-only}}\nGONE\n:::\n",
}


def ast_of(done):
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def ast_by_both(name, pandoc, **options):
    """What the shim gives, which is what `lmm-knit` gives."""
    shim = ast_of(run(f"pandoc -L '{SHIM}' '{name}' -t json", pandoc, **options))
    assert shim == ast_of(run(f"pandoc -F lmm-knit '{name}' -t json", pandoc, **options))
    return json.dumps(shim)


@pytest.mark.parametrize("case", CASES)
def test_the_shim_does_what_lmm_knit_does(case, pandoc):
    write("notes.md", CASES[case])
    ast = ast_by_both("notes.md", pandoc)
    assert "GONE" not in ast and "METADATA" not in ast
    assert ast.count("Stays.") == CASES[case].count("Stays.")


@pytest.mark.parametrize("folder", [".", "part/deep"])
def test_the_settings_of_the_project_hold(folder, pandoc):
    write("config.toml", "[knit]\ndiv_types = ['solution']\nkeep = ['exercise']\n")
    path = write(f"{folder}/notes.md", f"{DIV.replace('GONE', 'Kept.')}\n::: solution\nGONE\n:::\n")
    ast = ast_by_both(str(path), pandoc, env={"QUARTO_DOCUMENT_PATH": str(path.resolve().parent)})
    assert "GONE" not in ast and "Kept." in ast


def test_a_missing_lmm_knit_is_told_in_one_sentence(pandoc):
    write("notes.md", DIV)
    done = run(f"pandoc -L '{SHIM}' notes.md -o out.html", pandoc, env={"PATH": "/nowhere"})
    assert done.returncode != 0
    assert b"Install the package lmm-markdown" in done.stderr
    assert not Path("out.html").exists()


@pytest.mark.parametrize("where", ["beside Quarto's Python", "in the project's environment"])
def test_lmm_knit_is_found(where, pandoc, tmp_path):
    write("notes.md", DIV)
    environment = {"QUARTO_PYTHON": str(BIN / "python")}
    if where == "in the project's environment":
        (tmp_path / ".venv").mkdir()
        (tmp_path / ".venv" / "bin").symlink_to(BIN)
        environment = {"QUARTO_PROJECT_DIR": str(tmp_path)}
    done = run(f"pandoc -L '{SHIM}' notes.md", pandoc, env={"PATH": "/nowhere", **environment})
    assert done.returncode == 0, done.stderr
    assert b"Stays." in done.stdout and b"GONE" not in done.stdout
