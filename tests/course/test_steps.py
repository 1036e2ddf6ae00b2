"""`lmm course`: its steps, what stops them, and what then stays as it was."""

import json
import re
from pathlib import Path

import pytest

from tests.commands import run, text, tree, write
from tests.courses import make_course

NOTES = """# The mean

The mean is the balance point of the data.

::: exercise
Compute it for the seven umbrellas that were forgotten on Monday.
:::
"""
SECRET = "Compute it for the seven umbrellas that were forgotten on Monday."
STEPS = ["check", "annotate", "render", "leaks", "index", "site"]


@pytest.fixture
def notes(tmp_path, monkeypatch):
    write("notes/means.md", NOTES)
    monkeypatch.chdir("notes")
    return Path.cwd()


def steps(done):
    return re.findall(r"^(\w+):$", done.stderr.decode(), re.M)


def test_each_step_is_named_with_its_time(notes, monkeypatch):
    """The index lies in the course, wherever the command is typed."""
    monkeypatch.chdir("..")
    notes.rename("my nötes")
    done = make_course("'my nötes'")
    told = done.stderr.decode()
    assert done.returncode == 0, told
    assert steps(done) == STEPS
    assert len(re.findall(r"^  done in \d+\.\d s", told, re.M)) == len(STEPS) - 1 and "  skipped (" in told
    assert "to annotate the notes: lmm rag)" in told
    assert "To look at the site, open " in told and told.endswith("_site/index.html\n")
    assert not Path(".lmm").exists()
    monkeypatch.chdir("my nötes")
    assert "balance point" in text("_site/means.html") and SECRET not in text("_site/means.html")
    assert "means.md" in run("lmm search 'balance point of the data'").stdout.decode()
    assert [path.name for path in Path(".lmm").iterdir()] == ["index"]
    assert text("means.md") == NOTES


def test_mistakes_and_files_that_cannot_be_read_are_named_with_the_course_around_before_anything_is_made(notes):
    write("../config.toml", "")
    write("means.md", NOTES.replace("::: exercise", "::: excercise"))
    Path("one.md").write_bytes(b"\xff")
    Path("two.md").write_bytes(b"# Two\n\xff")
    done = make_course()
    assert done.returncode == 1 and steps(done) == ["check"]
    assert not Path("_site").exists() and not Path(".lmm/index").exists()
    told = done.stderr.decode()
    assert "notes is a part of the course in .., whose config.toml is there" in told
    assert all(f"\n{place}: " in told for place in ("means.md:5", "one.md:1", "two.md:2"))


@pytest.mark.parametrize("failing", ["render", "leaks", "index"])
def test_a_step_that_fails_leaves_site_and_index_as_they_were(notes, failing):
    assert make_course().returncode == 0
    site = tree("_site")
    write("means.md", NOTES.replace("the balance point", "somewhere in the middle"))
    environment = {}
    if failing == "render":
        write("means.md", text("means.md") + "\nSee @t.\n")
        write("_quarto.yml", "bibliography: a.bib\ncsl: broken.csl\nfilters: [lmm]\nproject: {type: website}\n")
        write("a.bib", "@book{t, title={Data}}")
        write("broken.csl", "no style")
    elif failing == "leaks":
        write("shared.txt", SECRET)
        write("means.md", text("means.md") + "\n[A file](shared.txt)\n")
    else:
        environment = {"LMM_STORAGE__URL": "http://127.0.0.1:9"}
    done = make_course(**environment)
    assert done.returncode == 1
    assert steps(done)[-1] == failing, done.stderr.decode()
    assert tree("_site") == site
    assert "balance point" in run("lmm search 'where is the mean of the data'").stdout.decode()


def test_some_steps(notes):
    done = make_course("--steps check,render,leaks")
    assert done.returncode == 0
    assert steps(done) == ["check", "render", "leaks"]
    assert not Path("_site").exists()
    assert Path(".lmm/course/site/means.html").is_file()
    assert text("means.md") == NOTES
    definition = "The value in the middle of all when they are put in order, half of them below."
    write("means.md", f"{NOTES}\n## What is the median?\n\n{definition}\n")
    assert make_course("--steps annotate").returncode == 0
    assert "~docid: means.md" in text("means.md")
    done = make_course("--steps render,site")  # nothing is published unchecked
    assert done.returncode == 2 and b"--steps" in done.stderr and not Path("_site").exists()


def test_cells_that_would_not_be_run_stop_it(notes):
    write("_quarto.yml", "project: {type: website}\nfilters: [lmm]\n")
    write("plots.qmd", "# Plots\n\n```{python}\nplot(1)\n```\n")
    done = make_course("--steps check")
    assert done.returncode == 1 and b"Quarto is not installed, so 1 cell would not be run. " in done.stderr
    assert make_course("--steps check --no-quarto").returncode == 0


def test_json(notes):
    write("more.md", "# More\n\nSee @sec-nowhere. [a](a.csv)\n")
    results = json.loads(make_course("--json").stdout)
    assert [step["step"] for step in results] == STEPS
    assert all(step["ok"] and step["seconds"] >= 0 for step in results)
    warnings = [report for step in results for report in step["reports"] if report["level"] == "warning"]
    assert {report["path"] for report in warnings} == {"more.md"}
    assert any("sec-nowhere" in report["message"] for report in warnings)
