"""LLMD: one markdown file in which a person and a model work on a project."""

from .changes import FileChange, Plan, plan
from .document import (
    CodeFile,
    Entry,
    Item,
    Llmd,
    LlmdError,
    Part,
    as_shown,
    parse_llmd,
    unanswered,
)
from .editing import add_changelog, append_entry, append_reply, make_llmd, remove_file, set_file, set_mission
from .reply import ChangelogText, Replacement, Reply, parse_reply

__all__ = [
    "ChangelogText", "CodeFile", "Entry", "FileChange", "Item", "Llmd", "LlmdError", "Part", "Plan", "Replacement",
    "Reply", "add_changelog", "append_entry", "append_reply", "as_shown", "make_llmd", "parse_llmd", "parse_reply",
    "plan", "remove_file", "set_file", "set_mission", "unanswered",
]  # fmt: skip
