"""What a reader sees of the sample book's pages, in a headless Chromium."""

import html
import os
import re
import runpy
import shutil
from pathlib import Path

import pytest
import yaml

from tests.commands import BIN, pandocs, run, text

ROOT = Path(__file__).parents[2]
PICTURES = runpy.run_path(str(ROOT / "docs" / "pictures.py"))
BLOCK = re.compile(r"^::: \{\.lmm [^\n]*\n``` yaml\n(.*?)^```\n:::\n", re.M | re.S)
RAG_ONLY = re.compile(r"^::: (?:exercise|topic|\{\.rag-only[^\n]*)\n(.*?)^:::$", re.M | re.S)
SCRIPT = "<script>document.body.replaceChildren(document.body.innerText)</script></body>"
ASK_BOX = re.compile(r"<script\b[^<>]*\bdata-lmm-ask\b[^<>]*></script>")
pytestmark = pytest.mark.long


@pytest.fixture(scope="module", autouse=True)
def _chromium():
    try:
        PICTURES["find_chromium"]()
    except SystemExit as why:
        pytest.skip(str(why))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The visible text of each page that `lmm course` makes without Quarto, by its name."""
    work = tmp_path_factory.mktemp("course")
    (work / "pandoc").symlink_to(pandocs()[-1])
    path = os.pathsep.join([str(work), str(BIN), "/usr/bin", "/bin"])
    if shutil.which("quarto", path=path):
        pytest.skip("quarto is on PATH: test_quarto.py has that")
    book = shutil.copytree(ROOT / "sample-book", work / "book")
    done = run(f"lmm course --no-quarto '{book}'", env={"PATH": path})
    assert done.returncode == 0, done.stderr
    return {page.stem: visible(page) for page in (book / "_book").glob("*.html")}


def visible(page):
    """What a reader sees: text that is displayed, as the browser has it. The ask box would add
    its button before or after the text is taken; test_ask_box.py looks at it."""
    looked = page.with_name(f"{page.stem}.looked.html")
    content = ASK_BOX.sub("", text(page)).replace("</body>", SCRIPT)
    looked.write_text(content, encoding="utf-8")
    shown = PICTURES["browse"](looked, "--dump-dom")
    looked.unlink()
    return html.unescape(re.search(r"<body[^>]*>(.*)</body>", shown, re.S)[1])


def words(given):
    return " ".join(re.findall(r"\w+", given))


def strings(value):
    """The texts of a block's properties, one line each."""
    if isinstance(value, str):
        return value.splitlines()
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [line for one in values for line in strings(one)]


def hidden(source):
    """Runs of words that no reader is to see: of metadata, of RAG-only divs, and of the
    heading and first paragraph after a block with a `type`."""
    found = []
    for block in BLOCK.finditer(source):
        properties = yaml.safe_load(block[1])
        found += strings(properties)
        if "type" in properties:
            parts = source[block.end() :].strip().split("\n\n")
            found += parts[: 2 if parts[0].startswith("#") else 1]
    found += [div[1] for div in RAG_ONLY.finditer(source)]
    pieces = [words(piece) for part in found for piece in re.split(r"[$`@\[\]{}*\n]", part)]
    return {piece for piece in pieces if len(piece.split()) >= 5}


def seen(source, page):
    """What of it a page shows."""
    shown = words(page)
    return {piece for piece in hidden(source) if piece in shown}


def test_nothing_of_metadata_or_rag_only_parts_is_visible(pages, tmp_path):
    sources = [text(path) for path in (ROOT / "sample-book").glob("*.[mq]*d") if path.stem in pages]
    assert len(pages) == len(sources) == 8
    for name, page in pages.items():
        for source in sources:
            assert seen(source, page) == set(), name
        for mark in (":::", "content-hidden", "questions=", "~", "type: ", "lmm"):
            assert mark not in page, (name, mark)
    chapter = ROOT / "sample-book" / "02-describing.md"  # without the filter it is seen
    assert run(f"pandoc --mathml -s '{chapter}' -o page.html", pandocs()[-1]).returncode == 0
    assert len(seen(text(chapter), visible(tmp_path / "page.html"))) > 0.9 * len(hidden(text(chapter))) > 10


READ = {
    "01-data": ["Student Lives in Rested", "one row for each student", "The classic case is the poll"],
    "02-describing": ["Why n 1", "degrees of freedom", "Do not be alarmed if a program", "Sixty reaction times"],
    "04-estimation": ["Two spreads that are easily confused", "Factors from the t distribution"],
    "06-tests": ["A test for the test", "Wherever you read"],
    "07-computing": ["R mean recall and median recall A spreadsheet", "Before you run it How many of the twelve"],
}


def test_what_is_the_readers_stays(pages):
    """Tables, footnotes, callouts, figures, tabs and numbered exercises."""
    for name, parts in READ.items():
        for part in parts:
            assert part in words(pages[name])


def test_the_pictures_of_the_docs(tmp_path):
    """The script takes those that the page shows, and they are small."""
    (tmp_path / "pandoc").symlink_to(pandocs()[-1])
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    done = run(f"python '{ROOT}/docs/pictures.py' pictures", env={"PATH": path})
    assert done.returncode == 0, done.stderr
    taken = {picture.name: picture.read_bytes() for picture in Path("pictures").iterdir()}
    pages = "".join(text(page) for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    shown = re.findall(r"!\[[^\]]+\]\((?:docs/)?pictures/([^)]+)\)", pages)
    assert set(shown) == {path.name for path in (ROOT / "docs" / "pictures").iterdir()}
    assert set(taken) == {name for name in shown if not name.startswith("editor")}  # those are of VS Code
    for picture in taken.values():
        assert picture.startswith(b"\x89PNG")
        assert 5_000 < len(picture) < 130_000
