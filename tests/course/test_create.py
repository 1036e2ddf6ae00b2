"""`lmm init`: a course of a folder of notes, or of nothing. Nothing that is there is changed."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from lmm_core import __version__
from lmm_core.course import create
from lmm_core.course.create import create_course
from lmm_core.errors import FolderError
from tests.commands import run, text, write

NOTES = "# Means\n\nThe mean is the balance point.\n"
ALONE = {
    "config.toml", ".gitignore", "index.md", "requirements.txt", ".pre-commit-config.yaml",
    ".github/workflows/course.yml",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_quarto(monkeypatch):
    monkeypatch.setattr(create, "which", lambda name: None)


def tree(folder="."):
    """All files of a folder, with their bytes."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()
    }


def states(parts):
    return {Path(part.path).as_posix(): part.state for part in parts}


def git(*words):
    subprocess.run(["git", *words], check=True, capture_output=True)


# What is written


def test_a_course_of_nothing():
    done = run("lmm init --no-quarto 'my course'")
    assert (done.returncode, done.stderr) == (0, b"")
    assert tree("my course").keys() == ALONE
    lines = done.stdout.decode().splitlines()
    for name in ALONE:
        assert f"written: my course/{name}" in lines
    assert [line.split("  #")[0].strip() for line in lines[-3:]] == [
        "Next:",
        "lmm course 'my course'",
        "git init 'my course'",
    ]


def test_a_folder_with_notes_gets_no_chapter():
    write("means.md", NOTES)
    create_course(Path())
    assert tree().keys() == {*ALONE, "means.md"} - {"index.md"}
    assert text("means.md") == NOTES


def test_what_is_written_has_no_mistakes():
    create_course(Path())
    assert run("lmm scan --strict index.md").returncode == 0
    assert "Compute" in text("index.md") and "Compute" not in run("lmm knit index.md").stdout.decode()
    write("config.toml", re.sub(r"(?m)^# (?=[\[a-z_]+(\]| = ))", "", text("config.toml")))  # with all that it suggests
    assert set(tomllib.loads(text("config.toml"))) == {"minor", "knit", "serve"}
    assert run("lmm config show").returncode == 0


def test_quarto_is_wanted_where_it_is_or_has_a_project(monkeypatch):
    write("two/_quarto.yml", "project:\n  type: website\nfilters:\n  - lmm\n")
    assert states(create_course(Path("two")))["two/_extensions/lmm"] == "written"
    monkeypatch.setattr(create, "which", lambda name: "/bin/quarto")
    assert states(create_course(Path("three")))["three/_quarto.yml"] == "written"
    assert "four/_quarto.yml" not in states(create_course(Path("four"), quarto=False))


def test_a_dry_run_and_a_second_run_write_nothing():
    planned = create_course(Path("course"), quarto=True, dry_run=True)
    assert not Path("course").exists()
    assert create_course(Path("course"), quarto=True) == planned
    before = tree()
    parts = create_course(Path("course"), quarto=True)
    assert tree() == before
    assert set(states(parts).values()) == {"left alone"}


# What is there


def test_no_file_is_changed_and_what_it_may_lack_is_shown():
    mine = {
        ".gitignore": "*.log\n",
        "requirements.txt": "numpy\n",
        "config.toml": "# mine\n",
        ".pre-commit-config.yaml": "repos: []\n",
        ".github/workflows/course.yml": "jobs:\n  build:\n    runs-on: ubuntu-latest\n    steps: []\n",
        "_quarto.yml": "# mine\nproject:\n  type: website\n",
        "means.md": NOTES,
    }
    for name, content in mine.items():
        write(name, content)
    rows = {row["path"]: row for row in json.loads(run("lmm init --json").stdout)}
    assert {name: text(name) for name in mine} == mine
    assert rows[".gitignore"]["paste"] == "/.lmm/\n/.quarto/\n/.venv/\n/_site/\n"
    assert f"lmm-markdown=={__version__}" in rows["requirements.txt"]["paste"]
    for row in rows.values():
        if row["state"] == "lacks":
            write(row["path"], row["paste"])
    assert set(states(create_course(Path())).values()) == {"left alone"}


# What is in the way


def refused(folder):
    before = tree()
    with pytest.raises(FolderError) as caught:
        create_course(Path(folder))
    assert tree() == before
    return str(caught.value)


def test_links_are_not_followed():
    Path("elsewhere").mkdir()
    Path("course").mkdir()
    Path("course/.github").symlink_to(Path("elsewhere").resolve())
    assert ".github" in refused("course")
    assert tree("elsewhere") == {}


def test_files_and_folders_in_the_way(monkeypatch):
    write("d/_quarto.yml", "project: [\n")
    done = run("lmm init d")
    assert done.returncode == 1 and done.stderr.startswith(b"Error: d/_quarto.yml:2: cannot be read")
    assert tree("d").keys() == {"_quarto.yml"}
    monkeypatch.setenv("HOME", str(Path.cwd()))
    assert "is your home folder" in refused(".")


# Git and GitHub


def steps(workflow, job=None):
    jobs = yaml.safe_load(workflow)["jobs"]
    return [step for name, one in jobs.items() if job in (None, name) for step in one["steps"]]


@pytest.mark.parametrize("quarto", [True, False])
def test_the_workflow_publishes_the_site_and_needs_nothing_but_the_course(quarto):
    create_course(Path(), quarto)
    workflow = text(".github/workflows/course.yml")
    commands = {step["run"].split()[0:2][-1] for step in steps(workflow) if "run" in step}
    assert commands == {"apt-get", "install", "course"}
    assert any("quarto" in str(step.get("uses")) for step in steps(workflow)) is quarto
    assert "secrets" not in str(steps(workflow, "preview"))
    index, site = [step for step in steps(workflow, "publish") if "upload" in str(step.get("uses"))]
    assert index["with"]["path"] == ".lmm" and index["if"] == "vars.QDRANT_URL == ''"
    assert site["with"]["path"] == "_site" and "pages" in site["uses"]


def test_git_ignores_what_is_made():
    git("init")
    write("_quarto.yml", "project: {type: book}\nbook: {chapters: [index.md]}\nfilters: [lmm]\n")
    create_course(Path(), quarto=True)
    assert 'path: "_book"' in text(".github/workflows/course.yml")
    ours = set(tree())
    for name in (".lmm/index/x", ".quarto/x", ".venv/bin/lmm", "_book/index.html"):
        write(name, "x")
    git("add", "-A")
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True).stdout.split()
    assert set(listed) == {name for name in ours if not name.startswith(".git/")}


def test_cells_need_r_or_jupyter():
    create_course(Path("without"), quarto=True)
    assert "r-lib" not in text("without/.github/workflows/course.yml")
    write("course/means.qmd", "# Means\n\n```{r}\nmean(1:3)\n```\n\n```{python}\n1 + 1\n```\n")
    create_course(Path("course"), quarto=True)
    uses = [str(step.get("uses")) for step in steps(text("course/.github/workflows/course.yml"), "publish")]
    assert "r-lib/actions/setup-r@v2" in uses
    assert "\njupyter\n" in text("course/requirements.txt")
