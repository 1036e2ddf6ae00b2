"""The files that make an editor help with a course: tasks, snippets, and schemas by which it checks keys."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..scan.check.finding import ERRORS, WARNINGS
from .schemas import config_schema

CONFIG_SCHEMA = ".vscode/lmm-config.schema.json"
SCHEMA_LINE = f"#:schema {CONFIG_SCHEMA}\n"  # read by Even Better TOML (taplo) at the top of a file
_LANGUAGES = "markdown,quarto,rmd"
_FILES = Path(__file__).with_name("files")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text to insert, see `files/snippets.toml`. word: what is typed for it; rstudio: RStudio has it anyway."""

    word: str
    what: str
    body: str
    rstudio: bool = False


def read_snippets() -> list[Snippet]:
    """Return all snippets, ours first."""
    snippets = tomllib.loads((_FILES / "snippets.toml").read_text("utf-8"))["snippet"]
    return [Snippet(**values) for values in snippets]


# VS Code


def vscode_files() -> dict[str, str]:
    """Return the files for VS Code, by their paths in a course."""
    return {
        ".vscode/tasks.json": as_file(vscode_tasks()),
        ".vscode/lmm.code-snippets": as_file(vscode_snippets()),
        ".vscode/settings.json": (_FILES / "vscode-settings.json").read_text("utf-8"),
        ".vscode/extensions.json": (_FILES / "vscode-extensions.json").read_text("utf-8"),
        CONFIG_SCHEMA: as_file(config_schema()),
    }


def lacking_in_vscode(name: str, text: str) -> str:
    """Return the lines that a file for VS Code lacks, or ""."""
    wanted = vscode_files()[name]
    signs = {".vscode/tasks.json": ['"lmm: '], ".vscode/settings.json": ["editor.tabCompletion", "/.venv/bin"],
             ".vscode/extensions.json": ["even-better-toml"]}  # fmt: skip
    if name in signs:
        return "" if all(sign in text for sign in signs[name]) else "".join(wanted.splitlines(keepends=True)[1:-1])
    return "" if text == wanted else wanted


def as_file(value: Any) -> str:
    """Return a value as the text of a JSON file."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def vscode_tasks() -> dict[str, Any]:
    """Return the tasks of VS Code: what `lmm` does with the course, or with the file that is open."""
    build = {"kind": "build", "isDefault": True}
    return {
        "version": "2.0.0",
        "tasks": [
            _task("lmm: mistakes", ["scan", "."], "silent", group=build, problemMatcher=matchers("lmm-scan")),
            _task("lmm: annotate this file", ["rag", "${file}"], problemMatcher=matchers("lmm-rag")),
            _task("lmm: answer what is asked in a file, whenever one is saved", ["chat", "--watch", "."],
                  isBackground=True, problemMatcher=[]),
            _task("lmm: make the course", ["course"], problemMatcher=matchers("lmm-course")),
        ],
    }  # fmt: skip


def _task(label: str, words: Sequence[str], reveal: str = "always", **more: Any) -> dict[str, Any]:
    # Not "type": "process", for which VS Code does not look into the PATH of its settings
    return {"label": label, "type": "shell", "command": "lmm", "args": [*words], **more,
            "presentation": {"reveal": reveal, "clear": True}}  # fmt: skip


def matchers(owner: str) -> list[dict[str, Any]]:
    """Return what finds the lines `FILE:LINE: CODE message` and `FILE:LINE: [warning: ]message` in the
    output of a command. The code of a mistake tells whether it is an error."""
    rest = {"regexp": r"^(.+?):(\d+): (?:(warning): )?(.+)$", "file": 1, "line": 2, "severity": 3, "message": 4}
    return [_matcher(owner, "error", _coded(ERRORS)), _matcher(owner, "warning", _coded(WARNINGS)),
            _matcher(owner, "error", rest)]  # fmt: skip


def _coded(codes: Mapping[str, str]) -> dict[str, Any]:
    return {"regexp": rf"^(.+?):(\d+): ({'|'.join(codes)}) (.+)$", "file": 1, "line": 2, "code": 3, "message": 4}


def _matcher(owner: str, severity: str, pattern: Mapping[str, Any]) -> dict[str, Any]:
    place = ["autoDetect", "${workspaceFolder}"]
    return {"owner": owner, "severity": severity, "fileLocation": place, "pattern": pattern}


def vscode_snippets() -> dict[str, Any]:
    """Return the snippets of VS Code, each by what it is for, which VS Code shows beside its word."""
    snippets = [one for one in read_snippets() if not one.rstudio]
    return {one.what: {"scope": _LANGUAGES, "prefix": one.word, "body": one.body.split("\n")} for one in snippets}


# RStudio


def rstudio_snippets_file() -> Path:
    """Return the place of the snippets for markdown in RStudio's settings, which are the user's."""
    variables = os.environ
    if folder := variables.get("RSTUDIO_CONFIG_HOME"):
        return Path(folder, "snippets", "markdown.snippets")
    if sys.platform == "win32":
        return Path(variables.get("APPDATA", "~")).expanduser() / "RStudio" / "snippets" / "markdown.snippets"
    settings = Path(variables.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    return settings / "rstudio" / "snippets" / "markdown.snippets"


def rstudio_snippets(with_own: bool = True) -> str:
    """Return the snippets as RStudio reads them. with_own: those that come with RStudio as well, since it takes a
    file of ours in place of its own."""
    snippets = sorted(read_snippets(), key=lambda one: not one.rstudio)
    return "\n".join(_as_rstudio(one) for one in snippets if with_own or not one.rstudio)


def _as_rstudio(snippet: Snippet) -> str:
    lines = snippet.body.replace("$0", "${0}").split("\n")
    return f"# {snippet.what}\nsnippet {snippet.word}\n" + "".join(f"\t{line}\n" for line in lines)


def lacking_in_rstudio(text: str) -> str:
    """Return the snippets that RStudio's file lacks, or ""."""
    return "" if "snippet lmm-" in text else rstudio_snippets(with_own=False)
