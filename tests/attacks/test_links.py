"""In a folder, which may be somebody else's, no link leads out of it unseen: what a command finds
there by walking is in the folder. A file that is named by hand is followed."""

import os
import shutil
from pathlib import Path

import pytest

from lmm_core.errors import ChangedError
from lmm_core.logging import ListLogger
from lmm_core.markdown.files import find_markdown, read_markdown, write_markdown
from lmm_core.quarto.after_render import site_pages
from lmm_core.quarto.pages import read_pages
from lmm_core.quarto.render import run_stage
from lmm_core.scan.documents.talk import keep_unmerged
from lmm_core.settings.quarto_inputs import find_inputs, with_included
from tests.commands import in_process, write

WORDS = "that is told at some length, so that the text is no short one which is pooled with what stands around it."
INSIDE = f"# Inside\n\nThe turnip is explained, and only here, in a paragraph {WORDS}\n\n?: Why?\n"
SECRET = f"# Outside\n\nThe password is swordfish, which is written down here in a paragraph {WORDS}\n"

LINKS = {
    "a file": ("sub/x.md", "{home}/secret.md"),
    "a folder": ("sub/x", "{home}"),
    "a chain": ("sub/x.md", "../door/secret.md", "door", "{home}"),
    "the folder above": ("sub/x", "../.."),
}
COMMANDS = [
    "index . --annotate", "chunks . --json", "convert . --to div", "knit . -o ../out", "leak-check page.html .",
    "md-index --root . --name x",
]  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A cloned folder, which is the working folder, and somebody's home beside it."""
    home = tmp_path / "home"
    for name in ("secret.md", ".bashrc", "other.qmd"):
        write(home / name, SECRET)
    monkeypatch.chdir(write(tmp_path / "clone" / "sub" / "notes.md", INSIDE).parents[1])
    write("config.toml", "")
    write("page.html", "<p>x</p>")
    return home


def bytes_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def link(home, *names):
    for name, target in zip(names[::2], names[1::2], strict=True):
        os.symlink(target.format(home=home), name)


@pytest.mark.parametrize("names", LINKS.values(), ids=LINKS)
def test_what_is_found_lies_in_the_folder(home, names):
    link(home, *names)
    logger = ListLogger()
    assert find_markdown([Path()], logger) == [Path("sub/notes.md")]
    (report,) = (report for report in logger.reports if report.path == names[0])
    assert "a link out of the folder, to " in report.message


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_reads_or_writes_outside(home, command):
    for number, names in enumerate(LINKS.values()):
        if len(names) == 2 and names[1] != "../..":
            link(home, names[0].replace("x", f"x{number}"), names[1])
    before = bytes_of(home)
    done = in_process(command)
    assert bytes_of(home) == before
    assert "swordfish" not in done.output
    for path in (path for path in Path().rglob("*") if path.is_file() and not path.is_symlink()):
        assert b"swordfish" not in path.read_bytes(), path
    assert "a link out of the folder, to " in done.stderr


def test_a_link_that_is_named_is_followed(home):
    link(home, "sub/x.md", "{home}/secret.md", "book", "{home}")
    assert in_process("rag sub/x.md --no-questions --no-summaries").exit_code == 0  # ids alone
    assert (home / "secret.md").read_text().startswith("---\n") and Path("sub/x.md").is_symlink()
    assert find_markdown([Path("book")]) == [Path("book/other.qmd"), Path("book/secret.md")]


def test_links_in_the_folder(home):
    write("_shared/a.md", INSIDE)
    link(home, "b.md", "sub/notes.md", "sub/c.md", "../_shared/a.md", "sub/d.md", "c.md", "e", "sub")
    link(home, "up", ".", "sub/up", "..")
    logger = ListLogger()
    assert find_markdown([Path()], logger) == [Path("sub/c.md"), Path("sub/notes.md")]
    assert not logger.reports


# Between looking and writing


@pytest.mark.parametrize("swap", ["file", "folder"])
def test_a_file_that_becomes_a_link_before_it_is_written(home, swap):
    write(home / "notes.md", INSIDE)  # the same bytes, so that only the place tells
    (path,) = find_markdown([Path()])
    read = read_markdown(path)
    if swap == "file":
        path.unlink()
        os.symlink(home / "notes.md", path)
    else:
        shutil.rmtree("sub")
        os.symlink(home, "sub")
    with pytest.raises(ChangedError, match=r"notes\.md: changed on disk"):
        write_markdown(path, "new", read)
    assert (home / "notes.md").read_text() == INSIDE


def test_what_finds_no_place_is_not_written_through_a_link(home):
    link(home, "sub/notes.md.lmm-unmerged.md", "{home}/.bashrc")
    logger = ListLogger()
    keep_unmerged(Path("sub/notes.md"), ["an answer"], logger)
    assert (home / ".bashrc").read_text() == SECRET
    assert Path("sub/notes.md.2.lmm-unmerged.md").read_text() == "an answer\n\n"
    assert find_markdown([Path("sub")]) == [Path("sub/notes.md")]


# Quarto projects


def quarto(home, text="", settings="project:\n  type: website\nfilters: [lmm]\nlmm:\n  ask: true\n"):
    write("_quarto.yml", settings)
    write("index.qmd", f"---\ntitle: T\n---\n\n# Page\n\n{text}\n")


def test_an_include_out_of_the_project_is_not_in_the_ask_data(home):
    quarto(home, "{{< include ../home/secret.md >}} {{< include sub/x.md >}} {{< include sub/notes.md >}}")
    link(home, "sub/x.md", "{home}/other.qmd")
    assert len(with_included([Path("index.qmd")], Path())) == 4  # native blocks and leaks are looked for in all
    pages = {str(page.file.path): page.outside for page in read_pages([Path("index.qmd")], Path())}
    assert pages == {"index.qmd": False, "../home/secret.md": True, "sub/x.md": True, "sub/notes.md": False}
    assert [str(page.source) for page in site_pages(Path(), Path("_site"))] == ["index.qmd", "sub/notes.md"]


def test_a_chapter_out_of_the_project_is_not_touched(home):
    native = f"# A\n\n---\ntype: exercise\n---\n{SECRET}"
    write(home / "chapter.qmd", native)
    chapters = "book:\n  chapters: [index.qmd, ../home/chapter.qmd, x.qmd]\nlmm:\n  annotate: true\n"
    quarto(home, settings=chapters)
    link(home, "x.qmd", "{home}/chapter.qmd")
    logger = ListLogger()
    assert find_inputs(Path(), logger) == [Path("index.qmd")]
    assert [report.message.split(":")[0] for report in logger.reports] == ["../home/chapter.qmd", "x.qmd"]
    run_stage("pre-render", {"QUARTO_PROJECT_INPUT_FILES": "index.qmd\n../home/chapter.qmd\nx.qmd"}, Path(), logger)
    assert (home / "chapter.qmd").read_text() == native


def test_a_course_follows_no_link_out_of_its_folder(home):
    quarto(home, settings="project:\n  output-dir: ../home\nfilters: [lmm]\n")
    before = bytes_of(home)
    done = in_process("course --no-quarto")
    assert done.exit_code == 2 and "output-dir: ../home leads out of the folder" in done.stderr
    quarto(home, settings="project:\n  output-dir: _site\nfilters: [lmm]\n")
    link(home, "x.md", "{home}/secret.md", "figures", "{home}")
    done = in_process("course --no-quarto")
    assert ": warning: a link out of the folder" in done.stderr
    assert bytes_of(home) == before
    made = [path for path in Path().rglob("*.html") if b"swordfish" in path.read_bytes()]
    assert not made and not Path("_site/figures").exists()
