"""The text of a page as pandoc reads it, knitted, and the HTML that pandoc makes of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import RenderError
from ...files.walk import is_inside
from ...logging import ListLogger
from ...markdown.blocks import (
    Block,
    ErrorBlock,
    HeaderBlock,
    HeadingBlock,
    MetadataBlock,
    TextBlock,
    header_content,
    serialize_blocks,
    source_line,
)
from ...markdown.divs import find_parts
from ...markdown.parse import parse_markdown_text
from ...scan.knit import knit
from ...settings.project import Project
from ...settings.quarto_project import folder_settings, merged, page_rules
from ..site import FILES
from ..sources import page_source
from ..words import site_words

BODY = "<!--lmm-body-->"
SECONDS = 30.0  # for one page
_OPTIONS = ("-f", "markdown-yaml_metadata_block", "-t", "html5", "-s", "--toc", "--toc-depth=3", "--mathml",
            "--wrap=preserve", "--sandbox", "-M", "pagetitle=-")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Knitted:
    """What a page is made of: its header, its text in markdown, and the options of pandoc for it."""

    header: Mapping[str, Any]
    text: str
    options: tuple[str, ...]


def is_left_out(text: str, path: Path, project: Project) -> bool:
    """Return True if a document is left out of the notes as a whole, though there is something in it.
    Raise QuartoError."""
    blocks = parse_markdown_text(text)
    header = header_content(blocks)
    kept = knit(blocks, page_rules(path, header, project.rules), ListLogger())
    return header.get("knit") is False or not any(isinstance(block, HeadingBlock | TextBlock) for block in kept)


def knit_page(path: Path, project: Project, settings: Mapping[str, Any]) -> Knitted:
    """Return a page without what is left out of the notes, with the files that it includes. Raise
    RenderError if a metadata block cannot be read, since nobody knows then what it leaves out, and
    OSError, MarkdownError and QuartoError."""
    logger = ListLogger()
    blocks = parse_markdown_text(page_source(path, project.root, settings, logger))
    _check_metadata(blocks)
    header = header_content(blocks)
    kept = knit(blocks, page_rules(path, header, project.rules), logger)
    return Knitted(
        header,
        serialize_blocks([block for block in kept if _is_text(block)]),
        _options(path, header, project.root, settings),
    )


def _check_metadata(blocks: Sequence[Block]) -> None:
    lines = [block.line for block in blocks if isinstance(block, ErrorBlock)]
    for block in blocks:
        if isinstance(block, TextBlock) and not isinstance(block, ErrorBlock):
            first = source_line(block)
            parts = [part for part in find_parts(block.source) if part.error]
            lines += [first + block.source.count("\n", 0, part.start) for part in parts]
    if lines:
        raise RenderError(f"line {min(lines)}: this metadata block cannot be read, so what it leaves out is not known")


def _is_text(block: Block) -> bool:
    return not isinstance(block, HeaderBlock | MetadataBlock)


def _options(path: Path, header: Mapping[str, Any], folder: Path, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the options of pandoc for what header and settings say; files only from inside the folder."""
    found = merged(settings, folder_settings(path, folder))
    own = {key: header.get(key) for key in ("bibliography", "csl") if header.get(key)}
    base = {key: path.parent if key in own else folder for key in ("bibliography", "csl")}
    found = {**found, **own}
    named = found.get("bibliography") or []
    works = [_file(one, base["bibliography"], folder) for one in (named if isinstance(named, list) else [named])]
    options = [f"--bibliography={work}" for work in works if work]
    if options:
        options.append("--citeproc")
    if style := _file(found.get("csl"), base["csl"], folder):
        options.append(f"--csl={style}")
    language = str(found.get("lang") or "en")
    options.append(f"-Mreference-section-title={site_words(language)['references']}")
    return (*options, f"-Mlang={language}")


def _file(name: object, base: Path, folder: Path) -> Path | None:
    """Return the file that a setting names, if there is one in the folder."""
    path = folder / str(name).lstrip("/") if str(name).startswith("/") else base / str(name)
    return path if name and path.is_file() and is_inside(path, folder) else None


def run_pandoc(page: Knitted, language: str, pandoc: str, seconds: float = SECONDS) -> tuple[str, str]:
    """Return the table of contents and the body of a page as HTML.

    Pandoc reads the text alone, and no file that it names. Raise RenderError if it fails or takes
    longer than some seconds."""
    words = "\n".join(f"{key}={word}" for key, word in site_words(language).items())
    command = [
        pandoc,
        *_OPTIONS,
        "--template",
        str(FILES / "served-parts.html"),
        "-L",
        str(FILES / "site.lua"),
        *page.options,
    ]
    try:
        done = subprocess.run(
            command, input=page.text.encode("utf-8", "replace"), capture_output=True, timeout=seconds, check=False,
            env={**os.environ, "SITE_WORDS": words},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RenderError(f"pandoc took more than {seconds:g} s") from None
    except OSError as error:
        raise RenderError(f"pandoc could not be started: {error.strerror}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise RenderError(said[:500] or f"pandoc has failed ({done.returncode})")
    toc, _, body = done.stdout.decode("utf-8", "replace").partition(BODY)
    return toc.strip(), body.strip()
