"""Sentences that refer to what stands before them, and so cannot begin a quotation."""

from __future__ import annotations

import re

_FIRST = {  # words and phrases that a sentence begins with
    "en": """this these those it its they them their he she his her such however therefore thus hence then but and or so
    yet also both neither either another otherwise instead moreover furthermore conversely similarly likewise
    nevertheless nonetheless consequently accordingly besides|that is|that they|that this|that it|that was|that does
    |here is|here are|here we|here it|the latter|the former|the same|the other|the rest|the others|the two|the first
    |the second|the third|the last|the answer|the reason|the solution|the result|the figure|the table|the next|the above
    |first|second|third|finally|for this|for these|in this|in these|in other words|in such|in both|in contrast
    |on the other|on the contrary|from this|from these|by this|with this|because of this|at this|one of them|some of
    |most of them|none of|all of these|each of|what makes|one can then|as above|as before|now|again
    |where|we have""",
    "de": """dies diese dieser dieses diesem diesen das er sie es ihm ihr ihre ihren ihrem ihres sein seine jene jener
    jenes solche solcher deshalb daher darum deswegen daraus dadurch damit dafür dagegen dahinter dabei daran darauf
    dazu davon somit also aber und oder doch jedoch dennoch trotzdem außerdem zudem ferner ebenso umgekehrt hier dort
    dann beide beides derselbe dieselbe dasselbe ohne|in diesem|in dieser|in diesen|in beiden|auf diese
    |auf dieses|aus diesem|aus diesen|bei diesem|mit diesem|und umgekehrt|zu diesem|der erste|die erste|das erste
    |letztere|erstere""",
    "fr": """ce cet cette ces cela ceci il ils elle elles son sa ses leur leurs ainsi donc mais et ou pourtant
    cependant toutefois|c'est|ce sont|de plus|en outre|en effet|par conséquent""",
    "es": """este esta estos estas esto ese esa esos esas eso su sus así pero y sin|por tanto|por eso|sin embargo
    |además|en cambio""",
    "it": """questo questa questi queste ciò esso essa essi suo sua suoi sue loro così quindi dunque ma e però tuttavia
    inoltre infatti invece|per questo|di conseguenza""",
}
_COUNTED = (  # "Three things can be read from it", "Zwei Dinge", but not "Two students who differ by …"
    r"(?:two|three|four|five|six|several|some|zwei|drei|vier|fünf|einige|mehrere|deux|trois|quatre|dos|tres|cuatro|due"
    r"|tre|quattro) (?:\w+ )?(?:things?|remarks?|points?|questions?|reasons?|consequences?|rules?|cases?|ways?|steps?"
    r"|examples?|dinge|regeln|gründe|punkte|fragen|fälle|schritte|choses|raisons|règles|cosas|razones|cose|ragioni)\b"
)


def _pattern() -> re.Pattern[str]:
    phrases = set()
    for text in _FIRST.values():
        words, *longer = text.split("|")
        phrases |= {*words.split(), *(" ".join(phrase.split()) for phrase in longer)}
    listed = "|".join(map(re.escape, sorted(phrases, key=len, reverse=True)))
    return re.compile(rf"\W*(?:(?:{listed})\b(?!['’]s\b)|{_COUNTED}|some .{{0,40}}:\W*\Z)", re.I)


_LEANING = _pattern()


def leans(sentence: str) -> bool:
    """Return True if a sentence begins with a reference to what stands before it, or in its middle."""
    start = sentence.lstrip("\"“„«‘'([ ")
    return start[:1].islower() or start[:1] in ",;:)" or _LEANING.match(start) is not None
