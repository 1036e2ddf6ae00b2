"""Extract plain prose and sentences from markdown."""

from __future__ import annotations

import re

from ...markdown.regions import without_comments
from ..languages.words import count_words

MOST_CHARACTERS = 100_000
# Markup to remove, in order; a text without any of the signs cannot contain it
_REMOVED = (
    (("$$",), re.compile(r"\$\$.*?\$\$(?:[ \t]*\{[^}\n]*\})?", re.S)),
    (("\\begin",), re.compile(r"^[ \t]*\\begin\{(\w+\*?)\}.*?\\end\{\1\}", re.M | re.S)),
    (("    ", "\t"), re.compile(r"^(?: {4}|\t).*$", re.M)),
    (("#",), re.compile(r"^#{1,6}[ \t].*$", re.M)),
    (("--",), re.compile(r"^-{3,}$", re.M)),
)
_LOST = (  # a sentence without these may lose its meaning
    (("{{<",), re.compile(r"\{\{<.*?>\}\}", re.S)),
    (("<",), re.compile(r"<[A-Za-z][\w+.-]*:[^<>\s]*>|<[^<>\s@]+@[^<>\s@]+>")),
    (("![",), re.compile(r"!\[[^\]]*\](?:\([^)\n]*\)|\[[^\]]*\])?(?:\{[^}\n]*\})?")),
    (("@",), re.compile(r"[ ]?\[[^\]\[]*?-?@[\w][^\]]*\]")),
)
_MARKUP = re.compile(r"</?[A-Za-z][^<>\n]*>|\[\^[^\]]+\]|\^\[[^\]]*\]")
_LINK = re.compile(r"\[([^\[\]]+)\](?:\([^()\n]*(?:\([^()]*\)[^()\n]*)*\)|\[[^\]\n]*\])?(?:\{[^}\n]*\})?")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_{1,3})(?=\S)(.{1,400}?)(?<=\S)\1(?![\w*])", re.S)
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.{1,400}?)(?<!`)\1(?!`)(?:\{[^}\n]*\})?", re.S)
_ITEM = re.compile(r"^[ \t>]*(?:[-*+]|\d{1,3}[.)]|#\.|\(@\w*\))[ \t]+(?:\[[ xX]\][ \t]+)?", re.M)
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.M)
_HIDE = {ord(sign): 0xF0000 + ord(sign) for sign in "[]*_\\`<>$#|:!~"}
_SHOW = {hidden: sign for sign, hidden in _HIDE.items()}
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_PLAIN = re.compile(r"[^\W\d_](?:[^\W_]|[ ,.?!'’()/&])*")  # a line without markup
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
_SENTENCE_END = re.compile(
    r"(?:(?<=[.!?…])|(?<=[.!?…][\"”’»)\]\ue000]))\s+(?=\ue000?[\"“„«(\[¿¡]?[A-ZÀ-ÖØ-Þ\u0400-\u042f\u0386-\u03ab\d])"
    r"|(?<=[。！？])\s+|(?<=[。！？][”’」』）])\s+"
)
_WIDE_END = re.compile(r"([。！？][”’」』）]?)(?=[^\s。！？”’」』）])")
_ABBREVIATION = re.compile(
    r"(?:^\d{1,3}|\b(?:[A-Za-z]|e\.g|i\.e|cf|vs|etc|Dr|Prof|Mr|Mrs|Fig|Eq|No|Nr|vol|pp|approx|bzw|ca|vgl|usw|d\.h|z\.\s?B))\.$"
)  # or the number of an item


# First words of sentences that need the previous one
_LEANING = frozenset(
    """again also and another besides both but consequently conversely either finally first furthermore he hence here
    his however indeed instead it its likewise meanwhile moreover neither nevertheless next now or otherwise rather
    second several she similarly so some such that their them then therefore these they third this those three thus two
    yes yet drei einige mehrere zwei
    aber allerdings also außerdem beide dabei dadurch dafür dagegen daher damit danach dann daran darauf daraus darin
    darum das davon dazu denn dennoch deshalb deswegen dies diese diesem diesen dieser dieses doch dort ebenso er es
    ferner folglich hier hingegen ihr ihre jedoch jene nein oder sie solche somit stattdessen trotzdem umgekehrt und
    zudem ainsi alors aussi car ce ceci cela cependant ces cet cette donc elle elles enfin ensuite et ici il ils leur
    leurs mais non ou oui pourtant puis sa ses son tel telle además ahora así ella ellas ello ellos entonces esa ese eso
    esta estas este esto estos luego o pero pues su sus también tampoco y allora anche ciò così dunque e egli essa essi
    esso infatti infine inoltre invece ma oppure però poi quella quello questa queste questi questo qui quindi sua suo
    tale tuttavia""".split()
)
_FIRST_WORD = re.compile(r"([^\W_]+)(?:[’'](?:s|re)\b)?(?: [^\W_]+)?(,?)")  # and a comma after it or the next
_OPENING = "\"“„«‘'([ "


def leans(sentence: str) -> bool:
    """Return True if a sentence is a fragment or needs the one before it."""
    start = sentence.lstrip(_OPENING)
    first = _FIRST_WORD.match(start)
    connects = first is not None and (first[2] == "," or first[1].lower() in _LEANING)
    return start[:1].islower() or start.startswith((",", ";", ":", ")")) or connects


def extract_prose(paragraph: str, lost: str = "", emphasis: str = "") -> str:
    """Return the prose of a paragraph or title, one item a line, without equations, notes and other markup.

    lost: replaces images, citations, addresses and shortcodes; emphasis: marks emphasised words."""
    if _PLAIN.fullmatch(paragraph):  # most titles
        return " ".join(paragraph.split())
    text = without_comments(paragraph)
    text = _ESCAPE.sub(lambda m: m[1].translate(_HIDE), text) if "\\" in text else text
    for signs, pattern in _REMOVED:
        text = pattern.sub("", text) if any(sign in text for sign in signs) else text
    for signs, pattern in _LOST:
        text = pattern.sub(lost, text) if any(sign in text for sign in signs) else text
    text = _MARKUP.sub("", text) if "<" in text or "^" in text else text
    text = _ITEM.sub("\n\n", _QUOTE.sub("", text) if ">" in text else text)
    text = _CODE.sub(lambda m: m[2].strip().translate(_HIDE), text) if "`" in text else text
    text = _LINK.sub(lambda m: m[1], text) if "[" in text else text
    nested = 3 if "*" in text or "_" in text else 0  # at most
    while nested:
        text, count = _EMPHASIS.subn(lambda m: f"{emphasis}{m[2]}{emphasis}", text)
        nested = nested - 1 if count else 0
    text = _CONTROL.sub(" ", text.translate(_SHOW) if "\\" in paragraph or "`" in paragraph else text)
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n[ \t]*\n", text))
    return "\n".join(part for part in paragraphs if part)


def split_sentences(paragraph: str) -> list[str]:
    """Return the sentences of a plain paragraph, including a last one without full stop."""
    sentences: list[str] = []
    open_parts: list[str] = []
    spaced = paragraph if paragraph.isascii() else _WIDE_END.sub(r"\1 ", paragraph)
    for part in _SENTENCE_END.split(spaced):
        open_parts.append(part)
        if not _ABBREVIATION.search(part[-12:]):
            sentences.append(" ".join(open_parts))
            open_parts = []
    return sentences + ([" ".join(open_parts)] if open_parts else [])


def whole_sentences(text: str) -> list[str]:
    """Return the whole sentences of plain text with one paragraph a line, or else its fragments."""
    sentences = [sentence for paragraph in text.split("\n") for sentence in split_sentences(paragraph)]
    complete = [s for s in sentences if s[-1:] in ".!?…”。！？" and not s[:1].islower() and count_words(s) > 3]
    return complete or [s for s in sentences if count_words(s) > 3]
