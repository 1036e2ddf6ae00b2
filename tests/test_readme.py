"""Every command that the README and the docs show, run; what they show it prints."""

import importlib.util
import json
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

from lmm_core.settings.tables import SECTIONS, section_keys
from tests.commands import run, text
from tests.embedding_server import EmbeddingServer
from tests.model_server import ModelServer, annotate

ROOT = Path(__file__).parents[1]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)


def transcript(path):
    """Pairs of command and what it prints, in the order of the page."""
    for block in CONSOLE.findall(path.read_text(encoding="utf-8")):
        for part in block.split("$ ")[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown


def fits(shown, printed):
    """Whether a text is what is shown; `…` stands for anything left out."""
    pattern = ".*".join(re.escape(part) for part in shown.strip().split("…"))
    return re.fullmatch(pattern, printed.strip(), re.S) is not None


def test_readme(monkeypatch):
    shutil.copytree(ROOT / "docs", "docs")
    for command, shown in transcript(ROOT / "README.md"):
        if command.startswith("cd "):
            monkeypatch.chdir(command.removeprefix("cd "))
            continue
        done = run(command)
        assert done.returncode == 0, done.stderr
        printed = (done.stdout + done.stderr).decode()
        assert fits(shown, printed), f"{command} printed:\n{printed}"
    assert "14" in text("instructor.md")
    assert "14" not in text("lecture.md") + text("_site/residuals.html")


def test_first_page(monkeypatch):
    """The first ten minutes, in a shell: without a model, and its last section with one."""
    shutil.copytree(ROOT / "sample-book", "sample-book")
    page = ROOT / "docs" / "first.md"
    wrong = {"lmm knit 05-linear-models.md -o lecture.html": 2, "lmm chat slip.md": 1}
    with EmbeddingServer() as server:
        for command, shown in transcript(page):
            if command.startswith("cd "):
                monkeypatch.chdir(command.removeprefix("cd "))
                continue
            if command == "lmm doctor --online":
                monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
                monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            done = run(f"sh -c {shlex.quote(command)}")
            printed = (done.stdout + done.stderr).decode()
            assert done.returncode == wrong.get(command, 0), f"{command} printed:\n{printed}"
            assert fits(shown, printed), f"{command} printed:\n{printed}"
    assert "exercise" not in text("lecture.md")


def test_models_page(monkeypatch, pandoc):
    """With a server of the OpenAI protocol in place of OpenAI's."""
    shutil.copy(ROOT / "docs" / "example.md", "notes.md")
    for example in ("figures.py", "glossary.py"):
        shutil.copy(ROOT / "docs" / "passes" / example, example)
    assert run("git init -q .").returncode == 0
    assert run("git add notes.md").returncode == 0
    with ModelServer(reply=with_figures) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        for command, shown in transcript(ROOT / "docs" / "models.md"):
            done = run(command, pandoc)
            printed = (done.stdout + done.stderr).decode()
            assert done.returncode == 0, printed
            assert fits(shown, printed), f"{command} printed:\n{printed}"
    assert "67" in text("figures.csv")
    lines = text("glossary.py").partition("import make_block\n")[2].strip()
    assert lines in text(ROOT / "docs" / "models.md") and len([line for line in lines.split("\n") if line]) == 10
    assert 'glossary: "Answer' in text("notes.md")


def test_chat_page(monkeypatch, pandoc):
    """Chat and edit, as the page has them."""
    block = "---\n{}\n---\n\nA residual is the vertical distance between a point and the line.\n"
    Path("chat.md").write_text(block.format("title: Residuals\n---\n\n---\n?: Is this clear to a first-year student?"))
    Path("edit.md").write_text(block.format('title: Residuals\n---\n\n---\n=: Explain the word "residual" first.'))
    answer = "Mostly. The word “residual” is used\nbefore it is explained."
    with ModelServer(reply=answer) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        for command, shown in transcript(ROOT / "docs" / "chat.md"):
            done = run(command, pandoc)
            printed = re.sub(r"^index .*\n", "", (done.stdout + done.stderr).decode(), flags=re.M)
            assert done.returncode == 0 or command.startswith("git diff"), printed
            assert fits(shown, printed), f"{command} printed:\n{printed}"
    assert "lmm-old" not in text("notes.md")


def with_figures(body):
    """A model that finds one figure in each section, where it is asked for figures."""
    if "figures" in body["messages"][0]["content"]:
        return json.dumps({"figures": [{"quantity": "a", "value": "67", "unit": "h"}]})
    return annotate(body)


@pytest.mark.parametrize("name", ["filters.md"])
def test_commands_of_the_docs(name, pandoc):
    """Commands in indented blocks of the docs."""
    shutil.copy(ROOT / "docs" / "example.md", "notes.md")
    commands = re.findall(r"^    (pandoc [^#\n]+?)\s*(?:#.*)?$", (ROOT / "docs" / name).read_text(), re.M)
    assert commands
    for command in commands:
        assert run(command, pandoc).returncode == 0, command


def test_the_configuration_page_shows_a_file_that_is_read():
    shown = re.search(r"```toml\n(.*?)```", (ROOT / "docs" / "configuration.md").read_text(), re.S)
    Path("config.toml").write_text(shown[1])
    shutil.copy(ROOT / "docs" / "example.md", "notes.md")
    assert run("lmm scan notes.md").returncode == 0


def test_the_configuration_page_lists_every_setting():
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    spec = importlib.util.spec_from_file_location("docs_configuration", ROOT / "docs" / "configuration.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.make_page(page) == page, "run: python docs/configuration.py"
    read = tomllib.loads(re.search(r"```toml\n(.*?)```", page, re.S)[1])
    shown = {(section, key) for section, table in read.items() for key in (table if isinstance(table, dict) else [""])}
    for section in SECTIONS.keys() - {"minor", "aux", "sources"}:
        assert {(section, key) for key in section_keys(section) or [""]} <= shown, section


def test_options_of_the_docs_are_the_filters_options():
    from lmm_core.markdown.metadata.lmm_options import OPTIONS
    from lmm_core.quarto.options import OPTIONS as IN_QUARTO

    named = set(re.findall(r"`lmm-([a-z-]+)=", (ROOT / "docs" / "filters.md").read_text()))
    assert named == OPTIONS - (set(IN_QUARTO) - {"keep", "div-types"})


def test_what_the_docs_import_is_there():
    for page in sorted((ROOT / "docs").glob("*.md")):
        for block in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S):
            exec("\n".join(re.findall(r"^(?:from|import) .*$", block, re.M)), {})
