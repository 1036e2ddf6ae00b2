"""Proof that what is left out of the notes is nowhere in what was rendered.

Text and metadata that knitting leaves out are cut into runs of words, and these
are looked for in every file of the output. What also stands in what stays in is
no leak.

Words are compared as one stream of letters and digits, so that hyphens at line
ends, markup inside a word and the file's way to break lines make no difference.
Where a renderer puts something else (math, citations, references, numbers of
list items), no run goes across.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from .logging import ConsoleLogger, ListLogger, LoggerBase, in_file
from .markdown.blocks import Block, ErrorBlock, HeaderBlock, MarkdownError, MetadataBlock, TextBlock, count_lead
from .markdown.divs import Part, cut, find_parts
from .markdown.edits import read_edit
from .markdown.files import load_markdown
from .markdown.metadata import MESSAGE_KEYS
from .markdown.parse import parse_markdown_text
from .markdown.tree import blocks_to_tree
from .markdown.unfold import unfold_edits
from .project import Project
from .quarto import ASK_FOLDER, AskOptions
from .scan.knit import KnitRules, close_parts, div_verdict, header_rules, knit, node_block, properties_verdict, verdicts
from .site_text import find_files, read_text, strings

WORDS = 6  # of a run that is looked for
LEAST = 3  # of a part that has no such run
LONG, SHORT = 16, 8  # letters that a run, and such a part, have to have
# Values that are said in every page's navigation, or are no prose.
_NOT_LOOKED_FOR = frozenset({"title", "titles", "docid", "annotator", "hash", "txthash", "type"})

_DATA = re.compile(r"data\.js|part-\d+\.js")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_MARKUP = re.compile(
    r"""\$\$.*?\$\$ | (?<![\\$])\$(?=[^\s$])(?:[^$\\\n]|\\.|\n(?!\s*\n))*?(?<=\S)\$(?!\d)  # math
    | <!--|--> | <[/a-zA-Z][^<>]*>
    | \[[^\[\]]*@[^\[\]]*\] | (?<!\w)-?@[\w:.-]+                     # citations and references
    | \[\^[^\]\s]+\]:? | ^[ ]{0,3}\[[^\]\n]+\]:[ ]*\S.*$             # notes, link definitions
    | \^\[ | !\[ | \]\([^()\n]*\) | \]\[[^\]\n]*\] | \{\{<.*?>\}\} | \{[^{}\n]*\}
    | ^[ \t>]*(?:`{3,}|~{3,}|:{3,})[^\n]*$
    | ^[ \t>]*(?:\(?(?:[#@]\w*|\d{1,9}|[ivxlc]{1,5}|[a-zA-Z])[.)]|[-*+:~])[ \t]+""",
    re.S | re.M | re.X,
)


@dataclass(frozen=True, slots=True)
class Leak:
    """A part of `source`, at `line`, that is left out and stands in the output's `file`
    all the same; `text` are its first words, or those that were found where only a
    later place of it stands there."""

    file: Path
    source: Path
    line: int
    text: str


@dataclass(slots=True)
class Findings:
    """What was looked for where: `parts` that were looked for in `files`; `passed_over`
    are parts too short to tell, or which the notes say as well."""

    leaks: list[Leak] = field(default_factory=list)
    parts: int = 0
    files: int = 0
    passed_over: int = 0


def look_for_leaks(
    output: Path | Sequence[Path],
    sources: Sequence[Path],
    project: Project,
    logger: LoggerBase | None = None,
    also_shown: Sequence[Path] = (),
    ask: AskOptions | None = None,
) -> Findings:
    """The leaks of some sources in an output (a folder, a file, or several), with what was
    looked for. What the notes of `also_shown` say is no leak either: in a partial render, those
    of the other pages. ask: of the site's ask box, whose data may hold the types that it
    includes, and the questions and summaries of what is shown. Files that cannot
    be read are reported as errors, those that cannot be looked into as warnings."""
    logger = logger or ConsoleLogger()
    secrets, kept = _read_sources(sources, project, logger)
    kept += _read_sources([path for path in also_shown if path not in sources], project, logger)[1]
    index = _index(secrets, kept)
    data_index = _data_index(secrets, kept, [*sources, *also_shown], project, ask) if ask else index
    found = Findings(parts=len(index.looked_for()))
    found.passed_over = len(secrets) - found.parts
    outputs = [output] if isinstance(output, Path) else output
    for file in [file for one in outputs for file in find_files(one)]:
        content = _load(file, logger)
        if content is not None:
            found.files += 1
            own = data_index if _is_data(file) else index
            found.leaks += [_leak(file, secrets[at], words) for at, words in own.find(_Stream(words_of(content)))]
    return found


def _load(file: Path, logger: LoggerBase) -> str | None:
    try:
        return read_text(file, logger)
    except OSError as error:
        logger.error(f"{file}: {error.strerror or error}")
        return None


def _leak(file: Path, secret: _Secret, found: list[str]) -> Leak:
    words = _MARKUP.sub(" ", secret.text).replace("#", " ").split()[:8]
    if not "".join(words_of_markdown(secret.text)).startswith("".join(found)):
        words = found
    return Leak(file, secret.source, secret.line, " ".join(words))


# The data of an ask box


def _is_data(file: Path) -> bool:
    return file.parent.name == ASK_FOLDER and _DATA.fullmatch(file.name) is not None


def _data_index(
    secrets: list[_Secret], kept: Sequence[list[str]], sources: Iterable[Path], project: Project, ask: AskOptions
) -> _Index:
    """What is looked for in the data: all that is neither in the notes, nor of a type that
    is included, nor a question or summary of these."""
    return _index(secrets, [*kept, *_of_data(dict.fromkeys(sources), project, ask.include)])


def _of_data(sources: Iterable[Path], project: Project, include: frozenset[str]) -> Iterator[list[str]]:
    """The texts that only the data may hold, by document. What cannot be read was reported
    before."""
    for path in sources:
        try:
            blocks = parse_markdown_text(load_markdown(path).text)
        except (OSError, MarkdownError):
            continue
        header = blocks[0].content if blocks and isinstance(blocks[0], HeaderBlock) else {}
        rules = header_rules(header, project.rules)
        rules = KnitRules(rules.div_types, rules.keep | include)
        yield [*_stays_in(blocks, rules)]
        yield [*_annotations(blocks, rules)]


def _annotations(blocks: Sequence[Block], rules: KnitRules) -> Iterator[str]:
    """The questions and summaries of what stays in."""
    tree = blocks_to_tree(unfold_edits(blocks).blocks)
    if tree is None:
        return
    document = [] if tree.get("knit") is False else [tree]
    for node in [*document, *(node for node, is_out in verdicts(tree, rules) if not is_out)]:
        for key in ("questions", "summary"):
            yield from strings(node.get(key))


# What is left out, and what stays in


@dataclass(frozen=True, slots=True)
class _Secret:
    source: Path
    line: int
    text: str


def _read_sources(
    sources: Sequence[Path], project: Project, logger: LoggerBase
) -> tuple[list[_Secret], list[list[str]]]:
    """The parts that are left out, and the texts that stay in, by document."""
    secrets: list[_Secret] = []
    kept = [_project_texts(project)]
    for path in sources:
        try:
            blocks = parse_markdown_text(load_markdown(path).text)
        except (OSError, MarkdownError) as error:
            in_file(logger, path).error(getattr(error, "strerror", None) or str(error))
            continue
        header = blocks[0].content if blocks and isinstance(blocks[0], HeaderBlock) else {}
        rules = header_rules(header, project.rules)
        secrets += [_Secret(path, line, text) for line, text in left_out(blocks, rules)]
        kept.append([*_stays_in(blocks, rules)])
    return secrets, kept


def _project_texts(project: Project) -> list[str]:
    """The writer's words for the whole site: titles and the like."""
    return [path.read_text("utf-8", "replace") for path in sorted(project.root.glob("_quarto*.yml"))]


def _stays_in(blocks: Sequence[Block], rules: KnitRules) -> Iterator[str]:
    for block in knit(blocks, rules, ListLogger()):
        if isinstance(block, MetadataBlock):
            yield from strings(block.content)
        else:
            yield block.source


def left_out(blocks: Sequence[Block], rules: KnitRules) -> Iterator[tuple[int, str]]:
    """All texts of a document that knitting leaves out, and the values of its metadata,
    each with its line."""
    for block in blocks:
        if read_edit(block) is not None:
            yield block.line, block.source  # the new text; the old one is what stays in
        elif isinstance(block, MetadataBlock):
            yield from ((block.line, text) for text in _values(block))
    tree = blocks_to_tree(close_parts(unfold_edits(blocks).blocks, rules))
    for node, is_out in verdicts(tree, rules) if tree is not None else ():
        text = node_block(node)
        if isinstance(text, ErrorBlock) or (text is not None and is_out and not isinstance(text, TextBlock)):
            yield text.line, text.source
        elif isinstance(text, TextBlock):
            yield from _in_text(text, rules, is_out)


def _in_text(block: TextBlock, rules: KnitRules, is_out: bool) -> Iterator[tuple[int, str]]:
    """What goes of a text, without the metadata in it, whose values come by themselves."""
    source, first = block.source, block.line - count_lead(block.source)

    def goes(part: Part) -> bool | None:
        if part.metadata is not None:
            return properties_verdict(part.metadata, rules)
        return div_verdict(part.attributes, rules)

    for start, end in [(0, len(source))] if is_out else cut(source, goes):
        yield first + source.count("\n", 0, start) + count_lead(source[start:end]), _bare(source[start:end])
    for part in find_parts(source):
        line = first + source.count("\n", 0, part.start)
        for text in _prose(part.metadata or {}):
            yield line, text


def _bare(text: str) -> str:
    """A text without metadata blocks."""
    kept, at = [], 0
    for start, end in cut(text, lambda part: None):
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])


def _values(block: MetadataBlock) -> Iterator[str]:
    """The texts of a block's values; of the header, of those that knitting takes out."""
    keys = [key for key in block.content if key not in MESSAGE_KEYS]
    if isinstance(block, HeaderBlock):
        keys = [key for key in keys if str(key).startswith("~")]
    yield from _prose({key: block.content[key] for key in keys})
    yield from (message.text for message in block.messages)


def _prose(metadata: dict[str, object]) -> Iterator[str]:
    for key, value in metadata.items():
        name = str(key)
        if not name.startswith("~~") and name.strip("~=") not in _NOT_LOOKED_FOR:
            yield from strings(value)


# Words


def words_of(text: str) -> list[str]:
    """The words of a text, without case, ligatures, punctuation and soft hyphens."""
    return _WORD.findall(unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold())


def runs_of_markdown(text: str) -> list[list[str]]:
    """The runs of words that a renderer leaves together."""
    found = (words_of(part) for part in _MARKUP.split(text))
    return [words for words in found if words]


def words_of_markdown(text: str) -> list[str]:
    """The words of a markdown text, without those of its markup."""
    return [word for run in runs_of_markdown(text) for word in run]


class _Stream:
    """A text as its letters, with the places where its words begin."""

    def __init__(self, words: list[str]) -> None:
        self.letters = "".join(words)
        self.starts = list(accumulate(map(len, words), initial=0))

    def words(self, start: int, end: int) -> list[str]:
        """The words from one place to another, the last one as far as it goes."""
        places = self.starts[bisect_left(self.starts, start) : bisect_left(self.starts, end)]
        return [self.letters[at:to] for at, to in zip(places, [*places[1:], end], strict=True)]

    def is_between_words(self, at: int) -> bool:
        place = bisect_left(self.starts, at)
        return place < len(self.starts) and self.starts[place] == at


@dataclass(frozen=True, slots=True)
class _Needle:
    """Letters to look for. A part that has no long run is looked for as `whole` words."""

    letters: str
    secret: int
    whole: bool = False


class _Index:
    """What is looked for, by the first letters of each run."""

    def __init__(self, secrets: Sequence[_Secret]) -> None:
        self.long: dict[str, list[_Needle]] = {}
        self.short: dict[str, list[_Needle]] = {}
        for at, secret in enumerate(secrets):
            for needle in _needles(at, runs_of_markdown(secret.text)):
                index, size = (self.long, LONG) if len(needle.letters) >= LONG else (self.short, SHORT)
                index.setdefault(needle.letters[:size], []).append(needle)

    def find(self, stream: _Stream) -> list[tuple[int, list[str]]]:
        """Which of the secrets a text has: their numbers, each with the words of it that
        the text has first."""
        first: dict[int, list[str]] = {}
        for at, needle in self._hits(stream):
            if needle.secret not in first:
                first[needle.secret] = stream.words(at, at + len(needle.letters))
        return sorted(first.items())

    def forget(self, stream: _Stream) -> None:
        """Look for nothing any more that this text has."""
        for letters in {needle.letters for _, needle in self._hits(stream)}:
            for index, size in ((self.long, LONG), (self.short, SHORT)):
                rest = [needle for needle in index.pop(letters[:size], ()) if needle.letters != letters]
                if rest:
                    index[letters[:size]] = rest

    def looked_for(self) -> set[int]:
        """The secrets that are looked for."""
        return {needle.secret for index in (self.long, self.short) for found in index.values() for needle in found}

    def _hits(self, stream: _Stream) -> Iterator[tuple[int, _Needle]]:
        """What a text has, each with its place among the letters."""
        letters = stream.letters
        for index, size in ((self.long, LONG), (self.short, SHORT)):
            for at in stream.starts if index else ():
                for needle in index.get(letters[at : at + size], ()):
                    if letters.startswith(needle.letters, at) and (
                        not needle.whole or stream.is_between_words(at + len(needle.letters))
                    ):
                        yield at, needle


def _index(secrets: Sequence[_Secret], kept: Iterable[list[str]]) -> _Index:
    """What is looked for: all that the documents do not say as well. Their texts are one
    stream, as on the page, where what was left out between two is gone."""
    index = _Index(secrets)
    for texts in kept:
        index.forget(_Stream([word for text in texts for word in words_of_markdown(text)]))
    return index


def _needles(secret: int, runs: Sequence[list[str]]) -> Iterator[_Needle]:
    """Each word of a part with those after it; where none of its runs is long enough,
    the longest as it is."""
    long = [letters for run in runs for letters in _windows(run)]
    if long:
        yield from (_Needle(letters, secret) for letters in dict.fromkeys(long))
        return
    longest: list[str] = max(runs, key=len, default=[])
    letters = "".join(longest)
    if len(longest) >= LEAST and len(letters) >= SHORT:
        yield _Needle(letters, secret, whole=True)


def _windows(run: list[str]) -> Iterable[str]:
    for start in range(len(run) - WORDS + 1):
        end = start + WORDS
        while (size := sum(map(len, run[start:end]))) < LONG and end < len(run):
            end += 1
        if size >= LONG:
            yield "".join(run[start:end])
