"""Corner texts: what makes a careless parser quadratic. Each is a function of n."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

PROSE = "Some words of a paragraph that goes on for about a line or so, no more.\n\n"


@dataclass(frozen=True)
class Corner:
    """A text to be made at size `n` and at `2 * n`."""

    name: str
    n: int
    make: Callable[[int], str]


def _ticks(n: int) -> str:
    """A line with runs of 1, 2, 3, ... backticks, of about n bytes."""
    return "a <!-- " + " ".join("`" * run for run in range(1, int((2 * n) ** 0.5)))


def _shrinking(n: int) -> str:
    """Code fences, each shorter than the one before, of about n bytes."""
    return "\n".join("`" * run for run in range(int((2 * n) ** 0.5), 2, -1))


UNCLOSED = [
    Corner("unclosed `<!--`, prose (bytes)", 1_000_000, lambda n: "<!-- open\n\n" + PROSE * (n // len(PROSE))),
    Corner("unclosed `::: x`", 10_000, lambda n: "::: x\n\n" * n),
    Corner("unclosed `::: x`, no blank lines", 10_000, lambda n: "::: x\n" * n),
    Corner("unclosed ```", 10_000, lambda n: "``` x\n\n" * n),
    Corner("unclosed ``` in a nested list", 5_000, lambda n: "- a\n" + "  - ``` x\n" * n + "end\n"),
    Corner("unclosed ```, each shorter (bytes)", 1_000_000, _shrinking),
    Corner("unclosed `<div>`", 50_000, lambda n: "<div>\n\n" * n),
    Corner("unclosed `<div>`, one line", 50_000, lambda n: "<div>" * n),
    Corner("unclosed `\\begin{x}`", 10_000, lambda n: "\\begin{x}\n\n" * n),
    Corner("unclosed `::: lmm` with YAML", 2_000, lambda n: "::: lmm\n``` yaml\nx: y\n\n" * n),
    Corner("`--- # remark` before text", 4_000, lambda n: "--- # r\nword\n\n" * n + "---\n"),
    Corner("`--- # remark` before keys", 2_000, lambda n: "--- # r\na: b\n\n# h\n\n" * n + "---\n"),
    Corner("comment closed before `::: x`", 2_000, lambda n: "para <!--\n\n-->::: x\n\n" * n),
]

MANY = [
    Corner("blank lines", 100_000, lambda n: "\n" * n),
    Corner("headings", 10_000, lambda n: "# h\n\n" * n),
    Corner("`---` rules", 100_000, lambda n: "---\n\n" * n),
    Corner("nested divs, closed", 20_000, lambda n: "::: x\n\n" * n + ":::\n\n" * n),
    Corner("list items", 20_000, lambda n: "- x\n\n" * n),
    Corner("list items under one of dashes", 1_000, lambda n: "* " * (10 * n) + "x\n\n" + "* x\n\n" * n),
    Corner("closed ```, no blank lines", 2_000, lambda n: "```\nx\n```\n" * n),
    Corner("closed divs, no blank lines", 2_000, lambda n: "::: x\nx\n:::\n" * n),
    Corner("comments, no blank lines", 2_000, lambda n: "<!-- x -->\n" * n),
    Corner("metadata divs under a text's line", 8_000, lambda n: "word\n::: lmm\n\n" * n),
    Corner("messages in one block", 20_000, lambda n: "---\n" + "?: a b\n" * n + "---\n"),
    Corner("keys in one block", 10_000, lambda n: "---\n" + "".join(f"k{i}: v\n" for i in range(n)) + "---\n"),
]

LONG_LINES = [
    Corner("one line of words (bytes)", 10_000_000, lambda n: "word " * (n // 5)),
    Corner("one line of '`<!--' (bytes)", 5_000_000, lambda n: "a " + "`<!--" * (n // 5)),
    Corner("one line of ` `` ``` ... (bytes)", 500_000, _ticks),
    Corner("one line of '- ' (bytes)", 1_000_000, lambda n: "- " * (n // 2)),
    Corner("one line of '<a ' (bytes)", 1_000_000, lambda n: "<a " * (n // 3)),
    Corner("`::: {}`, then blanks (bytes)", 5_000, lambda n: "::: {}" + " " * n + "x\n"),
    Corner("`::: a`, then colons (bytes)", 5_000, lambda n: "::: a" + ":" * n + " x\n"),
    Corner("`::: lmm`, '.yaml' in braces", 5_000, lambda n: "::: lmm\n``` {" + ".yaml" * n + "\n\n"),
]

CORNERS = [*UNCLOSED, *MANY, *LONG_LINES]
