"""The filter fails in the real Quarto: the render fails, and no page holds what is left out."""

import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pytest

from tests.commands import BIN, text, write
from tests.failing_filters import PROGRAMS, environment

ROOT = Path(__file__).parents[2]
QUARTO = shutil.which("quarto")
pytestmark = [
    pytest.mark.quarto,
    pytest.mark.long,
    pytest.mark.skipif(QUARTO is None, reason="no quarto on PATH"),
]
BLOCK = "::: {.lmm .content-hidden}\n``` yaml\ntype: solution\n```\n:::\n"
NOTES = f"# A\n\nStays.\n\n{BLOCK}\nAnswer: 4242.\n\n::: callout-note\n{BLOCK}\nGONE inside.\n\nStays.\n:::\n"
FORMATS = {"html": "html", "revealjs": "html", "gfm": "md", "epub": "epub"}


def folder_of(tmp_path, settings=""):
    """A folder with a blank in its name, the extension and a page."""
    folder = tmp_path / "my course"
    shutil.copytree(ROOT / "quarto-ext" / "_extensions", folder / "_extensions" / "owner")
    write(folder / "index.qmd", "" if settings else "---\nfilters: [lmm]\n---\n\n")
    write(folder / "index.qmd", text(folder / "index.qmd") + NOTES)
    if settings:
        write(folder / "_quarto.yml", settings)
    return folder


def quarto(*words, folder, env):
    env = {**env, "PATH": os.pathsep.join([env["PATH"], str(Path(QUARTO).parent)])}
    return subprocess.run([QUARTO, *words], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300)  # fmt: skip


def words_in(folder):
    """All that stands in what was rendered, archives included."""
    found = [path for path in folder.rglob("*") if path.is_file() and path.suffix in (".html", ".md", ".json", ".docx",
             ".epub") and not {"_extensions", ".quarto"} & set(path.parts) and "_files" not in str(path.parent)]  # fmt: skip
    return " ".join(_words_of(path) for path in found)


def _words_of(path):
    if path.suffix not in (".docx", ".epub"):
        return text(path)
    with zipfile.ZipFile(path) as archive:
        return " ".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())


def check(done, folder, reason):
    assert done.returncode != 0, done.stdout
    assert reason in " ".join(done.stdout.split())
    made = words_in(folder)
    assert "4242" not in made and "GONE" not in made


@pytest.mark.parametrize(
    ("kind", "matter"), [("website", "missing"), ("book", "rubbish"), ("default", "another program")]
)
def test_a_project(kind, matter, tmp_path):
    program, reason = PROGRAMS[matter]
    title = {"website": "website: {title: T}\n", "book": "book: {title: T, chapters: [index.qmd]}\n", "default": ""}
    settings = f"project: {{type: {kind}}}\n{title[kind]}filters: [lmm]\nformat: {{html: default, docx: default}}\n"
    folder = folder_of(tmp_path, settings)
    check(quarto("render", folder=folder, env=environment(tmp_path / "bin", program)), folder, reason)


@pytest.mark.parametrize("target", FORMATS)
def test_what_stays_and_what_goes(target, tmp_path):
    """A page in each format, where all is well, and where the filter fails."""
    folder = folder_of(tmp_path)
    env = environment(tmp_path / "bin", None)
    knit = tmp_path / "bin" / "lmm-knit"
    knit.symlink_to(BIN / "lmm-knit")
    done = quarto("render", "index.qmd", "--to", target, folder=folder, env=env)
    assert done.returncode == 0, done.stdout
    made = "".join(_words_of(path) for path in folder.glob(f"index.{FORMATS[target]}"))
    assert made.count("Stays.") == 2
    assert "4242" not in made and "GONE" not in made
    knit.unlink()
    program, reason = PROGRAMS["status 1"]
    write(knit, program).chmod(0o755)
    check(quarto("render", "index.qmd", "--to", target, folder=folder, env=env), folder, reason)


def test_a_preview(tmp_path):
    """The filter breaks while a preview is served, and the page is edited."""
    folder = folder_of(tmp_path, "project: {type: website}\nwebsite: {title: T}\nfilters: [lmm]\n")
    env = environment(tmp_path / "bin", None)
    knit = tmp_path / "bin" / "lmm-knit"
    knit.symlink_to(BIN / "lmm-knit")
    env["PATH"] = os.pathsep.join([env["PATH"], str(Path(QUARTO).parent)])
    log = (tmp_path / "log").open("w+")
    server = subprocess.Popen([QUARTO, "preview", "--no-browser", "--port", "47341"], cwd=folder, env=env, stdout=log,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
    try:
        assert "Stays." in _fetched("http://localhost:47341/index.html", lambda page: "Stays." in page)
        knit.unlink()
        write(knit, PROGRAMS["status 1"][0]).chmod(0o755)
        write(folder / "index.qmd", text(folder / "index.qmd").replace("Stays.", "Edited."))
        _wait_for(lambda: "The page was not made" in (tmp_path / "log").read_text("utf-8", "replace"))
        shown = _fetched("http://localhost:47341/index.html", lambda page: True)
        assert "4242" not in shown + words_in(folder)
        assert "GONE" not in shown + words_in(folder)
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)
        log.close()


def _wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.5)


def _fetched(url, is_done):
    """The page, as soon as it is there and as wanted."""
    page = ""

    def ask():
        nonlocal page
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                page = answer.read().decode("utf-8")
        except urllib.error.HTTPError as error:  # Quarto takes away the page that has failed
            page = error.read().decode("utf-8")
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False
        return is_done(page)

    _wait_for(ask)
    return page
