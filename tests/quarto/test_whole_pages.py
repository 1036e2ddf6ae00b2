"""A page whose header says `knit: false`, and slips, in the real Quarto."""

import os
import shutil
import subprocess

import pytest

from tests.commands import BIN, run, text, write

pytestmark = [
    pytest.mark.quarto,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("quarto") is None, reason="no quarto on PATH"),
]
PROJECT = "project: {{type: {0}}}\n{1}\nfilters: [lmm]\n"
BOOK = PROJECT.format(
    "book", "book: {title: B, chapters: [index.qmd, second.qmd, third.qmd]}\nformat: {html: default, docx: default}"
)
SITE = PROJECT.format("website", "format: {html: default, docx: default}")
BLOCK = "::: {.lmm .content-hidden}\n``` yaml\ntype: exercise\n```\n:::\n\nGONE-1\n"
HIDDEN = "---\ntitle: Solutions\nknit: false\n---\n\n# GONE-2\n\nThe GONE-3 text of a solution that nobody reads.\n"


def render(settings, second=HIDDEN):
    """Render a project of three pages; the result with what Quarto says."""
    write("_quarto.yml", settings)
    write("index.qmd", f"# First\n\nSTAYS-1\n\n{BLOCK}")
    write("second.qmd", second)
    write("third.qmd", "# Third\n\nSTAYS-2\n")
    assert run("lmm init --quarto").returncode == 0
    return subprocess.run(["quarto", "render"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
                          env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"})  # fmt: skip


@pytest.mark.parametrize(("settings", "output"), [(BOOK, "_book"), (SITE, "_site")], ids=["book", "website"])
def test_a_whole_page_is_left_out_and_indexed(settings, output):
    done = render(settings)
    assert done.returncode == 0, done.stdout
    pages = "".join(text(f"{output}/{name}.html") for name in ("index", "second", "third"))
    documents = [run(f"pandoc '{path}' -t plain").stdout.decode() for path in _documents(output)]
    assert "GONE" not in pages + "".join(documents) + text(f"{output}/search.json")
    for word in ("STAYS-1", "STAYS-2"):
        assert word in pages
        assert word in "".join(documents)
    assert b"second.qmd:8" in run("lmm search 'the text of a solution'").stdout


def _documents(output):
    return [os.path.join(output, name) for name in sorted(os.listdir(output)) if name.endswith(".docx")]


@pytest.mark.parametrize("settings", [BOOK, SITE], ids=["book", "website"])
def test_slips_stop_the_render(settings):
    done = render(settings, "# Second\n\n::: excercise\nText.\n:::\n")
    assert done.returncode != 0
    assert "second.qmd:3: unknown class 'excercise': did you mean 'exercise'?" in done.stdout
    assert not os.path.exists("_book")
    assert not os.path.exists("_site")
