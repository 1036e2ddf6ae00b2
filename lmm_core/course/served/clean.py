"""Clean the HTML that pandoc makes of notes: what could run, or load anything from elsewhere, goes.

Notes may hold HTML of their own, and attributes for any element. A list says what stays, and
`nh3` (https://nh3.readthedocs.io) keeps to it; comments go, too."""

from __future__ import annotations

import re
from collections.abc import Callable

Rewrite = Callable[[str], str | None]

_MATHS = (
    "math semantics annotation mrow mi mo mn mtext ms msup msub msubsup mmultiscripts mprescripts mfrac msqrt mroot "
    "mover munder munderover mtable mtr mtd mspace mstyle mpadded mphantom menclose"
).split()
_TAGS = frozenset(
    "a abbr aside b blockquote br caption cite code col colgroup dd del details dfn div dl dt em figcaption figure h1 "
    "h2 h3 h4 h5 h6 header hr i img ins kbd li mark nav ol p pre q rp rt ruby s samp section small span strong sub "
    "summary sup table tbody td tfoot th thead time tr u ul var wbr".split()
) | frozenset(_MATHS)
_ANYWHERE = frozenset({"id", "class", "lang", "dir", "title", "role", "tabindex", "hidden", "style"})
_ATTRIBUTES = {
    "*": set(_ANYWHERE),
    "a": {"href"},
    "img": {"src", "alt", "width", "height"},
    "ol": {"start", "type", "reversed"},
    "li": {"value"},
    "details": {"open"},
    "col": {"width", "span"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "time": {"datetime"},
    "math": {"display", "xmlns", "alttext"},
    "annotation": {"encoding"},
    "mi": {"mathvariant"},
    "mo": {"stretchy", "form", "fence", "separator", "accent", "lspace", "rspace", "minsize", "maxsize", "symmetric"},
    "mover": {"accent"},
    "munder": {"accentunder"},
    "munderover": {"accent", "accentunder"},
    "mfrac": {"linethickness"},
    "mspace": {"width", "height", "depth"},
    "mpadded": {"width", "height", "depth", "lspace", "voffset"},
    "mstyle": {"displaystyle", "scriptlevel", "mathvariant"},
    "mtable": {"columnalign", "rowspacing", "columnspacing"},
    "mtd": {"columnalign"},
    "menclose": {"notation"},
}
_SCHEMES = {"http", "https", "mailto"}
_ALIGNED = re.compile(r'(<(?:td|th)\b[^<>]*?) style="text-align: (left|right|center);"')
_SIZED = re.compile(r'(<(?:img|col) [^<>]*?)style="(width|height): ?([\d.]+%)[^"]*"')
_HIDES = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.I)
_HIDDEN = "\ue000hidden"  # stands for a style that hides, while a page is cleaned
_OURS = ("lmm-ask", "lmmAsk", "TOC", "lmm-pages")  # identifiers of the page itself


def clean_html(text: str, link: Rewrite, image: Rewrite) -> str:
    """Return HTML with only what may stand in a page. link, image: give the address of a link and of an
    image, None for one that goes."""
    import nh3

    def attribute(tag: str, name: str, value: str) -> str | None:
        if name == "href":
            return link(value)
        if name == "src":
            return image(value)
        if name == "style":  # no page may have styles of its own, but what they hide stays hidden
            return _HIDDEN if _HIDES.search(value) else None
        return None if name == "id" and value.startswith(_OURS) else value

    clean = nh3.clean(
        _without_styles(text),
        tags=set(_TAGS),
        clean_content_tags={"script", "style", "template", "noscript", "iframe", "svg", "object", "textarea", "title"},
        attributes=_ATTRIBUTES,
        attribute_filter=attribute,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer",
    )
    return clean.replace(f' style="{_HIDDEN}"', ' hidden=""')


def _without_styles(text: str) -> str:
    """Return pandoc's HTML with attributes and classes for its styles, which no page of ours may hold."""
    text = _ALIGNED.sub(r'\1 class="align-\2"', text)
    return _SIZED.sub(r'\1\2="\3"', text)
