"""What git ignores: the rules of `.gitignore` files, read as git reads them. (Nothing of
git is run, and its index is not read: what a rule names is ignored though it be tracked.)"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Rules:
    """Patterns of one .gitignore. base: how many characters of a path from the root are
    the folder that it stands in; above: that folder as seen from further up, for one that
    stands above the root."""

    patterns: list[tuple[re.Pattern[str], bool]]
    base: int = 0
    above: str = ""

    def verdict(self, path: str) -> bool | None:
        """Whether a path is ignored (True), or taken back (False), by the last pattern
        that speaks of it; None where none does. The path of a folder ends with `/`."""
        path = self.above + path[self.base :]
        return next((ignored for regex, ignored in self.patterns if regex.fullmatch(path)), None)


@dataclass(frozen=True, slots=True)
class Ignored:
    """What is ignored in a folder: by the rules of the folders above it and its own (the last
    that speaks of a path decides), where there are none by the `fallback`; `extra` comes last."""

    rules: tuple[Rules, ...]
    fallback: Rules
    extra: Rules

    def below(self, folder: str, rel: str) -> Ignored:
        """The same with the rules of a folder, whose path from the root is `rel` ("" or with `/`
        at its end). Raises OSError."""
        lines = rules_of(folder)
        return self if lines is None else replace(self, rules=(*self.rules, read_rules(lines, len(rel))))

    def __contains__(self, rel: str) -> bool:
        return says_ignored([*(self.rules or (self.fallback,)), self.extra], rel)


def read_rules(lines: Iterable[str], base: int = 0, above: str = "") -> Rules:
    """The rules of the lines of a .gitignore."""
    found = [pattern for line in lines if (pattern := _pattern(line)) is not None]
    return Rules(found[::-1], base, above)


def is_ignored(root: Path, path: str) -> bool:
    """Whether a file of a project is ignored: itself, or one of the folders that it is in.
    path: from the root, with `/`. Raises OSError where a .gitignore cannot be read."""
    rules, folder = rules_above(root), ""
    for name in path.split("/"):
        lines = rules_of(root / folder)
        rules = rules if lines is None else [*rules, read_rules(lines, len(folder))]
        here = folder + name
        if says_ignored(rules, here + ("/" if here != path else "")):
            return True
        folder = here + "/"
    return False


def says_ignored(rules: Sequence[Rules], path: str) -> bool:
    """What the last of the rules that speaks of a path says."""
    verdicts = (one.verdict(path) for one in reversed(rules))
    return next((verdict for verdict in verdicts if verdict is not None), False)


def rules_of(folder: str | Path) -> list[str] | None:
    """The lines of a folder's .gitignore; None where it has none. Raises OSError."""
    return _lines(Path(folder, ".gitignore"))


def _lines(file: Path) -> list[str] | None:
    if file.is_symlink() or not file.is_file():
        return None
    text = os.fsdecode(file.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    return [line.removesuffix("\r") for line in text.split("\n")]


def rules_above(root: Path) -> list[Rules]:
    """The rules of the repository that the root lies in: its `.git/info/exclude`, then those
    from its top down to the folder above the root. Raises OSError."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    folders = [folder for folder in reversed(root.parents) if folder.is_relative_to(top)]
    found = [(top, _lines(top / ".git" / "info" / "exclude")), *((folder, rules_of(folder)) for folder in folders)]
    return [read_rules(lines, 0, _above(root, folder)) for folder, lines in found if lines]


def _above(root: Path, folder: Path) -> str:
    return "" if root == folder else f"{root.relative_to(folder).as_posix()}/"


_TRIMMED = re.compile(r"((?:\\.|[^\\])*?) *", re.S)
_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "digit": "0-9", "lower": "a-z", "upper": "A-Z", "space": " \t",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_NAMED_CLASS = re.compile(r"\[:(" + "|".join(_CLASSES) + r"):\]")


def _pattern(line: str) -> tuple[re.Pattern[str], bool] | None:
    """A pattern for the whole path of a file, or of a folder (with `/` after it), and
    whether it ignores; None where the line says nothing, or nothing that git can read.

    pathspec's own expressions match what is below a folder, too, and so `!docs/` would
    take back `docs/build` where `build` is ignored; to git it does not."""
    from pathspec.patterns.gitignore.base import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    trimmed = _TRIMMED.fullmatch(line)
    if trimmed is None:  # a single backslash at the end
        return None
    text = _NAMED_CLASS.sub(lambda found: _CLASSES[found[1]], trimmed[1])
    text = re.sub(r"/\*\*(/?)$", r"/**/*\1", text)  # what is in a folder, not the folder
    text = re.sub(r"(\t)$", r"[\1]", text)  # to git no blank
    try:
        regex, ignored = GitIgnoreSpecPattern.pattern_to_regex(text)
        if regex is None or ignored is None:
            return None
        regex = {".": ".+", "/": ".+/", "(?P<ps_d>/)": ".+/"}.get(regex, regex)
        return re.compile(regex.replace("[^", "[^/"), re.S), ignored
    except (GitIgnorePatternError, re.error):
        return None
