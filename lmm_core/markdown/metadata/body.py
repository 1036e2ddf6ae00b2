"""Parse and edit the YAML body of a metadata block.

Chat and edit keys extend YAML; dates, times and numbers that would not round-trip stay text.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from ...errors import MarkdownError
from ..blocks import Message

Value = Any
DELETED = object()
CLOSED = "--"  # not allowed in HTML comments, see `dump_entry`
WIDTH = 88  # columns at which long values are wrapped
MAX_DEPTH = 64
MAX_ALIASES = 20

_MESSAGE = re.compile(r"^(\?|\+|=|query|message|edit):(?:[ \t]+(?=\S)([^\r\n]*))?[ \t]*\r?$", re.M)
_DEEP_INDENT = re.compile(rf"^[ \t?:-]{{{MAX_DEPTH}}}", re.M)
_ALIAS = re.compile(r"(?:^|[\s\[{,])\*\w")
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")
_TEXT = "tag:yaml.org,2002:str"
_QUOTED = re.compile(r"[\"']")
_NATIVE_TAGS = re.compile(r"^(?:~|null|Null|NULL|)$")
_LOOKS_LIKE_KEY = re.compile(r"[\"']?[\w~?+=][^:\n#\[\]{}]{0,60}?[\"']?[ \t]*:(?=[ \t\r\n]|\Z)|[?+=]:")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader that keeps `12:30`, `0123`, `1.10` and dates as text, and ignores unknown tags."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if node.tag == _TEXT and isinstance(node, yaml.ScalarNode):
            return node.value
        return super().construct_object(node, deep)


class _Dumper(yaml.SafeDumper):
    """A safe dumper that indents list items; libyaml's would escape letters outside the basic plane."""

    is_closed = False

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if dumper.is_closed and CLOSED in text:
        style = '"'
    elif "\n" in text or _LINE_ENDS.search(text):
        style = "|" if _literal(text) and not text.endswith("\n\n") else '"'
    return dumper.represent_scalar(_TEXT, text, style=style)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_multi_representer(str, _represent_text)


class _ClosedDumper(_Dumper):
    is_closed = True


def _resolvers() -> dict[str | None, list[tuple[str, re.Pattern[str]]]]:
    table: dict[str | None, list[tuple[str, re.Pattern[str]]]] = {}
    rules = [
        ("bool", r"^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$", "yYnNtTfFoO"),
        ("int", r"^-?(?:0|[1-9][0-9]*)$", "-0123456789"),
        ("float", r"^-?(?:0|[1-9][0-9]{0,14})\.(?:0|[0-9]{0,14}[1-9])$", "-0123456789"),
        ("null", _NATIVE_TAGS.pattern, "~nN"),
    ]
    for tag, pattern, first in rules:
        for char in first:
            table.setdefault(char, []).append((f"tag:yaml.org,2002:{tag}", re.compile(pattern)))
    table.setdefault("", []).append(("tag:yaml.org,2002:null", re.compile(_NATIVE_TAGS.pattern)))
    return table


def _construct_untagged(loader: Any, _suffix: Any, node: yaml.Node | None = None) -> Any:
    at = node if node is not None else _suffix
    if isinstance(at, yaml.MappingNode):
        return loader.construct_mapping(at, deep=True)
    if isinstance(at, yaml.SequenceNode):
        return loader.construct_sequence(at, deep=True)
    return loader.construct_scalar(at)


_Loader.yaml_implicit_resolvers = _resolvers()
_Loader.add_multi_constructor("!", _construct_untagged)
_Loader.add_constructor(None, _construct_untagged)


@dataclass(slots=True)
class Parsed:
    """A parsed body.

    content: None if the body is not a mapping
    error_line: line in the body, from 0"""

    content: dict[str, Any] | None = None
    messages: list[Message] = field(default_factory=list)
    error: str = ""
    error_line: int = 0


def looks_like_key(body: str) -> bool:
    """Return True if the first significant line looks like `key:`."""
    return bool(_LOOKS_LIKE_KEY.match(first_line(body)))


def first_line(body: str) -> str:
    """Return the first line that is neither blank nor a comment."""
    for line in body.split("\n"):
        if line.strip() and not line.lstrip().startswith("#"):
            return line
    return ""


def parse_metadata(body: str) -> Parsed:
    """Parse a body; an empty one is an empty mapping."""
    messages, rest = split_messages(body) if _MESSAGE.search(body) else ([], body)
    try:
        content = _load(rest)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return Parsed(error=_describe(error, rest), error_line=mark.line if mark else 0)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Parsed(error=str(error).splitlines()[0])
    if content is None and (not rest.strip() or not first_line(rest)):
        content = {}
    if not isinstance(content, dict):
        return Parsed(messages=messages)
    return Parsed({str(key): value for key, value in content.items()}, messages)


def _load(body: str) -> Any:
    if reason := _dangerous(body):
        raise yaml.YAMLError(f"invalid YAML: {reason}")
    return yaml.load(body, _Loader)


def _dangerous(body: str) -> str:
    """Return why parsing is unsafe (deep nesting, nested aliases), or ""."""
    nested = body.count("[") + body.count("{") > MAX_DEPTH or _DEEP_INDENT.search(body)
    if not nested and not ("*" in body and _ALIAS.search(body)):
        return ""
    anchors: list[str | None] = []  # one per open collection
    aliases = 0
    for event in yaml.parse(body, _Loader):
        if isinstance(event, yaml.AliasEvent):
            aliases += 1
            if any(anchors):
                return f"the alias *{event.anchor} is inside a value that has an anchor of its own"
            if aliases > MAX_ALIASES:
                return f"more than {MAX_ALIASES} aliases"
        elif isinstance(event, yaml.CollectionStartEvent):
            anchors.append(event.anchor)
            if len(anchors) > MAX_DEPTH:
                return f"nested more than {MAX_DEPTH} levels deep"
        elif isinstance(event, yaml.CollectionEndEvent):
            anchors.pop()
    return ""


# Advice for errors, by words in the messages of PyYAML's two parsers
_ADVICE = {
    "mapping values": "a value contains a colon: put the value in quotes",
    "start any token": "a tab, or a value that begins with a sign such as @, % or `: indent with blanks, or put the "
    "value in quotes",
    "undefined alias": "a value begins with *: put it in quotes",
    "end of stream": "a quote is not closed",
    "escape character": "there is a backslash in double quotes: use single quotes",
    "',' or ']'": "a list is not closed: add ]",
    "',' or '}'": "a mapping is not closed: add }",
    "flow node": "a bracket is not closed",
    "expected ':'": "there is no colon after a key",
    "sequence entries": "a list begins on the line of its key: begin it on the next line",
    "a block mapping": "this line does not continue the one above: look at its indentation and quotes",
}


def _describe(error: yaml.MarkedYAMLError, body: str) -> str:
    problem = ", ".join(filter(None, [error.problem, error.context]))
    mark = error.problem_mark
    if mark and "mapping values" in problem and body.split("\n")[mark.line].count(":") < 2:
        return "invalid YAML: this line is indented too far, or the one above lacks a colon"
    return f"invalid YAML: {next((advice for words, advice in _ADVICE.items() if words in problem), problem)}"


def split_messages(body: str) -> tuple[list[Message], str]:
    """Return the chat and edit messages, and the body with their lines emptied."""
    lines = _lines(body)
    messages: list[Message] = []
    at = 0
    while at < len(lines):
        count = 1
        if match := _MESSAGE.match(lines[at]):
            count = _message_lines(lines, at)
            text = _message_text(match[2], lines[at : at + count])
            if text is not None:
                messages.append(Message(match[1], text, at, count))
                lines[at : at + count] = ["\n"] * count
        at += count
    return messages, "".join(lines)


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def _message_lines(lines: list[str], at: int) -> int:
    count = used = 1
    while at + count < len(lines):
        line = lines[at + count]
        if line.strip():
            if not line.startswith((" ", "\t")):
                break
            used = count + 1
        count += 1
    return used


def _message_text(value: str | None, lines: list[str]) -> str | None:
    source = "".join(lines)
    if value is None or re.fullmatch(r"[|>][-+0-9]*(?:[ \t]+#.*)?[ \t]*", value) or _QUOTED.match(value):
        text = _yaml_value(source)
        if isinstance(text, str):
            return text
        if value is None or not _QUOTED.match(value):
            return None
    elif len(lines) == 1 and not isinstance(_yaml_value(f"v: {value.rstrip()}"), (str, list, dict, type(Ellipsis))):
        return None
    rest = [line.strip() for line in lines[1:]]
    return "\n".join([(value or "").rstrip(), *rest])


def _yaml_value(source: str) -> Any:
    try:
        return next(iter(_load(re.sub(r"\A[^:]+:", "v:", source)).values()))
    except (yaml.YAMLError, ValueError, RecursionError):
        return ...


def dump_entry(key: str, value: Value, *, flow: bool = False, newline: str = "\n", closed: bool = False) -> str:
    """Return `key: value` as YAML, on one line if `flow`.

    closed: escape `--`, which an HTML comment must not contain
    """
    text = _dump_entry(key, value, flow, _Dumper)
    if closed and CLOSED in text:
        text = re.sub("(?<=-)-", r"\\x2D", _dump_entry(key, value, flow, _ClosedDumper))
    return text.replace("\n", newline)


def _dump_entry(key: str, value: Value, flow: bool, dumper: type[_Dumper]) -> str:
    if isinstance(value, str) and _literal(value) and not (dumper.is_closed and CLOSED in f"{key}{value}"):
        return _dump_literal(key, value)
    if flow:
        return f"{_dump(key, dumper, flow=True)}: {_dump(value, dumper, flow=True)}\n"
    return _dump({key: value}, dumper, flow=False) + "\n"


def _dump(value: Value, dumper: type[_Dumper], *, flow: bool) -> str:
    dumped: str = yaml.dump(
        [value] if flow else value,
        Dumper=dumper, sort_keys=False, allow_unicode=True, width=1 << 30 if flow else WIDTH, default_flow_style=flow,
    )  # fmt: skip
    # dumped in a list, to avoid the document end `...`
    return dumped.rstrip("\n")[1:-1] if flow else dumped.removesuffix("\n")


# Not compiled, since that is slow and rarely needed
_UNPRINTABLE = r"[^\t\n -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"


def _literal(value: str) -> bool:
    return (
        "\n" in value.rstrip("\n")
        and not value.startswith((" ", "\t", "\n"))
        and not re.search(_UNPRINTABLE, value)
        and not re.search(r"^[ \t]+$", value, re.M)
    )


def _dump_literal(key: str, value: str) -> str:
    text = value.rstrip("\n")
    ends = len(value) - len(text)
    chomp = {0: "-", 1: ""}.get(ends, "+")
    name = _dump(key, _Dumper, flow=True)
    lines = [f"  {line}" if line else "" for line in text.split("\n")] + [""] * max(ends - 1, 0)
    return "\n".join([f"{name}: |{chomp}", *lines]) + "\n"


def edit_metadata(
    body: str,
    changes: dict[str, Value],
    newline: str = "\n",
    flow: frozenset[str] = frozenset(),
    closed: bool = False,
) -> str:
    """Return a body with changed keys; other lines stay byte for byte.

    changes: new values, or `DELETED` to remove a key; chat and edit keys can only be removed
    flow: keys to write on one line
    closed: see `dump_entry`
    Raise MarkdownError if the body is not a block mapping, or if other values would change.
    """
    before = parse_metadata(body)
    if before.content is None:
        raise MarkdownError(before.error or "not a mapping")
    spans = key_spans(body)
    indent = min((span[2] for span in spans.values()), default=0)
    entries = {
        key: ""
        if value is DELETED
        else _indented(dump_entry(key, value, flow=key in flow, newline=newline, closed=closed), indent)
        for key, value in changes.items()
    }
    edits = [(*spans[key][:2], entry) for key, entry in entries.items() if key in spans]
    edits += [(m.line, m.line + m.lines, "") for m in before.messages if changes.get(m.key) is DELETED]
    new_entries = {key: entry for key, entry in entries.items() if key not in spans}
    if (private := _first_private(spans)) is not None:
        public = "".join(new_entries.pop(key) for key in list(new_entries) if not key.startswith("~~"))
        edits.append((private, private, public))
    text = _append(_apply(body, edits, newline), "".join(new_entries.values()))
    _check_edit(before, text, changes)
    return text


def _first_private(spans: dict[str, tuple[int, int, int]]) -> int | None:
    return min((span[0] for key, span in spans.items() if key.startswith("~~")), default=None)


def _apply(body: str, edits: list[tuple[int, int, str]], newline: str) -> str:
    lines = _lines(body)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline
    pieces, at = [], 0
    for start, stop, entry in sorted(edits, key=lambda edit: edit[:2]):
        pieces += [*lines[at:start], entry]
        at = stop
    return "".join([*pieces, *lines[at:]])


def _indented(entry: str, indent: int) -> str:
    if not indent:
        return entry
    return "".join(" " * indent + line if line.strip() else line for line in _lines(entry))


def _append(body: str, entries: str) -> str:
    if not entries:
        return body
    trimmed = body.rstrip(" \t\r\n")
    at = len(trimmed) if not trimmed else body.find("\n", len(trimmed)) + 1
    return body[:at] + entries + body[at:]


def _check_edit(before: Parsed, text: str, changes: dict[str, Value]) -> None:
    after = parse_metadata(text)
    expected = {key: value for key, value in (before.content or {}).items() if key not in changes}
    expected |= {key: value for key, value in changes.items() if value is not DELETED}
    messages = [m.text for m in before.messages if changes.get(m.key) is not DELETED]
    if after.content != expected or [m.text for m in after.messages] != messages:
        raise MarkdownError("the block is written in a way that cannot be edited without changing other keys")


def key_spans(body: str) -> dict[str, tuple[int, int, int]]:
    """Return for each top-level key its first line and the line after its last (from 0), and its column.

    Trailing comments and blank lines are excluded. Raise MarkdownError for flow style (`{a: 1}`).
    """
    rest = split_messages(body)[1] if _MESSAGE.search(body) else body
    node = yaml.compose(rest, Loader=_Loader)
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        raise MarkdownError("the block is a mapping in braces: write one key per line")
    lines = _lines(rest)
    ends = [at for at, sign in enumerate(rest) if sign == "\n"]
    starts = [_line_of(ends, key.start_mark) for key, _ in node.value] + [len(lines)]
    spans: dict[str, tuple[int, int, int]] = {}
    for at, (key, value) in enumerate(node.value):
        stop = _value_end(
            lines, value, _line_of(ends, value.end_mark), starts[at], starts[at + 1], key.start_mark.column
        )
        spans[str(key.value)] = (starts[at], stop, key.start_mark.column)
    return spans


def _line_of(ends: list[int], mark: yaml.Mark) -> int:
    """Return the line of a mark, from 0. Only LF ends a line here, unlike in YAML."""
    return bisect.bisect_left(ends, mark.index)


def _value_end(lines: list[str], value: yaml.Node, last: int, start: int, after: int, column: int) -> int:
    first = start + 1
    if (isinstance(value, yaml.CollectionNode) and not value.flow_style) or getattr(value, "style", None) in ("|", ">"):
        stop = after
    else:
        first = stop = last + 1
    while stop > first and _is_outside(lines[stop - 1], column):
        stop -= 1
    return stop


def _is_outside(line: str, column: int) -> bool:
    text = line.strip()
    return not text or (text.startswith("#") and len(line) - len(line.lstrip()) <= column) or text == "..."
