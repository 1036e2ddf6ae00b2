"""Fill the templates of pages, which lie beside this module as HTML and CSS."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from string import Template

from ...files.outputs import GENERATOR

_FOLDER = Path(__file__).parent


def fill_page(name: str, **values: object) -> str:
    """Return the page `NAME.html`, with the style `NAME.css` in it so that it needs no other file."""
    return fill(name, generator=GENERATOR, style=_read(f"{name}.css"), **values) + "\n"


def style_policy(name: str) -> str:
    """Return how a content security policy names the style of a page, which has to stand as `<style>$style</style>`."""
    digest = hashlib.sha256(_read(f"{name}.css").encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def fill(name: str, **values: object) -> str:
    """Return the template `NAME.html` with values for its `$names`, which have to be HTML already."""
    return _template(name).substitute(values)


@cache
def _template(name: str) -> Template:
    return Template(_read(f"{name}.html").removesuffix("\n"))


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
