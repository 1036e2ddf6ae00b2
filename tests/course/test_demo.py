"""`lmm demo`: the sample course, annotated and knit."""

import re
from pathlib import Path

from tests.commands import run, text, write
from tests.indexing import lmm
from tests.model_server import ModelServer
from tests.test_readme import ROOT

SAMPLE = ROOT / "sample-book"


def test_what_is_made_and_where_to_look(monkeypatch):
    monkeypatch.setenv("LMM_MODEL_EMBEDDING", "none")
    shown, said = lmm("demo 'my demo'")
    pages = re.findall(r"^  (.*\.html)$", shown, re.M)
    assert pages == [f"my demo/notes/{path.stem}.html" for path in sorted(SAMPLE.glob("0*.md"))]
    assert "6 of 6 files annotated by extractive/default; no model was asked" in said
    chapter, notes = text("my demo/01-data.md"), text("my demo/notes/01-data.html")
    assert "~docid: 01-data.md" in chapter and "Exercise: name the kind" in chapter
    assert "<math" in text("my demo/notes/02-describing.html")
    for left_out in ("docid", "Exercise: name the kind", "~summary"):
        assert left_out not in notes
    figures = {src for page in pages for src in re.findall(r'<img\s+src="([^"]*)"', text(page))}
    assert figures and all((Path("my demo/notes") / figure).is_file() for figure in figures)


def test_the_commands_it_names_work():
    shown = lmm("demo 'my demo'")[0]
    named = dict(re.findall(r"^(.*?): +(.*)$", shown, re.M))
    done = run(named["What changed in the text"])
    changed = done.stdout.decode().split("\n@@", 1)[1]
    assert done.returncode == 1 and "+~" in changed
    assert not [line for line in changed.splitlines() if line.startswith("-")]
    assert "docid 01-data.md" in run(named["An overview of it"]).stdout.decode()
    assert Path(named["An annotated chapter"]).is_file()
    assert Path(named["Its lecture notes"].partition(" (")[0]).is_file()


def test_the_copy_is_the_sample_course_alone():
    lmm("demo --copy course")
    copied = {path.relative_to("course").as_posix() for path in Path("course").rglob("*") if path.is_file()}
    tracked = run(f"git -C '{SAMPLE}' ls-files").stdout.decode().split()
    assert copied == {*tracked, ".lmm-folder"}
    assert all(text(Path("course", name)) == text(SAMPLE / name) for name in tracked)


def test_a_configured_model_annotates_it(monkeypatch):
    with ModelServer(reply="A question about the section?") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        lmm("demo")
    assert server.count > 20


def test_without_pandoc_it_says_so(monkeypatch):
    monkeypatch.setattr("lmm_core.course.demo.packaged_pandoc", lambda: None)
    monkeypatch.setenv("PATH", "/nowhere")
    assert "there is no pandoc to make lecture notes: `lmm doctor` says what to do" in lmm("demo", status=1)[1]


def test_copy_and_remove_exclude_each_other():
    assert "exclude each other" in lmm("demo --copy --remove", status=2)[1]
    assert not Path("demo").exists()


def test_an_empty_folder_is_filled_and_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(write(tmp_path / "empty" / "x", "").parent)
    Path("x").unlink()
    lmm("demo --remove .")
    lmm("demo --copy .")
    assert Path("index.md").is_file()
