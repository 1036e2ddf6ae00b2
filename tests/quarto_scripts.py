"""The scripts of the Quarto extension, as Quarto runs them."""

import re
import shutil
import sys
from pathlib import Path

import yaml

from tests.commands import text

EXTENSION = Path(__file__).parents[1] / "quarto-ext" / "_extensions" / "lmm"


def command_of(stage):
    """Return the command line for a stage (pre, post): Quarto splits a script's line at blanks, but for
    those between double quotes, and runs it with its Python where its first word ends in .py."""
    contributed = yaml.safe_load(text(EXTENSION / "_extension.yml"))["contributes"]["metadata"]["project"]
    words = [word.replace('"', "") for word in re.findall(r'(?:"[^"]*"|[^ ])+', contributed[f"{stage}-render"])]
    assert words[0].endswith(".py")
    return [sys.executable, *words]


def add_extension(folder, place="lmm"):
    """Copy the extension into a project, as `quarto add` does (place: `OWNER/lmm` from GitHub)."""
    shutil.copytree(EXTENSION, Path(folder) / "_extensions" / place)
