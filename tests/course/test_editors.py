"""`lmm init --vscode`: what it writes for VS Code is checked against what `lmm` prints, since no editor
runs here."""

import json
import re
from pathlib import Path

from lmm_core.course import create
from lmm_core.course.create import create_course
from lmm_core.scan.check.finding import ERRORS, WARNINGS
from tests.commands import run, text, write

FILES = Path(create.__file__).with_name("files")
TASKS = json.loads(text(FILES / "vscode-tasks.json"))["tasks"]
SNIPPETS = {one["prefix"]: "\n".join(one["body"]) for one in json.loads(text(FILES / "vscode-snippets.json")).values()}


def test_mistakes_are_underlined():
    write("part one/a.md", "# A\n\n---\ntype: [x\n---\n\nText.\n")
    write("part one/b c.md", "# A\n\n```\nText.\n")
    patterns = [one["pattern"]["regexp"] for one in TASKS[0]["problemMatcher"]]
    lines = run("lmm scan .").stderr.decode().splitlines()
    assert len(lines) == 2 and all(any(re.search(pattern, line) for pattern in patterns) for line in lines)


def test_the_tasks_know_the_codes():
    for task in TASKS:
        codes = [
            re.search(r"\(([a-z|-]+)\) ", one["pattern"]["regexp"])[1].split("|") for one in task["problemMatcher"][:2]
        ]
        assert not codes or codes == [list(ERRORS), list(WARNINGS)]


# What is written


def test_files_for_vs_code():
    create_course(Path(), quarto=False, vscode=True)
    names = {path.name for path in Path(".vscode").iterdir()}
    assert names == {"tasks.json", "lmm.code-snippets", "settings.json"}
    for name in names:
        assert json.loads(text(f".vscode/{name}"))
    for task in TASKS:
        assert run(f"{task['command']} {task['args'][0]} --help").returncode == 0
    parts = create_course(Path(), quarto=False, vscode=True)
    assert {part.state for part in parts} == {"left alone"}


# Snippets


def fields_filled(body):
    return re.sub(r"\$\{\d:([^}]*)\}|\$\{?0\}?", lambda found: found[1] or "", body)


def test_snippets_are_right_as_they_come():
    for word, body in SNIPPETS.items():
        write(f"{word}.md", f"# A\n\nBefore.\n\n{fields_filled(body)}\nText.\n")
    done = run("lmm scan --strict .")
    assert done.returncode == 0, done.stderr
    for word in ("lmm-exercise", "lmm-topic", "lmm-definition", "lmm-type"):
        shown = run(f"lmm knit {word}.md").stdout.decode()
        assert "Before." in shown and "The " not in shown
