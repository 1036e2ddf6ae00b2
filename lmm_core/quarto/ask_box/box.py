"""Write an ask box into a rendered site, and take it out."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ...files.marked import check_inside, is_link, is_ours, make_marked, remove_marked, write_own
from ...logging import LoggerBase
from ...retrieve.ranking.lexical import fields_left_out
from ...settings.project import Project
from ..options import ASK_FOLDER, AskBoxSettings
from .data import box_data
from .material import SitePage
from .page_html import BOX_TAG, PageText, read_page
from .rows import read_rows
from .scripts import box_files

BOX = "ask-box"  # the mark by which the folder is known as ours
DATA = "data.js"
_MADE = re.compile(rb'"made":"[^"]*"')
_TAG = re.compile(rf"[ \t]*<script\b[^<>]*\b{BOX_TAG}\b[^<>]*></script>\n?", re.I)
_HEAD_END = re.compile(r"[ \t]*</head\s*>", re.I)


@dataclass(frozen=True, slots=True)
class WrittenBox:
    """A box that was written: the numbers of documents and sections in its data, and the files that
    have changed."""

    documents: int
    sections: int
    files: tuple[Path, ...]


def write_box(
    output: Path,
    pages: Sequence[SitePage],
    project: Project,
    ask: AskBoxSettings,
    settings: Mapping[str, Any],
    logger: LoggerBase,
    more: Sequence[str] = (),
) -> WrittenBox:
    """Write an ask box and its data into a site, and its tag into the pages.

    Files that would not change are not written; pages missing from the site are skipped.

    settings: those of `_quarto.yml`
    more: names of further pages that get the tag
    Raise OSError, MarkdownError, ConfigError, and FolderError if a folder or a page is not ours to write.
    """
    places = {name: output / name for name in [*(page.page for page in pages), *more]}
    there = [page for page in pages if places[page.page].is_file()]
    rules = replace(project.rules, keep=project.rules.keep | ask.include)
    shown = {name: read_page(_text(place)) for name, place in places.items() if place.is_file()}
    rows = read_rows(there, shown, replace(project, rules=rules), settings, logger)
    left_out = fields_left_out(project.embeddings)
    data = box_data(rows, str(settings.get("lang") or "en"), project.synonyms, left_out)
    check_inside(output, output / ASK_FOLDER)
    _check_inside(output, [places[page] for page in shown])
    make_marked(output / ASK_FOLDER, BOX)
    changed = _write_files(output / ASK_FOLDER, {DATA: data.script, **box_files()})
    changed += [
        places[page] for page in shown if _put_tag(places[page], page, shown[page], ask, data.pages.get(page, ""))
    ]
    return WrittenBox(len(rows.documents), len(rows.sections), tuple(changed))


def remove_box(output: Path) -> None:
    """Take the ask box, if any, out of a site. Raise OSError, and FolderError if its folder is not
    ours."""
    folder = output / ASK_FOLDER
    check_inside(output, folder)
    if not is_ours(folder, BOX):
        return
    for path in output.rglob("*.html"):
        if is_link(path) or not path.is_file():  # no box is put into a link
            continue
        _write(path, _without_tag(_text(path)))
    remove_marked(folder, BOX)


def _write_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write the files of a box, remove the scripts of an older one, and return the files that have changed. Data that
    differ in their time alone are not written."""
    changed = []
    for name, script in files.items():
        old = _content(folder / name)
        is_same = old == script or (name == DATA and old is not None and _timeless(old) == _timeless(script))
        if not is_same:
            write_own(folder / name, script)
            changed.append(folder / name)
    for path in folder.glob("*.js"):
        if path.name not in files:
            path.unlink()
    return changed


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _timeless(data: bytes) -> bytes:
    """Return the script of the data without their time."""
    return _MADE.sub(b"", data, count=1)


def _check_inside(output: Path, places: Sequence[Path]) -> None:
    """Do what `check_inside` does for each of some pages, but look at each folder once."""
    check_folder = cache(lambda folder: check_inside(output, folder))
    for place in places:
        if place.parent != output:
            check_folder(place.parent)
        if is_link(place):
            check_inside(output, place)


def _put_tag(place: Path, page: str, shown: PageText, ask: AskBoxSettings, mark: str) -> bool:
    """Put the tag of the box into a page, given its place and its name, and return True if the page has changed."""
    up = "../" * page.count("/") + ASK_FOLDER
    values = {"page": page, "mark": mark} | ({"server": ask.server} if ask.server else {})
    attributes = "".join(f' data-{key}="{html.escape(value)}"' for key, value in values.items())
    tag = f'<script async src="{up}/ask.js" {BOX_TAG}{attributes}></script>\n'
    if shown.tag == tag:
        return False
    text = _without_tag(_text(place))
    end = _HEAD_END.search(text)
    return end is not None and _write(place, text[: end.start()] + tag + text[end.start() :])


def _without_tag(text: str) -> str:
    return _TAG.sub("", text) if BOX_TAG in text.lower() else text


def _text(path: Path) -> str:
    """Return a file's text with its line ends as they are."""
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _write(path: Path, text: str) -> bool:
    """Write a file if it would change, and return True if it did."""
    data = text.encode("utf-8", "surrogateescape")
    if path.is_file() and path.read_bytes() == data:
        return False
    write_own(path, data)
    return True
