"""Pages in the real Quarto: boxes, references, options, and what is said of them."""

import os
import re
import shutil
import subprocess
import zipfile

import pytest
import yaml

from lmm_core.quarto.options import OPTIONS
from tests.commands import text, write
from tests.quarto.test_recorded import EVERY_OPTION

QUARTO = shutil.which("quarto")
pytestmark = [
    pytest.mark.quarto,
    pytest.mark.long,
    pytest.mark.skipif(QUARTO is None, reason="no quarto on PATH"),
]
PAGE = """# Means

See @sec-practice, [the practice](#sec-practice) and @sec-more.

:::: {.callout-note}
## Try it

::: exercise
SECRET one two three four five six.
:::
::::

:::: {.panel-tabset}
## Notes

Kept.

## Task

::: exercise
SECRET tab one two three four five.
:::
::::

::: exercise
## Practice {#sec-practice}

SECRET practice one two three four five.
:::
"""
OTHER = "# Spread\n\n::: exercise\n## More {#sec-more}\n\nSECRET more one two three four five.\n:::\n"


def quarto(*words):
    done = subprocess.run(["quarto", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
                          env={**os.environ})  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def project(kind, **lmm):
    book = {"book": {"title": "B", "chapters": ["index.qmd", "part/means.qmd", "part/spread.qmd"]}}
    settings = {"project": {"type": kind}, "filters": ["lmm"], "lmm": {"index": False, **lmm}}
    write("_quarto.yml", yaml.safe_dump(settings | (book if kind == "book" else {})))
    write("index.qmd", "# Start\n\nWords.\n")
    write("part/means.qmd", PAGE)
    write("part/spread.qmd", OTHER)
    assert subprocess.run(["lmm", "init", "--quarto"], capture_output=True).returncode == 0


@pytest.mark.parametrize(("kind", "site"), [("book", "_book"), ("website", "_site")])
def test_boxes_and_references(kind, site):
    project(kind)
    said = quarto("render", "--to", "html")
    page = text(f"{site}/part/means.html")
    main = re.sub(r"<[^>]+>", " ", page[page.index("<main") : page.index("</main>")])
    assert "See […], the practice and […]." in " ".join(main.split()).replace(" ,", ",").replace(" .", ".")
    assert "Kept." in main
    for gone in ("SECRET", "Task", "Try it", "?@sec", "callout"):
        assert gone not in main
    assert "lmm-knit: part/means.qmd:3: warning: a reference to `sec-practice`" in said
    assert "lmm-knit: part/means.qmd:3: warning: a reference to `sec-more`" in said


def test_boxes_and_references_in_word():
    project("website")
    quarto("render", "part/means.qmd", "--to", "docx")
    with zipfile.ZipFile("_site/part/means.docx") as archive:
        words = re.sub(r"<[^>]+>", "", archive.read("word/document.xml").decode())
    assert "See […], the practice and […]." in words
    assert "SECRET" not in words and "Task" not in words and "Try it" not in words


def test_no_option_is_warned_of():
    """In the project's file, and in a header those that a document may say."""
    assert EVERY_OPTION.keys() == OPTIONS.keys()
    project("website", **EVERY_OPTION | {"index": False, "keep": []})
    own = {key: value for key, value in EVERY_OPTION.items() if key != "keep"}
    write("part/spread.qmd", f"---\n{yaml.safe_dump({'lmm': own})}---\n\n{OTHER}")
    said = quarto("render", "part/spread.qmd", "--to", "html")
    assert "lmm-knit: warning" not in said
    assert "unknown option" not in said
