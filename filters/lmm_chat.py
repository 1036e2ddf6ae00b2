"""`lmm-chat`: answers to questions and messages, and proposals for the edits that are asked for."""

from __future__ import annotations

import sys

from .process import run_filter
from .talk import talk


def main() -> None:
    """Run the command `lmm-chat`, which pandoc starts."""
    sys.exit(run_filter("lmm-chat", lambda document: talk(document, chats=True)))


if __name__ == "__main__":
    main()
