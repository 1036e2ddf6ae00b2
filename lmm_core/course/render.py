"""Render pages with pandoc, many per process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from threading import Timer

from ..errors import CourseError, RenderError
from ..installation import packaged_pandoc
from ..scan.rag import Progress
from .frame import site_words
from .text import PageSource

FILES = Path(__file__).with_name("files")
SECONDS = 30.0  # per page
_LEAST = 8  # pages per pandoc process


@dataclass(frozen=True, slots=True)
class PageJob:
    """A page to render. title: of the window; frame: template variables."""

    name: str
    title: str
    source: PageSource
    frame: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A rendered page. messages: pandoc's warnings; problem: reason for missing HTML, or ""."""

    name: str
    html: str = ""
    messages: Sequence[str] = field(default_factory=list)
    problem: str = ""


def find_pandoc() -> str:
    """Return the path of pandoc, preferring the packaged one. Raise CourseError."""
    if found := packaged_pandoc() or shutil.which("pandoc"):
        return str(found)
    raise CourseError("There is neither Quarto nor pandoc on this machine to render the site: install one of them")


def render_pages(
    pages: Sequence[PageJob],
    language: str,
    pandoc: str,
    progress: Progress | None = None,
    seconds: float = SECONDS,
) -> list[RenderedPage]:
    """Return the pages' HTML.

    seconds: timeout per page
    Raise RenderError if pandoc fails to run or times out."""
    if progress:
        progress.expect(len(pages))
    count = max(1, min(os.cpu_count() or 1, len(pages) // _LEAST))
    shares = [pages[at::count] for at in range(count)]
    with ThreadPoolExecutor(count) as workers:
        done = [*workers.map(lambda share: [*_run(share, language, pandoc, progress, seconds)], shares)]
    rendered = {page.name: page for page in chain.from_iterable(done)}
    return [rendered[page.name] for page in pages]


def _run(
    pages: Sequence[PageJob], language: str, pandoc: str, progress: Progress | None, seconds: float
) -> Iterator[RenderedPage]:
    words = site_words(language)
    job = {
        "filter": str(FILES / "site.lua"),
        "template": (FILES / "page.html").read_text("utf-8"),
        "words": words,
        "references": words["references"],
        "pages": [asdict(page) for page in pages],
    }
    command = [pandoc, "lua", str(FILES / "render.lua")]
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise RenderError(f"pandoc could not be started: {error.strerror}") from None
        timer = Timer(seconds * len(pages), process.kill)
        timer.start()
        with process:
            assert process.stdin and process.stdout
            with suppress(BrokenPipeError), process.stdin as lines:
                lines.write(json.dumps(job, ensure_ascii=False).encode("utf-8", "replace"))
            for line in process.stdout:
                if line.endswith(b"\n"):  # incomplete if pandoc was killed
                    yield RenderedPage(**json.loads(line))
                if progress:
                    progress.advance()
        if not timer.is_alive():
            raise RenderError(f"pandoc took more than {seconds * len(pages):g} s")
        timer.cancel()
        if process.returncode:
            errors.seek(0)
            message = errors.read().decode("utf-8", "replace").strip()
            raise RenderError(message[:500] or f"pandoc has failed ({process.returncode})")
