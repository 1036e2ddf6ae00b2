"""`lmm-edit`: proposals for the edits that are asked for. Questions wait for `lmm-chat`."""

from __future__ import annotations

import sys

from .process import run_filter
from .talk import talk


def main() -> None:
    """Run the command `lmm-edit`, which pandoc starts."""
    sys.exit(run_filter("lmm-edit", lambda document: talk(document, chats=False)))


if __name__ == "__main__":
    main()
