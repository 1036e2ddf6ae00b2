"""`lmm init --quarto` and `check`: what is set up, what is missing, and nothing overwritten."""

import hashlib
import json
import re
import shutil
from pathlib import Path
from textwrap import indent

import pytest
import yaml

from lmm_core import __version__
from lmm_core.markdown.files import project_root
from lmm_core.quarto.extension import packaged_extension
from lmm_core.quarto.setup import check_project
from tests.commands import run, text, tree, write

ROOT = Path(__file__).parents[2]
REMARKED = "# my book\nproject:\n  type: book   # not a website\nfilters:\n  - lmm\n"


@pytest.fixture
def project():
    """A project that is set up."""
    assert run("lmm init --quarto .").returncode == 0
    return Path()


def check(folder="."):
    """The findings in a project, as `lmm doctor` prints them, and whether all is well."""
    findings = check_project(project_root(Path(folder) / "-"))
    lines = [
        f"{'ok' if finding.ok else '--'}  {finding.name:<12}{finding.result}\n{indent(finding.paste, ' ' * 8)}"
        for finding in findings
    ]
    return all(finding.ok for finding in findings), "\n".join(lines)


def problems(folder="."):
    is_well, shown = check(folder)
    assert not is_well, shown
    return [line[4:] for line in shown.splitlines() if line.startswith("--")]


def test_init_then_check(project):
    is_well, shown = check()
    assert is_well, shown
    assert f"ok  extension   {__version__}" in shown
    assert yaml.safe_load(text("_quarto.yml"))["filters"] == ["lmm"]
    assert yaml.safe_load(text(packaged_extension() / "_extension.yml"))["version"] == __version__
    before = tree()
    assert "_extensions/lmm/_extension.yml" in before
    run("lmm init --quarto")
    check()
    assert tree() == before
    write(
        "_quarto.yml",
        "\ufefffilters: [{path: a.lua, at: pre-ast}, owner/lmm]\nknitr: {opts_chunk: {dev: !expr list(1)}}\n",
    )
    Path("_extensions/owner").mkdir()
    shutil.move("_extensions/lmm", "_extensions/owner/lmm")  # where Quarto puts it that added it from GitHub
    assert check()[0]


@pytest.mark.parametrize(
    ("files", "title"),
    [
        ({"a.md": "# Means\n"}, "my course"),
        ({"index.md": "Hello\n\n---\ntype: exercise\n---\n\n# The solutions\n\n7\n\n# Means\n"}, "Means"),
    ],
    ids=["no page", "the heading that stays"],
)
def test_a_new_site_has_a_title_pages_and_a_search(files, title):
    for name, content in files.items():
        write(f"my course/{name}", content)
    done = run("lmm init --quarto 'my course'")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "written: my course/_quarto.yml" in done.stdout.decode()
    site = yaml.safe_load(text("my course/_quarto.yml"))["website"]
    assert site == {"title": title, "search": True, "sidebar": {"contents": "auto"}}


def test_init_overwrites_nothing():
    write("_quarto.yml", REMARKED)
    write(".gitignore", "*.log\n")
    write("_extensions/lmm/_extension.yml", "version: 0.0.1\n")
    done = run("lmm init --quarto")
    assert done.returncode == 0
    assert text("_quarto.yml") == REMARKED
    assert text(".gitignore") == "*.log\n"
    assert text("_extensions/lmm/_extension.yml") == "version: 0.0.1\n"
    assert "left alone: _quarto.yml\nleft alone: _extensions/lmm\n" in done.stdout.decode()
    assert "        /.lmm/\n" in done.stdout.decode()
    assert f"It has version 0.0.1, but lmm has {__version__}." in check()[1]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (None, "_quarto.yml There is none in "),
        ("lmm: {}\nfilters: [\n", "_quarto.yml:3: cannot be read"),
        ("format: {html: {filters: [lmm]}}\n", "`filters` names lmm for some formats only"),
        ("filters: [lmm]\nlmm: {kep: exercise}\n", "unknown option `lmm.kep` (known: keep,"),
        ("filters: [lmm]\nlmm: {index: perhaps}\n", "`lmm.index`: should be true or false, not 'perhaps'"),
        ("filters: [lmm]\nlmm: {ask: {sever: x}}\n", "unknown option `lmm.ask.sever` (known: server, include)"),
        ("filters: [lmm]\nlmm: {ask: {server: 'javascript:alert(1)'}}\n", "`lmm.ask.server`: should be an address"),
    ],
)
def test_settings_that_are_missing_or_wrong_are_named(project, settings, problem):
    if settings is None:
        Path("_quarto.yml").unlink()
    else:
        write("_quarto.yml", settings)
    assert problem in "\n".join(problems())


def test_lines_to_paste_are_right(project):
    """Pasted in place of what is there, they are all that is missing, and keep the other filters."""
    for filters in ("[{path: a b.lua, at: pre-ast}]", "[fancy-text]"):
        write("_quarto.yml", f"filters: {filters}\n")
        shown = check()[1]
        lines = [line[8:] for line in shown.splitlines() if line.startswith("        ")]
        assert all(name in yaml.safe_load("\n".join(lines))["filters"] for name in yaml.safe_load(filters))
        write("_quarto.yml", "\n".join(lines) + "\n")
        assert check()[0]


def test_native_blocks_are_named_and_the_command_to_paste_mends_all(project):
    """Odd names, what is included in a book's chapters, another working folder."""
    native = "# A\n\n---\nquestions: Why?\n---\n\n## B\n\nText.\n"
    write("site/part's/Größe 1.qmd", f"{native}\n{{{{< include _more.qmd >}}}}\n")
    for name in ("part's/_more.qmd", "README.md", "_book/b.md"):
        write(f"site/{name}", native)
    write("site/_quarto.yml", 'book: {chapters: ["part\'s/Größe 1.qmd"]}\nfilters: [lmm]\n')
    shutil.copytree("_extensions", "site/_extensions")
    blocks = [line.split(maxsplit=1)[1] for line in problems("site") if line.startswith("spelling")]
    assert [block.partition(":3:")[0] for block in blocks[:2]] == [
        "site/part's/Größe 1.qmd",
        "site/part's/_more.qmd",
    ]
    assert run(next(line for line in check("site")[1].splitlines() if "convert" in line)).returncode == 0
    assert check("site")[0]
    assert text("site/README.md") == native


# The sample book, and what is installed


def test_the_frozen_result_is_of_the_chapter_as_it_is():
    """The sample book brings what its cell has printed, so that it renders without Jupyter. Quarto compares a
    hash of the whole source: change the chapter, and render the book once where there is Jupyter."""
    book = ROOT / "sample-book"
    frozen = text(book / "_freeze" / "07-computing" / "execute-results" / "html.json")
    source = text(book / "07-computing.qmd").replace("\r\n", "\n")
    assert json.loads(frozen)["hash"] == hashlib.md5(source.encode()).hexdigest()
    assert "hours slept:    7.0 7.0" in frozen
    assert not re.search(r"/(?:home|Users|tmp|root|opt|work)/", frozen), "it names nothing of the machine"
