"""No text of notes, names or models steers the terminal of who reads it."""

import ast
import asyncio
import csv
import io
import json
import logging
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from lmm_core.cli import cli
from lmm_core.logging import as_json, printable
from lmm_core.retrieve.library import Library
from lmm_core.retrieve.tools import Tools
from lmm_core.serving.log import LibraryHandler, Log
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from lmm_core.study.cards import Card, cards_to_csv
from tests.commands import in_process, run, write
from tests.terminal import on_terminal

ROOT = Path(__file__).parents[2]
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]")
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\x08\u202e\u2066\u2028\u200b\U000e0041"
IN_YAML = "".join(f"\\U{ord(sign):08x}" for sign in ESCAPES)
LONG = "The line is explained here at some length, so that there is something to find and to ask about it, too."
NOTES = f"""---
title: "Notes {IN_YAML}"
docid: "id{IN_YAML}"
---

# Lines {ESCAPES}

---
questions: "What is a line {IN_YAML}?"
summary: "A line {IN_YAML}"
tags: "tag{IN_YAML}"
---

{LONG} {ESCAPES}

---
type: "exercise"
---

## Exercise {ESCAPES}

Draw a line. {ESCAPES}

---
"?": "why {IN_YAML}"
---

## Why is a line drawn?

{ESCAPES} {LONG}

Why? {ESCAPES}

---
broken{ESCAPES}: [
---

::: {{.topic #x}}
{ESCAPES}

## Again {ESCAPES}

{LONG}
"""
NAME = "no\x1b[2Jtes\x07.md"

# Every command that prints something about notes, with a line that makes it do so.
LINES = {
    "scan": ["scan .", "scan {name} nowhere\x1b[2J"],
    "rag": ["rag . --dry-run", "rag . --check", "rag {name}"],
    "pass": ["pass no\x1b[2Jmodule:f ."],
    "recover": ["recover {name}", "recover no\x1b[2J"],
    "chat": ["chat . --model x\x1b[2J/y"],
    "accept": ["accept .", "accept --at 3 {name}"],
    "reject": ["reject ."],
    "clear": ["clear . --check", "clear . --edits", "clear . --annotations"],
    "index": ["index .", "index . --dry-run"],
    "search": ["search line", "search line --group"],
    "chunks": ["chunks .", "chunks --markdown nowhere\x1b[2J"],
    "md-index": ["md-index --root .", "md-index --root no\x1b[2J"],
    "md-search": ["md-search --query line", "md-search --query x --index no\x1b[2J"],
    "ask": ["ask line", "ask line --no-model", "ask --help", "ask x --type no\x1b[2J"],
    "toc": ["toc --summaries", "toc --plan 'three evenings'"],
    "cards": ["cards nowhere\x1b[2J", "cards -o cards.csv --format csv"],
    "asked": ["asked", "asked --json", "asked -o no\x1b[2J.html"],
    "asked export": ["asked export", "asked export -o no\x1b[2J.jsonl"],
    "asked delete": ["asked delete --yes"],
    "asked forget": ["asked forget no\x1b[2J"],
    "asked propose": ["asked propose --dry-run", "asked propose"],
    "bench": ["bench ."],
    "mcp": ["mcp --project no\x1b[2J"],
    "serve": ["serve --model no\x1b[2J/x"],
    "serve token add": ["serve token add no\x1b[2J", "serve token add biology"],
    "serve token list": ["serve token list", "serve token list --json"],
    "serve token revoke": ["serve token revoke no\x1b[2J"],
    "llmd new": ["llmd new P.md {name}", "llmd new P.md --code no\x1b[2J"],
    "llmd chat": ["llmd chat {name}"],
    "llmd apply": ["llmd apply {name}"],
    "llmd check": ["llmd check {name}"],
    "llmd sync": ["llmd sync {name}"],
    "llmd undo": ["llmd undo {name}"],
    "import": ["import no\x1b[2J.docx", "import {name} -o no\x1b[2J.md"],
    "knit": ["knit {name}", "knit nowhere\x1b[2J", "knit . -o out\x1b[2J"],
    "convert": ["convert . --to native --check", "convert . --to div"],
    "course": ["course .", "course no\x1b[2J", "course --steps no\x1b[2J", "course --output no\x1b[2J"],
    "leak-check": ["leak-check site", "leak-check no\x1b[2J"],
    "init": ["init q\x1b[2J", "init --dry-run"],
    "quarto": ["quarto pre-render", "quarto post-render"],
    "demo": ["demo --copy no\x1b[2J", "demo --remove ."],
    "doctor": ["doctor"],
    "models list": ["models list"],
    "models get": ["models get no\x1b[2J"],
    "config prompts": ["config prompts questions", "config prompts no\x1b[2J", "config prompts plan --init"],
    "config show": ["config show", "config show no\x1b[2J"],
    "config init": ["config init", "config init no\x1b[2J"],
    "config cache": ["config cache"],
}
# Data for a pipe: byte for byte there, and safe on a terminal.
DATA = ["cards --format csv", "rag --diff {name}"]


@pytest.fixture
def notes():
    write("config.toml", "")
    write(NAME, NOTES)
    write("site/page.html", f"<p>Draw a line. {ESCAPES}</p>")
    return NAME


def commands(group=cli, above=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from commands(found, (*above, name))
        if not isinstance(found, click.Group) or found.invoke_without_command:
            yield " ".join((*above, name))


def test_every_command_is_tried():
    assert set(commands()) - {"pandoc"} == set(LINES), "a new command needs a line in LINES"  # pandoc prints itself


@pytest.mark.parametrize("command", LINES)
def test_no_command_steers_the_terminal(notes, command):
    if command in ("search", "ask", "toc", "cards", "md-search"):
        for line in ("index .", "md-index --root ."):
            in_process(line)
    for line in LINES[command]:
        done = in_process(line.replace("{name}", notes))
        assert done.stdout + done.stderr, line
        assert not STEERS.search(done.stdout + done.stderr), (line, STEERS.findall(done.output))


@pytest.mark.parametrize("line", DATA)
def test_data_is_exact_in_a_pipe_and_safe_on_a_terminal(notes, line):
    command = ["lmm", *shlex.split(line.replace("{name}", notes))]
    in_process("index .")
    piped = subprocess.run(command, capture_output=True, timeout=60).stdout.decode("utf-8")
    assert ESCAPES in piped or "csv" in line
    assert not STEERS.search(re.sub("\x1b\\[[0-9;]*m", "", on_terminal(*command).replace("\r\n", "\n")))


def test_json_is_equal_and_safe(notes):
    for value in (ESCAPES, {"a": [ESCAPES, "\ud800", "wörtlich 👩‍🔬"]}):
        shown = as_json(value)
        assert json.loads(shown) == value and not STEERS.search(shown) and "\ud800" not in shown
    assert "wörtlich 👩‍🔬" in shown
    done = in_process("scan . --json")
    assert not STEERS.search(done.stdout) and ESCAPES[2:8] in json.loads(done.stdout)[0]["title"]


@pytest.mark.parametrize("name", ["lmm-rag", "lmm-knit"])
def test_no_filter_steers_the_terminal(pandoc, name):
    write("x.md", f"# Lines {ESCAPES}\n\n::: lmm\n``` yaml\nbroken{ESCAPES}: [\n```\n:::\n")
    for option in ("", "-M lmm-spelling=a\x1b[2J"):
        done = run(f"pandoc -F {name} {option} x.md -o y.html", pandoc)
        told = "".join(line for line in done.stderr.decode("utf-8").splitlines(True) if line.startswith("lmm"))
        assert told and not STEERS.search(told), told


def test_what_a_server_logs_are_entries():
    """What comes after a line end is indented: it is no entry of its own."""
    entries = []
    log = Log(entries.append)
    log("the model: no\x1b[2J\r\n2026-01-01T00:00:00 POST /ask 200 1 ms")
    LibraryHandler(log).handle(logging.makeLogRecord({"msg": f"no /a\nok: {ESCAPES}", "levelno": logging.ERROR}))
    assert entries[0] == "the model: no[2J\n    2026-01-01T00:00:00 POST /ask 200 1 ms"
    assert "\nok" not in entries[1] and not STEERS.search(entries[1])


def test_what_agents_are_told_is_printable(notes):
    in_process("index .")
    project = load_project(None)

    async def told():
        library = Library(project, Models())
        tools = Tools(library)
        try:
            outline = await tools.call("outline", {})
            section = await tools.call("read", {"name": outline["sections"][-1]["section"]})
            return [
                await tools.greeting(),
                str(outline),
                str(section),
                str(await tools.call("search", {"query": "line"})),
            ]
        finally:
            await library.close()

    assert not STEERS.search("".join(asyncio.run(told())))


@pytest.mark.parametrize(("cell", "shown"), [("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"), ("-1.5e3", "-1.5e3")])
def test_no_cell_is_a_formula(cell, shown):
    table = cards_to_csv([Card("id", "question", cell, cell, (cell,), cell)])
    row = next(csv.reader(io.StringIO(table.split("\n", 5)[5], newline="")))
    assert row == ["id", *[shown] * 4]


def test_writing_systems_keep_their_signs():
    for text in ("👩‍🔬 ❤️", "می‌خواهم", "\u200fשלום\u200e", "a\tb\nc"):
        assert printable(text) == text


# Who prints

PRINTERS = {"print", "click.echo", "click.secho", "click.style", "click.echo_via_pager"}
STREAMS = {"sys.stdout.write", "sys.stderr.write", "sys.stdout.buffer.write", "sys.stdout.writelines"}
ALLOWED = {
    ("filters/process.py", "sys.stdout.buffer.write"),  # the document, to pandoc
    ("quarto-ext/_extensions/lmm/render.py", "print"),  # a constant; it cannot import ours
}


def test_nobody_else_prints():
    found = set()
    for folder in ("lmm_core", "filters", "quarto-ext"):
        for path in (ROOT / folder).rglob("*.py"):
            source = path.read_text(encoding="utf-8")
            if not re.search("print|click|sys.std", source):
                continue
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in PRINTERS | STREAMS:
                    found.add((path.relative_to(ROOT).as_posix(), ast.unparse(node.func)))
    assert {one for one in found if one[0] != "lmm_core/logging.py"} == ALLOWED
