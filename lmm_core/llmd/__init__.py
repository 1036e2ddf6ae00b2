"""LLMD: one markdown file in which a person and a model work on a project.

May import what `study` may.
"""

from ..errors import LlmdError
from .changes import ChangePlan, FileChange, plan
from .document import (
    CodeFile,
    Llmd,
    LlmdPart,
    ThreadEntry,
    as_shown,
    parse_llmd,
    unanswered,
)
from .editing import add_changelog, append_entry, append_reply, make_llmd, remove_file, set_file, set_mission
from .reply import ChangelogText, ParsedReply, Replacement, parse_reply

__all__ = [
    "ChangePlan",
    "ChangelogText",
    "CodeFile",
    "FileChange",
    "Llmd",
    "LlmdError",
    "LlmdPart",
    "ParsedReply",
    "Replacement",
    "ThreadEntry",
    "add_changelog",
    "append_entry",
    "append_reply",
    "as_shown",
    "make_llmd",
    "parse_llmd",
    "parse_reply",
    "plan",
    "remove_file",
    "set_file",
    "set_mission",
    "unanswered",
]  # fmt: skip
