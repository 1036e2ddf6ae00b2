"""Folders that are not ours: whatever a setting, a name or a cloned repository says, nothing in
them is removed or changed, and a sentence says what to do."""

import ast
import os
import re
import shutil
from pathlib import Path

import pytest

from lmm_core.files.marked import MARK, make_marked
from lmm_core.logging import ListLogger
from lmm_core.quarto.render import run_stage
from tests.commands import in_process, text, tree, write
from tests.indexing import document, lmm

ROOT = Path(__file__).parents[2]
NOTES = document("oak")
SAYS_WHAT_TO_DO = re.compile(
    r"[Nn]ame (a|another) (new or empty )?folder|remove it and run this again|move (it|them) away|should (be|lie|differ)|"
    r"cannot be the name of|[Gg]ive them names|choose a name|does not lie in|which is none of ours|or name another folder|"
    r"remove it$|move it away|and index again\.?$"
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project, with folders of the writer in it, beside it and above it."""
    project = tmp_path / "world" / "home" / "project"
    write(project / "config.toml", "")
    write(project / "documents/a.md", NOTES)
    for folder in ("chunks", "Documents", "chunks.files", "docs/snippets", "lmm-ask", "vectors", "shard"):
        write(project / folder / "mine.txt", "mine")
        write(project.parent / folder / "theirs.txt", "theirs")
        write(project.parent.parent / folder / "theirs.txt", "theirs")
    write(project / "file", "a file of mine")
    write(project.parent / "victim", "theirs")
    monkeypatch.chdir(project)
    return project


class Unharmed:
    """Within the block nothing that was there changes, but for what is in a folder of ours;
    outside of the project nothing comes."""

    def __init__(self, project, ours=" "):
        self.project, self.world = project, project.parent.parent
        self.ours = str((project / ours).relative_to(self.world)) + os.sep

    def __enter__(self):
        self.before = tree(self.world)

    def __exit__(self, *error):
        after = tree(self.world)
        own = str(self.project.relative_to(self.world)) + os.sep
        theirs = {name: said for name, said in self.before.items() if not name.startswith(self.ours)}
        assert {name: after.get(name, "gone") for name in theirs} == theirs
        assert [name for name in after if name not in self.before and not name.startswith(own)] == []


def refused(project, command, env=None, wanted=(1, 2), ours=" "):
    """What a command says that has to be refused; nothing is harmed."""
    with Unharmed(project, ours):
        done = in_process(command, env=env)
    assert done.exit_code in wanted, done.output
    said = done.stderr.strip()
    assert SAYS_WHAT_TO_DO.search(said), said
    return said


# The folder of the index

MD_INDEX = "md-index --root documents --name docs -q"
INDEXING = ["index documents -q", "index documents -q --rebuild", "search oak"]


def put(shape, place, kind="index"):
    """Something of the writer's in the place of a folder of ours."""
    if place.exists():
        shutil.rmtree(place)
    if shape == "link":
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(Path("documents").absolute())
        return
    write(place / "notes.md", "# Mine\n")
    if shape == "forged":  # what cannot be told from ours by its mark
        write(place / MARK, f"lmm-folder 1 {kind}\n")


@pytest.mark.parametrize(
    ("said", "folder"),
    [
        ("config.toml", "documents/../documents"),
        ("config.toml", "link/index"),
        ("environment", ".."),
        ("environment", "sibling"),
    ],
)
def test_no_folder_of_the_writer_becomes_the_index(project, said, folder):
    (project / "link").symlink_to("..")
    (project / "sibling").symlink_to("documents")
    if said == "config.toml":
        write("config.toml", f'[storage]\nfolder = "{folder}"\n')
    for command in INDEXING:
        message = refused(project, command, {"LMM_STORAGE__FOLDER": folder} if said == "environment" else None)
        assert "should" not in message or "`storage.folder`" in message


@pytest.mark.parametrize(
    ("place", "shape", "commands"),
    [
        (".lmm", "link", INDEXING),
        (".lmm/index", "documents", INDEXING),
        (".lmm/index/chunks", "forged", ["index documents -q --rebuild"]),
        (".lmm/index/chunks.files", "documents", ["index documents -q --rebuild"]),
        (".md_index/docs", "documents", [MD_INDEX]),
    ],
)
def test_what_stands_in_the_place_of_a_folder_of_ours_is_kept(project, place, shape, commands):
    """Other contents that are no mark of ours are in tests/files/test_marked.py."""
    for above, kind in ((".lmm/index", "index"), (".md_index", "md-indexes")):
        if place.startswith(f"{above}/"):
            make_marked(project / above, kind)
    put(shape, project / place, "collection")
    for command in commands:
        refused(project, command)


@pytest.fixture
def indexed(project):
    """The same project with an index."""
    lmm("index documents -q")
    return project


def test_what_the_writer_has_put_into_a_collection_is_kept(indexed):
    write(".lmm/index/chunks/notes.md", "mine")
    said = refused(indexed, "index documents -q --rebuild", ours=".lmm/index/chunks.files")
    assert "notes.md in it is not lmm's" in said
    Path(".lmm/index/chunks/notes.md").unlink()
    lmm("index documents -q --rebuild")
    assert "oak" in lmm("search oak")[0]


def test_a_part_of_an_index_that_leads_elsewhere(indexed):
    """The engine would write into what it leads to, and remove what is there."""
    place, moved = Path(".lmm/index/chunks/shard/segments"), indexed.parent / "moved"
    place.rename(moved)
    place.symlink_to(moved)
    assert "is a link" in refused(indexed, "index documents -q --rebuild", ours=".lmm/index/chunks.files")


# Names: which there are is in tests/store/test_stores.py


@pytest.mark.parametrize("setting", ['collection_name = ".."', 'companion_collection = "/abs"'])
def test_names_of_collections_lead_nowhere_else(project, setting):
    write("config.toml", f"[database]\n{setting}\n")
    assert "cannot be the name of a collection" in refused(project, "index documents -q --rebuild")


# Indexes of folders


@pytest.mark.parametrize("options", ["--name docs --db-root documents", "--name docs --db-root link/db", "--name .."])
def test_no_folder_of_the_writer_becomes_one_of_indexes(project, options, tmp_path):
    (project / "link").symlink_to("..")
    root = write(tmp_path / "elsewhere/b.md", NOTES).parent
    refused(project, f"md-index --root {root} {options} -q")


def test_a_part_of_an_index_of_a_folder_that_leads_elsewhere(project):
    """What is written there would be written outside."""
    lmm(MD_INDEX)
    place, outside = Path(".md_index/docs/snippets"), project.parent / "moved"
    write("documents/a.md", NOTES + "\n\nMore of it, about the elm.\n")
    place.rename(outside)
    place.symlink_to(outside)
    refused(project, MD_INDEX, ours=".md_index")


# The ask box of a site


def post(project):
    """What is done after a render; returns the errors that it reports."""
    logger = ListLogger()
    status = run_stage("post-render", {"QUARTO_PROJECT_OUTPUT_DIR": str(project / "_site")}, project, logger)
    errors = [report.message for report in logger.reports if report.level == "error"]
    assert status == (1 if errors else 0)
    return errors


@pytest.fixture
def site(project):
    """A project with a page that was rendered."""
    write("a.md", "---\ntitle: A\n---\n\n# A {#a}\n\nThe oak.\n")
    write("_site/a.html", '<html><head></head><body><h1 id="a">A</h1></body></html>')
    ask(True)
    return project


def ask(wanted):
    said = "true" if wanted else "false"
    write("_quarto.yml", f"project:\n  type: website\nlmm:\n  index: false\n  ask: {said}\n")


@pytest.mark.parametrize(("shape", "wanted"), [("documents", True), ("link", False), ("forged", False)])
def test_what_stands_in_the_place_of_the_box(site, shape, wanted):
    put(shape, site / "_site/lmm-ask", "ask-box")
    ask(wanted)
    with Unharmed(site):
        [error] = post(site)
    assert SAYS_WHAT_TO_DO.search(error)


@pytest.mark.parametrize("name", ["_site", "_site/a.html", "_site/lmm-ask/data.js"])
def test_a_link_in_the_site_is_not_written_through(site, name):
    assert post(site) == []
    place, moved = site / name, site.parent / "moved"
    place.rename(moved)
    if moved.is_file():
        write(moved, text(moved).replace("<script", "<!-- mine --><script") + "\n")
    place.symlink_to(moved)
    write("a.md", text("a.md") + "\nAnd the elm.\n")
    with Unharmed(site, "_site"):
        [error] = post(site)
    assert "is a link" in error


# The sample book, and the one place where folders are removed


def test_the_copy_of_the_sample_book_takes_no_folder_with_a_file_of_the_writers(project):
    with Unharmed(project):
        for option in ("", "--copy ", "--remove "):
            lmm(f"demo {option}documents", 1)
    lmm("demo --copy course")
    write("course/.env", "mine")
    with Unharmed(project):
        for option in ("", "--copy ", "--remove "):
            assert ".env in it is not lmm's; move it away" in lmm(f"demo {option}course", 1)[1]


def test_folders_are_removed_in_one_function_alone():
    folders = ("lmm_core", "filters", "quarto-ext", "docs", "benchmarks")
    sources = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    removing = [path for path in sources if re.search(r"rmtree|removedirs|rm -r", text(path))]
    assert removing == [ROOT / "lmm_core/files/marked.py"]
    functions = [node for node in ast.walk(ast.parse(text(*removing))) if isinstance(node, ast.FunctionDef)]
    assert [node.name for node in functions if "rmtree" in ast.unparse(node)] == ["remove_marked"]
