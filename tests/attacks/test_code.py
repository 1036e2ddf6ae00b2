"""No command runs code because it lies in the folder that is worked on."""

import shlex
import sys
from pathlib import Path

import pytest

from tests.commands import run, write
from tests.quarto_scripts import add_extension, command_of

HARM = "open('ran', 'w')\nraise SystemExit\n"
# Modules that the program and the processes that it starts import.
NAMES = ["multiprocessing", "encodings", "click", "yaml", "site", "sitecustomize", "lmm_core", "lmm_filters", "json", "re",
         "panflute", "qdrant_edge", "pydantic_settings", "psutil", "typing", "glob", "runpy", "shutil"]  # fmt: skip
PROSE = "A residual is the vertical distance between a point and the line.\n\n"


@pytest.fixture(autouse=True)
def _hostile_folder():
    for name in NAMES:
        write(f"{name}.py", HARM)
    write("notes.md", f"# A\n\n{PROSE}")
    write("config.toml", "")


@pytest.mark.parametrize("command", ["lmm index .", "lmm doctor", "pandoc -F lmm-rag notes.md -o notes.md"])
def test_no_module_of_the_folder_is_imported(command, pandoc):
    run(command, pandoc)
    assert not Path("ran").exists()


@pytest.mark.slow
def test_no_process_that_cuts_texts_imports_one(tmp_path):
    """They are started for more than a million characters."""
    for number in range(4):
        write(f"docs/{number}.md", f"# {number}\n\n{PROSE * 4500}")
    done = run("lmm md-index --root docs")
    assert done.returncode == 0, done.stderr
    assert not Path("ran").exists()


@pytest.mark.slow
def test_the_render_scripts_import_none():
    add_extension(".")
    write("_quarto.yml", "project: {type: website}\nfilters: [lmm]\n")
    env = {"QUARTO_PYTHON": sys.executable, "PATH": "/nowhere", "QUARTO_PROJECT_DIR": "."}
    done = run(shlex.join(command_of("pre")), env=env)
    assert done.returncode == 0, done.stderr
    assert not Path("ran").exists()
