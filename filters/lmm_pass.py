"""`lmm-pass`: a pass of the user's own, named by `-M lmm-pass=module:function`."""

from __future__ import annotations

import sys

from lmm_core.workflows.own_pass import PassError, load_pass, run_pass

from .pandoc.document import Document, run_filter
from .pandoc.run import FilterError
from .pass_run import apply_pass


def apply_own_pass(document: Document) -> None:
    """Run the pass on the document, and hand it on. Raises FilterError where the pass
    is none."""
    name = document.options.own_pass
    if not name:
        raise FilterError("name the pass on the command line: pandoc -F lmm-pass -M lmm-pass=module:function FILE -o …")
    try:
        function = load_pass(name)
        apply_pass(document, lambda blocks: run_pass(function, blocks, document.logger), "what the pass makes")
    except PassError as error:
        raise FilterError(str(error)) from None


def main() -> None:
    """The command `lmm-pass`, which pandoc runs."""
    sys.exit(run_filter("lmm-pass", apply_own_pass))


if __name__ == "__main__":
    main()
