"""What other repositories use of this one: hooks for pre-commit, an action, workflows; and that all are well written."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from tests.commands import text, write
from tests.github_steps import GITHUB, ROOT, copy_checkout, new_environment, read, run_step, shell_steps

ACTION = GITHUB / "actions" / "course" / "action.yml"
PUBLISH = GITHUB / "workflows" / "publish-course.yml"
OF_COURSES = ROOT / "lmm_core" / "course" / "files" / "course.yml"  # what `lmm init` writes
WORKFLOWS = [*sorted((GITHUB / "workflows").glob("*.yml")), OF_COURSES]


# How they are written


@pytest.fixture
def actionlint():
    """A function that lints a workflow with actionlint, which asks shellcheck about the scripts in it."""
    commands = {name: shutil.which(name) for name in ("actionlint", "shellcheck")}
    if None in commands.values():
        pytest.skip("no actionlint or shellcheck: pip install -e '.[lint]'")

    def lint(path):
        done = subprocess.run([commands["actionlint"], "-no-color", path], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr

    return lint


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_workflow_has_no_mistakes(path, actionlint):
    actionlint(path)


def test_the_action_has_no_mistakes(actionlint):
    """Its steps as those of a workflow, which is what actionlint reads."""
    action = read(ACTION)
    inputs = {name: {"type": "string", "default": one["default"]} for name, one in action["inputs"].items()}
    outputs = {name: one["value"] for name, one in action["outputs"].items()}
    job = {"runs-on": "ubuntu-latest", "outputs": outputs, "steps": action["runs"]["steps"]}
    workflow = {"on": {"workflow_call": {"inputs": inputs}}, "permissions": {}, "jobs": {"course": job}}
    actionlint(write("workflow.yml", yaml.safe_dump(workflow)).resolve())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_script_holds_no_expression(path):
    """What a title, a branch or an input says is handed on in a variable, so that no shell reads it as a command."""
    for job in read(path)["jobs"].values():
        assert not [step for step in shell_steps(job.get("steps", [])) if "${{" in step["run"]]


def test_keys_are_in_no_job_for_pull_requests():
    for path in (PUBLISH, OF_COURSES):
        jobs = read(path)["jobs"]
        assert {"preview", "publish"} <= set(jobs)
        for job in jobs.values():
            pushes = ("github.event_name == 'push'", "github.event_name != 'pull_request'")
            assert "secrets." not in str(job) or job["if"] in pushes
        assert jobs["preview"]["if"] == "github.event_name == 'pull_request'"


# The action


@pytest.mark.slow
def test_the_steps_of_the_action(tmp_path):
    """In another repository, without Quarto, with the action's own commit."""
    checkout = copy_checkout(tmp_path / "action")
    course = tmp_path / "work/my course"
    write(course / "config.toml", "")
    write(course / "index.md", "# Means\n\nThe mean is the balance point of its values.\n\n::: exercise\nBalance a ruler "
          "with three coins of the same weight on it, and say where.\n:::\n")  # fmt: skip
    env = new_environment(tmp_path / "env") | {"HOME": str(tmp_path / "home")}
    env |= {"PIP_NO_BUILD_ISOLATION": "0"}  # (so pip spells that there is none)
    for name in ("sudo", "quarto"):  # no package of the system is installed here, and Quarto fails if it is asked
        write(tmp_path / "bin" / name, f"#!/bin/sh\ntest {name} = sudo\n").chmod(0o755)
    env["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{env['PATH']}"
    values = {f"inputs.{name}": one["default"] for name, one in read(ACTION)["inputs"].items()}
    values |= {"inputs.folder": "my course", "inputs.quarto": "false", "runner.temp": str(tmp_path / "temp")}
    values |= {"github.action_path": str(checkout / ".github/actions/course")}
    named = {}
    for step in shell_steps(read(ACTION)["runs"]["steps"]):
        named |= run_step(step, tmp_path / "work", values, env)[0]
    site = Path(named["site"])
    page = text(site / "index.html")
    assert "balance point" in page and "three coins" not in page
    assert (course / ".lmm" / "index").is_dir()


# The hooks for pre-commit


@pytest.fixture(scope="module")
def hooks(tmp_path_factory):
    """This repository as others name it in their `.pre-commit-config.yaml`: a path and a tag."""
    repository = copy_checkout(tmp_path_factory.mktemp("hooks"))
    git(repository, "init")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "x")
    git(repository, "tag", "v1.0.0")
    return repository


@pytest.fixture
def course(tmp_path, hooks):
    """A repository with notes that uses the hooks."""
    folder = tmp_path / "course"
    repo = {"repo": str(hooks), "rev": "v1.0.0", "hooks": [{"id": "lmm-check"}, {"id": "lmm-rag-check"}]}
    write(folder / ".pre-commit-config.yaml", yaml.safe_dump({"repos": [repo]}))
    write(
        folder / "notes.md",
        "---\ntitle: Means\n---\n\n# What is a mean?\n\nThe mean of a sample is the sum of all its values, divided by the number of these values.\n",
    )
    write(folder / "program.py", "typ = 'exercise'\n")
    git(folder, "init")
    git(folder, "add", ".")
    return folder


def git(folder, *words, env=None):
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, "-C", folder, *words], capture_output=True, text=True, env=env)
    assert done.returncode == 0 or env, done.stderr
    return done


@pytest.mark.slow
def test_the_hooks_in_another_repository(course, tmp_path):
    """pre-commit makes an environment for them with pip, here without a network: what ours depends on is this one's."""
    env = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"), "HOME": str(tmp_path / "home"),
           "PYTHONPATH": sysconfig.get_path("purelib"), "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1",
           "PIP_NO_BUILD_ISOLATION": "0", "PIP_IGNORE_INSTALLED": "1"}  # fmt: skip

    def pre_commit(*words):
        command = [sys.executable, "-m", "pre_commit", *words]
        return subprocess.run(command, cwd=course, capture_output=True, text=True, env=env)

    done = pre_commit("install", "-t", "pre-commit", "-t", "pre-push")
    assert done.returncode == 0, done.stderr
    done = git(course, "commit", "-m", "notes", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mistakes in the notes" in done.stderr and "Passed" in done.stderr

    write(course / "notes.md", text(course / "notes.md") + "\n---\ntyp: exercise\n---\n\nHow many? Count them.\n")
    git(course, "add", ".")
    done = git(course, "commit", "-m", "a slip", env=env)
    assert done.returncode == 1
    assert "notes.md:10: " in done.stderr and "type" in done.stderr

    write(course / "notes.md", text(course / "notes.md").replace("typ:", "type:"))
    git(course, "add", ".")
    assert git(course, "commit", "-m", "no slip", env=env).returncode == 0
    pushed = pre_commit("run", "--all-files", "--hook-stage", "pre-push")
    assert pushed.returncode == 1 and "would be annotated: notes.md" in pushed.stdout
    installed = next((tmp_path / "pre-commit").glob("repo*/py_env-*/bin/lmm"))
    assert subprocess.run([installed, "rag", "notes.md", "-q"], cwd=course, env=env).returncode == 0
    assert pre_commit("run", "--all-files", "--hook-stage", "pre-push").returncode == 0
