"""A browser, and the sample book rendered."""

import os
import shutil
import subprocess

import pytest

from tests.box_pages import ROOT, chromium
from tests.commands import BIN, pandocs, text, write
from tests.effort import PATIENCE


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def tab(browser):
    """Makes pages; at the end none may have reported an error."""
    problems, contexts = [], []

    def make(**options):
        context = browser.new_context(viewport={"width": 1000, "height": 760}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: problems.append(said.text) if "inline script" in said.text else None)
        return page

    yield make
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The sample book, as `lmm course` renders it without Quarto, with two summaries."""
    work = tmp_path_factory.mktemp("course")
    (work / "pandoc").symlink_to(pandocs()[-1])
    path = os.pathsep.join([str(work), str(BIN), "/usr/bin", "/bin"])
    folder = shutil.copytree(ROOT / "sample-book", work / "book")
    write(folder / "_quarto.yml", text(folder / "_quarto.yml").replace("ask: true", "ask: {include: [exercise]}"))
    done = subprocess.run(
        [BIN / "lmm", "course", "--no-quarto", folder], env={**os.environ, "PATH": path}, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    return folder / "_book"
