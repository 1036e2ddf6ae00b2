"""The frame of a page without Quarto: the title of the course, the way to all pages and to the next."""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from .contents import Entry

_LABELS = Path(__file__).with_name("files") / "labels.toml"
_TOC = re.compile(r"<!--lmm-toc-start-->.*?<!--lmm-toc-end-->\n?", re.S)
# A page whose title is its first heading: the table of contents comes after that.
_FIRST_HEADING = re.compile(r"(<!--lmm-toc-start-->.*?<!--lmm-toc-end-->\n?)(<h1\b[^<>]*>.*?</h1>\n?)", re.S)
_FIRST_PAGE = """\
<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="lmm-site/page.css">
</head>
<body>
<div class="page first">
<main>
<header class="title"><h1>{title}</h1></header>
<nav class="contents">{contents}</nav>
</main>
</div>
</body>
</html>
"""


@cache
def site_words(language: str) -> Mapping[str, str]:
    """Return the words of a site for a language (`de`, `de-CH`), in English if there are none."""
    labels: dict[str, dict[str, str]] = tomllib.loads(_LABELS.read_text("utf-8"))
    return labels.get(language.lower().replace("_", "-").split("-")[0], labels["en"])


def framed(text: str, entry: Entry, title: str, contents: Sequence[Entry], words: Mapping[str, str]) -> str:
    """Return a page of pandoc's with the frame that the template leaves open."""
    up = "../" * entry.page.count("/")
    window = entry.title if entry.title == title else f"{entry.title} – {title}"
    home = f'<a class="home" href="{up}index.html">{html.escape(title)}</a>'
    pieces = {
        "window-title": html.escape(window),
        "up": up,
        "head": f'{home}<a class="to-pages" href="#lmm-pages">{words["pages"]}</a>',
        "pages": contents_list(contents, up, entry.page),
        "toc-title": words["toc"],
        "turn": _turn(entry, [one for one in contents if one.page], up, words),
    }
    if text.count("<li>", text.find("<!--lmm-toc-start-->"), text.find("<!--lmm-toc-end-->")) < 2:
        text = _TOC.sub("", text, count=1)
    text = _FIRST_HEADING.sub(r"\2\1", text, count=1)
    text = re.sub(r"<!--lmm-toc-(?:start|end)-->\n?", "", text)
    return re.sub(r"<!--lmm-([a-z-]+)-->", lambda found: pieces.get(found[1], found[0]), text)


def first_page(title: str, contents: Sequence[Entry], words: Mapping[str, str], language: str) -> str:
    """Return the first page of a course that has none: its title and its table of contents."""
    shown = contents_list(contents, "", "")
    return _FIRST_PAGE.format(title=html.escape(title), contents=shown, language=html.escape(language))


def contents_list(contents: Sequence[Entry], up: str, current: str) -> str:
    """Return the table of contents of a course as a list of links. up: the way to its folder; current: the page that
    shows it."""
    lines = []
    for entry in contents:
        title = html.escape(entry.title)
        kind = f' class="depth-{min(entry.depth, 3)}"' if entry.depth else ""
        here = ' aria-current="page"' if entry.page == current else ""
        link = f'<a href="{up}{_address(entry.page)}"{here}>{title}</a>' if entry.page else f"<span>{title}</span>"
        lines.append(f"<li{kind}>{link}</li>")
    return "\n".join(["<ul>", *lines, "</ul>"])


def _turn(entry: Entry, pages: Sequence[Entry], up: str, words: Mapping[str, str]) -> str:
    """Return the links to the page before and the page after."""
    at = pages.index(entry)
    found = []
    for kind, page in (
        ("previous", pages[at - 1] if at else None),
        ("next", pages[at + 1] if pages[at + 1 :] else None),
    ):
        if page is not None:
            label = f"<small>{words[kind]}</small> {html.escape(page.title)}"
            found.append(f'<a class="{kind}" rel="{kind[:4]}" href="{up}{_address(page.page)}">{label}</a>')
    return f'<nav class="turn">{"".join(found)}</nav>' if found else ""


def _address(page: str) -> str:
    from urllib.parse import quote

    return html.escape(quote(page))
