"""Write study cards as an Anki package. Needs the extra `cards` (genanki, markdown-it-py)."""

from __future__ import annotations

import hashlib
import html
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import genanki
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from ..files.outputs import write_output
from .cards import Card

MODEL_ID = 1_607_392_319_414  # never change: Anki recognizes our note type by it
LARGEST_IMAGE = 10_000_000  # bytes
IMAGES = frozenset((".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp"))
# TeX that makes links or loads packages that do, and Anki's own commands in a field.
_UNSAFE_TEX = re.compile(r"\\(?:href|url|html\w*|require|class|cssId|style|data|unicode)\b")
_ANKI_COMMAND = re.compile(r"\[(?=/?(?:latex|\$|sound:|anki:))", re.I)
_ATTRIBUTES = r"\s*\{(?:[#.]|[\w-]+=)[^{}]*\}"
_FIRST_ATTRIBUTES, _LAST_ATTRIBUTES = re.compile(r"\A" + _ATTRIBUTES), re.compile(_ATTRIBUTES + r"\s*$")
_CSS = """.card { font-family: sans-serif; font-size: 18px; text-align: left; max-width: 40em; margin: auto; }
pre { overflow-x: auto; } img { max-width: 100%; } table { border-collapse: collapse; } td, th { padding: .2em .6em; }
.source { color: gray; font-size: 12px; margin-top: 2em; }"""


def write_package(cards: Sequence[Card], name: str, path: Path, root: Path) -> None:
    """Write a deck as an Anki package (`.apkg`); importing it again updates its cards. Raise OSError.

    name: `::` is replaced because it nests decks in Anki; root: folder of the notes, for images"""
    name = name.replace("::", ": ")
    deck = genanki.Deck(_number(name), name)
    with tempfile.TemporaryDirectory() as folder:
        images = _Images(root.resolve(), Path(folder))
        for card in cards:
            fields = [
                to_html(card.front, images, card.folder),
                to_html(card.back, images, card.folder),
                html.escape(card.source),
            ]
            deck.add_note(genanki.Note(_model(), fields, guid=card.id, tags=list(card.tags)))
        package = genanki.Package(deck, media_files=[str(file) for file in images.files.values()])
        deck_file = Path(folder) / "deck.apkg"
        package.write_to_file(str(deck_file))
        write_output(path, deck_file.read_bytes())


@cache
def _model() -> Any:
    back = "{{FrontSide}}<hr id=answer>{{Back}}<div class=source>{{Source}}</div>"
    return genanki.Model(
        MODEL_ID,
        "LM markdown",
        fields=[{"name": "Front"}, {"name": "Back"}, {"name": "Source"}],
        templates=[{"name": "Card", "qfmt": "{{Front}}", "afmt": back}],
        css=_CSS,
    )


def _number(name: str) -> int:
    """Return a deck id hashed from its name: positive, and exact in JavaScript."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=6).digest(), "big") + 1


# HTML


@dataclass
class _Images:
    """The images on the cards, copied to `folder` under unique names."""

    root: Path
    folder: Path
    files: dict[Path, Path] = field(default_factory=dict)

    def add(self, link: str, folder: str) -> str:
        """Return the name of an image's copy, "" if it is missing, too large, of another type, or outside the root."""
        try:
            path = (self.root / folder / link).resolve()
            fits = path.is_relative_to(self.root) and path.suffix.lower() in IMAGES
            if not (fits and path.is_file() and path.stat().st_size <= LARGEST_IMAGE):
                return ""
        except (OSError, ValueError):  # not a valid file name
            return ""
        if path not in self.files:
            mark = hashlib.blake2b(path.relative_to(self.root).as_posix().encode(), digest_size=6).hexdigest()
            copied = self.folder / f"lmm-{mark}{path.suffix.lower()}"
            shutil.copyfile(path, copied)
            self.files[path] = copied
        return self.files[path].name


def to_html(text: str, images: _Images | None = None, folder: str = "") -> str:
    """Return markdown as HTML for Anki's MathJax. Raw HTML becomes text, and a missing image its caption."""
    markdown = _markdown()
    environment: dict[str, Any] = {}
    tokens = markdown.parse(text, environment)
    for before, token in zip([None, *tokens], tokens, strict=False):
        children = token.children or []
        _settle(children)
        if before is not None and before.type == "heading_open" and children:
            children[-1].content = _LAST_ATTRIBUTES.sub("", children[-1].content)
        token.children = _with_captions(children, images, folder)
    rendered = cast(str, markdown.renderer.render(tokens, markdown.options, environment))
    return _ANKI_COMMAND.sub("&#91;", rendered).strip()


@cache
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.use(dollarmath_plugin, allow_space=False, allow_digits=False, allow_blank_lines=False,
                 double_inline=True, renderer=_formula)  # fmt: skip
    markdown.use(footnote_plugin)
    return markdown


def _formula(text: str, options: dict[str, Any]) -> str:
    text = text.strip()
    if _UNSAFE_TEX.search(text):
        return f"<code>{html.escape(text)}</code>"
    start, end = (r"\[", r"\]") if options.get("display_mode") else (r"\(", r"\)")
    return f"{start}{html.escape(text)}{end}"


def _settle(tokens: list[Token]) -> None:
    dead = False
    for before, token in zip(["text", *(token.type for token in tokens)], tokens, strict=False):
        if before != "text" and token.type == "text":
            token.content = _FIRST_ATTRIBUTES.sub("", token.content)
        if token.type == "link_open":
            dead = not str(token.attrGet("href")).startswith(("http://", "https://"))
        if token.type in ("link_open", "link_close") and dead:
            token.type, token.tag, token.content = "text", "", ""


def _with_captions(tokens: list[Token], images: _Images | None, folder: str) -> list[Token]:
    shown: list[Token] = []
    for token in tokens:
        if token.type != "image":
            shown.append(token)
            continue
        name = images.add(unquote(str(token.attrGet("src"))), folder) if images else ""
        caption, token.children = token.children or [], []
        _settle(caption)
        caption = _with_captions(caption, images, folder)
        if name:
            token.attrs = {"src": name, "alt": ""}
            shown += [token, *([Token("hardbreak", "br", 0)] if caption else []), *caption]
        else:
            shown += [_text("[image: "), *caption, _text("]")]
    return shown


def _text(text: str) -> Token:
    return Token("text", "", 0, content=text)
