"""No command writes its output over a text: neither its own source nor another one."""

import os
import subprocess
from pathlib import Path

import click
import pytest

from lmm_core.cli import cli
from lmm_core.scan.documents.passes import markdown_scan
from lmm_core.study.asked.recordings import RecordedTurn, Recordings, recordings_path
from tests.commands import in_process, text, tree, write

NOTES = "---\ntitle: T\n---\n\n# Means\n\n::: exercise\nWhat is a mean?\n:::\n\nA mean is a sum by a count.\n"
QUESTIONS = "question,section\nWhat is a mean?,Means\n"

# Each option and argument that is a path: what it is. An output has the command that is tried, in
# which {} is the output, and the ending of what is written.
INPUT = "input"
PATHS = {
    "lmm scan paths": INPUT, "lmm rag paths": INPUT, "lmm pass paths": INPUT, "lmm chat paths": INPUT,
    "lmm accept paths": INPUT, "lmm reject paths": INPUT,
    "lmm clear paths": INPUT, "lmm index paths": INPUT, "lmm chunks paths": INPUT,
    "lmm cards paths": INPUT, "lmm toc paths": INPUT, "lmm bench paths": INPUT, "lmm bench questions": INPUT, "lmm knit paths": INPUT,
    "lmm convert paths": INPUT, "lmm leak-check output": INPUT, "lmm leak-check sources": INPUT,
    "lmm llmd chat document": INPUT, "lmm llmd apply document": INPUT, "lmm llmd check document": INPUT,
    "lmm llmd sync document": INPUT, "lmm llmd undo document": INPUT, "lmm llmd new files": INPUT,
    "lmm mcp folder": INPUT, "lmm config show path": INPUT, "lmm md-index root": INPUT,
    "lmm import paths": INPUT,
    "lmm import output": ("import talk.html -o {}", ".md"),
    "lmm recover file": INPUT,  # what it writes back is the file's own text
    # a folder that is replaced as a whole, and kept if it is not ours: tests/course/test_publish.py
    "lmm course folder": "folder", "lmm course output": "folder",
    # folders in which a command makes files of its own, and leaves all others as they are
    "lmm init folder": "folder", "lmm config init folder": "folder",
    "lmm demo folder": "folder",  # a new one, or one with our mark (test_folders)
    "lmm md-index db_root": "folder", "lmm md-search db_root": "folder",
    "lmm cards output": ("cards notes.md --format md -o {}", ".md"),
    "lmm knit output": ("knit notes.md -o {}", ".md"),
    "lmm asked output": ("asked -o {}", ".html"),
    "lmm asked export output": ("asked export -o {}", ".jsonl"),
    "lmm llmd new document": ("llmd new {} notes.md", ".md"),
}  # fmt: skip
OUTPUTS = [
    *(value for value in PATHS.values() if isinstance(value, tuple)),
    ("cards notes.md -o {}", ".apkg"),
    ("cards . -o {}", ".csv"),
]
TRIED = pytest.mark.parametrize(("command", "ending"), OUTPUTS)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A project with two documents and what else a writer has."""
    monkeypatch.chdir(Path(write(tmp_path / "work" / "notes.md", NOTES)).parent)
    write("other.md", "# Other\n\nMy own text.\n")
    write("talk.html", "<h1>Talk</h1><p>Words.</p>")
    write("asked.csv", QUESTIONS)
    write("config.toml", '# mine\nspelling = "div"\n')
    write("_quarto.yml", "project:\n  type: website\n")
    recordings = Recordings(recordings_path(Path.cwd()))
    recordings.add(RecordedTurn("a" * 32, "", "2026-11-22T14", "Why?"))
    write("references.bib", "@book{x}\n")
    return Path.cwd()


def refused(command, *words):
    """The command is wrong usage, says so in a sentence, and changes nothing."""
    before = tree(without=(".lmm",))
    done = in_process(command)
    assert tree(without=(".lmm",)) == before
    assert done.exit_code == 2, (command, done.output)
    assert all(word in done.stderr for word in words), done.stderr
    return done.stderr


def all_paths(command, name="lmm"):
    """The paths that a command and those under it take."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for sub in command.list_commands(context):
            yield from all_paths(command.get_command(context, sub), f"{name} {sub}")
    for one in command.params:
        is_path = isinstance(one.type, click.Path | click.File)
        if is_path or one.name in ("output", "out", "save", "log", "html", "file", "folder"):
            yield f"{name} {one.name}"


def test_each_path_that_a_command_takes_is_in_the_table():
    assert set(all_paths(cli)) == set(PATHS), "a new path needs a line in PATHS"


@TRIED
def test_no_output_goes_over_a_text_of_the_writers(command, ending):
    os.symlink("notes.md", f"link{ending}")
    os.symlink(f"link{ending}", f"again{ending}")
    os.link("notes.md", f"hard{ending}")
    os.symlink("other.md", f"other{ending}") if ending != ".md" else None
    inputs = ["notes.md", f"../{Path.cwd().name}/notes.md", f"link{ending}", f"again{ending}", f"hard{ending}"]
    for victim in (*inputs, "other.md", f"other{ending}", "config.toml", "references.bib", "."):
        refused(command.format(victim), "Error: ")


@TRIED
def test_an_output_may_be_made_again_and_not_once_it_is_changed(command, ending):
    if command.startswith("asked -o"):
        in_process("index notes.md")
    if not command.startswith("knit"):
        refused(command.format(f"none/out{ending}"), "the folder none does not exist")
    assert in_process(command.format(f"out{ending}")).exit_code == 0
    made = Path(f"out{ending}").read_bytes()
    assert made and Path("notes.md").read_text() == NOTES
    if command.startswith("llmd"):
        return  # never writes over what is there
    assert in_process(command.format(f"out{ending}")).exit_code == 0
    Path(f"out{ending}").write_bytes(made + b"A remark of mine.\n")
    refused(command.format(f"out{ending}"), f"out{ending}")


# Folders


def test_a_folder_of_notes_goes_over_nothing_of_the_writers():
    write("sub/other.md", "# Sub\n\nText.\n")
    os.symlink(".", "here")
    for command, said in [
        ("knit . -o here", "its own source"),
        ("knit sub -o .", "other.md"),
        ("knit . -o notes.md", "need a folder"),
    ]:
        refused(command, said)
    for _ in range(2):
        assert in_process("knit . -o out").exit_code == 0
    write("out/other.md", "Mine.\n")
    Path("out/notes.md").unlink()
    refused("knit . -o out", "other.md")
    assert not Path("out/notes.md").exists()


def test_a_link_in_the_folder_of_the_notes_is_not_followed_out_of_it(tmp_path):
    victim = write(tmp_path / "home" / "theirs.md", "")
    Path("out").mkdir()
    os.symlink(victim, "out/notes.md")
    assert "leads out of out" in refused("knit notes.md -o out")
    os.unlink("out/notes.md")
    write("part/notes.md", NOTES)
    os.symlink(tmp_path / "home", "out/part")
    refused("knit . -o out")
    assert not victim.read_bytes() and [*(tmp_path / "home").iterdir()] == [victim]


# What has no option


def test_python_functions_write_over_no_other_source():
    before = tree(without=(".lmm",))
    assert markdown_scan("notes.md", save="other.md") is None
    assert markdown_scan("notes.md", save="config.toml") is None
    assert tree(without=(".lmm",)) == before
    assert markdown_scan("notes.md", save="out.md")


def test_standard_output_that_is_a_file_is_written_on():
    """`-` is where the process writes: what the shell writes before and after stays."""
    write("notes.md", "# A\n\nText.\n")
    done = subprocess.run(["sh", "-c", "(echo first; lmm knit -o - notes.md; echo last) > all.txt"], check=False)
    assert done.returncode == 0
    assert text("all.txt") == "first\n# A\n\nText.\nlast\n"
