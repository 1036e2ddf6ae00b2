"""The scripts of the Quarto extension, in the environment that Quarto gives them."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.commands import BIN, text, write
from tests.effort import PATIENCE
from tests.notebooks import cell, notebook
from tests.quarto_scripts import add_extension, command_of

RECORDED = Path(__file__).parent / "recorded"
NATIVE = "# A\n\nText.\n\n---\ntype: exercise\n---\n\n## Practice\n\nCompute the median of these nine values by hand.\n"
TASK = "Compute the median of these nine values by hand"
BROKEN = "::: {.lmm .content-hidden}\n``` yaml\ntype: [exercise\nquestions: Why?\n```\n:::\n"
DIVS = NATIVE.replace("---\ntype: exercise\n---", "::: {.lmm .content-hidden}\n``` yaml\ntype: exercise\n```\n:::")

PROSE = "A residual is the vertical distance between a point and the line that was fitted to all of the points. "


@pytest.fixture
def project(tmp_path):
    """The recorded project, in a folder with a blank in its name, with the extension."""
    folder = Path(shutil.copytree(RECORDED / "project", tmp_path / "my course"))
    add_extension(folder)
    options(folder, "")
    return folder


def options(folder, lines):
    write(folder / "_quarto.yml", "project:\n  type: book\nbook:\n  title: Fixture\n  chapters:\n    - index.qmd\n"
          "    - part/chapter.qmd\n    - cells.qmd\n  appendices:\n    - exercises.qmd\nfilters: [lmm]\n" + lines)  # fmt: skip


def script(stage, project, recorded="partial", **changes):
    """Run a script as Quarto does; the result with its standard error as text."""
    said = json.loads(text(RECORDED / f"script.{stage}.{recorded}.json"))["env"]
    environment = {key: value.replace("PROJECT", str(project)) for key, value in said.items()} | changes
    return subprocess.run(command_of(stage), cwd=project, capture_output=True,
                          text=True, env={**os.environ, **environment}, timeout=120)  # fmt: skip


def times(project):
    return {path: path.stat().st_mtime_ns for path in project.rglob("*.qmd")}


def indexed(project):
    done = subprocess.run(["lmm", "search", "preface paragraph visible", "-k", "50", "--json"], cwd=project,
                          capture_output=True, text=True)  # fmt: skip
    return {point["docid"] for point in json.loads(done.stdout or "[]")}


# Before


def test_divs_pass_and_nothing_is_written(project):
    before = times(project)
    done = script("pre", project)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
    assert times(project) == before


def test_pages_that_would_not_be_filtered_stop_the_render_unless_they_name_the_filter(project):
    path = project / "_quarto.yml"
    write(path, text(path).replace("filters: [lmm]\n", ""))
    done = script("pre", project)
    assert done.returncode == 1
    assert done.stderr.startswith("_quarto.yml: `filters` does not name lmm, so pages would show what is left out")
    write(project / "part" / "chapter.qmd", "---\nfilters: [lmm]\n---\n\n# A\n\nText.\n")
    assert script("pre", project).returncode == 0


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (NATIVE, "part/chapter.qmd:5: "),
        ("# A\n\n{{< include /part/_part.qmd >}}\n", "part/_part.qmd:5: "),
        (f"# A\n\n{BROKEN}\n## Practice\n\nCompute.\n", "part/chapter.qmd:6: "),
        ("::: solutons\nText.\n:::\n", "part/chapter.qmd:1: unknown class 'solutons': did you mean 'solution'?"),
        ("---\nlmm:\n  kep: x\n---\n\n# A\n", "part/chapter.qmd: unknown option `lmm.kep`"),
    ],
    ids=["native", "included", "broken", "class", "option"],
)
def test_what_would_show_an_exercise_stops_the_render(project, source, message):
    write(project / "exercises.qmd", "# E\n\n::: {.rag-only type=solution}\nText.\n:::\n")
    write(project / "part" / "_part.qmd", NATIVE)
    write(project / "part" / "chapter.qmd", source)
    done = script("pre", project)
    assert done.returncode == 1
    assert message in done.stderr
    assert text(project / "part" / "chapter.qmd") == source


def test_a_notebook_is_checked_and_left_alone(project):
    options(project, "lmm:\n  annotate: true\n")
    files = {"QUARTO_PROJECT_INPUT_FILES": "nb.ipynb"}
    write(project / "nb.ipynb", notebook(cell(NATIVE)))
    done = script("pre", project, **files)
    assert done.returncode == 1
    assert "nb.ipynb:5: Quarto would forget the place of this metadata block" in done.stderr
    source = notebook(cell(DIVS))
    write(project / "nb.ipynb", source)
    done = script("pre", project, **files)
    assert (done.returncode, text(project / "nb.ipynb")) == (0, source)


def test_the_inputs_that_quarto_names_are_looked_at(project):
    write(project / "cells.qmd", NATIVE)
    assert script("pre", project).returncode == 0  # part/chapter.qmd alone
    assert "cells.qmd:5: " in script("pre", project, QUARTO_PROJECT_INPUT_FILES="").stderr
    names = write(project / "list of files.txt", "index.qmd\ncells.qmd\n")
    environment = {"QUARTO_PROJECT_INPUT_FILES": "", "QUARTO_USE_FILE_FOR_PROJECT_INPUT_FILES": str(names)}
    assert "cells.qmd:5: " in script("pre", project, **environment).stderr


def test_annotating(project):
    options(project, "lmm:\n  annotate: true\n")
    write(project / "part" / "chapter.qmd", f"# A\n\n{PROSE * 5}\n")
    done = script("pre", project)
    assert done.returncode == 0, done.stderr
    assert "~questions" in text(project / "part" / "chapter.qmd")
    assert "~questions" not in text(project / "cells.qmd")
    before = times(project)
    assert script("pre", project).returncode == 0
    assert times(project) == before
    write(project / "part" / "chapter.qmd", f"# What is a residual?\n\n{PROSE * 5}\n").chmod(0o444)
    done = script("pre", project)  # what cannot be annotated stops no render
    assert done.returncode == 0
    assert "part/chapter.qmd: not annotated: read-only" in done.stderr


# After


def test_the_rendered_files_are_indexed(project):
    done = script("post", project)
    assert done.returncode == 0, done.stderr
    assert indexed(project) == {"part/chapter"}
    write(project / "outputs.txt", "_book/cells.html\n_book/index.html\n")
    write(project / "inputs.txt", "cells.qmd\nindex.qmd\n")
    assert script("post", project, "file-list").returncode == 0  # the outputs stand in a file
    assert indexed(project) == {"part/chapter", "cells.qmd", "index.qmd"}
    shutil.rmtree(project / ".lmm")
    options(project, "lmm:\n  index: false\n")
    assert script("post", project).returncode == 0
    assert not (project / ".lmm").exists()


def test_a_leak_fails_the_render(project):
    write(project / "part" / "chapter.qmd", DIVS)
    page = write(project / "_book" / "part" / "chapter.html", f"<html><body><p>Text.</p><p>{TASK}.</p></body></html>")
    done = script("post", project)
    assert done.returncode == 1
    assert "part/chapter.qmd:13: " in done.stderr
    assert "_book/part/chapter.html" in done.stderr
    assert done.stderr.splitlines()[-1].endswith("Do not publish _book/")
    write(page, "<html><body><p>Text.</p></body></html>")
    assert script("post", project).returncode == 0
    write(project / "cells.qmd", f"# B\n\n{TASK}.\n")  # another page says it, which this render has not made
    write(project / "_book" / "cells.html", f"<p>{TASK}.</p>")
    assert script("post", project).returncode == 0


def test_a_full_render_forgets_files_that_are_gone(project):
    assert script("post", project, "full", QUARTO_PROJECT_OUTPUT_FILES="_book/Fixture.pdf").returncode == 0
    assert indexed(project) == {"part/chapter", "cells.qmd", "index.qmd", "exercises.qmd"}
    (project / "cells.qmd").unlink()
    assert script("post", project, "full", QUARTO_PROJECT_OUTPUT_FILES="").returncode == 0
    assert indexed(project) == {"part/chapter", "index.qmd", "exercises.qmd"}


@pytest.mark.parametrize(
    ("source", "page", "cause"),
    [
        (f"{DIVS.partition('Text.')[2].partition('## ')[0].lstrip()}# {TASK}\n\nText.\n", f"<title>{TASK}</title>",
         "Write a `title:` into its header."),
        (DIVS, f'<div id="quarto-embedded-source-code-modal"><p>{TASK}.</p></div>', "`code-tools`"),
    ],
    ids=["title", "embedded source"],
)  # fmt: skip
def test_what_has_caused_a_leak_is_named(project, source, page, cause):
    write(project / "part" / "chapter.qmd", source)
    write(project / "_book" / "part" / "chapter.html", f"{page}<p>Text.</p>")
    done = script("post", project)
    assert done.returncode == 1
    assert cause in done.stderr.splitlines()[-1]


def test_a_project_without_an_output_folder(project):
    """Pages stand beside their sources, which are no leak; settings stand above."""
    write(project.parent / "config.toml", "[knit]\ndiv_types = ['solution']\n")
    write(project / "_quarto.yml", "project:\n  title: Notes\n")
    write(project / "part" / "chapter.qmd", f"# A\n\n::: solution\n{TASK}.\n:::\n")
    page = write(project / "part" / "chapter.html", "<p>Text.</p>")
    said = {"QUARTO_PROJECT_OUTPUT_DIR": str(project), "QUARTO_PROJECT_OUTPUT_FILES": ""}
    done = script("post", project, **said)
    assert done.returncode == 0, done.stderr
    write(page, f"<p>{TASK}.</p>")
    done = script("post", project, **said)
    assert done.returncode == 1
    assert "part/chapter.qmd:3: " in done.stderr and "part/chapter.html" in done.stderr


# Finding the command


def bare_path(tmp_path):
    """A PATH without our commands."""
    folder = tmp_path / "bin"
    folder.mkdir()
    return str(folder)


def test_no_command_is_said_in_one_sentence(project, tmp_path):
    done = script("post", project, PATH=bare_path(tmp_path))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "Install the package lmm-markdown" in done.stderr
    assert not [*project.rglob("__pycache__")]


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_interrupted_render_ends_without_a_traceback(project, tmp_path):
    slow = Path(bare_path(tmp_path)) / "lmm"
    slow.write_text("#!/bin/sh\necho begun\nexec /bin/sleep 30\n")
    slow.chmod(0o755)
    environment = {**os.environ, "PATH": str(slow.parent), "QUARTO_PROJECT_DIR": str(project)}
    child = subprocess.Popen(command_of("pre"), cwd=project, env=environment, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)  # fmt: skip
    assert child.stdout.readline() == "begun\n"
    os.killpg(child.pid, signal.SIGINT)
    assert child.communicate(timeout=PATIENCE)[1] == ""
    assert child.returncode == 130


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_the_projects_own_environment(project, tmp_path):
    write(project / "part" / "chapter.qmd", NATIVE)
    (project / ".venv").mkdir()
    (project / ".venv" / "bin").symlink_to(BIN)
    (project / ".venv" / "pyvenv.cfg").write_text((BIN.parent / "pyvenv.cfg").read_text())
    (project / ".venv" / "lib").symlink_to(BIN.parent / "lib")
    done = script("pre", project, PATH=bare_path(tmp_path), QUARTO_PYTHON="/no/such/python")
    assert "part/chapter.qmd:5: " in done.stderr
