"""`lmm init`: a course of a folder of notes, or of nothing. Nothing that is there is changed."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from lmm_core import __version__
from lmm_core.course import create
from lmm_core.course.create import create_course
from lmm_core.errors import FolderError, QuartoError
from lmm_core.quarto.extension import packaged_extension
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


def pasted(parts, path):
    return next(part.paste for part in parts if Path(part.path).as_posix().endswith(path))


def git(*words):
    subprocess.run(["git", *words], check=True, capture_output=True)


# What is written


def test_a_course_of_nothing():
    done = run("lmm init --no-quarto 'my course'")
    assert (done.returncode, done.stderr) == (0, b"")
    assert tree("my course").keys() == ALONE
    for name in ALONE:
        assert f"written: my course/{name}\n" in done.stdout.decode()


def test_the_last_lines_are_the_next_two_commands():
    lines = run("lmm init --no-quarto 'my course'").stdout.decode().splitlines()
    assert [line.split("  #")[0].strip() for line in lines[-3:]] == [
        "Next:",
        "lmm course 'my course'",
        "git init 'my course'",
    ]
    git("init", "my course")
    assert "    git push " in run("lmm init --no-quarto 'my course'").stdout.decode().splitlines()[-1]


def test_a_folder_of_notes_gets_no_chapter():
    write("means.md", NOTES)
    create_course(Path())
    assert tree().keys() == {*ALONE, "means.md"} - {"index.md"}
    assert text("means.md") == NOTES


@pytest.mark.parametrize("name", ["README.md", "LICENSE", "_draft.md", "CLAUDE.md"])
def test_a_new_repository_has_no_notes_yet(name):
    write(name, NOTES)
    create_course(Path())
    assert Path("index.md").is_file()


def test_the_chapter_has_no_mistakes_and_an_exercise_that_is_left_out():
    create_course(Path())
    assert run("lmm scan --strict index.md").returncode == 0
    assert "Compute" in text("index.md") and "Compute" not in run("lmm knit index.md").stdout.decode()


def test_every_setting_of_the_configuration_is_one():
    create_course(Path())
    assert run("lmm config show").returncode == 0
    write("config.toml", re.sub(r"(?m)^# (?=[\[a-z_]+(\]| = ))", "", text("config.toml")))
    assert set(tomllib.loads(text("config.toml"))) == {"minor", "knit", "serve"}
    assert run("lmm config show").returncode == 0


def test_quarto_is_wanted_where_it_is_or_has_a_project(monkeypatch):
    assert "one/_quarto.yml" not in states(create_course(Path("one")))
    write("two/_quarto.yml", "project:\n  type: website\nfilters:\n  - lmm\n")
    assert states(create_course(Path("two")))["two/_extensions/lmm"] == "written"
    monkeypatch.setattr(create, "which", lambda name: "/bin/quarto")
    assert states(create_course(Path("three")))["three/_quarto.yml"] == "written"
    assert "four/_quarto.yml" not in states(create_course(Path("four"), quarto=False))


def test_the_extension_is_the_packaged_one():
    create_course(Path(), quarto=True)
    there = {name.removeprefix("_extensions/lmm/") for name in tree() if name.startswith("_extensions/")}
    source = packaged_extension()
    assert there == {path.relative_to(source).as_posix() for path in source.rglob("*")
                     if path.is_file() and "__pycache__" not in path.parts}  # fmt: skip


@pytest.mark.parametrize("quarto", [True, False])
def test_twice_writes_nothing(quarto):
    create_course(Path("course"), quarto)
    before = tree()
    parts = create_course(Path("course"), quarto)
    assert tree() == before
    assert set(states(parts).values()) == {"left alone"}


def test_a_dry_run_writes_nothing():
    planned = create_course(Path("course"), quarto=True, dry_run=True)
    assert not Path("course").exists()
    assert create_course(Path("course"), quarto=True) == planned
    assert "would be written: other/config.toml\n" in run("lmm init other --dry-run").stdout.decode()


def test_as_json():
    write("requirements.txt", "numpy\n")
    rows = json.loads(run("lmm init --no-quarto --json").stdout)
    assert {row["path"]: row["state"] for row in rows} == dict.fromkeys(ALONE, "written") | {
        "requirements.txt": "lacks"
    }
    assert f"lmm-markdown=={__version__}" in next(row["paste"] for row in rows if row["path"] == "requirements.txt")


# What is there


def test_no_file_is_changed_and_what_it_may_lack_is_shown():
    mine = {
        ".gitignore": "*.log\n", "requirements.txt": "numpy\n", "config.toml": "# mine\n",
        ".pre-commit-config.yaml": "repos: []\n",
        ".github/workflows/course.yml": "jobs:\n  build:\n    runs-on: ubuntu-latest\n    steps: []\n",
        "_quarto.yml": "# mine\nproject:\n  type: website\n", "means.md": NOTES,
    }  # fmt: skip
    for name, content in mine.items():
        write(name, content)
    parts = create_course(Path())
    assert {name: text(name) for name in mine} == mine
    assert pasted(parts, ".gitignore") == "/.lmm/\n/.quarto/\n/.venv/\n/_site/\n"
    for part in parts:
        if part.state == "lacks":
            Path(part.path).write_text(part.paste)
    assert set(states(create_course(Path())).values()) == {"left alone"}


def test_a_workflow_of_another_name_that_makes_the_course_is_enough():
    write(".github/workflows/pages.yml", "jobs: {a: {steps: [{run: lmm course}]}}\n")
    assert states(create_course(Path()))[".github/workflows/pages.yml"] == "left alone"
    assert not Path(".github/workflows/course.yml").exists()


def test_a_quarto_project_that_cannot_be_read():
    write("_quarto.yml", "project: [\n")
    done = run("lmm init")
    assert done.returncode == 1 and done.stderr.startswith(b"Error: _quarto.yml:2: cannot be read")
    assert tree().keys() == {"_quarto.yml"}


def test_the_folder_of_the_site_is_that_of_quarto():
    write("_quarto.yml", "project:\n  type: book\nbook:\n  chapters: [index.md]\nfilters: [lmm]\n")
    create_course(Path())
    assert "/_book/\n" in text(".gitignore")
    assert {step["with"]["path"] for step in steps(text(".github/workflows/course.yml")) if "_book" in str(step)} == {
        "_book"
    }
    assert "_site" not in text(".github/workflows/course.yml")


# What is in the way


def refused(folder, error=FolderError, **options):
    before = tree()
    with pytest.raises(error) as caught:
        create_course(Path(folder), **options)
    assert tree() == before
    return str(caught.value)


def test_links_are_not_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in (".github", "config.toml", "_extensions"):
        folder = tmp_path / f"course with {name}"
        folder.mkdir()
        os.symlink(elsewhere / name, folder / name)
        if name != "config.toml":
            (elsewhere / name).mkdir()
        assert name in refused(folder, (FolderError, QuartoError), quarto=True)
    assert not [path for path in elsewhere.rglob("*") if path.is_file()]


def test_files_and_folders_in_the_way():
    write("a/.github", "mine")
    assert "Not a directory" in refused("a", NotADirectoryError)
    Path("b/config.toml").mkdir(parents=True)
    assert refused("b") == "b/config.toml is a folder, and a file of this name is needed: move it away"
    write("c", "mine")
    assert run("lmm init c").returncode == 2


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions count for nobody or root")
def test_a_folder_that_may_not_be_written():
    write("course/means.md", NOTES)
    Path("course").chmod(0o555)
    done = run("lmm init course")
    Path("course").chmod(0o755)
    assert (done.returncode, done.stderr) == (1, b"course/config.toml: Permission denied\n")


def test_the_home_folder_becomes_no_course(monkeypatch):
    monkeypatch.setenv("HOME", str(Path.cwd()))
    assert "is your home folder" in refused(".")


# Git and GitHub


def steps(workflow, job=None):
    jobs = yaml.safe_load(workflow)["jobs"]
    return [step for name, one in jobs.items() if job in (None, name) for step in one["steps"]]


@pytest.mark.parametrize("quarto", [True, False])
def test_the_workflow_needs_nothing_but_the_course(quarto):
    create_course(Path(), quarto)
    workflow = text(".github/workflows/course.yml")
    commands = {step["run"].split()[0:2][-1] for step in steps(workflow) if "run" in step}
    assert commands == {"apt-get", "install", "course"}
    assert any("quarto" in str(step.get("uses")) for step in steps(workflow)) is quarto
    assert "secrets" not in str(steps(workflow, "preview"))


def test_the_index_is_an_artifact_and_never_on_the_site():
    create_course(Path())
    uploads = [
        step for step in steps(text(".github/workflows/course.yml"), "publish") if "upload" in str(step.get("uses"))
    ]
    index, site = uploads
    assert index["with"]["path"] == ".lmm" and index["if"] == "vars.QDRANT_URL == ''"
    assert site["with"]["path"] == "_site" and "pages" in site["uses"]


def test_git_ignores_what_is_made():
    git("init")
    create_course(Path(), quarto=True)
    for name in (".lmm/index/x", ".quarto/x", ".venv/bin/lmm", "_site/index.html"):
        write(name, "x")
    git("add", "-A")
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True).stdout.split()
    assert set(listed) == {
        name for name in tree() if not name.startswith((".git/", ".lmm", ".quarto", ".venv", "_site"))
    }


def test_a_course_in_a_part_of_a_repository_gets_no_workflow():
    """GitHub and pre-commit read their files in its root."""
    git("init", "repository")
    done = run("lmm init --no-quarto repository/stats")
    assert not Path("repository/.github").exists() and not Path("repository/stats/.github").exists()
    assert b"workflow" not in done.stdout and b"git push" not in done.stdout


def test_cells_of_r_need_r_in_the_workflow():
    create_course(Path("without"), quarto=True)
    write("course/means.qmd", "# Means\n\n```{r}\nmean(1:3)\n```\n")
    create_course(Path("course"), quarto=True)
    uses = [str(step.get("uses")) for step in steps(text("course/.github/workflows/course.yml"), "publish")]
    assert [one for one in uses if "r-lib" in one] == [
        "r-lib/actions/setup-r@v2", "r-lib/actions/setup-r-dependencies@v2",
    ]  # fmt: skip
    assert "r-lib" not in text("without/.github/workflows/course.yml")


@pytest.mark.slow
def test_pre_commit_runs_the_hooks(monkeypatch, tmp_path):
    """The real pre-commit, on a course that nobody has changed, then on a slip, then before a push."""
    if shutil.which("pre-commit") is None:
        pytest.skip("pre-commit is not installed")
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "hooks"))
    create_course(Path("course"))
    monkeypatch.chdir("course")
    git("init")
    git("add", "-A")
    assert run("pre-commit run").returncode == 0
    write("means.md", f"{NOTES}\n::: excercise\nCompute.\n:::\n")
    git("add", "-A")
    done = run("pre-commit run")
    assert done.returncode == 1 and b"means.md:5: near-miss" in done.stdout
    write(
        "means.md",
        f"{NOTES}\n# What is a mean?\n\nThe mean of a sample is the sum of all its values, divided by the number of these values.\n",
    )
    git("add", "-A")
    assert run("pre-commit run --hook-stage pre-push --all-files").returncode == 1
    assert run("lmm rag -q .").returncode == 0
    assert run("pre-commit run --hook-stage pre-push --all-files").returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("quarto", [True, False])
def test_workflows_are_well_written(quarto):
    if shutil.which("actionlint") is None:
        pytest.skip("actionlint is not installed")
    write("course.yml", create._workflow("_book", quarto, quarto))
    done = run("actionlint course.yml")
    assert done.returncode == 0, done.stdout


def test_a_package_that_is_in_no_registry_is_said_to_be_put_beside():
    assert "pip wheel --no-deps -w wheels" in run("lmm init").stdout.decode()
    assert text("requirements.txt") == f"--find-links wheels\nlmm-markdown=={__version__}\n"
    write("wheels/lmm_markdown-0.whl", "")
    assert "pip wheel" not in run("lmm init").stdout.decode()


def test_cells_need_jupyter():
    write("means.qmd", "# Means\n\n```{python}\n1 + 1\n```\n")
    create_course(Path(), quarto=True)
    assert "\njupyter\n" in text("requirements.txt")
