"""The Lua filter of the Quarto extension hands each page to `lmm-knit`."""

import json
import os
from pathlib import Path

import pytest

from tests.commands import BIN, run, text, write

ROOT = Path(__file__).parents[2]
SHIM = ROOT / "quarto-ext" / "_extensions" / "lmm" / "lmm.lua"
BLOCK = "::: {.lmm .content-hidden}\n``` yaml\nnote: METADATA\n```\n:::\n"
TYPE = BLOCK.replace("note: METADATA", "type: exercise")
PLAIN = "# A\n\nText.\n"
INDENTED = "".join(f"   {line}\n" for line in BLOCK.splitlines())

# Documents of which all text stays.
ALL_STAYS = {
    "nothing": PLAIN,
    "empty": "",
    "header": f"---\ntitle: T\n~title: U\n~~hash: {{summary: [a, b]}}\nquestions=: q\nlmm:\n  keep: [x]\n---\n\n{PLAIN}",
    "tabset": f"::: panel-tabset\n## R\n\n{BLOCK}\nText.\n\n## Python\n\nText.\n:::\n",
    "theorem": "::: {#exr-one}\n## A numbered exercise\n\nText.\n:::\n",
}
# Documents of which something is left out.
PART_GOES = {
    "type": f"{PLAIN}\n{TYPE}\n## Practice\n\nGONE\n\n## After\n\nText.\n",
    "type at the end": f"{PLAIN}\n{TYPE}",
    "knit": f"{PLAIN}\n{TYPE.replace('type: exercise', 'knit: false')}\n## Practice\n\nGONE\n",
    "escaped": f"{TYPE.replace('type', chr(34) + chr(92) + 'x74ype' + chr(34))}\nGONE\n",
    "div": f"{PLAIN}\n::: exercise\nGONE\n:::\n\n::: {{.rag-only type=solution}}\nGONE\n:::\n",
    "attribute": f"{PLAIN}\n::: {{.callout-note knit=false}}\nGONE\n:::\n",
    "nested": f"::: callout-note\n{TYPE}\nGONE\n\nStays.\n:::\n\n1. one\n\n   ::: topic\n   GONE\n   :::\n",
    "html": f'{PLAIN}\n<div class="exercise">\n\nGONE\n\n</div>\n',
    "whole": f"---\nknit: false\n---\n\n{PLAIN.replace('Text.', 'GONE')}",
    "option": f"---\nlmm:\n  div-types: [solution]\n---\n\n{PLAIN}\n::: solution\nGONE\n:::\n",
    "raw": "```{=lmm}\ntype: topic\n```\n\nGONE\n\nStays.\n",
    "named like Quarto's": "---\nlmm: {div-types: x}\n---\n\n::: {#quarto-1 .x}\nGONE\n:::\n",
    "kept by the document": f"---\nlmm:\n  keep: all\n---\n\n{TYPE}\nGONE\n\n::: {{.rag-only}}\nGONE\n:::\n",
}
# Documents of which the configuration keeps what would be left out.
KEPT = {
    "all": f"{TYPE}\nStays.\n\n::: {{.rag-only}}\nStays.\n:::\n",
    "exercise": f"{PLAIN}\n::: exercise\nStays.\n:::\n",
}


def ast_of(done):
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def both(name, pandoc, **options):
    """What the shim and `lmm-knit` give."""
    shim = ast_of(run(f"pandoc -L '{SHIM}' '{name}' -t json", pandoc, **options))
    return shim, ast_of(run(f"pandoc -F lmm-knit '{name}' -t json", pandoc, **options))


@pytest.mark.parametrize("case", [*ALL_STAYS, *PART_GOES])
def test_the_shim_does_what_lmm_knit_does(case, pandoc):
    notes = (ALL_STAYS | PART_GOES)[case]
    write("notes.md", notes)
    shim, knit = both("notes.md", pandoc)
    assert shim == knit
    assert "GONE" not in json.dumps(shim)
    assert "METADATA" not in json.dumps(shim)
    assert json.dumps(shim).count("Stays.") == notes.count("Stays.")


@pytest.mark.parametrize("kept", KEPT)
def test_the_shim_keeps_what_the_configuration_keeps(kept, pandoc):
    write("config.toml", f'[knit]\nkeep = ["{kept}"]\n')
    write("notes.md", KEPT[kept])
    shim, knit = both("notes.md", pandoc)
    assert shim == knit
    assert json.dumps(shim).count("Stays.") == KEPT[kept].count("Stays.")


@pytest.mark.parametrize("case", ["nothing", "div"])
def test_what_is_missing_is_said_in_one_sentence(case, pandoc, tmp_path):
    write("notes.md", (ALL_STAYS | PART_GOES)[case])
    done = run(f"pandoc -L '{SHIM}' notes.md -o out.html", pandoc, env={"PATH": str(tmp_path)})
    assert done.returncode != 0
    assert b"Install the package lmm-markdown" in done.stderr
    assert not Path("out.html").exists()


def test_lmm_knit_beside_quartos_python(pandoc, tmp_path):
    write("notes.md", PART_GOES["div"])
    env = {"PATH": str(tmp_path), "QUARTO_PYTHON": str(BIN / "python")}
    assert b"GONE" not in run(f"pandoc -L '{SHIM}' notes.md", pandoc, env=env).stdout


def test_lmm_knit_of_the_projects_own_environment(pandoc, tmp_path):
    write("notes.md", PART_GOES["div"])
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(BIN)
    env = {"PATH": "/nowhere", "QUARTO_PROJECT_DIR": str(tmp_path)}
    done = run(f"pandoc -L '{SHIM}' notes.md", pandoc, env=env)
    assert done.returncode == 0, done.stderr
    assert b"GONE" not in done.stdout


def test_a_failing_lmm_knit_is_no_missing_one(pandoc):
    write("config.toml", "[knit]\nkep = []\n")
    write("notes.md", PART_GOES["div"])
    done = run(f"pandoc -L '{SHIM}' notes.md", pandoc)
    assert done.returncode != 0
    assert b"knit.kep" in done.stderr
    assert b"Install the package" not in done.stderr


@pytest.mark.parametrize("folder", [".", "part/deep"])
def test_classes_that_the_settings_name(folder, pandoc):
    write("config.toml", "[knit]\ndiv_types = ['solution']\n")
    path = write(f"{folder}/notes.md", f"{PLAIN}\n::: solution\nGONE\n:::\n")
    env = {"QUARTO_DOCUMENT_PATH": str(path.resolve().parent)}
    shim, knit = both(str(path), pandoc, env=env)
    assert shim == knit
    assert "GONE" not in json.dumps(shim)


def test_classes_that_the_environment_names(pandoc):
    write("notes.md", f"{PLAIN}\n::: solution\nGONE\n:::\n")
    shim, _ = both("notes.md", pandoc, env={"LMM_KNIT__DIV_TYPES": '["solution"]'})
    assert "GONE" not in json.dumps(shim)


def test_the_extension_is_of_the_packages_version():
    import lmm_core

    assert f"\nversion: {lmm_core.__version__}\n" in text(SHIM.parent / "_extension.yml")
    assert os.listdir(ROOT / "quarto-ext" / "_extensions") == ["lmm"]
