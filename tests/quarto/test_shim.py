"""The Lua filter of the Quarto extension hands each page to `lmm-knit`: it leaves out what has to go, or no page is made."""

import json
from pathlib import Path

import pytest

from tests.commands import BIN, run, write
from tests.failing_filters import PROGRAMS, environment

SHIM = Path(__file__).parents[2] / "quarto-ext" / "_extensions" / "lmm" / "lmm.lua"
LOADER = Path(__file__).parent / "quartos_loader.lua"
BLOCK = "::: {.lmm .content-hidden}\n``` yaml\ntype: exercise\n```\n:::\n"
DIV = "# A\n\nStays.\n\n::: exercise\nGONE\n:::\n"
NOTES = f"# A\n\nStays.\n\n::: callout-note\n{BLOCK}\nGONE one.\n\nStays.\n:::\n\n{BLOCK}\n## Practice\n\nGONE two.\n"
# What the filter leaves out of them is not the matter here (tests/routes.py has that)
CASES = {
    "empty": "",
    "header": f"---\ntitle: T\n~title: U\n~~hash: {{summary: [a, b]}}\nquestions=: q\nlmm:\n  keep: [x]\n---\n\n{DIV}",
    "whole": "---\nknit: false\n---\n\n# A\n\nGONE\n",
    "named like Quarto's": "---\nlmm: {div-types: x}\n---\n\n::: {#quarto-1 .x}\nGONE\n:::\n",
    "kept by the document": f"---\nlmm:\n  keep: all\n---\n\n{BLOCK}\nGONE\n\n::: {{.rag-only}}\nGONE\n:::\n",
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
    assert "GONE" not in ast
    assert ast.count("Stays.") == CASES[case].count("Stays.")


def test_the_settings_of_the_project_hold(pandoc):
    write("config.toml", "[knit]\ndiv_types = ['solution']\nkeep = ['exercise']\n")
    path = write("part/deep/notes.md", f"{DIV.replace('GONE', 'Kept.')}\n::: solution\nGONE\n:::\n")
    ast = ast_by_both(str(path), pandoc, env={"QUARTO_DOCUMENT_PATH": str(path.resolve().parent)})
    assert "GONE" not in ast and "Kept." in ast


@pytest.mark.parametrize("where", ["beside Quarto's Python", "in the project's environment"])
def test_lmm_knit_is_found(where, pandoc, tmp_path):
    write("notes.md", DIV)
    places = {"QUARTO_PYTHON": str(BIN / "python")}
    if where == "in the project's environment":
        (tmp_path / ".venv").mkdir()
        (tmp_path / ".venv" / "bin").symlink_to(BIN)
        places = {"QUARTO_PROJECT_DIR": str(tmp_path)}
    done = run(f"pandoc -L '{SHIM}' notes.md", pandoc, env={"PATH": "/nowhere", **places})
    assert done.returncode == 0, done.stderr
    assert b"Stays." in done.stdout and b"GONE" not in done.stdout


# As Quarto runs it, with what Quarto puts into the metadata


def by_loader(pandoc, path, options, env):
    command = f"pandoc -L '{LOADER}' '{path}' -M quarto-version=1.9.38 {options}"
    return run(command, pandoc, env={**env, "TEST_SHIM": str(SHIM), "TEST_INPUT": str(path.resolve())})


def render(pandoc, tmp_path, env, notes=NOTES):
    """Render a page with the filter; None for the text where no page was made."""
    page = tmp_path / "out.html"
    done = by_loader(pandoc, write(tmp_path / "page" / "notes.md", notes), f"-o '{page}'", env)
    return done, page.read_text("utf-8") if page.exists() else None


def test_the_filter_stands_first(pandoc, tmp_path):
    done, page = render(pandoc, tmp_path, {})
    assert done.returncode == 0, done.stderr
    assert page.count("Stays.") == 2
    assert "GONE" not in page


@pytest.mark.parametrize("matter", [*PROGRAMS, "settings that cannot be read"])
def test_no_page_is_made(matter, pandoc, tmp_path):
    program, reason = PROGRAMS.get(matter, (None, "knit.kep"))
    env = environment(tmp_path / "bin", program, matter != "not executable")
    if matter not in PROGRAMS:
        write(tmp_path / "page" / "config.toml", "[knit]\nkep = []\n")
        env = {}
    done, page = render(pandoc, tmp_path, env)
    said = done.stderr.decode()
    assert done.returncode != 0
    assert page is None
    assert reason in said
    assert "GONE" not in said and "\x1b" not in said
    assert ("Install the package lmm-markdown" in said) == (reason == "was not found")
    assert said.count("LM markdown: The page was not made. ") == 1


def test_an_unknown_quarto_makes_no_page(pandoc, tmp_path):
    done, page = render(pandoc, tmp_path, {"TEST_OTHER_QUARTO": "1"})
    assert (done.returncode, page) == (83, None)
    assert b"This version of Quarto runs filters in a way that the extension does not know" in done.stderr


def test_what_shows_an_exercise_in_silence(pandoc, tmp_path):
    """Nobody has looked at a file without a project before."""
    done, page = render(pandoc, tmp_path, {}, f"{NOTES}\n::: excercise\nGONE\n:::\n")
    assert (done.returncode, page) == (83, None)
    assert "notes.md:27: unknown class 'excercise': did you mean 'exercise'?" in done.stderr.decode()


def test_a_program_in_the_documents_folder_is_not_run(pandoc, tmp_path, monkeypatch):
    monkeypatch.chdir(write(tmp_path / "page" / "lmm-knit", "#!/bin/sh\ntouch RAN\nexec cat\n").parent)
    Path("lmm-knit").chmod(0o755)
    _, page = render(pandoc, tmp_path, {"PATH": f".::{BIN}:/usr/bin:/bin"})
    assert "GONE" not in page
    assert not Path("RAN").exists()
