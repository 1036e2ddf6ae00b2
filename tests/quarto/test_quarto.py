"""The sample book in the real Quarto."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.commands import BIN, text, write

ROOT = Path(__file__).parents[2]
QUARTO = shutil.which("quarto")
pytestmark = [
    pytest.mark.quarto,
    pytest.mark.long,
    pytest.mark.skipif(QUARTO is None, reason="no quarto on PATH"),
]
# An exercise in a div and one after a block, a solution, a definition and a topic.
LEFT_OUT = [
    "A school has two classes",
    "Take student S10",
    "Large classes are experienced by more pupils",
    "the share of the values that must be replaced",
    "describe the shape of a given histogram",
]
METADATA = [
    "How do I check a computation in Python by hand",
    "is drawn towards extreme values and long tails",
    "questions=",
]
STAYS = ["Before you run it", "Two spreads that are easily confused", "A spreadsheet", "Do not be alarmed if a program"]


def do(*command, folder, path=None, **environment):
    """Run a command in a project, with our commands on PATH; what it says is in `stdout`."""
    path = path or f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "PATH": path, **environment}, timeout=600)  # fmt: skip


def copied(folder):
    """The sample book in a folder with a blank in its name. The tests have no Jupyter, so
    that its cell is shown and not run."""
    book = Path(shutil.copytree(ROOT / "sample-book", folder / "my course"))
    chapter = book / "07-computing.qmd"
    write(chapter, text(chapter).replace("```{python}", "```python"))
    return book


def added(folder):
    """The book with the extension that `quarto add` brings."""
    book = copied(folder)
    done = do("quarto", "add", str(ROOT / "quarto-ext"), "--no-prompt", folder=book)
    assert done.returncode == 0, done.stdout
    return book


def initialized(folder):
    """The book with the extension that `lmm init --quarto` brings."""
    book = copied(folder)
    done = do("lmm", "init", "--quarto", folder=book)
    assert done.returncode == 0, done.stdout
    return book


@pytest.fixture
def book(tmp_path):
    return initialized(tmp_path)


@pytest.fixture(scope="module", params=[added, initialized], ids=["quarto add", "lmm init --quarto"])
def site(request, tmp_path_factory):
    """The book, rendered."""
    book = request.param(tmp_path_factory.mktemp("course"))
    done = do("quarto", "render", folder=book)
    assert done.returncode == 0, done.stdout
    return book


def pages(output):
    """The text of all pages of an output, tags and all, lines joined."""
    found = sorted(output.glob("*.html"))
    assert len(found) == 8
    return " ".join(" ".join(text(page).split()) for page in found)


def test_what_is_left_out_is_not_on_the_site(site):
    shown, searched = pages(site / "_book"), " ".join(text(site / "_book" / "search.json").split())
    for part in [*LEFT_OUT, *METADATA]:
        assert part not in shown
        assert part not in searched
    for part in STAYS:
        assert part in shown


def test_the_search_index_knows_no_heading_that_is_left_out(site):
    entries = json.loads(text(site / "_book" / "search.json"))
    assert len(entries) > 20
    assert not [entry for entry in entries if "leave one out" in json.dumps(entry)]


def test_nothing_leaks(site):
    done = do("lmm", "leak-check", "_book", folder=site)
    assert done.returncode == 0, done.stdout
    assert "none found" in done.stdout


def test_the_index_is_that_of_the_site(site):
    done = do("lmm", "search", "an *exercise* on the average class", folder=site)
    assert "02-describing.md:" in done.stdout
    done = do("lmm", "index", "02-describing.md", "07-computing.qmd", "--dry-run", folder=site)
    assert "0 chunks would be written, 0 removed" in done.stdout


def test_quartos_own_parts_are_quartos(site):
    shown = pages(site / "_book")
    assert 'id="exr-ties"' in shown
    assert "panel-tabset" in shown
    assert "callout-warning" in shown
    assert "footnote-ref" in shown


def test_a_second_render_writes_no_source(site):
    before = {path: path.stat().st_mtime_ns for path in site.glob("*.*md")}
    assert do("quarto", "render", "07-computing.qmd", folder=site).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in site.glob("*.*md")} == before


def test_the_instructors_version(book):
    """It shows what the students' leaves out; the leak check of the students' sees that."""
    done = do("quarto", "render", "--profile", "instructor", folder=book)
    assert done.returncode == 0, done.stdout
    shown = pages(book / "_instructor")
    for part in LEFT_OUT:
        assert part in shown
    for part in METADATA:
        assert part not in shown
    done = do("lmm", "leak-check", "_instructor", folder=book)
    assert done.returncode == 1
    assert "02-describing.md:" in done.stdout


def test_a_native_block_stops_the_render(book):
    chapter = book / "02-describing.md"
    before = text(chapter).count("\n")
    write(chapter, f"{text(chapter)}\n---\ntype: exercise\n---\n\n## Practice\n\nMore of it.\n")
    done = do("quarto", "render", folder=book)
    assert done.returncode != 0
    assert f"02-describing.md:{before + 2}: " in done.stdout
    assert "lmm convert --to div 02-describing.md" in done.stdout
    assert not (book / "_book" / "02-describing.html").exists()


def tools(folder, *names):
    """A PATH with Quarto and those of our commands that are named."""
    folder.mkdir()
    for target in (QUARTO, *(BIN / name for name in names)):
        (folder / Path(target).name).symlink_to(target)
    path = os.pathsep.join([str(folder), "/usr/bin", "/bin"])
    if shutil.which("lmm-knit", path=path):
        pytest.skip("lmm-knit is installed for all users")
    return path


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (
            ["lmm"],
            "LM markdown: The page was not made. The command lmm-knit, which leaves RAG-only material out, was not found. "
            "Install the package",
        ),
        ([], "LM markdown: The command lmm was not found. Install the package lmm-markdown"),
    ],
    ids=["lmm-knit", "lmm"],
)
def test_a_missing_command_is_said_in_one_sentence(book, tmp_path, there, said):
    done = do("quarto", "render", folder=book, path=tools(tmp_path / "tools", *there))
    assert done.returncode != 0
    assert said in done.stdout
    assert "Traceback" not in done.stdout


def test_a_leak_fails_the_render(book):
    """Text that another filter brings back."""
    write(book / "back.lua", "function Pandoc(doc)\n  doc.blocks:insert(pandoc.Para('A school has two classes, one of "
          "them twice as large'))\n  return doc\nend\n")  # fmt: skip
    write(book / "07-computing.qmd", text(book / "07-computing.qmd") + "\n::: exercise\nA school has two classes, "
          "one of them twice as large.\n:::\n")  # fmt: skip
    write(book / "_quarto.yml", text(book / "_quarto.yml").replace("  - lmm\n", "  - lmm\n  - back.lua\n"))
    done = do("quarto", "render", "07-computing.qmd", folder=book)
    assert done.returncode != 0
    assert "07-computing.qmd:" in done.stdout
    assert "This part is left out of the notes, but stands in _book/" in done.stdout


def test_a_partial_render_indexes_its_page_alone(book):
    assert do("quarto", "render", folder=book).returncode == 0
    for name in ("01-data.md", "07-computing.qmd"):
        write(book / name, text(book / name).replace("students", "zyzzyvas"))
    assert do("quarto", "render", "07-computing.qmd", folder=book).returncode == 0
    unchanged = "0 chunks would be written, 0 removed"
    assert unchanged in do("lmm", "index", "07-computing.qmd", "--dry-run", folder=book).stdout
    assert unchanged not in do("lmm", "index", "01-data.md", "--dry-run", folder=book).stdout
