"""No command writes its output over a text: neither its own source nor another one."""

import os
import shlex
import subprocess
from contextlib import closing
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lmm_core.cli import cli
from lmm_core.scan.documents.passes import markdown_scan
from lmm_core.study.asked.recordings import Recordings, recordings_path
from lmm_core.study.asked.turns import RecordedTurn
from tests.commands import text, write

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
OUTPUTS = {name: value for name, value in PATHS.items() if isinstance(value, tuple)}
MORE = {
    "cards as a table": ("cards notes.md -o {}", ".csv"),
    "cards for Anki": ("cards notes.md -o {}", ".apkg"),
    "a folder's cards": ("cards . -o {}", ".md"),
}
TRIED = pytest.mark.parametrize(("command", "ending"), [*OUTPUTS.values(), *MORE.values()], ids=[*OUTPUTS, *MORE])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A project with two documents and what else a writer has."""
    monkeypatch.chdir(Path(write(tmp_path / "work" / "notes.md", NOTES)).parent)
    write("other.md", "# Other\n\nMy own text.\n")
    write("talk.html", "<h1>Talk</h1><p>Words.</p>")
    write("asked.csv", QUESTIONS)
    write("config.toml", '# mine\nspelling = "div"\n')
    write("_quarto.yml", "project:\n  type: website\n")
    with closing(Recordings(recordings_path(Path.cwd()))) as recordings:
        recordings.add(RecordedTurn("a" * 32, "", "2026-11-22T14", "Why?"))
    write("references.bib", "@book{x}\n")
    return Path.cwd()


def tree():
    """All bytes in the folder, and where links lead."""
    return {str(path): os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
            for path in sorted(Path().rglob("*")) if ".lmm" not in path.parts}  # fmt: skip


def run(command):
    return CliRunner().invoke(cli, shlex.split(command))


def refused(command, *words):
    """The command is wrong usage, says so in a sentence, and changes nothing."""
    before = tree()
    done = run(command)
    assert tree() == before
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
def test_no_output_goes_over_the_input(command, ending):
    refused(command.format("notes.md"), "notes.md")
    refused(command.format("./notes.md"))
    refused(command.format(f"../{Path.cwd().name}/notes.md"))


@TRIED
def test_no_output_goes_over_the_input_through_a_link(command, ending):
    os.symlink("notes.md", f"link{ending}")
    refused(command.format(f"link{ending}"))
    os.symlink(f"link{ending}", f"again{ending}")
    refused(command.format(f"again{ending}"))
    os.link("notes.md", f"hard{ending}")
    refused(command.format(f"hard{ending}"))


@TRIED
def test_no_output_goes_over_another_file_of_the_writers(command, ending):
    for victim in ("other.md", "config.toml", "references.bib"):
        refused(command.format(victim), "Error: ")
    os.symlink("other.md", f"link{ending}")
    for output in (f"link{ending}", ".", "x.unknown", "none"):
        refused(command.format(output), "Error: ")


@TRIED
def test_there_is_a_folder_to_write_into(command, ending):
    if command.startswith("asked -o"):
        run("index notes.md")
    if not command.startswith("knit"):
        refused(command.format(f"none/out{ending}"), "the folder none does not exist")


@TRIED
def test_the_same_command_may_run_again(command, ending):
    if command.startswith("llmd"):
        pytest.skip("never writes over what is there")
    if command.startswith("asked -o"):
        run("index notes.md")
    for _ in range(2):
        done = run(command.format(f"out{ending}"))
        assert done.exit_code == 0, done.output
        assert Path(f"out{ending}").stat().st_size
    assert Path("notes.md").read_text() == NOTES


@pytest.mark.parametrize("command", ["knit notes.md -o {}", "cards notes.md -o {}", "cards . -o {}"])
def test_what_somebody_has_changed_since_is_kept(command):
    assert run(command.format("out.md")).exit_code == 0
    with open("out.md", "a") as file:
        file.write("A remark of mine.\n")
    refused(command.format("out.md"), "out.md")


def test_a_file_with_nothing_in_it_is_written():
    write("out.md", "")
    assert run("knit notes.md -o out.md").exit_code == 0
    assert "A mean is" in Path("out.md").read_text()


ANY = {"grades.csv": "name,grade\nAda,1\n", "deck.apkg": "PK mine"}
WRITERS = {".csv": ["cards notes.md -o {}", "cards . -o {}"], ".apkg": ["cards notes.md -o {}"]}


@pytest.mark.parametrize(
    ("name", "command"), [(name, command) for name in ANY for command in WRITERS[Path(name).suffix]]
)
def test_no_output_goes_over_a_table_or_deck_of_the_writers(name, command):
    write(name, ANY[name])
    refused(command.format(name), name, "lmm has not made it")
    os.symlink(name, f"link{Path(name).suffix}")
    refused(command.format(f"link{Path(name).suffix}"), "lmm has not made it")
    os.unlink(name)
    assert run(command.format(name)).exit_code == 0
    with open(name, "a") as file:
        file.write("<!-- mine -->\n")
    refused(command.format(name), "changed since")


def test_the_deck_that_is_named_after_the_notes_is_looked_at():
    write("notes.apkg", "PK mine")
    refused("cards notes.md --format anki", "lmm has not made it")


@pytest.mark.parametrize(
    "command",
    ["knit notes.md -o out.md", "knit . -o out", "cards notes.md -o out.csv"],
)
def test_another_machine_makes_the_same_again(command, monkeypatch, tmp_path):
    assert run(command).exit_code == 0
    before = tree()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    for _ in range(2):
        assert run(command).exit_code == 0
        assert tree() == before


def test_nothing_is_written_where_one_of_the_notes_may_not_be(monkeypatch, tmp_path):
    write("out/other.md", "Mine.\n")
    refused("knit . -o out", "other.md")
    assert not Path("out/notes.md").exists()


# Folders


def test_a_folder_of_notes_is_not_written_over_documents():
    refused("knit . -o .", "its own source")
    refused(f"knit . -o {Path.cwd()}", "its own source")
    write("sub/other.md", "# Sub\n\nText.\n")
    refused("knit sub -o .", "other.md")
    refused("knit . -o notes.md", "need a folder")
    refused("knit sub -o sub/other.md", "need a folder")
    os.symlink(".", "here")
    refused("knit . -o here", "its own source")


def test_a_link_in_the_folder_of_the_notes_is_not_followed_out_of_it(tmp_path):
    victim = write(tmp_path / "home" / "theirs.md", "")
    Path("out").mkdir()
    os.symlink(victim, "out/notes.md")
    assert "leads out of out" in refused("knit notes.md -o out")
    os.unlink("out/notes.md")
    os.symlink(tmp_path / "home" / "new.md", "out/notes.md")
    refused("knit notes.md -o out")
    write("part/notes.md", NOTES)
    os.unlink("out/notes.md")
    os.symlink(tmp_path / "home", "out/part")
    refused("knit . -o out")
    assert not victim.read_bytes() and [*(tmp_path / "home").iterdir()] == [victim]


def test_notes_of_a_folder_may_be_made_again():
    for _ in range(2):
        assert run("knit . -o out").exit_code == 0
    assert sorted(path.name for path in Path("out").rglob("*")) == ["notes.md", "other.md"]
    write("out/other.md", "Mine.\n")
    refused("knit . -o out", "other.md")


# What the ending says


def test_cards_are_what_their_ending_says():
    assert run("cards notes.md -o made.csv").exit_code == 0
    assert Path("made.csv").read_text().startswith("#separator")
    assert run("cards notes.md -o made.apkg").exit_code == 0
    assert Path("made.apkg").read_bytes().startswith(b"PK")
    assert run("cards notes.md -o made.md").exit_code == 0
    assert Path("made.md").read_text().startswith("# notes")
    for form, name in (("md", "x.csv"), ("csv", "x.apkg"), ("anki", "x.md"), ("anki", "x.csv"), ("csv", "x.md")):
        refused(f"cards notes.md --format {form} -o {name}", "has to end in")


def test_nothing_is_asked_before_the_output_is_looked_at(monkeypatch):
    def ask(*_, **__):
        raise AssertionError("work was done")

    for place in (
        "lmm_core.indexing.documents.encode_files",
        "lmm_core.cli.commands.publish.work_file",
    ):
        monkeypatch.setattr(place, ask)
    for command in ("cards . -o notes.md", "knit notes.md -o notes.md"):
        refused(command)


@pytest.mark.skipif(os.name != "posix", reason="devices and pipes of Unix")
def test_devices_and_pipes_are_written_to():
    assert run("knit notes.md -o /dev/null").exit_code == 0
    assert run("cards notes.md -o /dev/null").exit_code == 0


# What has no option


def test_setting_up_overwrites_nothing(tmp_path):
    before = Path("config.toml").read_text(), Path("_quarto.yml").read_text()
    assert run("config init").exit_code == 1
    assert run("init --quarto").exit_code == 0
    assert (Path("config.toml").read_text(), Path("_quarto.yml").read_text()) == before
    os.unlink("config.toml")
    os.symlink(tmp_path / "new.toml", "config.toml")
    assert run("config init").exit_code == 1
    assert not (tmp_path / "new.toml").exists()


def test_the_extension_is_not_copied_out_of_the_project(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", "_extensions")
    done = run("init --quarto")
    assert done.exit_code == 1 and "_extensions: This link leads out of the project" in done.stderr
    assert not [*(tmp_path / "elsewhere").iterdir()]


def test_python_functions_write_over_no_other_source(capsys):
    before = tree()
    assert markdown_scan("notes.md", save="other.md") is None
    assert markdown_scan("notes.md", save="config.toml") is None
    assert tree() == before
    assert capsys.readouterr().err.count("\n") == 2
    assert markdown_scan("notes.md", save="out.md")
    assert markdown_scan("notes.md", save="notes.md")
    assert "~docid" in Path("notes.md").read_text()


def test_standard_output_that_is_a_file_is_written_on():
    """`-` is where the process writes: what the shell writes before and after stays."""
    write("notes.md", "# A\n\nText.\n")
    done = subprocess.run(["sh", "-c", "(echo first; lmm knit -o - notes.md; echo last) > all.txt"], check=False)
    assert done.returncode == 0
    assert text("all.txt") == "first\n# A\n\nText.\nlast\n"
