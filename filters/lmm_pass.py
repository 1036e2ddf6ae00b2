"""`lmm-pass`: a custom pass, named by `-M lmm-pass=module:function`."""

from __future__ import annotations

import sys

from lmm_core.errors import FilterError, PassError
from lmm_core.scan.documents.own_pass import load_pass, run_pass

from .pandoc.document import FilterDocument, FilterOutput
from .process import apply_pass, run_filter


def apply_own_pass(document: FilterDocument) -> FilterOutput:
    """Run the custom pass on a document. Raise FilterError."""
    name = document.options.own_pass
    if not name:
        raise FilterError("Name the pass on the command line: pandoc -F lmm-pass -M lmm-pass=module:function FILE -o …")
    try:
        function = load_pass(name)
        return apply_pass(document, lambda blocks: run_pass(function, blocks, document.logger), "what the pass makes")
    except PassError as error:
        raise FilterError(str(error)) from None


def main() -> None:
    """Run the command `lmm-pass`."""
    sys.exit(run_filter("lmm-pass", apply_own_pass))
