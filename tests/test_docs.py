"""The pages of docs/: the commands that they show are run, and their links lead somewhere."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from lmm_core.cli import cli
from lmm_core.settings.config import ConfigSettings
from lmm_core.settings.quarto_inputs import find_inputs
from lmm_core.settings.tables import SECTIONS, section_keys
from lmm_core.study.asked.recordings import Recordings, recordings_path
from tests.cli.test_asked_propose import BOOTSTRAP, INTERVALS, ask
from tests.cli.test_llmd_commands import REPLY
from tests.commands import copy_course, pandocs, run, text, write
from tests.embedding_server import EmbeddingServer
from tests.model_server import annotate
from tests.retrieve.test_ask import answering
from tests.routes import read_all
from tests.test_readme import ROOT, fits, transcript

DOCS = ROOT / "docs"
PAGES = find_inputs(DOCS)
SLOW = ("start.md", "publish.md", "study.md")  # they render a course, or search for all questions
STATUS = {"lmm scan index.md": 1}  # of commands that end otherwise than with 0
BLOCK = (
    "---\ntitle: Residuals\n---\n\n---\n{}\n---\n\nA residual is the vertical distance between a point and the line.\n"
)
LECTURE = re.compile(r"\$ cat Lecture01.md\n(.*?)```", re.S)


def find_figures(body):
    """Annotate, and find one figure in a section where figures are asked for."""
    if "figures" in body["messages"][0]["content"]:
        return json.dumps({"figures": [{"quantity": "a", "value": "67", "unit": "h"}]})
    return annotate(body)


REPLIES = {
    "chat.md": "Mostly. The word “residual” is used\nbefore it is explained.",
    "llmd.md": REPLY,
    "models.md": find_figures,
    "search.md": answering,
}


def fill(page):
    """Write the files that a page begins with into the working folder."""
    shutil.copy(DOCS / "example.md", "notes.md")
    if page.name == "publish.md":
        write("_site/notes.html", "<p>A residual is the vertical distance between a point and the line.</p>")
        return
    if page.name == "lm-markdown.md":
        Path("notes.md").unlink()
        write("Lecture01.md", LECTURE.search(text(page))[1])
        return
    copy_course(ROOT / "sample-book", "sample-book")
    write("sample-book/questions.txt", "When does the mean mislead?\nan *exercise* on that\nWho won the cup?\n")
    write("chat.md", BLOCK.format("?: Is this clear to a first-year student?"))
    write("edit.md", BLOCK.format('=: Explain the word "residual" first.'))
    write("src/billing.py", "def total(lines):\n    return sum(lines)\n")
    write("better.py", "def total(lines: list[float]) -> float:\n    return sum(lines)\n")
    for example in ("figures.py", "glossary.py"):
        shutil.copy(DOCS / "passes" / example, example)
    for table in re.findall(r"^```csv\n(.*?)^```$", text(page), re.M | re.S):
        write("students.csv", table)
    assert run("git init -q .").returncode == 0
    assert run("git add notes.md").returncode == 0


def transcripts():
    """Yield the pages with commands to run."""
    for page in PAGES:
        if any(not command.startswith("curl") for command, _ in transcript(page)):
            yield pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.name in SLOW else [])


@pytest.mark.parametrize("page", list(transcripts()))
def test_the_page_shows_what_is_printed(page, monkeypatch):
    fill(page)
    with EmbeddingServer(reply=REPLIES.get(page.name, annotate)) as server:
        for command, shown in transcript(page):
            if command.startswith("cd "):
                monkeypatch.chdir(command.removeprefix("cd "))
            elif command.startswith("export OPENAI_API_KEY="):
                monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
                monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            elif not command.startswith("curl"):
                done = run(f"sh -c {shlex.quote(f'{{ {command}; }} 2>&1')}")
                assert done.returncode == STATUS.get(command, 0), f"{command} printed:\n{done.stdout.decode()}"
                assert fits(shown, done.stdout.decode()), f"{command} printed:\n{done.stdout.decode()}"


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl")
def test_the_server_answers_curl(monkeypatch, sample_book):
    serving = pytest.importorskip("tests.serving")
    monkeypatch.chdir(sample_book)
    assert run("lmm index -q .").returncode == 0
    [(command, shown)] = transcript(DOCS / "serve.md")
    with serving.Served(sample_book) as server:
        done = subprocess.run(shlex.split(command.replace("8766", str(server.port))), capture_output=True, text=True)
    assert fits(shown, done.stdout), done.stdout


def test_pandoc_commands_work(pandoc):
    shutil.copy(DOCS / "example.md", "notes.md")
    commands = re.findall(r"^    (pandoc [^#\n]+?)\s*(?:#.*)?$", text(DOCS / "publish.md"), re.M)
    assert commands
    for command in commands:
        assert run(command, pandoc).returncode == 0, command


INDENTED = re.compile(r"^ {4,}(lmm .+?)(?:  +#.*)?$", re.M)
NOT_RUN = {"lmm serve", "lmm serve --workers 2", "lmm models get"}  # they do not end, or download


def indented_commands(page):
    return [command for command in INDENTED.findall(text(page)) if command not in NOT_RUN]


@pytest.mark.parametrize("page", [*filter(indented_commands, PAGES)], ids=lambda page: page.stem)
def test_commands_without_an_output_work(page, monkeypatch):
    shutil.copy(DOCS / "example.md", "notes.md")
    write("estimation.md", INTERVALS)
    for name in ("lecture.docx", "slides.pptx"):
        assert name not in text(page) or run(f"lmm pandoc notes.md -o {name}").returncode == 0
    with EmbeddingServer(reply="The bootstrap draws samples from the sample.\n") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        for command in indented_commands(page):
            if command.startswith("lmm asked"):
                recordings = Recordings(recordings_path(Path.cwd()))
                ask(recordings, *BOOTSTRAP)
            done = run(command, stdin="y\n")
            assert done.returncode == 0, f"{command} printed:\n{done.stdout + done.stderr}"


SPAN = re.compile(r"^(?: {4,}|\$ )(lmm .*)$|`(lmm [^`]+)`", re.M)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_commands_and_options_exist(page):
    for match in SPAN.finditer(text(page)):
        command = cli
        for word in shlex.split((match[1] or match[2]).replace("'", ""), comments=True)[1:]:
            option = word.partition("=")[0]
            if option.startswith("-"):
                known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
                assert option in known | {"--help", "-h"}, f"{match[0]}: {option}"
            elif isinstance(command, click.Group) and re.fullmatch(r"[a-z][a-z-]*", word):
                command = command.get_command(click.Context(command), word)
                assert command, f"{match[0]}: {word}"
                if command.name == "pandoc":  # the rest is pandoc's
                    break


def test_the_extension_and_the_filters_take_the_options_of_the_page():
    from lmm_core.markdown.metadata.lmm_options import OPTIONS
    from lmm_core.quarto.options import OPTIONS as IN_QUARTO

    page = text(DOCS / "publish.md")
    shown = yaml.safe_load(re.search(r"```yaml\n(filters:.*?)```", page, re.S)[1])
    assert set(shown["lmm"]) == set(IN_QUARTO)
    assert set(re.findall(r"`lmm-([a-z-]+)=", page)) == OPTIONS - (set(IN_QUARTO) - {"keep", "div-types"})


def test_the_passes_are_those_of_the_page():
    lines = text(DOCS / "passes" / "glossary.py").partition("import make_block\n")[2].strip()
    assert lines in text(DOCS / "models.md")


def test_the_configuration_page_lists_every_setting():
    page = text(DOCS / "configuration.md")
    spec = importlib.util.spec_from_file_location("docs_configuration", DOCS / "configuration.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.make_page(page) == page, "run: python docs/configuration.py"
    shown_file = re.search(r"```toml\n(.*?)```", page, re.S)[1]
    tables = tomllib.loads(shown_file)
    shown = {
        (section, key) for section, table in tables.items() for key in (table if isinstance(table, dict) else [""])
    }
    for section in SECTIONS.keys() - {"minor", "aux", "sources"}:
        assert {(section, key) for key in section_keys(section) or [""]} <= shown, section
    write("config.toml", shown_file)
    shutil.copy(DOCS / "example.md", "notes.md")
    assert run("lmm scan notes.md").returncode == 0


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_settings_exist(page):
    for block in re.findall(r"^(?:```toml\n| {4}(?=\[))(.*?)(?:^```$|\n\n)", text(page), re.M | re.S):
        ConfigSettings(**tomllib.loads(block))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_imports_exists(page):
    for block in re.findall(r"^```python\n(.*?)^```$", text(page), re.M | re.S):
        exec("\n".join(re.findall(r"^(?:from|import) .*$", block, re.M)), {})


# The site


def listed(contents):
    """Yield the pages that the sidebar names."""
    for entry in contents:
        yield from listed(entry["contents"]) if isinstance(entry, dict) else [entry]


def elements(node):
    """Yield the elements of a document that pandoc has read."""
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from elements(child)


def read_pages(paths):
    """Return of each page the anchors, and the targets of its links and images."""
    trees = read_all({f"{number}.md": text(path) for number, path in enumerate(paths)}, pandocs()[-1])
    found = {}
    for path, tree in zip(paths, trees.values(), strict=True):
        parts = list(elements(tree))
        anchors = {part["c"][1][0] for part in parts if part.get("t") == "Header"}
        found[path.resolve()] = anchors, [part["c"][2][0] for part in parts if part.get("t") in ("Link", "Image")]
    return found


def test_every_page_is_in_the_contents():
    sidebar = yaml.safe_load(text(DOCS / "_quarto.yml"))["website"]["sidebar"]
    names = sorted(page.relative_to(DOCS).as_posix() for page in PAGES)
    assert sorted(listed(sidebar["contents"])) == names
    assert {"api.in.md", "example.md"}.isdisjoint(names)


@pytest.mark.slow  # pandoc reads all pages
def test_every_link_leads_somewhere():
    """Links of the pages lead to pages of the site; those of other files, to files and anchors of docs."""
    pages = read_pages(PAGES)
    others = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md",
                                       "quarto-ext/README.md", "sample-book/README.md")]  # fmt: skip
    wrong = []
    for page, (_, links) in (pages | read_pages(others)).items():
        for link in links:
            name, _, anchor = link.partition("#")
            if re.match(r"https?:|mailto:", link):
                continue
            target = (page.parent / name).resolve() if name else page
            of_site = page not in pages or target in pages or target.suffix == ".png"
            known = not anchor or target not in pages or anchor in pages[target][0]
            if not (of_site and target.exists() and known):
                wrong.append(f"{os.path.relpath(page, ROOT)}: {link}")
    assert wrong == []
