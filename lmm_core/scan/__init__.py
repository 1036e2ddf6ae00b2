"""Passes over a document: functions from blocks to blocks, without settings and files."""

from typing import TYPE_CHECKING

from .. import lazy_names

if TYPE_CHECKING:
    from ..markdown.visibility import KnitRules
    from ..settings.tables import ScanOpts, SplitOpts
    from .chat import scan_messages
    from .edit import scan_edits
    from .header import scan
    from .rag import scan_rag
    from .record import clear_messages

__all__ = [
    "KnitRules", "ScanOpts", "SplitOpts", "clear_messages", "scan", "scan_edits", "scan_messages", "scan_rag",
]  # fmt: skip
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "chat": "scan_messages",
        "edit": "scan_edits",
        "record": "clear_messages",
        "header": "scan",
        ".markdown.visibility": "KnitRules",
        ".settings.tables": "ScanOpts SplitOpts",
        "rag": "scan_rag",
    },
)
