"""Which documents of a folder the commands take: patterns of the project, and the pages of Quarto."""

import unicodedata
from pathlib import Path

import pytest

from lmm_core.errors import ConfigError, QuartoError
from lmm_core.files.gitignore import pattern_problem
from lmm_core.logging import ListLogger
from lmm_core.settings.project import load_project
from lmm_core.settings.quarto_inputs import DocumentFinder, find_inputs
from tests.commands import write

BOOK = """project: {type: book}
book:
  title: T
  chapters:
    - index.md
    - part: one.qmd
      chapters: [_chapters/two.md, sub/three.md]
  appendices: [sub/four.md]
"""


def files(*names):
    for name in names:
        write(name, "# T\n\nText.\n")


def config(lines):
    write("config.toml", f"[files]\n{lines}\n")


def found(*paths, **options):
    return [path.as_posix() for path in DocumentFinder(**options).find([Path(path) for path in paths or ["."]])]


# Patterns


@pytest.mark.parametrize(
    ("lines", "taken"),
    [
        ('exclude = ["/drafts/", "/README.md"]', ["a.md", "sub/README.md", "sub/a.md", "sub/drafts/c.md"]),
        ('exclude = ["sub/", "!sub/a.md"]', ["README.md", "a.md", "drafts/b.md"]),  # as git does
        ('include = ["sub/"]\nexclude = ["README.md", "drafts"]', ["sub/a.md"]),
        ('include = ["sub/", "!sub/a.md"]', ["sub/README.md", "sub/drafts/c.md"]),  # not as git: less is safer
    ],
)
def test_patterns_are_those_of_gitignore_from_the_project_s_root(lines, taken):
    files("README.md", "a.md", "drafts/b.md", "sub/README.md", "sub/a.md", "sub/drafts/c.md")
    config(lines)
    assert found() == taken
    assert found("sub") == [name for name in taken if name.startswith("sub/")]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_accents_may_be_composed_or_apart(form):
    files(unicodedata.normalize(form, "Lösung.md"), "a.md")
    config(f'exclude = ["{unicodedata.normalize("NFD", "Lösung.md")}"]')
    assert found() == found(exclude=[unicodedata.normalize("NFC", "Lösung.md")]) == ["a.md"]


def test_a_file_that_is_named_is_always_taken():
    files("a.md", "drafts/b.md")
    config('exclude = ["drafts/"]')
    assert found("drafts/b.md", exclude=["*"]) == ["drafts/b.md"]
    assert found(".", "drafts/b.md") == ["a.md", "drafts/b.md"]


def test_patterns_of_the_command_line_start_from_the_working_folder(monkeypatch):
    files("book/a.md", "book/drafts/b.md", "c.md")
    write("book/config.toml", "")
    assert found(exclude=["book/drafts/", "/c.md"]) == ["book/a.md"]
    monkeypatch.chdir("book")
    assert found(exclude=["book/drafts/"]) == ["a.md", "drafts/b.md"]


def test_each_project_in_a_folder_has_its_own_patterns():
    files("a.md", "one/a.md", "one/b.md", "two/a.md", "two/b.md")
    write("one/config.toml", '[files]\nexclude = ["a.md"]\n')
    write("two/config.toml", '[files]\ninclude = ["/a.md"]\n')
    assert found() == ["a.md", "one/b.md", "two/a.md"]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("../secret.md", "leads out"),
        (Path(__file__).as_posix(), "is a place on this machine"),
        ("", "is no pattern"),
        ("**/a/**/b/**/c/**", "wildcards"),
    ],
)
def test_patterns_that_are_refused(pattern, said, monkeypatch):
    assert said in pattern_problem(pattern)
    with pytest.raises(ConfigError, match=f"files.exclude`: .*{said}"):
        config(f"exclude = ['{pattern}']") or load_project(None)


# Quarto


def test_a_book_has_its_chapters():
    write("_quarto.yml", BOOK)
    names = ("index.md", "one.qmd", "_chapters/two.md", "sub/three.md", "sub/four.md")
    files(*names, "README.md", "CHANGELOG.md", "CLAUDE.md", "sub/notes.md")
    assert sorted(found()) == sorted(names)
    assert found("sub") == ["sub/four.md", "sub/three.md"]
    assert found("_chapters") == ["_chapters/two.md"]
    logger = ListLogger()
    DocumentFinder().find([Path()], logger)
    assert [str(one) for one in logger.reports] == [
        "_quarto.yml: 4 documents left out that are no pages (CHANGELOG.md, CLAUDE.md, README.md, …); to use them, "
        'name them, or set include = ["*"] in [files] of config.toml'
    ]


def test_a_website_has_what_quarto_renders():
    write(
        "_quarto.yml",
        "project:\n  type: website\n  render: ['*.qmd', '!old/']\nwebsite:\n  sidebar:\n    contents: [a.md]\n",
    )
    files("a.md", "b.qmd", "old/c.qmd", "sub/d.qmd", "README.md")
    assert found() == ["b.qmd", "sub/d.qmd"]  # the sidebar renders nothing
    write("_quarto.yml", "project:\n  type: website\n")
    assert found() == ["a.md", "b.qmd", "old/c.qmd", "sub/d.qmd"]


def test_what_a_page_includes_is_indexed_and_not_annotated():
    write("_quarto.yml", "project:\n  type: website\n")
    write("a.qmd", "# A\n\n{{< include _part.md >}}\n\n{{< include _parts/_more.md >}}\n")
    files("_part.md", "_parts/_more.md", "_other.md")
    assert found() == ["_part.md", "a.qmd", "_parts/_more.md"]
    assert found(included=False) == ["a.qmd"]


def test_include_says_more_than_quarto():
    write("_quarto.yml", BOOK)
    files("index.md", "one.qmd", "README.md", "notes.md")
    config('include = ["*"]\nexclude = ["one.qmd"]')
    assert found() == ["index.md", "README.md", "notes.md"]
    config('exclude = ["one.qmd"]')
    assert found() == ["index.md"]


def test_a_book_in_a_folder_of_other_notes():
    write("course/_quarto.yml", BOOK)
    files("course/index.md", "course/README.md", "README.md", "notes/a.md")
    assert found() == ["README.md", "course/index.md", "notes/a.md"]


def test_settings_that_cannot_be_read_stop_the_work():
    write("_quarto.yml", "a: [")
    files("a.md")
    with pytest.raises(QuartoError, match=r"_quarto\.yml:\d+: cannot be read"):
        found()
    assert found("a.md") == ["a.md"]


# What Quarto renders


def test_inputs_are_what_quarto_renders():
    """As seen in Quarto 1.11: endings in whatever case, but not `.mdown`; what it has made itself is
    none."""
    rendered = ["A.MD", "b.QMD", "c.Qmd", "d.rmd", "f.rmarkdown", "g.markdown", "h.ipynb", "README.markdown"]
    made = ["b.html.md", "c.ipynb", "d.rmarkdown"]
    for name in [*rendered, *made, "README.qmd", "CLAUDE.local.md", "x.llms.md", "y.mdown", "_z.qmd", "_site/d.md"]:
        write(name, '{"cells": []}' if name.endswith("ipynb") else "# A\n")
    write("_quarto.yml", "project: {type: website}\n")
    assert sorted(path.name for path in find_inputs(Path())) == sorted(rendered)


@pytest.mark.parametrize(
    ("render", "inputs"),
    [
        ("[part/deep, a.md]", ["part/deep/b.qmd", "a.md"]),
        ("['!a.md', '**']", ["part/deep/b.qmd"]),
    ],
)
def test_patterns_of_inputs(render, inputs):
    write("_quarto.yml", f"project: {{render: {render}}}\n")
    for name in ("a.md", "part/a.md", "part/deep/b.qmd", "part/README.md", "part/_c.md"):
        write(name, "x\n")
    assert [str(path) for path in find_inputs(Path())] == inputs


# What is left out of an index


def test_a_project_inside_a_project_is_another_one():
    """A template or an example, which has pages of its own."""
    write("_quarto.yml", "project: {type: website}\n")
    write("index.md", "# A\n")
    write("examples/site/_quarto.yml", "project: {type: website}\n")
    write("examples/site/index.md", "# B\n")
    assert found() == ["index.md"]
    assert found("examples/site") == ["examples/site/index.md"]
    assert DocumentFinder().left_out_finder([Path()])(Path("examples/site/index.md"))
