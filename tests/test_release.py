"""A release: one version in all places, notes from the changelog, and a wheel that is enough by itself."""

import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from lmm_core import __version__
from tests.commands import text, write
from tests.github_steps import GITHUB, ROOT, copy_checkout, make_wheel, new_environment, read, run_step, shell_steps

SCRIPT = GITHUB / "scripts" / "release_notes.py"
ADDRESS = "https://github.com/owner/name"


# The version


def test_the_version_stands_in_one_place_and_the_others_agree():
    assert version("lmm-markdown") == __version__
    assert "version" not in re.search(r"\[project\]\n(.*?)\n\[", text(ROOT / "pyproject.toml"), re.S)[1].replace(
        'dynamic = ["version"]', ""
    )
    extension = yaml.safe_load(text(ROOT / "quarto-ext/_extensions/lmm/_extension.yml"))
    assert str(extension["version"]) == __version__
    assert re.search(r"^## (\S+)", text(ROOT / "CHANGELOG.md"), re.M)[1] == __version__
    assert str(yaml.safe_load(text(ROOT / "CITATION.cff"))["version"]) == __version__


# The notes


@pytest.fixture
def checkout(tmp_path):
    """The parts of a checkout that the script reads."""
    write(tmp_path / ".github/scripts/release_notes.py", text(SCRIPT))
    write(tmp_path / "lmm_core/__init__.py", '__version__ = "1.2.0"\n')
    write(tmp_path / "CHANGELOG.md", "# Changelog\n\n## 1.2.0 (2026-11-22)\n\n### Write\n\n- New: [it](docs/it.md#now), "
          "[there](https://example.org), ü.\n\n## 1.1.0 (2026-01-01)\n\n- Old.\n")  # fmt: skip
    return tmp_path


def notes_of(checkout, tag="v1.2.0"):
    command = [sys.executable, checkout / ".github/scripts/release_notes.py", tag, ADDRESS]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env={**os.environ, "LC_ALL": "C"})
    return done.returncode, done.stdout, done.stderr


def test_the_notes_are_those_of_the_version_with_links_that_lead_somewhere(checkout):
    notes = f"### Write\n\n- New: [it]({ADDRESS}/blob/v1.2.0/docs/it.md#now), [there](https://example.org), ü.\n"
    assert notes_of(checkout) == (0, notes, "")


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("lmm_core/__init__.py", "1.2.0", "1.3.0", "the tag v1.2.0 is not v1.3.0, the version of the package"),
        ("CHANGELOG.md", "2026-11-22", "unreleased", "1.2.0 is called unreleased"),
    ],
)
def test_no_release_of_what_is_not_ready(checkout, file, old, new, said):
    write(checkout / file, text(checkout / file).replace(old, new))
    status, shown, error = notes_of(checkout)
    assert (status, shown) == (1, "") and said in error


# The wheel


def try_steps():
    """The shell steps of the job that tries a release, but for the first, which installs it."""
    return shell_steps(read(GITHUB / "workflows" / "release.yml")["jobs"]["try"]["steps"])


@pytest.mark.slow
def test_the_wheel_is_enough_by_itself(tmp_path):
    """The demo from an installed wheel, where nothing of the checkout is left."""
    checkout = copy_checkout(tmp_path / "checkout")
    wheel = make_wheel(checkout)
    (tmp_path / "release/dist").mkdir(parents=True)
    wheel = wheel.rename(tmp_path / "release/dist" / wheel.name)
    checkout.rename(tmp_path / "gone")
    book = tmp_path / "gone/sample-book"
    sample = {path.relative_to(book).as_posix() for path in book.rglob("*") if path.is_file()}
    names = zipfile.ZipFile(wheel).namelist()
    assert sample == {name.removeprefix("lmm_sample_book/") for name in names if name.startswith("lmm_sample_book/")}
    env = {**new_environment(tmp_path / "env"), "HOME": str(tmp_path / "home")}
    for step in try_steps():
        said = run_step(step, tmp_path, {}, env)[1]
    assert "none found" in said
    assert Path(tmp_path, "course/_book/01-data.html").is_file()
    where = run_step({"run": "cd course && python -c 'import lmm_core; print(lmm_core.__file__)'"}, tmp_path, {}, env)[
        1
    ]
    assert Path(where.strip()).is_relative_to(tmp_path / "env")
