"""`lmm-edit`: propose the edits that are asked for; questions wait."""

from __future__ import annotations

import sys

from .pandoc.document import run_filter
from .talk import talk


def main() -> None:
    """The command `lmm-edit`, which pandoc runs."""
    sys.exit(run_filter("lmm-edit", lambda document: talk(document, chats=False)))


if __name__ == "__main__":
    main()
