"""Unwrap replies, find their JSON object, and put texts on one line.

Unwrapping removes thoughts, and wrappers of servers and chat templates. Some servers send thoughts in tags, often
without the first one, which the template has put into the prompt. Wrong templates leave marks.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from typing import Any

from ..errors import ModelError

_TAGS = "think|thinking|thoughts?|reasoning|analysis|reflection|scratchpad|seed:think"
_OPENER = re.compile(
    rf"(?i:<(?:{_TAGS})>)|\[THINK\]|◁think▷|<\|START_THINKING\|>"
    r"|<\|channel\|>(?:analysis|commentary)[^<]{0,80}<\|message\|>|<\|channel>thought\b"
)
_CLOSER = re.compile(rf"(?i:</(?:{_TAGS})>)|\[/THINK\]|◁/think▷|<\|END_THINKING\|>")
_SPECIAL_CLOSERS = {"[THINK]": "[/THINK]", "◁think▷": "◁/think▷", "<|START_THINKING|>": "<|END_THINKING|>"}
_LATER = re.compile(rf"^[ \t]*(?:(?P<fence>```|~~~)|(?P<opener>{_OPENER.pattern}))", re.M)
_MARK = (
    r"(?:<\|[A-Za-z_ ]{2,30}\|>|<\uff5c[^<>\n]{2,40}\uff5c>|<(?:start|end)_of_turn>|<turn\|>|<eos>|</s>"
    r"|</(?:answer|response)>|\[/?INST\])"
)
_HEAD = re.compile(r"(?:<\|[A-Za-z_ ]{2,30}\|>|<start_of_turn>|<(?:answer|response)>)(?:assistant|model|final)?\s*")
# Marks at the end of a reply, with any following message of another role
_END = re.compile(rf"(?P<first>{_MARK})(?:\s*{_MARK})*\s*(?=\Z|(?:user|system|assistant|model|human)\b)")
# A possible tag or mark that the stream may complete
_BEGUN = re.compile(
    rf"(?:(?:(?:{_MARK}|<\|channel>)\s*)+[a-z ]{{0,20}}(?:<[^<>\n]{{0,60}})?"
    r"|<[^<>\n]{0,60}|\[/?[A-Z]{0,6}|◁[^▷\n]{0,8})\Z"
)
# A markdown fence around a whole reply; inner fences with a language are text
_LINES = r"(?:(?!(?P=fence)).*\n)*"
_FENCED = re.compile(
    rf"\s*(?P<fence>`{{3,}}|~{{3,}})(?:markdown|md)[ \t]*\n"
    rf"(?P<text>{_LINES}(?:(?P=fence)[ \t]*[\w{{].*\n{_LINES}(?P=fence)[ \t]*\n{_LINES})*)(?P=fence)\s*\Z"
)
_MAY_BE_FENCED = re.compile(r"\s*(?:[`~]{1,2}\Z|(?:`{3,}|~{3,})(?:\Z|m(?:\Z|a|d)))")
# Models whose template usually opens the thoughts in the prompt
_THINKERS = re.compile(r"think|reason|qwq|(?<![a-z])r1(?![a-z\d])", re.I)
_QUOTES = "`\"'“”"


def unwrap(text: str, request: str = "", whole: bool = True) -> str:
    """Return a reply without thoughts and marks; "" if the model only thinks.

    request: its tags and marks may be the reply's subject
    whole: False for a partial reply, without an end that may become a tag or a mark"""
    if not whole and not text.strip():
        return ""
    reply = _without_later_thoughts(_without_beginning(text, request, whole), request, whole)
    if end := next((end for end in _END.finditer(reply) if not _is_text(end["first"], end, request)), None):
        reply = reply[: end.start()]
    if not whole and (begun := _BEGUN.search(reply)):
        reply = reply[: begun.start()]
    return _without_fence(reply, request, whole)


def thinks(text: str) -> bool:
    """Return True if a reply begins with thoughts, even without their first tag."""
    return _OPENER.match(text.lstrip()) is not None or _thinks_untagged(text)


def _thinks_untagged(text: str) -> bool:
    return _CLOSER.search(text) is not None and unwrap(text) != text


def may_think_untagged(model: str, text: str = "") -> bool:
    """Return True if a model's thoughts may lack their first tag, by name or reply."""
    return bool(_THINKERS.search(model) or (not _OPENER.match(text.lstrip()) and _thinks_untagged(text)))


class UnwrappedStream:
    """Shows an unwrapped reply on arrival. waits: for the end of thoughts without a first tag."""

    def __init__(self, show: Callable[[str], None], request: str, waits: bool = False) -> None:
        self._show, self._asked, self._waits = show, request, waits
        self._text = self.shown = ""

    def hear(self, part: str, thought: str = "") -> None:
        """Take a part. thought: sent separately as thoughts."""
        self._text += part
        self._waits = self._waits and not thought and not _CLOSER.search(self._text)
        if not self._waits:
            self._show_rest(unwrap(self._text, self._asked, whole=False))

    def finish(self) -> None:
        """Show the rest."""
        self._show_rest(unwrap(self._text, self._asked))

    def _show_rest(self, reply: str) -> None:
        if len(reply) > len(self.shown) and reply.startswith(self.shown):
            rest, self.shown = reply[len(self.shown) :], reply
            self._show(rest)


def _without_beginning(text: str, request: str, whole: bool) -> str:
    reply = text
    while True:
        start = reply.lstrip()
        if opener := _OPENER.match(start):
            _, closed, reply = start[opener.end() :].partition(_closer(opener[0]))
            if not closed:
                return ""
        elif not whole and _BEGUN.match(start):
            return ""
        elif (head := _HEAD.match(start)) and head[0].strip() not in request:
            reply = start[head.end() :]
        else:
            break
        reply = reply.lstrip()
    first = _OPENER.search(reply)
    bare = _CLOSER.finditer(reply, 0, first.start() if first else len(reply))
    ends = [closer.end() for closer in bare if not _is_text(closer[0], closer, request)]
    return reply[ends[-1] :].lstrip() if ends else reply


def _without_later_thoughts(reply: str, request: str, whole: bool) -> str:
    """Remove thoughts on lines of their own, outside code."""
    parts, copied_to, fenced, at = [], 0, False, 0
    while line := _LATER.search(reply, at):
        at, opener = line.end(), line["opener"]
        fenced ^= opener is None
        if opener is None or fenced or opener in request:
            continue
        closed = reply.find(_closer(opener), at)
        parts.append(reply[copied_to : line.start()])
        if closed < 0:
            return reply if whole else "".join(parts)
        at = closed + len(_closer(opener))
        copied_to = at = len(reply) - len(reply[at:].lstrip())
    return "".join(parts) + reply[copied_to:]


def _without_fence(reply: str, request: str, whole: bool) -> str:
    if not whole:
        return "" if _MAY_BE_FENCED.match(reply) else reply
    fenced = _FENCED.match(reply)
    is_text = not fenced or reply.split(maxsplit=1)[0] in request
    return reply if is_text or not fenced else fenced["text"].rstrip("\n")


def _closer(opener: str) -> str:
    if opener.startswith("<|channel"):
        return "<|end|>" if opener.endswith("|>") else "<channel|>"
    return _SPECIAL_CLOSERS.get(opener, f"</{opener[1:]}")


def _is_text(mark: str, match: re.Match[str], request: str) -> bool:
    """Return True if a mark is text: in the request, quoted, or the end of an element."""
    text, at = match.string, match.start()
    line = text[text.rfind("\n", 0, at) + 1 : at]
    around = text[at - 1 : at], text[at + len(mark) :][:1]
    quoted = all(sign and sign in _QUOTES for sign in around) or line.count("`") % 2 == 1
    return quoted or mark in request or (mark.startswith("</") and text.find(f"<{mark[2:]}", 0, at) >= 0)


# Contents

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_MOST_TRIED = 50  # braces tried as an object's start
_MOST_REPAIRED = 5  # of these, with repairs
_TEXT_OR_COMMA = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.S)
_BACKSLASH = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_SHOWN = 60  # characters of a reply in a message
# Terminal colours and titles
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\))")


def one_line(text: str) -> str:
    """Return a text on one line, without escapes and control characters."""
    text = _ESCAPE.sub("", text)
    return " ".join(_UNSEEN.sub(" ", text.encode("utf-8", "replace").decode("utf-8")).split())


def find_object(text: str) -> dict[str, Any]:
    """Return the first JSON object in a reply. Raise ModelError if there is none."""
    decoder, at = json.JSONDecoder(strict=False), -1
    for tried in range(_MOST_TRIED):
        at = text.find("{", at + 1)
        if at < 0:
            break
        for prepare in (str, _repaired) if tried < _MOST_REPAIRED else (str,):
            with contextlib.suppress(ValueError, RecursionError):
                value: dict[str, Any] = decoder.raw_decode(prepare(text[at:]))[0]
                return value
    raise ModelError(f"the reply is not JSON: {shown(text)}" if text.strip() else "the reply is empty")


def _repaired(text: str) -> str:
    """Repair JSON: drop trailing commas, double the single backslashes of formulas."""

    def repair(fault: re.Match[str]) -> str:
        return _BACKSLASH.sub(lambda escape: escape[0] if escape[1] else "\\\\", fault["text"]) if fault["text"] else ""

    return _TEXT_OR_COMMA.sub(repair, text)


def find_value(text: str, key: str) -> Any:
    """Return a key's value in a reply's object. Raise ModelError if missing."""
    try:
        return find_object(text)[key]
    except (ModelError, KeyError):
        raise ModelError(f"the reply holds no {key}") from None


def shown(text: str) -> str:
    """Quote a model's words for a message: one line, at most 60 characters."""
    line = one_line(text[: 4 * _SHOWN])
    return repr(line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…")
