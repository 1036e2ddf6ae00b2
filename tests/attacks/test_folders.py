"""Folders that are not ours: whatever a setting, a name or a cloned repository says, nothing in
them is removed or changed, and a sentence says what to do."""

import ast
import os
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from lmm_core.cli import cli
from lmm_core.course.create import create_course
from lmm_core.errors import QuartoError, StoreError
from lmm_core.files.marked import MARK, make_marked
from lmm_core.llmd.journal import Journal, change
from lmm_core.logging import ListLogger
from lmm_core.quarto.render import post_render
from lmm_core.store.opening import open_store
from lmm_core.store.places import LocalStorage
from lmm_core.store.vector_store import VectorSpec
from tests.commands import run, text, write
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


def tree(folder):
    """All that is in a folder: paths with bytes but for holes, where links lead, None for folders."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


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
        done = CliRunner().invoke(cli, command.split(), env=env)
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code in wanted, done.output
    said = done.stderr.strip()
    assert SAYS_WHAT_TO_DO.search(said), said
    return said


# The folder of the index


def put(shape, place, kind="index"):
    """Something in the place of a folder of ours."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists() and not place.is_symlink():
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    outside = next(folder for folder in place.resolve().parents if folder.name == "home")
    if shape == "file":
        write(place, "mine")
    elif shape == "documents":
        write(place / "notes.md", "# Mine\n")
    elif shape == "out":
        place.symlink_to(outside)
    elif shape == "sibling":
        place.symlink_to(outside / "project/documents")
    elif shape == "another kind":
        write(place / "notes.md", "# Mine\n")
        write(place / MARK, f"lmm-folder 1 {'collection' if kind != 'collection' else 'index'}\n")
    elif shape == "mark is a link":
        write(place / "notes.md", "# Mine\n")
        (place / MARK).symlink_to(write(outside / "real-mark", f"lmm-folder 1 {kind}\n"))
    elif shape == "forged":  # what cannot be told from ours by its mark
        write(place / "notes.md", "# Mine\n")
        write(place / MARK, f"lmm-folder 1 {kind}\n")
    return place


SHAPES = ["file", "documents", "out", "sibling", "another kind", "mark is a link"]
INDEXING = ["index documents -q", "index documents -q --rebuild", "search oak"]
PLACES = [".", "..", "documents/../documents", "file", "file/index", "link", "link/index", "sibling", ".lmm/index"]


@pytest.mark.parametrize("folder", PLACES)
@pytest.mark.parametrize("said", ["config.toml", "environment"])
def test_no_folder_of_the_writer_becomes_the_index(project, said, folder):
    (project / "link").symlink_to("..")
    (project / "sibling").symlink_to("documents")
    put("documents", project / ".lmm/index")
    if said == "config.toml":
        write("config.toml", f'[storage]\nfolder = "{folder}"\n')
    for command in INDEXING:
        message = refused(project, command, {"LMM_STORAGE__FOLDER": folder} if said == "environment" else None)
        if "should" in message:
            assert "config.toml:2: `storage.folder`" in message


@pytest.mark.parametrize("shape", SHAPES)
def test_what_stands_in_the_place_of_the_index(project, shape):
    put(shape, project / ".lmm/index")
    for command in INDEXING:
        refused(project, command)


@pytest.mark.parametrize("way", [".lmm", ".lmm/index"])
@pytest.mark.parametrize("target", ["..", "documents", "nowhere"])
def test_a_link_on_the_way_to_the_index(project, way, target):
    Path(way).parent.mkdir(exist_ok=True)
    Path(way).symlink_to((project / target).resolve())
    for command in INDEXING:
        refused(project, command)


def test_links_outside_the_project_are_for_the_person_but_marks_count(project, tmp_path):
    """The environment names the place; what a link leads to has to be ours all the same."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    env = {"LMM_STORAGE__FOLDER": str(tmp_path / "link")}
    with Unharmed(project):
        lmm("index documents -q", env=env)
        assert "oak" in lmm("search oak", env=env)[0]
    assert (tmp_path / "real" / MARK).is_file()
    write(tmp_path / "more/notes.md", "mine")
    (tmp_path / "other").symlink_to("more")
    refused(project, "index documents -q", {"LMM_STORAGE__FOLDER": str(tmp_path / "other")})
    assert sorted(path.name for path in (tmp_path / "more").iterdir()) == ["notes.md"]


# Collections in it


@pytest.mark.parametrize("name", ["chunks", "chunks.files"])
@pytest.mark.parametrize("shape", [*SHAPES, "forged"])
def test_what_stands_in_the_place_of_a_collection(project, shape, name):
    make_marked(project / ".lmm/index", "index")
    put(shape, project / ".lmm/index" / name, "collection")
    refused(project, "index documents -q --rebuild")
    if name == "chunks" and shape != "forged":
        refused(project, "search oak")


@pytest.mark.parametrize("name", [".lock", ".queue"])
def test_a_link_in_the_place_of_a_lock(project, name):
    """It was emptied, and the process's number was written into it."""
    make_marked(project / ".lmm/index", "index")
    (project / ".lmm/index" / name).symlink_to("../../../victim")
    for command in INDEXING:
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


@pytest.mark.parametrize("inner", ["chunks", "chunks/shard/segments"])
def test_a_part_of_an_index_that_leads_elsewhere(indexed, inner):
    """The engine would write into what it leads to, and remove what is there."""
    place = Path(".lmm/index", inner)
    moved = indexed.parent / "moved"
    place.rename(moved)
    place.symlink_to(moved)
    for command in INDEXING:
        assert "is a link" in refused(indexed, command, ours=".lmm/index/chunks.files")


def test_an_index_without_marks_is_not_taken(indexed):
    """As a version before the marks made it."""
    for mark in Path(".lmm").rglob(MARK):
        mark.unlink()
    assert "mv " in refused(indexed, "index documents -q --rebuild")
    Path(".lmm/index").rename(".lmm/index.old")
    lmm("index documents -q")
    assert "oak" in lmm("search oak")[0]


# Names of collections

BAD = ["..", "/abs", "a/b", "a\\\\b", ".hidden", "end.", "com1.x", "a b", "x" * 201, "ä"]


@pytest.mark.parametrize(
    ("key", "name"), [("collection_name", name) for name in BAD] + [("companion_collection", "../x")]
)
def test_a_name_that_no_collection_has(project, key, name):
    write("config.toml", f'[storage]\nfolder = "idx"\n[database]\n{key} = "{name}"\n')
    assert "cannot be the name of a collection" in refused(project, "index documents -q --rebuild")
    write("config.toml", "")
    variable = f"LMM_DATABASE__{key.upper()}"
    said = refused(project, "index documents -q", {variable: name.replace("\\\\", "\\")})
    assert "cannot be the name of a collection" in said


@pytest.mark.parametrize(
    ("collection", "companion"),
    [("chunks", "chunks"), ("chunks", "Chunks"), ("chunks", "Chunks.FILES")],
)
def test_names_that_would_be_one_folder(project, collection, companion):
    names = f'[database]\ncollection_name = "{collection}"\ncompanion_collection = "{companion}"\n'
    write("config.toml", names)
    assert "differ by more than case" in refused(project, "index documents -q")
    write("config.toml", "")
    env = {"LMM_DATABASE__COLLECTION_NAME": collection, "LMM_DATABASE__COMPANION_COLLECTION": companion}
    refused(project, "index documents -q", env)


def test_a_name_that_another_collection_has_but_for_case(project):
    lmm("index documents -q")
    write("config.toml", '[database]\ncollection_name = "CHUNKS"\n')
    assert "more than case" in refused(project, "index documents -q")


def test_names_are_checked_in_every_store():
    store = open_store(":memory:")
    for name in ("..", "con", "end.", "a/b"):
        with pytest.raises(StoreError, match="cannot be the name of a collection"):
            store.create(name, VectorSpec(), {}, {})
    store.close()


# Indexes of folders


@pytest.mark.parametrize(
    ("root", "name"),
    [
        (".", "docs"),
        ("..", "docs"),
        ("documents", "docs"),
        ("file", "docs"),
        ("link/db", "docs"),
        ("sibling", "vectors"),
    ],
)
def test_no_folder_of_the_writer_becomes_one_of_indexes(project, root, name, tmp_path):
    (project / "link").symlink_to("..")
    (project / "sibling").symlink_to("documents")
    command = f"md-index --root {write(tmp_path / 'elsewhere/b.md', NOTES).parent} --name {name} --db-root {root} -q"
    if root == "file":
        by_click(project, command)
    else:
        refused(project, command)


def by_click(project, command):
    """The command line is refused before we see it."""
    with Unharmed(project):
        assert "is a file" in lmm(command, 2)[1]


@pytest.mark.parametrize("name", ["..", "a/b", "con", "end.", "all", "catalogue.json", "/abs"])
def test_a_name_that_no_index_has(project, name):
    refused(project, f"md-index --root documents --name {name} -q")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("place", [".md_index", ".md_index/docs"])
def test_what_stands_in_the_place_of_indexes(project, place, shape):
    if place != ".md_index":
        make_marked(project / ".md_index", "md-indexes")
    put(shape, project / place)
    if (place, shape) == (".md_index", "another kind"):
        write(f"{place}/{MARK}", "lmm-folder 1 index\n")
    command = "md-index --root documents --name docs -q"
    if (place, shape) == (".md_index", "file"):
        by_click(project, command)
    else:
        refused(project, command)


def test_what_the_writer_keeps_in_the_folder_of_snippets_stays(project):
    """The collection is gone, so the snippets' files are made anew: ours alone."""
    command = "md-index --root documents --name docs -q"
    lmm(command)
    write(".md_index/docs/snippets/mine.md", "mine")
    shutil.rmtree(".md_index/docs/vectors")
    lmm(command)
    assert text(".md_index/docs/snippets/mine.md") == "mine"
    assert len(list(Path(".md_index/docs/snippets").iterdir())) == 2


@pytest.mark.parametrize("what", ["docs/snippets", "docs/vectors", "docs", "docs/.lock", "catalogue.json", ".lock"])
def test_a_part_of_an_index_of_a_folder_that_leads_elsewhere(project, what):
    """What is written there would be written outside."""
    command = "md-index --root documents --name docs -q"
    lmm(command)
    place = Path(".md_index", what)
    write("documents/a.md", NOTES + "\n\nMore of it, about the elm.\n")
    outside = project.parent / "moved"
    place.rename(outside) if place.exists() else write(outside, "")
    place.symlink_to(outside)
    refused(project, command, ours=".md_index")


def test_agents_have_no_folder_indexed_through_a_link(project):
    (project / ".md_index").symlink_to("..")
    refused(project, "mcp", wanted=(2,))


# The ask box of a site


def post(project):
    """What is done after a render; returns the errors that it reports."""
    logger = ListLogger()
    status = post_render({"QUARTO_PROJECT_OUTPUT_DIR": str(project / "_site")}, project, logger)
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


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("shape", [*SHAPES, "forged"])
def test_what_stands_in_the_place_of_the_box(site, shape, wanted):
    put(shape, site / "_site/lmm-ask", "ask-box")
    ask(wanted)
    if wanted and shape == "forged":
        return  # what is beside the box is none of its business, see the next test
    with Unharmed(site):
        errors = post(site)
    assert len(errors) == 1
    assert SAYS_WHAT_TO_DO.search(errors[0])


def test_what_the_writer_has_put_into_the_box_is_kept(site):
    assert post(site) == []
    write("_site/lmm-ask/notes.md", "mine")
    ask(False)
    [error] = post(site)
    assert "notes.md in it is not lmm's" in error
    assert text("_site/lmm-ask/notes.md") == "mine"


@pytest.mark.parametrize("name", ["a.html", "lmm-ask/data.js", "lmm-ask/ask.js", "lmm-ask"])
def test_a_link_in_the_site_is_not_written_through(site, name):
    assert post(site) == []
    place = site / "_site" / name
    moved = site.parent / "moved"
    place.rename(moved)
    if moved.is_file():
        write(moved, text(moved).replace("<script", "<!-- mine --><script") + "\n")
    place.symlink_to(moved)
    write("a.md", text("a.md") + "\nAnd the elm.\n")
    with Unharmed(site, "_site"):
        [error] = post(site)
    assert "is a link" in error


def test_a_page_that_is_a_link_keeps_what_looks_like_our_tag(site):
    assert post(site) == []
    mine = write(site.parent / "mine.html", '<script src="x" data-lmm-ask></script>\n')
    (site / "_site/mine.html").symlink_to(mine)
    ask(False)
    assert post(site) == []
    assert text(mine) == '<script src="x" data-lmm-ask></script>\n'
    assert not (site / "_site/lmm-ask").exists()


def test_a_site_that_is_a_link_gets_no_box(site):
    (site / "_site").rename(site.parent / "moved")
    (site / "_site").symlink_to("../moved")
    with Unharmed(site):
        [error] = post(site)
    assert "_site is a link" in error


def test_the_extension_is_not_copied_through_a_link(project):
    (project / "_extensions").symlink_to("..")
    with Unharmed(project), pytest.raises(QuartoError, match="_extensions: This link leads out of the project"):
        create_course(project, quarto=True)


@pytest.mark.parametrize("folder", ["~", "~root/idx"])
def test_no_folder_is_called_like_the_home_folder(project, folder):
    write("config.toml", f'[storage]\nfolder = "{folder}"\n')
    assert "`storage.folder`" in refused(project, INDEXING[0])
    write("config.toml", "")
    assert "`storage.folder`" in refused(project, INDEXING[0], {"LMM_STORAGE__FOLDER": folder})
    assert not [path for path in project.iterdir() if path.name.startswith("~")]


def test_what_systems_put_everywhere_may_go_with_a_folder_of_ours(indexed):
    for name in ("._collection.json", ".nfs000123", ".fuse_hidden0001", ".directory", "@eaDir/x", ".DS_Store"):
        write(f".lmm/index/chunks/{name}", "theirs")
    lmm("index documents -q --rebuild")
    assert not Path(".lmm/index/chunks/.directory").exists()


@pytest.mark.parametrize("said", ["[" * 100_000, "{", "\xff", "[]"])
def test_a_record_of_a_collection_that_cannot_be_read(indexed, said):
    Path(".lmm/index/chunks/collection.json").write_text(said, encoding="latin-1")
    for command in ("search oak", "index documents -q"):
        assert "index again" in refused(indexed, command, ours=".lmm")


# The journal of LLMD


def test_a_file_of_another_owner_stays_so_in_the_journal(project, monkeypatch):
    """Only root may give files away: what is asked of the system is what is tried."""
    asked = []
    monkeypatch.setattr(os, "chown", lambda path, user, group: asked.append((user, group)))
    place, journal = write(project / "code.py", "old\n"), Journal(project)
    with journal.lock():
        journal.apply([change(project, place, b"old\n", b"new\n")], "P.md")
    owner = os.stat("code.py")
    assert asked[-2:] == [(owner.st_uid, -1), (-1, owner.st_gid)]


# Scripts, and the one place where folders are removed


@pytest.mark.parametrize(
    ("option", "folder"),
    [
        ("", "."),
        ("", "documents"),
        ("--copy ", "file"),
        ("--copy ", "link"),
        ("--remove ", ".."),
        ("--remove ", "$PWD"),
    ],
)
def test_the_copy_of_the_sample_book_takes_no_other_folder(project, folder, option):
    (project / "link").symlink_to("documents")
    folder = folder.replace("$PWD", str(project))
    with Unharmed(project):
        done = run(f"lmm demo {option}{folder}")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"Traceback" not in done.stderr and done.stderr.count(b"\n") == 1


def test_the_copy_of_the_sample_book_is_made_anew(project):
    for _ in range(2):
        assert run("lmm demo --copy 'my course'").returncode == 0
        assert text("my course/index.md") == text(ROOT / "sample-book/index.md")
        assert not Path("my course/_book").exists()
        write("my course/_book/page.html", "")
    assert run("lmm demo --remove 'my course'").returncode == 0
    assert not Path("my course").exists()


@pytest.mark.parametrize("name", ["08-mine.md", ".env"])
def test_a_copy_with_a_file_of_the_writers_is_kept(project, name):
    assert run("lmm demo --copy course").returncode == 0
    write(Path("course", name), "mine")
    with Unharmed(project):
        for option in ("", "--copy ", "--remove "):
            done = run(f"lmm demo {option}course")
            assert done.returncode == 1
            assert f"{name} in it is not lmm's; move it away" in done.stderr.decode()


def test_a_copy_that_has_become_a_repository_or_is_where_one_stands_is_kept(project, monkeypatch):
    assert run("lmm demo --copy course").returncode == 0
    monkeypatch.chdir(project / "course/figures")
    assert run(f"lmm demo --copy '{project}/course'").returncode == 1
    monkeypatch.chdir(project)
    Path("course/.git").mkdir()
    assert run("lmm demo --copy course").returncode == 1
    assert Path("course/index.md").exists()


def sources():
    """All programs of ours in Python."""
    for folder in ("lmm_core", "filters", "quarto-ext", "docs", "benchmarks"):
        yield from (ROOT / folder).rglob("*.py")


def test_folders_are_removed_in_one_function_alone():
    found = []
    for path in sources():
        for function in ast.walk(ast.parse(text(path))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                names = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
                names |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
                if names & {"rmtree", "removedirs"}:
                    found.append(f"{path.relative_to(ROOT).as_posix()}:{function.name}")
    assert found == ["lmm_core/files/marked.py:remove_marked"]
    named = [path for path in sources() if re.search(r"rmtree|removedirs|rm -r", text(path))]
    assert named == [ROOT / "lmm_core/files/marked.py"]


def test_scripts_remove_no_folder_that_a_variable_names():
    for path in (ROOT / "Makefile", *sorted((ROOT / "docs").glob("*.sh")), *sorted((ROOT / ".ci").iterdir())):
        for line in re.findall(r"rm -[a-z]*r.*", text(path)):
            assert "$" not in line, f"{path.name}: {line}"


def test_a_folder_is_opened_only_where_it_is_ours(project):
    """In code, too."""
    with Unharmed(project), pytest.raises(StoreError, match="lmm has not made it"):
        open_store(LocalStorage("documents"))
