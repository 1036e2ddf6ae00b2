"""`lmm-chat`: answer questions and messages, and propose the edits that are asked for."""

from __future__ import annotations

import sys

from .pandoc.document import run_filter
from .talk import talk


def main() -> None:
    """The command `lmm-chat`, which pandoc runs."""
    sys.exit(run_filter("lmm-chat", lambda document: talk(document, chats=True)))


if __name__ == "__main__":
    main()
