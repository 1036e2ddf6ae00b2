"""`lmm init --vscode`: what it writes for VS Code is checked against what `lmm` prints, since no editor
runs here."""

import json
import re
from pathlib import Path

import pytest

from lmm_core.course import create
from lmm_core.course.create import create_course
from lmm_core.scan.check.finding import CODES, ERRORS
from tests.commands import run, text, write

FILES = Path(create.__file__).with_name("files")
TASKS = json.loads(text(FILES / "vscode-tasks.json"))["tasks"]
SNIPPETS = {one["prefix"]: "\n".join(one["body"]) for one in json.loads(text(FILES / "vscode-snippets.json")).values()}
# A page for each kind of mistake: its code, the line and the text.
MISTAKES = [
    ("unreadable-block", 5, "# A\n\n---\ntype: [x\n---\n\nText.\n"),
    ("no-fence", 3, "# A\n\n::: lmm\ntype: exercise\n:::\n\nText.\n"),
    ("no-blank-line", 4, "# A\n\nText.\n---\ntype: exercise\n---\n\nText.\n"),
    ("no-block", 3, "# A\n\n?: Why?\n"),
    ("near-miss", 4, "# A\n\n---\ntyp: exercise\n---\n\nText.\n"),
    ("knit-value", 4, "# A\n\n---\nknit: flase\n---\n\nText.\n"),
    ("stray-colons", 5, "# A\n\nText.\n\n::: exercise hard\n\nText.\n\n:::\n"),
    ("type-elsewhere", 3, "# A\n\n## Practice {.exercise}\n\nText.\n"),
    ("about-nothing", 3, "# A\n\n---\ntype: exercise\n---\n\n<!-- nothing -->\n"),
    ("broken-edit", 3, "# A\n\n###### old text {#lmm-old-k3x9}\n\nText.\n"),
    ("header-value", 1, "---\ntitle: A\nmodel: 3\n---\n\nText.\n"),
    ("not-closed", 3, "# A\n\n```\nText.\n"),
    ("refused-option", 1, "---\ntitle: A\nlmm: {keep: all}\n---\n\nText.\n"),
]


def problems(output):
    """What VS Code makes of an output: each line by the first matcher that fits."""
    found = []
    for line in output.splitlines():
        for one in TASKS[0]["problemMatcher"]:
            pattern = one["pattern"]
            if seen := re.search(pattern["regexp"], line):
                level = seen[pattern["severity"]] if "severity" in pattern else None
                code = seen[pattern["code"]] if "code" in pattern else ""
                found.append((seen[pattern["file"]], int(seen[pattern["line"]]), level or one["severity"], code))
                break
    return found


@pytest.mark.parametrize(("code", "line", "page"), MISTAKES, ids=[code for code, *_ in MISTAKES])
def test_each_kind_of_mistake_is_underlined(code, line, page):
    write("part one/my notes.md", page)
    done = run("lmm scan .")
    assert ("part one/my notes.md", line, "error" if code in ERRORS else "warning", code) in problems(
        done.stderr.decode()
    )


def test_there_is_a_page_for_each_code():
    assert {code for code, *_ in MISTAKES} == set(CODES)


def test_messages_of_other_commands_are_found_too():
    assert problems("a.md:3: something is wrong\n/b/c d.md:4: warning: look\nnotes.md: annotated: 3\n") == [
        ("a.md", 3, "error", ""), ("/b/c d.md", 4, "warning", ""),
    ]  # fmt: skip


def test_tasks_run_commands_that_there_are():
    for task in TASKS:
        assert task["command"] == "lmm"
        done = run(f"lmm {task['args'][0]} --help")
        assert done.returncode == 0, done.stderr


# What is written


def test_files_for_vs_code():
    create_course(Path(), quarto=False, vscode=True)
    names = {path.name for path in Path(".vscode").iterdir()}
    assert names == {"tasks.json", "lmm.code-snippets", "settings.json"}
    for name in names:
        assert json.loads(text(f".vscode/{name}"))


def test_existing_files_for_vs_code_are_not_changed_and_what_they_lack_is_printed():
    mine = {".vscode/tasks.json": '{\n  // mine\n  "tasks": []\n}\n', ".vscode/settings.json": "{}\n"}
    for name, content in mine.items():
        write(name, content)
    parts = {Path(part.path).as_posix(): part for part in create_course(Path(), quarto=False, vscode=True)}
    assert {name: text(name) for name in mine} == mine
    assert all(parts[name].state == "lacks" for name in mine)
    assert json.loads(parts[".vscode/tasks.json"].paste)["tasks"] == TASKS


def test_settings_that_have_something_of_ours_by_chance_lack_the_rest():
    mine = '{\n  // mine\n  "editor.tabCompletion": "on",\n}\n'
    write(".vscode/settings.json", mine)
    [part] = [part for part in create_course(Path(), quarto=False, vscode=True) if part.state == "lacks"]
    assert "${workspaceFolder}/.venv/bin" in part.paste and text(".vscode/settings.json") == mine


def test_twice_writes_nothing():
    create_course(Path(), quarto=False, vscode=True)
    parts = create_course(Path(), quarto=False, vscode=True)
    assert {part.state for part in parts} == {"left alone"}


# Snippets


def fields_filled(body):
    return re.sub(r"\$\{\d:([^}]*)\}|\$\{?0\}?", lambda found: found[1] or "", body)


@pytest.mark.parametrize("word", SNIPPETS)
def test_snippets_are_right_as_they_come(word):
    write("notes.md", f"# A\n\n{fields_filled(SNIPPETS[word])}\nText.\n")
    done = run("lmm scan --strict notes.md")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("word", ["lmm-exercise", "lmm-topic", "lmm-definition", "lmm-type"])
def test_snippets_of_what_is_left_out(word):
    write("notes.md", f"# A\n\nBefore.\n\n{fields_filled(SNIPPETS[word])}\nText.\n")
    shown = run("lmm knit notes.md").stdout.decode()
    assert "Before." in shown and "The " not in shown
