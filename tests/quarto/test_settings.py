"""What a project, its folders and headers say reaches the scripts as it reaches the pages."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lmm_core.errors import QuartoError
from lmm_core.markdown.visibility import DIV_TYPES, KnitRules, project_rules
from lmm_core.settings.quarto_project import folder_settings, merged, page_rules, read_project
from tests.commands import BIN, text, write
from tests.quarto.settings_cases import CASES, CLASSES, PROJECT, files_of, left_out, says

QUARTO = shutil.which("quarto")


@pytest.fixture(autouse=True)
def no_profile(monkeypatch):
    monkeypatch.delenv("QUARTO_PROFILE", raising=False)


def written(case):
    for name, content in files_of(case).items():
        write(name, content)
    return Path.cwd()


def rules_of(folder, page, header=None):
    return page_rules(folder / page, header or {}, project_rules(read_project(folder), KnitRules()))


@pytest.mark.parametrize("case", CASES)
def test_the_scripts_see_what_is_left_out(case):
    folder = written(case)
    named = {"metadata-files": ["more.yml"]} if "header" in CASES[case][0] else {}
    for page, classes in left_out(case).items():
        own = named if page == "part/a.qmd" else {}
        assert rules_of(folder, page, own).div_types - DIV_TYPES == classes


@pytest.mark.quarto
@pytest.mark.long
@pytest.mark.skipif(QUARTO is None, reason="no quarto on PATH")
@pytest.mark.parametrize("case", CASES)
def test_the_pages_are_as_the_scripts_see_them(case):
    """Rendered by Quarto: each class is on the page, or is looked for in it by the leak check."""
    folder = written(case)
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    for command in (["lmm", "init", "--quarto"], ["quarto", "render"]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        assert "Traceback" not in done.stderr
        assert done.returncode == 0, done.stderr
    for page, classes in left_out(case).items():
        shown = set(re.findall("The secret of (..)", text(folder / "_site" / page.replace(".qmd", ".html"))))
        assert set(CLASSES) - shown == classes
    done = subprocess.run(["lmm", "leak-check", "_site"], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout
    assert "none found" in done.stderr


def test_the_first_profile_goes_before_the_others(monkeypatch):
    write("_quarto.yml", PROJECT)
    write("_quarto-a.yml", "lmm: {collection: first}\nlang: de\n")
    write("_quarto-b.yml", "lmm: {collection: second, annotate: true}\n")
    monkeypatch.setenv("QUARTO_PROFILE", "a,b")
    found = read_project(Path.cwd())
    assert found["lmm"] == {"collection": "first", "annotate": True}
    assert found["lang"] == "de"


def test_a_profile_changes_no_chapters_by_a_file_that_it_names():
    write("_quarto.yml", "book: {chapters: [a.md]}\nprofile: {default: x}\n")
    write("_quarto-x.yml", "metadata-files: [more.yml]\n")
    write("more.yml", "book: {chapters: [b.md]}\nlang: de\n")
    found = read_project(Path.cwd())
    assert found["book"] == {"chapters": ["a.md"]}
    assert found["lang"] == "de"


@pytest.mark.parametrize(
    ("one", "over", "made"),
    [
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ({"a": ["x", "y"]}, {"a": ["y", "z"]}, {"a": ["x", "y", "z"]}),
        ({"a": "x"}, {"a": ["y"]}, {"a": ["x", "y"]}),
        ({"a": ["x"]}, {"a": "y"}, {"a": ["x", "y"]}),
        ({"a": ["x"]}, {"a": None}, {"a": ["x"]}),
        ({"a": None}, {"a": ["x"]}, {"a": ["x"]}),
        ({"a": [{"b": 1}, {"b": 1}]}, {"a": [{"b": 1}]}, {"a": [{"b": 1}]}),
        ({"a": {"b": 1}}, {"a": False}, {"a": False}),
    ],
)
def test_merging(one, over, made):
    assert merged(one, over) == made


def test_files_may_be_empty():
    for name in ("_quarto.yml", "_quarto.yml.local", "_metadata.yml"):
        write(name, "# nothing yet\n")
    assert read_project(Path.cwd()) == {}
    assert folder_settings(Path("a.md"), Path.cwd()) == {}


@pytest.mark.parametrize("name", ["_quarto-x.yaml", "more.yml", "_quarto.yaml.local"])
def test_a_file_that_cannot_be_read_is_named(name):
    write("_quarto.yml", "profile: {default: x}\nmetadata-files: [more.yml]\n")
    write(name, "a: [\n")
    with pytest.raises(QuartoError, match=re.escape(name) + ":2: cannot be read"):
        read_project(Path.cwd())


def test_a_document_outside_of_the_project_has_no_folder_of_it():
    write("a/_quarto.yml", PROJECT)
    write("b/_metadata.yml", says("aa"))
    assert folder_settings(Path("b/x.md"), Path("a")) == {}
