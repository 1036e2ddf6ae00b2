"""From nothing to a published course, in a repository that knows only the wheel."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.commands import text, write
from tests.github_steps import copy_checkout, filled, make_wheel, new_environment, read, run_step, shell_steps

pytestmark = pytest.mark.slow
SECRET = "Say what became of the seven umbrellas that were forgotten on Monday"
CHAPTER = f"""
## The median

The median is the value in the middle: half of the values are smaller. It does not move if the largest value grows,
and so it describes incomes better than the mean does.

::: exercise
{SECRET}.
:::
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this tree; the checkout that it was built in is gone."""
    checkout = copy_checkout(tmp_path_factory.mktemp("checkout"))
    made = make_wheel(checkout)
    kept = made.rename(tmp_path_factory.mktemp("wheel") / made.name)
    shutil.rmtree(checkout)
    return kept


@pytest.fixture
def machine(tmp_path, wheel):
    """A function for the environment of a machine with nothing of ours on PATH: an empty home, no pandoc, no Quarto."""

    def make(name):
        home = tmp_path / name / "home"
        home.mkdir(parents=True)
        made = new_environment(tmp_path / name / "env")
        scripts = made["PATH"].split(os.pathsep)[0]
        write(tmp_path / name / "bin/sudo", "#!/bin/sh\n").chmod(0o755)  # a package of the system, which is not needed
        git = Path(shutil.which("git")).parent
        kept = {key: value for key, value in os.environ.items() if key.startswith(("LC_", "LANG", "TMP"))}
        path = [scripts, str(tmp_path / name / "bin"), str(git), "/usr/bin", "/bin"]
        identity = {f"GIT_{who}_{key}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
        found = made | kept | identity | {"HOME": str(home), "PATH": os.pathsep.join(path)}
        for command in ("lmm", "quarto"):
            if shutil.which(command, path=found["PATH"]):
                pytest.skip(f"{command} is in a folder of the system")
        return found

    return make


def run_in(folder, env, command, status=0):
    done = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == status, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def test_from_nothing_to_a_published_course(tmp_path, machine, wheel):
    here = machine("laptop")
    folder = tmp_path / "elsewhere/my course"
    folder.mkdir(parents=True)
    run_in(folder, here, f"python -m pip install -q '{wheel}'")
    assert str(tmp_path) in run_in(tmp_path, here, "python -c 'import lmm_core; print(lmm_core.__file__)'")

    # a repository with a course in it
    run_in(folder, here, "git init -q -b main")
    said = run_in(folder, here, "lmm init")
    assert "requirements.txt" in said and "course.yml" in said
    chapter = folder / "index.md"
    chapter.write_text(text(chapter) + CHAPTER, encoding="utf-8")
    write(folder / "wheels" / wheel.name, wheel.read_bytes())  # until it is in a registry, as `lmm init` says

    # its site and its index
    said = run_in(folder, here, "lmm course")
    assert [line[:-1] for line in said.splitlines() if line in ("check:", "leaks:", "index:", "site:")] == [
        "check", "leaks", "index", "site",
    ]  # fmt: skip
    page = text(folder / "_site/index.html")
    assert "half of the values are smaller" in page and "umbrellas" not in page and "data-lmm-ask" in page
    found = json.loads(run_in(folder, here, "lmm search 'the value in the middle' --json 2>/dev/null"))
    assert "index.md" in json.dumps(found)
    assert run_in(folder, here, "git status --short --ignored").count("_site/") == 1  # nobody commits it by mistake

    # its workflow, on a runner
    run_in(folder, here, "git add -A && git commit -m notes")
    for name, job in read(folder / ".github/workflows/course.yml")["jobs"].items():
        runner = machine(name)
        clone = tmp_path / name / "work"
        run_in(tmp_path, runner, f"git clone -q '{folder}' '{clone}'")
        values = {"vars.QDRANT_URL": "", "secrets.QDRANT_API_KEY": "", "secrets.OPENAI_API_KEY": ""}
        for step in shell_steps(job["steps"]):
            run_step_of(step, clone, values, runner)
        uploads = [step["with"]["path"] for step in job["steps"] if "upload" in step.get("uses", "")]
        assert uploads and all((clone / filled(path, values)).is_dir() for path in uploads)
        assert text(clone / "_site/index.html") == page, name
        assert not [
            path for path in (clone / "_site").rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()
        ]


def run_step_of(step, folder, values, machine):
    """Run a step with the environment of a machine alone."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            patch.delenv(name)
        run_step(step, folder, values, machine)
