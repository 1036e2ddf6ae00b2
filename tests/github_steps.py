"""Running the shell steps of GitHub's workflows and actions, as a runner does, without GitHub."""

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"


def read(path):
    """A workflow or action. (YAML takes its `on` for a truth value.)"""
    found = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return {"on" if key is True else key: value for key, value in found.items()}


def shell_steps(steps):
    """The steps that run a script; the others are actions of other people."""
    return [step for step in steps if "run" in step]


def run_step(step, folder, values, env=None):
    """Run the script of a step by bash, in a folder; `values` are those of the expressions in it and in its `env`.

    What it appends to $GITHUB_OUTPUT is returned by name, with what it prints."""
    output = Path(folder, ".github-output")
    output.write_text("")
    given = {name: filled(str(value), values) for name, value in step.get("env", {}).items()}
    environment = {**os.environ, **(env or {}), **given, "GITHUB_OUTPUT": str(output)}
    script = filled(step["run"], values)
    done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
                          cwd=folder, env=environment, capture_output=True, text=True, timeout=600)  # fmt: skip
    named = dict(line.split("=", 1) for line in output.read_text().splitlines())
    output.unlink()
    assert done.returncode == 0, f"{step['run']}\n{done.stdout}\n{done.stderr}"
    return named, done.stdout + done.stderr


def filled(text, values):
    """A text with the values of its expressions, each of which has to be given."""
    return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: values[found[1]], text)


def new_environment(folder):
    """The variables for an environment of its own at a folder, into which pip installs what is given to it,
    without a network: the packages that ours depends on are those of this environment."""
    venv.create(folder, with_pip=True)
    scripts = sysconfig.get_path("scripts", "venv", {"base": str(folder)})
    return {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_IGNORE_INSTALLED": "1",  # ours is among those packages, as an editable installation
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def copy_checkout(target):
    """A copy of the files that git knows (or would), as a runner checks them out."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file() and not name.startswith("tests/real/"):
            place = Path(target, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes((ROOT / name).read_bytes())
    return Path(target)


def make_wheel(folder):
    """The wheel of a checkout, without a network."""
    command = [sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "-q", "-w", "wheels"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return next((folder / "wheels").glob("*.whl"))
