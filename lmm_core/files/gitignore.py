"""Apply the rules of `.gitignore` files without git: unlike in git, tracked files are ignored too."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

MOST_WILDCARDS = 3
_DRIVE = re.compile(r"[A-Za-z]:(\\|$)")
_BACKSLASH = re.compile(r"\\\w")  # before other signs, such as `#` or a blank, it escapes them


@dataclass(frozen=True, slots=True)
class Rules:
    """The patterns of a .gitignore.

    patterns: the last first, each with False if it is negated
    base: length of the path from the root to the file's folder
    above: path from the file's folder to the root, if that is inside the folder
    """

    patterns: list[tuple[re.Pattern[str], bool]]
    base: int = 0
    above: str = ""

    def verdict(self, path: str) -> bool | None:
        """Return True if the last pattern that matches a path (`folder/`) ignores it, and None if none matches."""
        path = self.above + path[self.base :]
        return next((ignored for regex, ignored in self.patterns if regex.fullmatch(path)), None)


_NO_RULES = Rules([])


@dataclass(frozen=True, slots=True)
class Ignored:
    """The ignored paths of a folder. The last pattern that matches decides.

    fallback: rules that apply if there are no others
    extra: rules that apply last"""

    rules: tuple[Rules, ...]
    fallback: Rules = _NO_RULES
    extra: Rules = _NO_RULES

    def below(self, folder: str, rel: str) -> Ignored:
        """Return the rules for the subfolder at `rel` from the root, including its .gitignore. Raise OSError."""
        lines = rules_of(folder)
        return self if lines is None else replace(self, rules=(*self.rules, read_rules(lines, len(rel))))

    def __contains__(self, rel: str) -> bool:
        return says_ignored([*(self.rules or (self.fallback,)), self.extra], rel)


def read_rules(lines: Iterable[str], base: int = 0, above: str = "") -> Rules:
    """Return the rules of a .gitignore."""
    patterns = [pattern for line in lines if (pattern := _pattern(line)) is not None]
    return Rules(patterns[::-1], base, above)


def is_ignored(root: Path, path: str) -> bool:
    """Return True if a file, or a folder around it, is ignored. Raise OSError."""
    ignored, here = Ignored(tuple(rules_above(root))), ""
    for name in path.split("/"):
        ignored = ignored.below(str(root / here), here)
        here += name + ("/" if here + name != path else "")
        if here in ignored:
            return True
    return False


def read_patterns(patterns: Iterable[str]) -> Rules:
    """Return the rules of patterns in settings or options, for `matches` and `takes`."""
    return read_rules(map(_composed, patterns))


def matches(rules: Rules, path: str) -> bool:
    """Return True if patterns ignore a file or a folder around it."""
    return bool(rules.patterns) and any(says_ignored([rules], end) for end in _ends(path))


def takes(rules: Rules, path: str) -> bool:
    """Return True if the last pattern that matches a file or a folder around it is not negated.

    Unlike in git, `!drafts/` after `*` excludes the files in that folder.
    """
    ends = _ends(path)
    return next((is_included for regex, is_included in rules.patterns if any(map(regex.fullmatch, ends))), False)


def _ends(path: str) -> list[str]:
    path = _composed(path)
    return [*(path[: at + 1] for at, sign in enumerate(path) if sign == "/"), path]


def _composed(text: str) -> str:
    """Return a text in Unicode's form NFC, since systems write names of files in different forms."""
    return unicodedata.normalize("NFC", text)


def pattern_problem(pattern: str) -> str:
    """Return a problem with a pattern, or "".

    Wildcards are limited, since the time for matching grows exponentially with them."""
    names = pattern.lstrip("!").rstrip().split("/")
    if ".." in names or names[0] == "~" or _DRIVE.match(names[0]):
        return f"{pattern!r:.60} leads out of the project: patterns are for files inside it"
    if "." in names:
        return f"{pattern!r:.60} matches no file, because of the `.`: write /notes.md for ./notes.md"
    if _BACKSLASH.search(pattern):
        return f"{pattern!r:.60} matches no file, because of the backslash: write `/` between folders"
    if names[0] == "" and len(names) > 2 and Path("/".join(names)).exists():
        return f"{pattern!r:.60} is a place on this machine: patterns start from the project's folder"
    many = any(part.count("*") > MOST_WILDCARDS for part in pattern.replace("**", "").split("/"))
    if many or pattern.count("**") > MOST_WILDCARDS:
        return f"{pattern!r:.60} has more than {MOST_WILDCARDS} wildcards between two `/`"
    return "" if _pattern(pattern) else f"{pattern!r:.60} is no pattern (a line as in .gitignore: drafts/, *.draft.md)"


def says_ignored(rules: Sequence[Rules], path: str) -> bool:
    """Return the last verdict on a path, by default False."""
    verdicts = (folder_rules.verdict(path) for folder_rules in reversed(rules))
    return next((verdict for verdict in verdicts if verdict is not None), False)


def rules_of(folder: str | Path) -> list[str] | None:
    """Return the lines of a folder's .gitignore, or None. Raise OSError."""
    return _lines(Path(folder, ".gitignore"))


def _lines(file: Path) -> list[str] | None:
    if file.is_symlink() or not file.is_file():
        return None
    text = os.fsdecode(file.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    return [line.removesuffix("\r") for line in text.split("\n")]


def rules_above(root: Path) -> list[Rules]:
    """Return the repository's rules from above a root. Raise OSError."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    folders = [folder for folder in reversed(root.parents) if folder.is_relative_to(top)]
    files = [(top, _lines(top / ".git" / "info" / "exclude")), *((folder, rules_of(folder)) for folder in folders)]
    return [read_rules(lines, 0, _above(root, folder)) for folder, lines in files if lines]


def _above(root: Path, folder: Path) -> str:
    return "" if root == folder else f"{root.relative_to(folder).as_posix()}/"


_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "digit": "0-9", "lower": "a-z", "upper": "A-Z", "space": " \t",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_NAMED_CLASS = re.compile(r"\[:(" + "|".join(_CLASSES) + r"):\]")


def _pattern(line: str) -> tuple[re.Pattern[str], bool] | None:
    """Return a line's pattern, and whether it ignores, or None.

    In pathspec, unlike in git, `!docs/` would restore an ignored `docs/build`.
    """
    from pathspec.patterns.gitignore.base import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    text = _NAMED_CLASS.sub(lambda match: _CLASSES[match[1]], line)
    text = re.sub(r"/\*\*(/?) *$", r"/**/*\1", text)  # the contents of a folder, not the folder itself
    text = re.sub(r"\t *$", "[\t]", text)  # git strips blanks here, but no tabs
    try:
        regex, ignored = GitIgnoreSpecPattern.pattern_to_regex(text)
        if regex is None or ignored is None:
            return None
        regex = {".": ".+", "/": ".+/", "(?P<ps_d>/)": ".+/"}.get(regex, regex)
        return re.compile(regex.replace("[^", "[^/"), re.S), ignored
    except (GitIgnorePatternError, re.error):
        return None
