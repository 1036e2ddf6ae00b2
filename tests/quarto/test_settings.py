"""What a project, its folders and headers say reaches the scripts as it reaches the pages."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lmm_core.errors import QuartoError
from lmm_core.markdown.visibility import DIV_TYPES, KnitRules, project_rules
from lmm_core.settings.quarto_project import page_rules, read_project
from tests.commands import BIN, text, write

QUARTO = shutil.which("quarto")
CLASSES = ("aa", "bb", "cc", "dd")
PAGES = ("index.qmd", "part/a.qmd")
PROJECT = "project: {type: website, output-dir: _site}\nformat: {html: {toc: false}}\nfilters: [lmm]\n"


def says(*classes):
    return f"lmm: {{div-types: [{', '.join(classes)}], index: false}}\n"


# By name: the files besides the pages, and the classes that Quarto leaves out of each page.
# `header` is what the second page's header says.
CASES = {
    "a file that the project names": (
        {"_quarto.yml": PROJECT + says("aa") + "metadata-files: [more.yml, missing.yml]\n", "more.yml": says("bb")},
        "aa bb",
        "aa bb",
    ),
    "the first of a group, and a file that it names": (
        {
            "_quarto.yml": PROJECT + "profile: {group: [[day, night], [big, small]]}\n",
            "_quarto-day.yml": says("aa"),
            "_quarto-night.yml": says("bb"),
            "_quarto-big.yml": "metadata-file: more.yml\n",
            "more.yml": says("cc"),
        },
        "aa cc",
        "aa cc",
    ),
    "the local file": (
        {
            "_quarto.yml": PROJECT + "profile: {default: day}\n",
            "_quarto.yml.local": says("cc"),
            "_quarto-day.yaml": says("aa"),
        },
        "aa cc",
        "aa cc",
    ),
    "folders: the outermost is for its own documents": (
        {"_quarto.yml": PROJECT + says("aa"), "_metadata.yml": says("bb"), "part/_metadata.yaml": says("cc")},
        "aa bb",
        "aa cc",
    ),
    "a file that a header names": (
        {"_quarto.yml": PROJECT, "part/more.yml": says("aa"), "header": "metadata-files: [more.yml]\n"},
        "",
        "aa",
    ),
}


def write_case(case):
    """Write the files and pages of a case, with a div of each class; the classes that are left out of each page."""
    files, *left_out = CASES[case]
    body = "".join(f"\n::: {name}\nThe secret of {name} is a number.\n:::\n" for name in CLASSES)
    for page in PAGES:
        header = files.get("header", "") if page == "part/a.qmd" else ""
        write(page, f"---\ntitle: A page\n{header}---\n\nA page that says little.\n{body}")
    for name, content in files.items():
        if name != "header":
            write(name, content)
    return {page: set(words.split()) for page, words in zip(PAGES, left_out, strict=True)}


@pytest.mark.parametrize("case", CASES)
def test_the_scripts_see_what_is_left_out(case):
    for page, classes in write_case(case).items():
        names_a_file = "header" in CASES[case][0] and page == "part/a.qmd"
        header = {"metadata-files": ["more.yml"]} if names_a_file else {}
        rules = page_rules(Path(page).resolve(), header, project_rules(read_project(Path.cwd()), KnitRules()))
        assert rules.div_types - DIV_TYPES == classes


@pytest.mark.quarto
@pytest.mark.long
@pytest.mark.skipif(QUARTO is None, reason="no quarto on PATH")
@pytest.mark.parametrize("case", CASES)
def test_the_pages_are_as_the_scripts_see_them(case):
    left_out = write_case(case)
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    for command in (["lmm", "init", "--quarto"], ["quarto", "render"]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        assert "Traceback" not in done.stderr
        assert done.returncode == 0, done.stderr
    for page, classes in left_out.items():
        shown = set(re.findall("The secret of (..)", text(Path("_site", page).with_suffix(".html"))))
        assert set(CLASSES) - shown == classes


def test_the_first_profile_goes_before_the_others(monkeypatch):
    write("_quarto.yml", PROJECT + "lmm: {keep: [topic]}\nbook: {chapters: [a.md]}\n")
    write("_quarto-a.yml", "lmm: {collection: first, keep: [exercise]}\nlang: de\n")
    write("_quarto-b.yml", "lmm: {collection: second, annotate: true}\nmetadata-files: [more.yml]\n")
    write("more.yml", "book: {chapters: [b.md]}\n")
    monkeypatch.setenv("QUARTO_PROFILE", "a,b")
    settings = read_project(Path.cwd())
    assert settings["lmm"] == {"collection": "first", "annotate": True, "keep": ["topic", "exercise"]}
    assert settings["lang"] == "de"
    assert settings["book"] == {"chapters": ["a.md"]}  # a file that a profile names changes no chapters


@pytest.mark.parametrize("name", ["_quarto-x.yaml", "more.yml"])
def test_a_file_that_cannot_be_read_is_named(name):
    write("_quarto.yml", "profile: {default: x}\nmetadata-files: [more.yml]\n")
    write(name, "a: [\n")
    with pytest.raises(QuartoError, match=re.escape(name) + ":2: cannot be read"):
        read_project(Path.cwd())
