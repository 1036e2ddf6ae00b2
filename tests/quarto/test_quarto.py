"""Books, websites and single pages in the real Quarto: what is left out is on no page, whatever fails."""

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.commands import BIN, text, write
from tests.failing_filters import PROGRAMS, environment

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


def do(*command, folder, env=None):
    """Run a command in a project, with our commands on PATH, or in an environment; what it says is in `stdout`."""
    path = os.pathsep.join([env["PATH"], str(Path(QUARTO).parent)] if env else [str(BIN), os.environ["PATH"]])
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "PATH": path}, timeout=600)  # fmt: skip


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


@pytest.fixture
def book(tmp_path):
    """The book with the extension that `lmm init --quarto` brings."""
    book = copied(tmp_path)
    done = do("lmm", "init", "--quarto", folder=book)
    assert done.returncode == 0, done.stdout
    return book


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The book, rendered."""
    book = added(tmp_path_factory.mktemp("course"))
    done = do("quarto", "render", folder=book)
    assert done.returncode == 0, done.stdout
    return book


def pages(output):
    """The text of all pages of an output, tags and all, lines joined."""
    found = sorted(output.glob("*.html"))
    assert len(found) == 8
    return " ".join(" ".join(text(page).split()) for page in found)


# The sample book


def test_what_is_left_out_is_not_on_the_site(site):
    shown, searched = pages(site / "_book"), " ".join(text(site / "_book" / "search.json").split())
    for part in [*LEFT_OUT, *METADATA, "leave one out"]:
        assert part not in searched
        assert part not in shown or part == "leave one out"  # a heading, whose words are elsewhere, too
    for part in [*STAYS, 'id="exr-ties"', "panel-tabset", "callout-warning", "footnote-ref"]:
        assert part in shown
    done = do("lmm", "leak-check", "_book", folder=site)
    assert done.returncode == 0 and "none found" in done.stdout, done.stdout


def test_the_index_is_that_of_the_site_and_a_second_render_writes_no_source(site):
    done = do("lmm", "search", "an *exercise* on the average class", folder=site)
    assert "02-describing.md:" in done.stdout
    done = do("lmm", "index", "02-describing.md", "07-computing.qmd", "--dry-run", folder=site)
    assert "2 documents unchanged" in done.stdout
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


def test_a_leak_fails_the_render(book):
    """Text that another filter brings back."""
    leak = "A school has two classes, one of them twice as large"
    lines = ["function Pandoc(doc)", f"  doc.blocks:insert(pandoc.Para('{leak}'))", "  return doc", "end", ""]
    write(book / "back.lua", "\n".join(lines))
    chapter = book / "07-computing.qmd"
    write(chapter, f"{text(chapter)}\n::: exercise\n{leak}.\n:::\n")
    write(book / "_quarto.yml", text(book / "_quarto.yml").replace("  - lmm\n", "  - lmm\n  - back.lua\n"))
    done = do("quarto", "render", "07-computing.qmd", folder=book)
    assert done.returncode != 0
    assert "07-computing.qmd:" in done.stdout
    assert "This part is left out of the notes, but is in _book/" in done.stdout


# Boxes, references, whole pages and slips

MEANS = """# Means

See @sec-practice and [the practice](#sec-practice). Kept.

:::: {.callout-note}
## Try it

::: exercise
SECRET one two three four five six.
:::
::::

:::: {.panel-tabset}
## Task

::: exercise
SECRET other tab one two three four five.
:::

## More

::: exercise
SECRET tab one two three four five.
:::
::::

::: exercise
## Practice {#sec-practice}

SECRET practice one two three four five.
:::
"""
SPREAD = "# Spread\n\n::: exercise\n## More {#sec-more}\n\nSECRET more one two three four five.\n:::\n"
SOLUTIONS = (
    "---\ntitle: Solutions\nknit: false\n---\n\n# SECRET page\n\nThe SECRET text of a solution that nobody reads.\n"
)


def render(kind, *words, **more):
    """Render a small project, with other pages where some are given; what Quarto says, and its status."""
    names = {"index.qmd": "# Start\n\nWords.\n", "part/means.qmd": MEANS, "part/spread.qmd": SPREAD} | more
    book = {"book": {"title": "B", "chapters": list(names)}}
    settings = {"project": {"type": kind}, "filters": ["lmm"], "lmm": {"index": True}}
    write("_quarto.yml", yaml.safe_dump(settings | (book if kind == "book" else {})))
    for name, content in names.items():
        write(name, content)
    assert do("lmm", "init", "--quarto", folder=".").returncode == 0
    return do("quarto", "render", *words, folder=".")


@pytest.mark.parametrize(("kind", "site"), [("book", "_book"), ("website", "_site")])
def test_boxes_references_and_whole_pages(kind, site):
    done = render(kind, "--to", "html", **{"solutions.qmd": SOLUTIONS})
    assert done.returncode == 0, done.stdout
    page = text(f"{site}/part/means.html")
    main = re.sub(r"<[^>]+>", " ", page[page.index("<main") : page.index("</main>")])
    assert "See […] and the practice. Kept." in " ".join(main.split()).replace(" .", ".")
    for gone in ("Task", "Try it", "?@sec", "callout"):
        assert gone not in main
    for name in ("index.html", "part/means.html", "part/spread.html", "solutions.html", "search.json"):
        assert "SECRET" not in text(f"{site}/{name}")
    assert "lmm-knit: part/means.qmd:3: warning: a reference to `sec-practice`" in done.stdout
    assert "solutions.qmd:8" in do("lmm", "search", "the text of a solution", folder=".").stdout


def test_slips_stop_the_render():
    done = render("website", **{"part/spread.qmd": "# Second\n\n::: excercise\nText.\n:::\n"})
    assert done.returncode != 0
    assert "part/spread.qmd:3: unknown class 'excercise': did you mean 'exercise'?" in done.stdout
    assert not os.path.exists("_site")


# Where the filter fails

BLOCK = "::: {.lmm .content-hidden}\n``` yaml\ntype: solution\n```\n:::\n"
NOTES = f"# A\n\nStays.\n\n{BLOCK}\nAnswer: 4242.\n\n::: callout-note\n{BLOCK}\nGONE inside.\n\nStays.\n:::\n"


def put_extension(folder):
    """Make a folder with a blank in its name that has the extension; return it."""
    course = folder / "my course"
    shutil.copytree(ROOT / "quarto-ext" / "_extensions", course / "_extensions" / "owner")
    return course


def rendered(folder, suffixes=(".html", ".md", ".json", ".docx", ".epub")):
    """All that stands in what was rendered, archives included."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix in suffixes
             and not {"_extensions", ".quarto"} & set(path.parts) and "_files" not in str(path.parent)]  # fmt: skip
    return " ".join(map(words_of, paths))


def words_of(path):
    if path.suffix not in (".docx", ".epub"):
        return text(path)
    with zipfile.ZipFile(path) as archive:
        return " ".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())


def check_refused(folder, env, reason, *words):
    """Check that a render fails for a reason, and leaves nothing of what is to be left out."""
    done = do("quarto", "render", *words, folder=folder, env=env)
    assert done.returncode != 0, done.stdout
    assert reason in " ".join(done.stdout.split())
    assert "4242" not in rendered(folder) and "GONE" not in rendered(folder)


@pytest.mark.parametrize(
    ("kind", "matter"), [("website", "missing"), ("book", "rubbish"), ("default", "another program")]
)
def test_a_project_whose_filter_fails(kind, matter, tmp_path):
    program, reason = PROGRAMS[matter]
    title = {"website": "website: {title: T}\n", "book": "book: {title: T, chapters: [index.qmd]}\n", "default": ""}
    settings = f"project: {{type: {kind}}}\n{title[kind]}filters: [lmm]\nformat: {{html: default, docx: default}}\n"
    folder = put_extension(tmp_path)
    write(folder / "index.qmd", NOTES)
    write(folder / "_quarto.yml", settings)
    check_refused(folder, environment(tmp_path / "bin", program), reason)


@pytest.mark.parametrize(
    ("target", "suffix"), {"html": ".html", "revealjs": ".html", "gfm": ".md", "epub": ".epub"}.items()
)
def test_a_page_where_all_is_well_and_where_the_filter_fails(target, suffix, tmp_path):
    folder = put_extension(tmp_path)
    write(folder / "index.qmd", f"---\nfilters: [lmm]\n---\n\n{NOTES}")
    env = environment(tmp_path / "bin", None)
    knit = tmp_path / "bin" / "lmm-knit"
    knit.symlink_to(BIN / "lmm-knit")
    done = do("quarto", "render", "index.qmd", "--to", target, folder=folder, env=env)
    assert done.returncode == 0, done.stdout
    page = words_of(folder / f"index{suffix}")
    assert page.count("Stays.") == 2
    assert "4242" not in page and "GONE" not in page
    knit.unlink()
    program, reason = PROGRAMS["status 1"]
    write(knit, program).chmod(0o755)
    check_refused(folder, env, reason, "index.qmd", "--to", target)
