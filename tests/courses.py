"""Courses made by `lmm course` on a machine without Quarto, and the sample book in two languages."""

import os
import shutil
from pathlib import Path

from tests.commands import pandocs, run
from tests.warm import search_path

ROOT = Path(__file__).parents[1]


def bilingual_book(folder):
    """Copy the sample book with its third chapter in German to a new folder, and return that."""
    shutil.copytree(ROOT / "sample-book", folder)
    shutil.copyfile(ROOT / "tests/retrieve/gold/03-chance.md", folder / "03-chance.md")
    return folder


def make_course(arguments="", **environment):
    """Run `lmm course` without Quarto, and return the finished process."""
    return run(f"lmm course {arguments}", env={"PATH": path_without_quarto(), **environment})


def path_without_quarto():
    """A search path without Quarto, with a pandoc in front."""
    found = os.environ["PATH"].split(os.pathsep)
    folder = Path("pandoc-alone").resolve()
    folder.mkdir(exist_ok=True)
    if not (folder / "pandoc").exists():
        (folder / "pandoc").symlink_to(pandocs()[-1])
    others = (path for path in found if not Path(path, "quarto").exists())
    return os.pathsep.join([search_path(), str(folder), *others])
