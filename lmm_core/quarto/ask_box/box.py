"""Write an ask box into a rendered site, or remove it."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...files.marked import check_inside, is_link, is_ours, make_marked, remove_marked, write_own
from ...logging import LoggerBase
from ...retrieve.ranking.lexical import fields_left_out
from ...settings.project import Project
from ..extension import box_files
from ..options import ASK_FOLDER, AskBoxSettings
from .data import BOX_TAG, BoxRows, PageText, box_script, read_page, read_rows
from .material import SitePage

BOX = "ask-box"  # marks the folder as ours
DATA = "data.js"
_TAG = re.compile(rf"[ \t]*<script\b[^<>]*\b{BOX_TAG}\b[^<>]*></script>\n?", re.I)
_HEAD_END = re.compile(r"[ \t]*</head\s*>", re.I)


def write_box(
    output: Path,
    pages: Sequence[SitePage],
    project: Project,
    ask: AskBoxSettings,
    settings: Mapping[str, Any],
    logger: LoggerBase,
    more: Sequence[str] = (),
) -> BoxRows:
    """Write an ask box, its data, and its tag in the pages; return the data.

    settings: of `_quarto.yml`
    more: further pages
    Raise OSError, MarkdownError, ConfigError, and FolderError for a foreign folder or page."""
    places = {name: output / name for name in [*(page.page for page in pages), *more] if (output / name).is_file()}
    for place in (output / ASK_FOLDER, *places.values()):
        check_inside(output, place)
    texts = {name: read_page(_text(place)) for name, place in places.items()}
    rules = replace(project.rules, keep=project.rules.keep | ask.include)
    present_pages = [page for page in pages if page.page in places]
    rows = read_rows(present_pages, texts, replace(project, rules=rules), settings, logger)
    left_out = fields_left_out(project.embeddings)
    data = box_script(rows, str(settings.get("lang") or "en"), project.synonyms, left_out)
    make_marked(output / ASK_FOLDER, BOX)
    _write_files(output / ASK_FOLDER, {DATA: data, **box_files()})
    for name, place in places.items():
        _put_tag(place, name, texts[name], ask)
    return rows


def remove_box(output: Path) -> None:
    """Remove the ask box of a site. Raise OSError, and FolderError for a foreign folder."""
    folder = output / ASK_FOLDER
    check_inside(output, folder)
    if not is_ours(folder, BOX):
        return
    for path in output.rglob("*.html"):
        if is_link(path) or not path.is_file():  # we never write through links
            continue
        _write(path, _bytes(_without_tag(_text(path))))
    remove_marked(folder, BOX)


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        _write(folder / name, content)
    for path in folder.glob("*.js"):
        if path.name not in files:
            path.unlink()


def _put_tag(place: Path, page: str, page_text: PageText, ask: AskBoxSettings) -> None:
    """Put the box's tag into a page."""
    up = "../" * page.count("/") + ASK_FOLDER
    values = {"page": page} | ({"server": ask.server} if ask.server else {})
    attributes = "".join(f' data-{key}="{html.escape(value)}"' for key, value in values.items())
    tag = f'<script async src="{up}/ask.js" {BOX_TAG}{attributes}></script>\n'
    if page_text.tag == tag:
        return
    text = _without_tag(_text(place))
    if end := _HEAD_END.search(text):
        _write(place, _bytes(text[: end.start()] + tag + text[end.start() :]))


def _without_tag(text: str) -> str:
    return _TAG.sub("", text) if BOX_TAG in text.lower() else text


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _write(path: Path, data: bytes) -> None:
    if not path.is_file() or path.read_bytes() != data:
        write_own(path, data)
