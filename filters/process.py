"""The process of a filter, with Pandoc's JSON on standard input and output, and the passes in it."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable

from lmm_core.ending import collect_rarely
from lmm_core.markdown.blocks import Block, serialize_blocks
from lmm_core.scan.header import report_errors

from .pandoc.document import FilterDocument, FilterOutput, read_elements
from .pandoc.write_elements import as_divs, write_blocks, write_elements
from .pandoc.write_text import write_text

Work = Callable[[FilterDocument], FilterOutput]


def run_filter(name: str, work: Work) -> int:
    """Run the filter of this name, and return its exit status: 1 stops pandoc before it writes."""
    collect_rarely()
    gc.disable()  # elements live until the end, and collection is slow
    data = sys.stdin.buffer.read()
    if os.environ.get("LMM_INNER"):  # an inner run, see `run_pandoc`
        sys.stdout.buffer.write(data)
        return 0
    import threading

    # JSON and panflute are recursive: deeply nested documents exceed the main thread's stack
    sys.setrecursionlimit(1_000_000)
    threading.stack_size(512 << 20)
    status: list[int] = []
    thread = threading.Thread(target=lambda: status.append(_run(name, work, data)))
    try:
        thread.start()
    except RuntimeError:  # no stack of this size
        return _run(name, work, data)
    thread.join()
    return status[0] if status else 1


def _run(name: str, work: Work, data: bytes) -> int:
    import json

    from lmm_core.errors import LmmError
    from lmm_core.logging import ConsoleLogger, say

    from .pandoc.document import read_document
    from .pandoc.outputs import put_output_aside

    logger = ConsoleLogger(f"{name}: ")
    try:
        document = read_document(name, data, sys.argv[1] if len(sys.argv) > 1 else "html", logger)
        output = work(document)
        text = json.dumps(output.ast, ensure_ascii=False, separators=(",", ":"))
        put_output_aside(document.call, output.text)
    except (LmmError, OSError) as error:
        say(f"{name}: {error}", err=True)
        return 1
    sys.stdout.buffer.write(text.encode("utf-8"))
    return 0


# Passes, on the source text or else on Pandoc's elements

Pass = Callable[[list[Block]], list[Block]]


def apply_pass(document: FilterDocument, work: Pass, result: str) -> FilterOutput:
    """Run a pass on a document, unless its result (`annotations`, in messages) would be lost."""
    if document.source is None:
        elements, blocks = read_elements(document)
        return write_blocks(document, elements, work(blocks))
    call = document.call
    if not (call.to_markdown or call.is_followed):
        document.logger.warning(
            f"Nothing keeps {result} in {call.target}, so none were made. Write markdown (-t markdown)."
        )
        report_errors(document.blocks, document.logger)
        return write_elements(document, as_divs(document, document.blocks) or document.ast)
    blocks = work(document.blocks)
    text = serialize_blocks(blocks)
    if call.to_markdown:
        return write_text(document, text)
    return write_elements(document, as_divs(document, blocks) or document.ast, text)
