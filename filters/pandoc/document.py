"""The document of a filter's run: read from its source, or from Pandoc's elements,
and written so that nothing changes but what the filter was asked for.

`docs/filters.md` says which way is taken when.
"""

from __future__ import annotations

import bisect
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmm_core.files.outputs import MARKDOWN, OutputError, check_output, remember_output, write_output
from lmm_core.files.outputs import is_ours as is_our_output
from lmm_core.files.recovery import RecoveryError, put_aside
from lmm_core.files.walk import TEXT_SUFFIXES, is_document
from lmm_core.logging import ConsoleLogger, LocatedLogger, LoggerBase, say
from lmm_core.markdown.blocks import (
    Block,
    ErrorBlock,
    HeaderBlock,
    MarkdownError,
    MetadataBlock,
    Problem,
    TextBlock,
    header_content,
    serialize_blocks,
)
from lmm_core.markdown.divs import find_parts
from lmm_core.markdown.files import MarkdownFile, check_unchanged, load_markdown, project_root, save_markdown
from lmm_core.markdown.metadata.lmm_options import OPTIONS, options_in, refusal, report_refused, said_by
from lmm_core.markdown.originals import unfold_edits
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.markdown.rag_only import DOCUMENT_KEYS, OUT, KnitRules, named_types, words_of
from lmm_core.markdown.spelling import convert, edit_block, make_block
from lmm_core.scan.header import report_kept
from lmm_core.scan.system_keys import FLOW
from lmm_core.settings.project import ConfigError, Project, load_project
from lmm_core.workflows.passes import project_of

from .meta import (
    ASKED,
    CHAIN,
    TEXT,
    FilterOptions,
    is_ours_alone,
    is_positional,
    plain,
    plain_options,
    read_options,
)
from .run import (
    MARKDOWN_FORMATS,
    FilterError,
    PandocRun,
    base_format,
    filter_name,
    find_run,
    is_ours,
    run_pandoc,
)

if TYPE_CHECKING:
    from .elements import Elements

_LOST = "which may come from metadata blocks inside the text: pandoc has merged them and their places are lost"
_WITH_DIVS = ("markdown", "commonmark_x")


@dataclass
class Source:
    """The text that a document comes from: its files, joined as pandoc joins them
    (a blank line between two), and the line that each starts at."""

    text: str
    files: list[MarkdownFile]
    starts: list[int]

    @classmethod
    def load(cls, paths: Sequence[Path]) -> Source:
        """Read the files. Raises OSError and MarkdownError."""
        files = [load_markdown(path) for path in paths]
        text, starts = "", []
        for file in files:
            if text:
                text += ("" if text.endswith("\n") else "\n") + "\n"
            starts.append(text.count("\n") + 1)
            text += file.text.removeprefix("\ufeff") if text else file.text
        return cls(text, files, starts)

    def locate(self, line: int) -> tuple[str, int]:
        """File and line of a line of the joined text."""
        if not self.files:
            return "", line
        at = max(bisect.bisect_right(self.starts, line) - 1, 0)
        return _shown(self.files[at].path), line - self.starts[at] + 1 if line else 0


def _shown(path: Path) -> str:
    """Return a path as the person who runs us knows it: Quarto goes into the folder of each
    page, and is run from the project's."""
    for folder in (Path(os.environ.get("QUARTO_PROJECT_DIR", ".")).absolute(), Path.cwd()):
        if path.absolute().is_relative_to(folder):
            return os.path.relpath(path, folder)
    return str(path)


@dataclass
class Document:
    """A document on its way through a filter.

    `done` says how many filters of ours have run before, in this run. `blocks` is
    what a pass works on; they come from `source`, or (`elements`) from Pandoc's
    elements. `known` is a source text that is not the one of these elements (another
    filter came before, or Quarto has changed them). `problems` are what is not closed
    in the text."""

    name: str
    target: str
    ast: dict[str, Any]
    run: PandocRun | None
    options: FilterOptions
    project: Project
    logger: LoggerBase
    source: Source | None = None
    known: Source | None = None
    elements: Elements | None = None
    blocks: list[Block] = field(default_factory=list)
    original: list[Block] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    written: str | None = None
    done: int = 0
    in_quarto: bool = False

    @property
    def to_markdown(self) -> bool:
        """Whether pandoc writes its own markdown. Quarto has work of its own to do on the
        elements, whatever is written in the end."""
        return base_format(self.target) == "markdown" and not self.in_quarto

    @property
    def place(self) -> int | None:
        """Our number among all filters of the run; None where it cannot be seen."""
        places = self.run.places() if self.run else []
        return places[self.done] if self.done < len(places) else None

    @property
    def followed(self) -> bool:
        """Whether another filter of ours follows."""
        return self.run is not None and self.done + 1 < len(self.run.places())

    @property
    def path(self) -> Path | None:
        """The (first) file that the document comes from."""
        source = self.source or self.known
        return source.files[0].path if source and source.files else None

    @property
    def overwrites_source(self) -> bool:
        """Tell whether pandoc is going to write over an input, or over the file that was named
        as the source."""
        output = self.run.output if self.run is not None else None
        if self.run is None or output is None or not output.exists():
            return False
        named = Path(self.options.source) if self.options.source else None
        return self.run.overwrites_input() or (named is not None and named.exists() and named.samefile(output))

    @property
    def rules(self) -> KnitRules:
        """The knit rules of configuration and options together."""
        rules = self.project.rules
        div_types = rules.div_types | named_types(self.options.div_types)
        return replace(rules, div_types=div_types, keep=rules.keep | set(self.options.keep))

    def project_for(self, blocks: Sequence[Block]) -> Project | None:
        """The project, with what the document's header and the options say. None where
        the header says what cannot be, which is reported."""
        spelling = self.options.spelling or self.project.spelling
        project = replace(self.project, spelling=spelling, rules=self.rules)
        return project_of(blocks, project, self.logger)

    @property
    def executable(self) -> str:
        """The pandoc to run for inner runs."""
        return self.run.executable if self.run else shutil.which("pandoc") or "pandoc"


def run_filter(name: str, work: Callable[[Document], None]) -> int:
    """Read the document from standard input, work on it, write it to standard
    output. The exit status: 1 where pandoc has to stop, which then writes nothing."""
    # JSON and panflute go down into nested divs and lists by recursion: a deep
    # document needs a stack that is larger than the main thread's.
    sys.setrecursionlimit(1_000_000)
    threading.stack_size(512 << 20)
    status: list[int] = []
    thread = threading.Thread(target=lambda: status.append(_filter(name, work)))
    try:
        thread.start()
    except RuntimeError:  # so large a stack is not to be had here
        return _filter(name, work)
    thread.join()
    return status[0] if status else 1


def _filter(name: str, work: Callable[[Document], None]) -> int:
    data = sys.stdin.buffer.read()
    if os.environ.get("LMM_INNER"):
        sys.stdout.buffer.write(data)
        return 0
    try:
        document = read_document(name, data, sys.argv[1] if len(sys.argv) > 1 else "html")
        work(document)
        put_aside_by_now = _start_to_put_aside(document)
        output = json.dumps(document.ast, ensure_ascii=False, separators=(",", ":"))
        put_aside_by_now()
    except (FilterError, MarkdownError, ConfigError, RecoveryError, OSError) as error:
        say(f"{name}: {error}", err=True)
        return 1
    sys.stdout.buffer.write(output.encode("utf-8"))
    return 0


# Reading


def read_document(name: str, data: bytes, target: str) -> Document:
    """The document of this run. Raises FilterError where its places are lost."""
    ast = json.loads(data)
    in_quarto = is_quartos(ast["meta"])
    # Quarto's command line names a copy of the text with all metadata at its end, and a
    # reader of its own: it says nothing about the file.
    run = None if in_quarto else find_run()
    options = read_options(ast["meta"], run.lmm_options() if run is not None else {})
    logger = ConsoleLogger(f"{name}: ")
    document = Document(name, target, ast, run, options, Project(Path()), logger)
    document.in_quarto = in_quarto
    document.done = _take_mark(ast, run)
    _refuse_overwriting(document)
    for option in options.unknown:
        logger.warning(f"unknown option lmm-{option}: known are {', '.join(f'lmm-{name}' for name in sorted(OPTIONS))}")
    report_kept([word for word in options.div_types if word.startswith(OUT)], logger)
    if options.spelling not in ("", "div", "native"):
        raise FilterError(f"lmm-spelling is div or native, not {options.spelling!r}")
    source = _left_text(document) or _find_source(document)
    document.project = load_project(document.path)
    if source is not None:
        document.source = source
        document.blocks = parse_markdown_text(source.text, document.problems)
        document.logger = LocatedLogger(logger, source.locate)
        if document.done == 0:
            for problem in document.problems:
                document.logger.warning(problem.message, problem.line)
    document.original = document.blocks
    if in_quarto:
        _take_keep_of_project(document)
    if document.done == 0:
        _report_refused(document)
    return document


def _take_keep_of_project(document: Document) -> None:
    """Keep the types that the Quarto project names. Quarto merges its settings with the
    document's header: of what it hands over, the document's words go, unless the project
    says them, too."""
    merged = words_of(plain_options(document.ast["meta"]).get("keep"))
    if not merged:
        return
    from lmm_core.settings.quarto_project import QuartoError

    try:
        project, own = _kept_by_project(document), _kept_by_document(document)
    except QuartoError as error:
        raise FilterError(str(error)) from None
    others = [] if document.known is None else [word for word in merged if word not in own]
    document.options.keep = [*project, *others]
    document.options.refused = ["keep"] if set(merged) - set(document.options.keep) else []


def _kept_by_project(document: Document) -> list[str]:
    """The types that `_quarto.yml` and the `_metadata.yml` of the document's folders keep."""
    from lmm_core.settings.quarto_project import folder_settings, read_project

    folder = Path(os.environ.get("QUARTO_PROJECT_DIR", "."))
    settings = [read_project(folder)] + ([folder_settings(document.path, folder)] if document.path else [])
    return [word for one in settings for word in words_of(options_in(one).get("keep"))]


def _kept_by_document(document: Document) -> set[str]:
    """The types that a document would keep: its blocks, and the files that its header names."""
    from lmm_core.settings.quarto_project import with_named

    if document.known is None:
        return set()
    blocks = parse_markdown_text(document.known.text)
    header = header_content(blocks)
    named = with_named(header, document.known.files[0].path.parent)
    return {word for one in (*said_by(blocks), options_in(named)) for word in words_of(one.get("keep"))}


def _report_refused(document: Document) -> None:
    """Report what the document says and may not: with its line where that is known."""
    if document.source is not None:
        report_refused(document.blocks, document.logger)
    told = {name for options in said_by(document.blocks) for name in options}
    for name in document.options.refused:
        if name not in told:
            document.logger.warning(refusal(name))


def is_quartos(meta: dict[str, Any]) -> bool:
    """Whether Quarto renders this document (not: a cell of one of its documents runs
    pandoc, which has Quarto's environment too). It names its version for HTML alone."""
    its_own = {"quarto-version", "quarto_pandoc_reader_opts", ASKED}
    return not its_own.isdisjoint(meta) and bool(os.environ.get("QUARTO_DOCUMENT_FILE"))


def _take_mark(ast: dict[str, Any], run: PandocRun | None) -> int:
    """How many filters of ours have run before: the mark of the last one, which goes."""
    mark = ast["meta"].pop(CHAIN, None)
    said = plain(mark) if mark is not None else ""
    count, _, process = said.partition(" ") if isinstance(said, str) else ("", "", "")
    if run is None or process != run.process or not count.isdigit() or int(count) >= len(run.places()):
        ast["meta"].pop(TEXT, None)  # a document's own, which says nothing
        return 0
    return int(count)


def _refuse_overwriting(document: Document) -> None:
    """Raise FilterError where pandoc would write over its input what is not its text, or over
    other markdown what is none."""
    run = document.run
    output = run.output if run is not None else None
    if run is None or output is None or document.in_quarto:
        return
    is_no_markdown = base_format(document.target) not in MARKDOWN_FORMATS and holds_markdown(output)
    if is_no_markdown or (document.overwrites_source and not document.to_markdown):
        what = "an input" if document.overwrites_source else "markdown"
        raise FilterError(
            f"refused: pandoc would write {document.target} over {output}, which is {what}; "
            "add -t markdown to write markdown, or name another output"
        )
    if document.overwrites_source:
        _refuse_losing_text(run)


def _refuse_losing_text(run: PandocRun) -> None:
    """Raise FilterError where what pandoc writes over its input is not what it has read."""
    if any(filter_name(name) == "lmm-knit" for name in run.filters):
        raise FilterError(
            f"refused: lmm-knit takes exercises, questions and annotations out, and pandoc would write what is left "
            f"over {run.output}, which is an input; name another output"
        )
    if added := run.adds_text():
        raise FilterError(
            f"refused: {', '.join(added)} would put more text into {run.output} at each run, since that is an input; "
            "name another output"
        )
    if len(run.inputs) > 1:
        raise FilterError(
            f"refused: pandoc would write all {len(run.inputs)} inputs into {run.output}, which is one of them; "
            "name another output"
        )


def holds_markdown(path: Path) -> bool:
    """Return whether a file is there, and holds markdown by its ending."""
    return path.suffix.lower() in TEXT_SUFFIXES - {".txt", ".text"} and path.is_file() and path.stat().st_size > 0


def _left_text(document: Document) -> Source | None:
    """What an earlier filter of ours has left, for a markdown target: the text."""
    if not (document.to_markdown and document.done):
        return None
    parts = [block["c"][1] for block in document.ast["blocks"] if block.get("t") == "RawBlock"]
    if len(parts) != len(document.ast["blocks"]):
        return None
    text = "".join(parts)
    known = _load_source(document)
    return Source(text, known.files if known else [], known.starts if known else [])


def _load_source(document: Document) -> Source | None:
    """The text of the input files, whether or not the elements are still theirs."""
    paths: list[Path] | None = None
    if document.options.source:
        paths = [Path(document.options.source)]
        if not paths[0].is_file():
            raise FilterError(f"lmm-source: no such file: {paths[0]}")
    elif document.run is not None and document.run.files:
        paths = document.run.files
    elif os.environ.get("QUARTO_DOCUMENT_FILE"):
        paths = [Path(os.environ.get("QUARTO_DOCUMENT_PATH", "."), os.environ["QUARTO_DOCUMENT_FILE"])]
    if paths is None or not all(path.is_file() for path in paths):
        return None
    if document.in_quarto and not is_document(paths[0].name):
        return None  # a notebook
    return Source.load(paths)


def _find_source(document: Document) -> Source | None:
    """The source where the elements are its own, else None (and the text in `known`)."""
    run = document.run
    if run is not None and not run.reads_markdown:
        return None
    document.known = known = _load_source(document)
    if known is None or document.in_quarto or (document.done and not _needs_text(document)):
        return None
    if document.done or _is_direct(document) or _same_elements(document, known):
        return known
    if run is not None and document.overwrites_source and not _foreign_before(document):
        raise FilterError(
            "what pandoc has read is not what the file holds now: it changed on disk while it was worked on; "
            "nothing was written: run again"
        )
    return None


def _foreign_before(document: Document) -> bool:
    """Whether another filter has come before ours, as far as can be seen."""
    run, place = document.run, document.place
    return run is None or place is None or not all(is_ours(name) for name in run.filters[:place])


def _needs_text(document: Document) -> bool:
    """Whether the reader knows no divs, so that metadata can only be seen in the text."""
    reader = document.run.reader if document.run is not None else "markdown"
    return base_format(reader) not in _WITH_DIVS or "-fenced_divs" in reader


def _is_direct(document: Document) -> bool:
    """Whether the command line alone shows that nothing came between."""
    run, place = document.run, document.place
    if run is None or run.defaults or document.options.source or run.files is None:
        return False
    return place is not None and not _foreign_before(document)


def _same_elements(document: Document, known: Source) -> bool:
    """Whether pandoc, run again without filters, gives the very elements we got."""
    run = document.run
    if run is None or document.options.source:
        paths = [str(file.path.resolve()) for file in known.files]
        options = run.options if run else []
        run = PandocRun(document.executable, Path.cwd(), list(options), paths, run.defaults if run else [])
    for with_shift in (True, False):
        try:
            inner = run.parse_inputs(with_shift)
        except FilterError:
            return False
        if inner["blocks"] == document.ast["blocks"] and _meta(inner) == _meta(document.ast):
            return True
        if not run.shifts:
            break
    return False


def _meta(ast: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in ast["meta"].items() if not key.startswith("lmm")}


def require_places(document: Document) -> None:
    """Stop where metadata blocks may have lost their places on the way."""
    if document.done:
        return
    if document.known is not None and not has_native(parse_markdown_text(document.known.text)):
        return
    keys = [key for key in document.ast["meta"] if is_positional(key)]
    if keys:
        shown = ", ".join(f"`{key}`" for key in keys[:4])
        advice = (
            f"Give pandoc the file by its name (pandoc -F {document.name} FILE -o …), name it with -M lmm-source=FILE"
        )
        if document.in_quarto:
            raise FilterError(
                f"the document's metadata has {shown}, {_LOST}. Write the blocks as divs: lmm convert --to div FILE"
            )
        if document.known is not None and _foreign_before(document):
            advice = f"Put -F {document.name} before the other filters (and before --citeproc)"
        raise FilterError(
            f"the document's metadata has {shown}, {_LOST}. {advice}, or write the blocks as divs "
            "(lmm convert --to div FILE)"
        )


def has_native(blocks: Sequence[Block]) -> bool:
    """Whether there are native blocks besides the header."""
    return any(
        (isinstance(b, MetadataBlock) and b.spelling == "native" and not isinstance(b, HeaderBlock))
        or (isinstance(b, ErrorBlock) and b.source.lstrip().startswith("-"))
        for b in blocks
    )


def elements_of(document: Document, with_text: bool) -> Elements:
    """The document as elements, read from Pandoc's JSON."""
    from .elements import Elements, load, mark_elements, split_markdown

    require_places(document)
    doc = load(document.ast)
    texts = None
    if with_text:
        mark = "<!--lmm-element-->"
        marked = _to_markdown(document, mark_elements(doc, mark))
        texts = split_markdown(marked, mark)
        texts = texts if len(texts) == len(doc.content) else None
        doc = load(document.ast)
    document.elements = Elements.read(doc, texts)
    return document.elements


def _to_markdown(document: Document, doc: Any, *options: str) -> str:
    from .elements import dump

    arguments = ["-f", "json", "-t", "markdown", "--wrap=preserve", "--markdown-headings=atx", *options]
    return run_pandoc(document.executable, arguments, json.dumps(dump(doc)), Path.cwd())


# Writing


def write_text(document: Document, text: str) -> None:
    """Hand on the text as it is, for pandoc to write verbatim."""
    run, source = document.run, document.source
    if source is not None and document.overwrites_source:
        for file in source.files:
            check_unchanged(file)
    elif run is not None and run.output is not None and not document.followed:
        _refuse_another_text(run.output, text)
    if run is not None and document.place is not None and not document.followed:
        _warn_ineffective(document, run, document.place)
    text = document.written = _for_line_ends(run, text)
    if run is not None and run.output is not None and not document.followed and not document.overwrites_source:
        remember_output(run.output, _as_pandoc_writes(run, text).encode("utf-8"))
    document.ast["blocks"] = [{"t": "RawBlock", "c": ["markdown", part]} for part in _raw_parts(document, text)]
    document.ast["meta"] = {}
    mark_chain(document)


def _refuse_another_text(output: Path, text: str) -> None:
    """Raise FilterError where an output holds another text than the one to be written: one that
    no run of ours has made, and of which fewer than half of the lines are the same."""
    if not holds_markdown(output) or is_our_output(output):
        return
    old = [line for line in output.read_text("utf-8", "replace").splitlines() if line.strip()]
    new = set(text.splitlines())
    if 2 * sum(line in new for line in old) < len(old):
        raise FilterError(f"refused: {output} holds another text; name another output, or remove it first")


def _warn_ineffective(document: Document, run: PandocRun, place: int) -> None:
    if names := run.ineffective(place):
        document.logger.warning(f"the text goes out as it is: without effect are {', '.join(names)}")


def _for_line_ends(run: PandocRun | None, text: str) -> str:
    """Under `--eol` pandoc writes line ends itself; it does so for `native` on
    Windows, where that is the default."""
    eol = run.value("eol") if run is not None else None
    if eol in ("crlf", "lf") or (os.name == "nt" and eol != "lf"):
        return text.replace("\r\n", "\n")
    return text


def _raw_parts(document: Document, text: str) -> list[str]:
    """Raw blocks for a text. From version 3 on, pandoc drops newlines where a raw
    block ends in several, and writes one for each block that is one newline."""
    ends = len(text) - len(text.rstrip("\n"))
    major = document.run.major if document.run is not None else int(os.environ.get("PANDOC_VERSION", "3")[0])
    if major < 3 or ends < 2 or document.followed:
        return [text]
    if ends == len(text):
        return ["\n"] * (ends + 1)
    return [text[: 1 - ends], *["\n"] * (ends - 1)]


def write_elements(document: Document) -> None:
    """Hand on Pandoc's elements with the document's blocks as their metadata."""
    from .elements import dump

    assert document.elements is not None
    header = document.blocks[0] if document.blocks and isinstance(document.blocks[0], HeaderBlock) else None
    rest = document.blocks[1:] if header else document.blocks
    document.elements.write(rest, raw=not document.to_markdown)
    ast = dump(document.elements.doc)
    document.ast["blocks"] = ast["blocks"]
    if header is not None:
        _write_header(document, header)
    if document.to_markdown:
        document.logger.warning(
            "the source text is not at hand, so pandoc's own writer rewrites the text (list markers, line breaks, "
            "tables); give pandoc the file by its name to keep it as it is"
        )
    mark_chain(document)


def _write_header(document: Document, header: HeaderBlock) -> None:
    """The header's keys of ours. To markdown the header goes before the text, with
    our keys as we write them: pandoc would write metadata with `-s` only, and escape
    what looks like markup in our values."""
    ours = {key: value for key, value in header.content.items() if key.startswith("~")}
    theirs = {key: value for key, value in _meta(document.ast).items() if not key.startswith("~")}
    if not document.to_markdown or document.followed:
        document.ast["meta"] = {**theirs, **{key: _to_meta(value) for key, value in ours.items()}}
        return
    from .elements import load

    text = (
        _to_markdown(document, load({**document.ast, "blocks": [], "meta": theirs}), "--standalone") if theirs else ""
    )
    written = next(iter(parse_markdown_text(text)), None)
    base = written if isinstance(written, HeaderBlock) else make_block("", "native", header=True)
    made = edit_block(base, ours, FLOW) if ours else base
    if made is not None and (ours or theirs):
        document.ast["blocks"].insert(0, {"t": "RawBlock", "c": ["markdown", made.source.rstrip("\n")]})
    document.ast["meta"] = {}


def _to_meta(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"t": "MetaMap", "c": {str(key): _to_meta(item) for key, item in value.items()}}
    if isinstance(value, list):
        return {"t": "MetaList", "c": [_to_meta(item) for item in value]}
    if isinstance(value, bool):
        return {"t": "MetaBool", "c": value}
    return {"t": "MetaString", "c": "" if value is None else str(value)}


def header_of(meta: dict[str, Any]) -> HeaderBlock:
    """A header block with what a document's metadata says."""
    header = make_block("", "native", header=True)
    header.content = {key: plain(value) for key, value in meta.items()}
    assert isinstance(header, HeaderBlock)
    return header


def _start_to_put_aside(document: Document) -> Callable[[], None]:
    """Begin to put aside what pandoc is about to write over markdown, and what stands there: it
    empties the file first. Returns a function that waits for the end of it, and raises
    RecoveryError where the file is an input, so that pandoc leaves it alone."""
    run = document.run
    if run is None or run.output is None or document.followed or not holds_markdown(run.output):
        return lambda: None
    output, failed = run.output, list[RecoveryError]()
    after = None if document.written is None else _as_pandoc_writes(run, document.written).encode("utf-8")
    filtered = document.place is None or document.place + 1 < len(run.filters)

    def work() -> None:
        try:
            put_aside(output, project_root(output), after, filtered)
        except RecoveryError as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()

    def wait() -> None:
        thread.join()
        if failed and document.overwrites_source:
            raise failed[0]

    return wait


def _as_pandoc_writes(run: PandocRun, text: str) -> str:
    """Return a raw text with the line ends, and the one at its end, that pandoc gives it."""
    text = text if text.endswith("\n") else text + "\n"
    eol = run.value("eol")
    return text.replace("\n", "\r\n") if eol == "crlf" or (os.name == "nt" and eol != "lf") else text


def leave_text(document: Document, text: str) -> None:
    """Leave the text for the next filter of ours, where it goes on as elements."""
    if document.followed:
        document.ast["meta"] = {**document.ast["meta"], TEXT: {"t": "MetaString", "c": text}}


def left_text(document: Document) -> str | None:
    """The text that an earlier filter of ours has left in this run."""
    found = document.ast["meta"].get(TEXT) if document.done else None
    return str(found["c"]) if found else None


def mark_chain(document: Document) -> None:
    """Say to the next filter of ours that this one was there; the last one takes
    the mark away."""
    if document.followed and document.run is not None:
        mark = f"{document.done + 1} {document.run.process}"
        document.ast["meta"][CHAIN] = {"t": "MetaString", "c": mark}


def as_divs(document: Document) -> dict[str, Any] | None:
    """Pandoc's JSON of the document's blocks, with all metadata blocks as divs, and with
    the old texts in place of edits that are not decided. Where nothing is native, and
    nothing has changed, that is what we were given.
    None where pandoc does not see the blocks that we see, so that only the text
    tells what is where: something is not closed, or its reader knows no divs."""
    if _needs_text(document) or any("fenced div" in problem.message for problem in document.problems):
        return None
    unfolded = unfold_edits(document.blocks).blocks
    if any(_holds_native(block) for block in unfolded):
        return None
    converted = serialize_blocks(convert(unfolded, "div"))
    odd_reader = document.run is not None and "-yaml_metadata_block" in document.run.reader
    ast = document.ast
    if odd_reader or converted != serialize_blocks(document.original):
        ast = parse_as_input(document, converted)
        ast["meta"] = {**_document_keys(document.ast["meta"]), **ast["meta"]}
    blocks = sum(isinstance(b, MetadataBlock | ErrorBlock) and not isinstance(b, HeaderBlock) for b in unfolded)
    return ast if _count_divs(ast["blocks"]) == blocks else None


def _holds_native(block: Block) -> bool:
    """Whether a native block stands inside a div, a quote, a list item or the like."""
    if not isinstance(block, TextBlock) or "---" not in block.source:
        return False
    return any(part.metadata is not None and not part.attributes.classes for part in find_parts(block.source))


def _count_divs(blocks: list[dict[str, Any]]) -> int:
    return sum(block.get("t") == "Div" and "lmm" in block["c"][0][1] for block in blocks)


def _document_keys(meta: dict[str, Any]) -> dict[str, Any]:
    """Keys for Pandoc itself (references, authors, …) that stand in native blocks
    behind the header."""
    return {key: value for key, value in meta.items() if key in DOCUMENT_KEYS}


def parse_as_input(document: Document, text: str) -> dict[str, Any]:
    """Pandoc's JSON of a text, read as the input was."""
    run = document.run or PandocRun(document.executable, Path.cwd())
    if run.value("file-scope") is not None or any(name == "file-scope" for name, _ in run.options):
        raise FilterError(
            "--file-scope reads each file by itself, which native metadata blocks do not survive: "
            "write them as divs (lmm convert --to div FILES)"
        )
    # pandoc 3 shifts headings after the filters, pandoc 2 before them
    shifted = run.shifts and run.parse_inputs()["blocks"] == document.ast["blocks"]
    return run.parse_text(text, with_shift=shifted)


def finish_elements(document: Document, ast: dict[str, Any]) -> None:
    """Hand on elements for a target other than markdown. Metadata goes along only
    while another filter of ours follows."""
    from .elements import mark_metadata, strip_metadata

    if mentions(ast["blocks"], {"lmm"}):
        ast = mark_metadata(ast) if document.followed else strip_metadata(ast)
    document.ast = {**document.ast, "blocks": ast["blocks"], "meta": dict(ast["meta"])}
    clean_meta(document)
    mark_chain(document)


def clean_meta(document: Document) -> None:
    """Our keys leave the metadata with the last filter of ours: some writers (docx)
    put every key into the file."""
    if not document.followed:
        meta = document.ast["meta"]
        document.ast["meta"] = {key: value for key, value in meta.items() if not is_ours_alone(key)}


def mentions(node: object, words: set[str]) -> bool:
    """Whether one of the words stands as a text of its own anywhere in some JSON."""
    stack: list[object] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if item in words:
                return True
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False


def save_text(document: Document, text: str) -> None:
    """Write the text to the file that `lmm-save` names: an input, or an output that may be
    written. What cannot be written is reported; the document goes on."""
    path = Path(document.options.save)
    files = document.source.files if document.source else []
    read = next((file for file in files if _same_file(file.path, path)), None)
    try:
        if read is not None and len(files) == 1:
            save_markdown(path, text, read)
            files[0] = load_markdown(read.path)
        else:
            check_output(path, [file.path for file in files], MARKDOWN)
            write_output(path, text.encode("utf-8"))
    except (OSError, MarkdownError, OutputError) as error:
        document.logger.error(f"lmm-save: {error}")


def _same_file(one: Path, other: Path) -> bool:
    return other.exists() and one.samefile(other)
