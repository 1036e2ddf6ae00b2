"""Prompts of the Model Context Protocol: what a student or a teacher asks again and again."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import mcp_types as types
from mcp.shared.exceptions import MCPError

from ...logging import one_line, printable
from ...models.prompts import enclose

LONGEST = 4_000  # characters of an argument


@dataclass(frozen=True)
class Template:
    """A prompt: its arguments with their descriptions, the required one first, and its text with their places."""

    title: str
    description: str
    arguments: dict[str, str]
    text: str


_TEXTS = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8"))
TEMPLATES = {name: Template(**values) for name, values in _TEXTS["prompts"].items()}
DEFAULTS = {"reader": "a student of this course", "questions": "5"}


def list_prompts() -> types.ListPromptsResult:
    """Return the prompts."""
    return types.ListPromptsResult(prompts=[_offered(name, template) for name, template in TEMPLATES.items()])


def _offered(name: str, template: Template) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=argument, description=description, required=argument not in DEFAULTS)
        for argument, description in template.arguments.items()
    ]
    return types.Prompt(name=name, title=template.title, description=template.description, arguments=arguments)


def get_prompt(name: str, given: dict[str, str] | None, teacher: str = "") -> types.GetPromptResult:
    """Return a prompt with its arguments. Raise MCPError if there is none of the name, or an argument is missing.

    teacher: how the teacher wants answers to sound; said to students' agents, after our rules."""
    template = TEMPLATES.get(name)
    if template is None:
        there = ", ".join(TEMPLATES)
        raise MCPError(types.INVALID_PARAMS, f"there is no prompt {one_line(name, 100)!r}; there are {there}")
    filled = DEFAULTS | {key: value.strip() for key, value in (given or {}).items() if value.strip()}
    if unknown := set(given or {}) - set(template.arguments):
        raise MCPError(types.INVALID_PARAMS, f"{name} has no argument {one_line(min(unknown), 100)!r}")
    if missing := [argument for argument in template.arguments if argument not in filled]:
        raise MCPError(types.INVALID_PARAMS, f"{name} needs the argument {missing[0]!r}")
    values = {argument: printable(filled[argument])[:LONGEST] for argument in template.arguments}
    wishes = ""
    if teacher and name != "review":
        wishes = "\n\n" + _TEXTS["teacher"].format(said=enclose("teacher", teacher))
    text = types.TextContent(type="text", text=template.text.format(**values, cite=_TEXTS["cite"]) + wishes)
    message = types.PromptMessage(role="user", content=text)
    return types.GetPromptResult(description=template.description, messages=[message])
