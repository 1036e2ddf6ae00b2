"""`lmm init --quarto` and `check`: what is set up, what is missing, and nothing overwritten."""

import json
import os
import re
import shutil
import sys
import zipfile
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

import pytest
import yaml

from lmm_core import __version__
from lmm_core.markdown.files import project_root
from lmm_core.quarto.check import check_project
from lmm_core.quarto.extension import packaged_extension
from lmm_core.settings.quarto_inputs import find_inputs
from lmm_core.settings.quarto_project import read_project
from tests.commands import BIN, run, text, write

ROOT = Path(__file__).parents[2]
REMARKED = "# my book\nproject:\n  type: book   # not a website\nfilters:\n  - lmm\n"


@pytest.fixture
def project():
    """A project that is set up."""
    assert run("lmm init --quarto .").returncode == 0
    return Path()


class Checked(NamedTuple):
    """The findings in a project, as `lmm doctor` prints them."""

    returncode: int
    stdout: bytes


def check(folder="."):
    findings = check_project(project_root(Path(folder) / "-"))
    lines = [
        f"{'ok' if one.ok else '--'}  {one.what:<12}{one.found}\n" + indent(one.paste, " " * 8) for one in findings
    ]
    return Checked(0 if all(one.ok for one in findings) else 1, "\n".join(lines).encode())


def problems(done):
    assert done.returncode == 1, done.stdout
    return [line[4:] for line in done.stdout.decode().splitlines() if line.startswith("--")]


def test_init_then_check(project):
    done = check()
    assert done.returncode == 0, done.stdout
    assert f"ok  extension   {__version__}" in done.stdout.decode()
    assert yaml.safe_load(text("_quarto.yml"))["filters"] == ["lmm"]
    assert (project / "_extensions/lmm/_extension.yml").is_file()


def test_init_in_a_new_folder():
    done = run("lmm init --quarto 'a course/site'")
    assert done.returncode == 0, done.stderr
    assert "written: a course/site/_quarto.yml" in done.stdout.decode()
    assert done.stderr == b""
    assert check("a course/site").returncode == 0


@pytest.mark.parametrize(
    ("files", "title"),
    [
        ({}, "my course"),
        ({"a.md": "# Means\n"}, "my course"),
        ({"index.md": '# The *mean*: "why?" {#why}\n'}, 'The mean: "why?"'),
        ({"index.qmd": "---\ntitle: Statistics\n---\n\n# Means\n"}, "Statistics"),
        ({"index.md": "Hello\n\n---\ntype: exercise\n---\n\n# The solutions\n\n7\n\n# Means\n"}, "Means"),
    ],
)
def test_a_new_site_has_a_title_pages_and_a_search(files, title):
    for name, content in files.items():
        write(f"my course/{name}", content)
    done = run("lmm init --quarto 'my course'")
    assert done.returncode == 0, done.stderr
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
    assert f"It has version 0.0.1, but lmm has {__version__}." in check().stdout.decode()


def test_init_twice_changes_nothing(project):
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    run("lmm init --quarto")
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


def test_check_writes_nothing():
    write("_quarto.yml", REMARKED)
    check()
    assert sorted(str(path) for path in Path().iterdir()) == ["_quarto.yml"]
    assert text("_quarto.yml") == REMARKED


def test_no_project():
    assert problems(check()) == [
        f"_quarto.yml There is none in {Path.cwd()}. To write one, run: lmm init --quarto"
    ]  # fmt: skip


def test_a_project_that_cannot_be_read():
    write("_quarto.yml", "lmm: {}\nfilters: [\n")
    assert "_quarto.yml:3: cannot be read" in problems(check())[0]


def test_tags_and_a_bom_are_read(project):
    write("_quarto.yml", "\ufefffilters: [lmm]\nknitr: {opts_chunk: {dev: !expr list(1)}}\n")
    assert check().returncode == 0


def test_no_extension(project):
    shutil.rmtree("_extensions")
    assert problems(check()) == ["extension   It is not in _extensions/. To copy it there, run: lmm init"]


def test_an_extension_that_quarto_added_from_github(project):
    Path("_extensions/owner").mkdir()
    shutil.move("_extensions/lmm", "_extensions/owner/lmm")
    assert check().returncode == 0


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ("", "`filters` does not name lmm"),
        ("filters: [citeproc]", "`filters` does not name lmm"),
        ("format: {html: {filters: [lmm]}}", "`filters` names lmm for some formats only"),
    ],
)
def test_filters_that_are_missing(project, filters, said):
    write("_quarto.yml", f"project: {{type: website}}\n{filters}\n")
    assert said in problems(check())[0]


def test_lines_to_paste_are_right(project):
    """Pasted in place of what is there, they are all that is missing."""
    for filters in ("[{path: a b.lua, at: pre-ast}]", "[quarto]", "[{path: c.py}]"):
        write("_quarto.yml", f"filters: {filters}\n")
        done = check()
        lines = [line[8:] for line in done.stdout.decode().splitlines() if line.startswith("        ")]
        assert len(yaml.safe_load("\n".join(lines))["filters"]) >= len(yaml.safe_load(filters))
        write("_quarto.yml", "\n".join(lines) + "\n")
        assert check().returncode == 0


@pytest.mark.parametrize(
    "filters",
    [
        "[{path: _extensions/lmm/lmm.lua, at: pre-ast}]",
        "[lmm]",
        "[owner/lmm]",
        "[a.lua, lmm]",
        "[{path: lmm, at: pre-ast}, quarto]",
        "[{path: a.lua, at: pre-ast}, lmm]",
    ],
)
def test_filters_that_are_right(project, filters):
    write("_quarto.yml", f"filters: {filters}\n")
    assert check().returncode == 0


def test_lines_to_paste_keep_the_other_filters(project):
    write("_quarto.yml", "filters: [fancy-text]\n")
    shown = check().stdout.decode()
    assert "        filters:\n          - lmm\n          - fancy-text\n" in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("{kep: exercise}", "unknown option `lmm.kep` (known: keep,"),
        ("{index: perhaps}", "`lmm.index`: should be true or false, not 'perhaps'"),
        ("{annotate: maybe}", "`lmm.annotate`: should be true or false, not 'maybe'"),
        ("{keep: 3}", "`lmm.keep`: should be a word or a list of words, not 3"),
        ("all", "`lmm`: should be a mapping"),
    ],
)
def test_options_that_are_unknown_or_wrong(project, options, said):
    write("_quarto.yml", f"filters: [lmm]\nlmm: {options}\n")
    assert said in problems(check())[0]


def test_native_blocks_in_what_is_rendered(project):
    native = "# A\n\n---\nquestions: Why?\n---\n\n## B\n\n---\ntype: exercise\n---\n\nText.\n"
    write("part/a.qmd", native)
    write("README.md", native)
    write("_site/b.md", native)
    found = problems(check())
    assert [line.split()[:2] for line in found[:2]] == [["spelling", f"part/a.qmd:{line}:"] for line in (3, 9)]
    assert "        lmm convert --to div part/a.qmd" in check().stdout.decode()
    assert run("lmm convert --to div part/a.qmd").returncode == 0
    assert check().returncode == 0


def test_the_command_to_paste_mends_all(project):
    """Odd names, what is included in a book's chapters, another working folder."""
    native = "# A\n\n---\nquestions: Why?\n---\n\n## B\n\nText.\n"
    write("site/part's/Größe 1.qmd", f"{native}\n{{{{< include _more.qmd >}}}}\n")
    write("site/part's/_more.qmd", native)
    write("site/_quarto.yml", 'book: {chapters: ["part\'s/Größe 1.qmd"]}\nfilters: [lmm]\n')
    shutil.copytree("_extensions", "site/_extensions")
    shown = check("site").stdout.decode()
    assert run(next(line for line in shown.splitlines() if "convert" in line)).returncode == 0
    assert check("site").returncode == 0


def test_what_no_command_mends(project):
    write("a.md", "# A\n\n---\n- a list\n---\n\nText.\n")
    done = check()
    assert done.returncode == 1
    assert b"a.md:3: Quarto would forget" in done.stdout and b"by hand" in done.stdout
    assert b"lmm convert" not in done.stdout and b"ok  spelling" not in done.stdout


def test_a_folder_that_cannot_be_set_up():
    write("site/_extensions", "a file")
    done = run("lmm init --quarto site")
    assert (done.returncode, done.stderr) == (1, b"Error: site/_extensions/lmm: Not a directory\n")


def test_doctor_shows_what_is_set_up(project):
    found = {finding["what"]: finding for finding in json.loads(run("lmm doctor --json").stdout)}
    assert {"extension", "filters", "options", "spelling"} <= found.keys()
    write("_quarto.yml", "filters: [fancy-text]\n")
    shown = run("lmm doctor").stdout.decode()
    assert "                filters:\n                  - lmm\n                  - fancy-text\n" in shown
    Path("_quarto.yml").unlink()
    assert "extension" not in run("lmm doctor").stdout.decode()


# What is rendered


def test_inputs_of_a_book_with_parts():
    write("_quarto.yml", "book:\n  chapters:\n  - index.md\n  - part: p.qmd\n    chapters: [a.qmd, {file: b.md}]\n"
          "  - part: A title\n    chapters: [c.qmd]\n  appendices: [d.md]\n")  # fmt: skip
    for name in ("index.md", "p.qmd", "a.qmd", "b.md", "c.qmd", "d.md", "stray.md"):
        write(name, "x\n")
    found = [path.name for path in find_inputs(Path())]
    assert found == ["index.md", "p.qmd", "a.qmd", "b.md", "c.qmd", "d.md"]


def test_inputs_that_are_named():
    write("_quarto.yml", "project: {render: ['*.qmd', 'part/*.md', '!b.qmd']}\n")
    for name in ("a.qmd", "part/c.md", "d.md"):
        write(name, "x\n")
    assert sorted(str(path) for path in find_inputs(Path())) == ["a.qmd", "part/c.md"]


def test_inputs_are_what_quarto_renders():
    """As seen in Quarto 1.11: endings in whatever case, but not `.mdown`; what it has made itself is
    none."""
    write("_quarto.yml", "project: {type: website}\n")
    rendered = ["A.MD", "b.QMD", "c.Qmd", "d.rmd", "e.RMD", "f.rmarkdown", "g.markdown", "h.ipynb", "README.markdown"]
    made = ["b.html.md", "c.ipynb", "d.rmarkdown"]
    for name in [*rendered, *made, "README.qmd", "CLAUDE.local.md", "x.llms.md", "y.mdown", "_z.qmd"]:
        write(name, '{"cells": []}' if name.endswith("ipynb") else "# A\n")
    assert sorted(path.name for path in find_inputs(Path())) == sorted(rendered)


@pytest.mark.parametrize("name", ["a.rmd", "A.QMD", "nb.ipynb", "b.rmarkdown"])
def test_chapters_are_what_quarto_renders(name):
    write("_quarto.yml", f"book: {{chapters: [{name}]}}\n")
    write(name, '{"cells": []}')
    assert [path.name for path in find_inputs(Path())] == [name]


def test_broken_yaml_is_shown():
    assert run("lmm init --quarto .").returncode == 0
    write("a.qmd", "# A\n\n::: lmm\n``` yaml\ntype: [exercise\n```\n:::\n\nText.\n")
    done = check()
    assert done.returncode == 1
    assert "a.qmd:6: " in done.stdout.decode()


@pytest.mark.parametrize(
    ("render", "found"),
    [
        ("a.md", ["a.md"]),
        ("[part/]", ["part/a.md", "part/deep/b.qmd"]),
        ("[part/deep, a.md]", ["part/deep/b.qmd", "a.md"]),
        ("['*.md', '!part/']", ["a.md"]),
        ("['!a.md', '**']", ["part/deep/b.qmd"]),
        ("['!deep/']", ["a.md", "part/a.md"]),
        ("['/*.md']", ["a.md"]),
        ("['**/*.qmd', './a.md', 3]", ["part/deep/b.qmd", "a.md"]),
        ("['[a', '../*']", []),
    ],
)
def test_patterns_of_inputs(render, found):
    write("_quarto.yml", f"project: {{render: {render}}}\n")
    for name in ("a.md", "part/a.md", "part/deep/b.qmd", "part/README.md", "part/_c.md"):
        write(name, "x\n")
    assert [str(path) for path in find_inputs(Path())] == found


def test_inputs_of_a_website():
    for name in ("a.qmd", "_b.qmd", "_drafts/c.qmd", "README.md", "_site/d.md"):
        write(name, "x\n")
    assert [str(path) for path in find_inputs(Path())] == ["a.qmd"]


def test_profiles_go_over_the_project(monkeypatch):
    write("_quarto.yml", "lmm: {keep: [topic], index: true}\n")
    write("_quarto-instructor.yml", "lmm: {keep: [exercise], index: false}\n")
    monkeypatch.setenv("QUARTO_PROFILE", "instructor,other")
    assert read_project(Path())["lmm"] == {"keep": ["topic", "exercise"], "index": False}


# The sample book, and what is installed


def test_the_sample_book_is_set_up(sample_book, monkeypatch):
    monkeypatch.chdir(sample_book)
    write(".gitignore", ".lmm/\n")
    before = text("_quarto.yml")
    assert run("lmm init --quarto").returncode == 0
    assert check().returncode == 0, check().stdout
    assert text("_quarto.yml") == before
    chapters = yaml.safe_load(before)["book"]["chapters"]
    assert [path.name for path in find_inputs(Path())] == chapters
    assert set(chapters) == {path.name for path in Path().glob("*md")} - {"README.md"}


def test_pandoc_alone_shows_the_cell_as_code(sample_book, pandoc, monkeypatch):
    """Pandoc 3 takes the fence of `{python}` for the marks of code within a line, which is
    code as long as no blank line is in it."""
    monkeypatch.chdir(sample_book)
    done = run("pandoc -F lmm-knit -f markdown 07-computing.qmd -t html", pandoc)
    page = done.stdout.decode()
    code = next(part for part in page.split("<code>") if "from statistics import" in part)
    assert "median(recall))" in code[: code.index("</code>")]
    assert "<p>The students slept seven hours" in page
    assert "For the examination" not in page


@pytest.mark.long
def test_the_wheel_has_the_extension(tmp_path):
    """Built from a copy, so that nothing is left in the source tree."""
    for name in ("lmm_core", "filters", "quarto-ext", "sample-book"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    pytest.importorskip("setuptools", minversion="77")
    done = run(f"'{sys.executable}' -m pip wheel . --no-deps --no-build-isolation -q -w wheels")
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(Path("wheels").glob("*.whl"))) as wheel:
        packed = {name.removeprefix("lmm_quarto/") for name in wheel.namelist() if name.startswith("lmm_quarto/")}
    base = ROOT / "quarto-ext/_extensions/lmm"
    files = (path for path in base.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert packed == {path.relative_to(base).as_posix() for path in files}


def test_versions_are_one():
    assert yaml.safe_load(text(packaged_extension() / "_extension.yml"))["version"] == __version__


@pytest.mark.long
def test_a_course_without_quarto(sample_book, pandoc):
    """What CI does, without Quarto."""
    folder = Path("bin")
    folder.mkdir()
    (folder / "pandoc").symlink_to(pandoc)
    path = os.pathsep.join([str(folder.resolve()), str(BIN), "/usr/bin", "/bin"])
    if shutil.which("quarto", path=path):
        pytest.skip("quarto is on PATH: tests/quarto has that")
    done = run(f"lmm course '{sample_book}'", env={"PATH": path})
    assert done.returncode == 0, done.stderr
    assert "8 documents" in done.stderr.decode()
    assert "none found" in done.stderr.decode()
    assert "from statistics import mean" in re.sub("<[^>]*>", "", text(sample_book / "_book/07-computing.html"))


def test_a_folder_of_notes_is_a_course(pandoc):
    Path("bin").mkdir()
    Path("bin/pandoc").symlink_to(pandoc)
    path = os.pathsep.join([str(Path("bin").resolve()), str(BIN), "/usr/bin", "/bin"])
    if shutil.which("quarto", path=path):
        pytest.skip("quarto is on PATH: tests/quarto has that")
    write("my notes/the mean.md", "# The mean\n\nText.\n")
    done = run("lmm course 'my notes'", env={"PATH": path})
    assert done.returncode == 0, done.stderr
    assert Path("my notes/_site/the mean.html").is_file()


def test_keys_are_in_no_job_for_pull_requests():
    workflow = yaml.safe_load(text(ROOT / ".github/workflows/course.yml"))
    for job in workflow["jobs"].values():
        assert "secrets." not in str(job) or job["if"] == "github.event_name == 'push'"
