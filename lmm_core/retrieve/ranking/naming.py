"""The places in a text that give something a second name: abbreviations, translations, synonyms.

A wrong pair would mislead each search for its words, and a missing one leaves things as they
were. So in doubt there is no pair.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from ...markdown.regions import split_fences
from .abbreviations import ARTICLE, SMALL, is_short, long_as_a_whole, long_at_start, long_before, singular

Pair = tuple[str, str]  # an abbreviation or another name, and the name that it stands for

_MOST_BEFORE = 160  # characters before a bracket that are looked at
_MOST_PARTS = 4  # of what is in a bracket
_MOST_WORDS = 4  # of a name
_SHORTEST_NOUN = 8  # letters
_MOST_SIGNS = 6  # of a Chinese term: more are a clause rather
_SIGNS = "々ー\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # Chinese and Japanese

# Markdown that is no text, and marks around text
_NO_TEXT = re.compile(r"\$[^$\n]+\$|<[^<>\n]*>|\[[^\[\]]*@[^\[\]]*\]|(?<=\])(?:\{[^{}]*\}|\([^()\s]*\)|\[[^\[\]]*\])")
_CODE = re.compile(r"`[^`\n]*`")
_MARKS = re.compile(r"[*\[\]\\]|(?<![^\W_])_+|_+(?![^\W_])")
_TERM_END = re.compile(r"\n+:[ \t]+(?=[(（])")  # before a bracket with which a definition begins

_BRACKET = re.compile(r"[(（]([^()（）]{2,80})[)）]")
_NO_NAME = re.compile(
    r"[=<>@$#{}|~^]|\b(?:1[5-9]|20)\d\d|^\W*(?:see|cf|fig|figure|table|eq|e\.g|for|in|with|vgl|siehe)\b", re.I
)
_CLAUSE_END = re.compile(
    r"[.!?;:,|](?=\s)|[。！？；：，、|]|\n[ \t]*\n|\n(?=[ \t]*(?:[-+#>|]|\d+[.)]))|[()（）\"“”„«»「」『』]"
)
# What may be a name in a bracket: an abbreviation, or anything after one or after signs
_MAY_NAME = re.compile(
    r"(?:^|[,;，；、])[\s*_]*(?:\d\d\s?%\s)?[^\W_][\w.&/+'’-]{1,9}(?: [\w.-]{1,4})?[\s*_]*(?=[,;，；、]|$)"
)
_CAPITALS_LAST = re.compile(r"[A-Z][\w-]*[A-Z]s?[*_]*\s$")
_PARTS = re.compile(r"\s*[,;，；、]\s*")

# Words before a name that say whose name it is, or what sort of name
_LANGUAGE = (
    r"(?:(?:from|auf|in|en|im|aus|von|the)\s+)?(?:engl(?:isch(?:en)?|ish)?|anglais|ingl[eé]se?|latin|lat|"
    r"franz(?:ösisch)?|french|german|deutsch|dt|griech(?:isch)?|greek)(?:\.|\s?:|(?=\s))\s*|"
    r"(?:英文|英语|英語|英)(?:名|缩写)?\s*[:：]\s*"
)
_ALSO = (
    r"(?:also|commonly|often|sometimes|otherwise|formerly)\s+(?:known\s+as|called|referred\s+to\s+as|termed)\s+|"
    r"(?:a\.?k\.?a\.?|syn(?:onym)?(?:\.|:|\s+for))\s+|auch:?\s+(?=[A-ZÄÖÜ])|aussi\s+appelée?\s+|también\s+llamad[ao]\s+"
)
_SHORTLY = (
    r"(?:abbreviated(?:\s+(?:as|to))?|abbr\.?|(?:in\s+)?short(?:\s+for)?|hereafter|henceforth|or|kurz|abgekürzt|abk\.?|"
    r"i\.e\.|d\.\s?h\.)(?::|(?=\s))\s*|(?:缩写为?|简称|略称|略して)[:：]?\s*|\d\d\s?%[\s-]"
)
_LABEL = re.compile(rf"\s*(?:(?P<name>{_LANGUAGE}|{_ALSO})|{_SHORTLY})", re.I)

# `SE = standard error`, `SE stands for standard error`
_CAPITALS = r"(?P<short>[A-Z][A-Za-z&/-]{0,8}[A-Z])s?[*_]{0,2}"
_SAYINGS = (" = ", " short for ", " stands for ", " steht für ")
_SAYING = re.compile("|".join(_SAYINGS))
_SAID = re.compile(rf"(?<![\w-]){_CAPITALS}(?: = |,? (?:is )?(?:short|stands) for |,? steht für )$")
# A line of a list of abbreviations, a row of a table of them, and an item of a definition list
_LISTED = re.compile(
    rf"^[ \t]*(?:[-+*|][ \t]+)?[*_\[]{{0,3}}{_CAPITALS}(?:[ \t]*[:=–—|][*_]{{0,2}}[ \t]+|[ \t]*\n{{1,2}}:[ \t]+)"
    r"(?P<long>[^\n.,;:()=|“”\"]{5,80})",
    re.M,
)
# `*standard error*, also known as *SEM*`
_CALLED = ("known as", "called", "referred to", "termed")
_MARKED = re.compile(
    r"(?<![\w*])(\*{1,3}|_{1,3})(?P<one>[^\s*_][^*_\n]{1,58})\1(?:,|[ \t]*\(|[ \t]+(?:is|are))?[ \t\n]+"
    rf"(?:which[ \t]+(?:is|are)[ \t]+)?(?:{_ALSO})(?:an?[ \t]+|the[ \t]+)?"
    r"[*_“\"'‘]{1,3}(?P<other>[^\s*_“”\"][^*_\n“”\"’]{1,58})(?=[*_”\"’])",
    re.I,
)
_NAME = re.compile(r"[^\W\d_](?:[\w '’/-]{0,58}[\w])?")
_NO_NAMES = frozenset({"and", "or", "und", "oder", "et", "ou", "here", "hier"})
_KATAKANA = re.compile(r"[\u30a0-\u30ff]+")
# Where a Chinese or Japanese term begins: after hiragana, and words that are no part of terms
_BEFORE_TERM = re.compile(
    r"[\u3040-\u309f的了是和与及或为用叫称即把从由以就有也都被到我你他她它们这那该其各每于而个些种]|对(?![数象称比抗偶角应])|在(?!线)|"
    r"计算(?!机)|使用|采用|给出|得到|估计(?=.{3})|表示|定义|比较|包括|通过|根据|例如|如|许多|不同|少量|进行|利用|引入|一层中"
)
_EMPHASISED = re.compile(r"[*_]{1,3}([^\s*_][^*_\n]{0,58})[*_]{1,3}\s*$")


def find_pairs(markdown: str) -> Iterator[Pair]:
    """Yield the pairs of names that a text gives to one thing, an abbreviation before its long form."""
    prose = _without_code(markdown)
    yield from _said(prose)
    if any(word in prose for word in _CALLED):
        found = ((one["other"].strip(" ,."), one["one"].strip()) for one in _MARKED.finditer(prose))
        yield from ((one, other) for one, other in found if _is_name(one) and _is_name(other))
    if "(" in prose or "（" in prose:
        prose = _TERM_END.sub(" ", prose) if "\n:" in prose else prose
        for bracket in _BRACKET.finditer(prose):
            if not _NO_NAME.search(bracket[1]):
                yield from _in_brackets(prose[max(0, bracket.start() - _MOST_BEFORE) : bracket.start()], bracket[1])


def _without_code(markdown: str) -> str:
    if "```" in markdown or "~~~" in markdown:
        markdown = "".join("\n\n" if is_code else piece for is_code, piece in split_fences(markdown))
    return _CODE.sub(" ", markdown) if "`" in markdown else markdown


def _plain(text: str) -> str:
    return _MARKS.sub("", _NO_TEXT.sub(" ", text))


def _said(prose: str) -> Iterator[Pair]:
    """Yield the pairs that are said in words, or stand in a list of abbreviations."""
    for found in _LISTED.finditer(prose):
        if long := long_at_start(found["short"], _plain(found["long"])):
            yield found["short"], long
    if any(saying in prose for saying in _SAYINGS):
        for cue in _SAYING.finditer(prose):
            said = _SAID.search(prose[max(0, cue.start() - 16) : cue.end()])
            text = _CLAUSE_END.split(prose[cue.end() : cue.end() + 80])[0] if said else ""
            if said and (long := long_at_start(said["short"], _plain(text))):
                yield said["short"], long


# Brackets


def _in_brackets(before: str, content: str) -> Iterator[Pair]:
    """Yield the pairs of what stands before a bracket and what is in it."""
    signs = _is_sign(before.rstrip(" \n*_")[-1:])
    if not signs and not before.rstrip("*_")[-1:].isspace():
        return  # `f(x)`
    if not signs and not _MAY_NAME.search(content) and not _LABEL.match(content) and not _CAPITALS_LAST.search(before):
        return
    clause = " ".join(_CLAUSE_END.split(_plain(before).rstrip())[-1].split())
    labelled = [_labelled(part) for part in _PARTS.split(" ".join(_plain(content).split()))[:_MOST_PARTS]]
    parts = [part for part, _ in labelled]
    shorts = [part for part in parts if is_short(part)]
    inner = [
        (singular(short), long)
        for short in shorts
        for part in parts
        if part != short and (long := long_as_a_whole(short, part))
    ]
    yield from inner
    yield from ((singular(short), long) for short in shorts if (long := long_before(short, clause)))
    last = clause.rpartition(" ")[2]
    if is_short(last) and (long := long_as_a_whole(last, parts[0])):
        yield singular(last), long
    names = [part for part, is_other in labelled if is_other and _is_name(part) and not signs]
    names += [name for pair in inner for name in pair if signs or last[:1].isupper()]
    names += [part for part in parts if signs and _is_foreign(part)]
    marked = _EMPHASISED.search(before) if names else None
    if term := names and (marked[1] if marked else _term_of_signs(clause) if signs else _term(clause)):
        yield from ((name, term) for name in dict.fromkeys(names) if name != term)


def _labelled(part: str) -> tuple[str, bool]:
    """Return a name without the words that say what name it is, and whether it is said to be another name."""
    found = _LABEL.match(part)
    if found is None:
        return part, False
    name = ARTICLE.sub("", part[found.end() :].strip(" \"'“”"), count=1)
    return name.removesuffix(" genannt"), found["name"] is not None


# Names


def _is_name(text: str) -> bool:
    words = text.lower().split()
    return _NAME.fullmatch(text) is not None and len(words) <= _MOST_WORDS and _NO_NAMES.isdisjoint(words)


def _is_sign(letter: str) -> bool:
    return re.match(f"[{_SIGNS}]", letter) is not None


def _is_foreign(text: str) -> bool:
    """Return True if a text is an abbreviation in Latin letters, or a term. Names of people and places are not."""
    if not text.isascii() or not _is_name(text) or re.search(r"\d", text):
        return False
    return text.isupper() if len(text) < 6 else text[0].islower()


def _term(clause: str) -> str:
    """Return the term at the end of a clause, or "" if it is not clear where it begins.

    It begins with the clause or after an article. A long word with a capital is a noun, in German."""
    words = clause.split(" ")
    words[0] = ARTICLE.sub("", words[0])
    article = max((at for at, word in enumerate(words[:-1]) if ARTICLE.fullmatch(word + " ")), default=-1)
    term = words[article + 1 :]
    if len(term) <= 3 and (article >= 0 or clause[:1].isupper()) and SMALL.isdisjoint(map(str.lower, term)):
        return " ".join(term) if _is_name(" ".join(term)) else ""
    nouns = [word for word in reversed(words) if word] if len(words[-1]) > _SHORTEST_NOUN else []
    name = " ".join(reversed(list(takewhile(lambda word: word[0].isupper(), nouns))))
    return name if _is_name(name) else ""


def _term_of_signs(clause: str) -> str:
    """Return the Chinese or Japanese term at the end of a clause, or ""."""
    found = re.search(rf"[{_SIGNS}]{{2,12}}$", clause)
    if found is None:
        return ""
    term = found[0][max((cut.end() for cut in _BEFORE_TERM.finditer(found[0])), default=0) :]
    return term if 2 <= len(term) <= _MOST_SIGNS or _KATAKANA.fullmatch(term) else ""
