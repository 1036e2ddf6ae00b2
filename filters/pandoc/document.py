"""The document of a filter's call: from an earlier filter's text, the source files, or Pandoc's elements."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from lmm_core.errors import FilterError
from lmm_core.logging import LocatedLogger, LoggerBase
from lmm_core.markdown.blocks import Block, MetadataBlock, Problem, Spelling, header_content, is_native
from lmm_core.markdown.divs import find_parts
from lmm_core.markdown.metadata.keys import is_positional
from lmm_core.markdown.metadata.lmm_options import OPTIONS, options_in, refusal, refused_options, report_refused
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules, named_types, words_of
from lmm_core.scan.documents.document import project_of
from lmm_core.settings.project import Project, load_project

from .call import FilterCall, read_call
from .meta import FilterOptions, header_from, plain_options
from .outputs import refuse_overwriting
from .source import Source, input_source, is_its_source, left_source

if TYPE_CHECKING:
    import panflute as pf

    from .elements import Elements

_LOST = "which may come from metadata blocks inside the text. Pandoc has merged them, and their places are lost"


@dataclass(frozen=True)
class FilterDocument:
    """A document read by a filter.

    data: `ast` as text, "" if unknown
    source: text of unchanged elements
    input_text: text of the input files, if there is no source
    """

    call: FilterCall
    ast: dict[str, Any]
    project: Project
    logger: LoggerBase
    source: Source | None = None
    input_text: Source | None = None
    blocks: list[Block] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    data: str = ""

    def load(self, ast: dict[str, Any]) -> pf.Doc:
        """Return panflute's elements."""
        from .elements import load

        return load(self.data if ast is self.ast and self.data else json.dumps(ast, separators=(",", ":")))

    @property
    def options(self) -> FilterOptions:
        """Return the call's options."""
        return self.call.options

    @property
    def path(self) -> Path | None:
        """Return the document's first file, or None."""
        return _path_of(self.source or self.input_text)

    @property
    def rules(self) -> KnitRules:
        """Return the knit rules of configuration and options."""
        rules = self.project.rules
        div_types = rules.div_types | named_types(self.options.div_types)
        return replace(rules, div_types=div_types, keep=rules.keep | set(self.options.keep))

    def project_for(self, blocks: Sequence[Block]) -> Project | None:
        """Return the project with header and options, or None after reporting an error."""
        project = project_of(blocks, replace(self.project, rules=self.rules), self.logger)
        spelling: Any = self.options.spelling  # the header's, unless overridden on the command line
        return replace(project, spelling=spelling) if project and spelling else project


@dataclass(frozen=True)
class FilterOutput:
    """A filter's output; `text` is set if it is written verbatim."""

    ast: dict[str, Any]
    text: str | None = None


def read_document(name: str, data: bytes, target: str, logger: LoggerBase) -> FilterDocument:
    """Return the document passed to a filter.

    Raise FilterError to stop pandoc, and OSError, MarkdownError or ConfigError.
    """
    text = data.decode("utf-8")
    ast = json.loads(text)
    call, ast["meta"] = read_call(name, target, ast["meta"])
    refuse_overwriting(call)
    _check_options(call.options, logger)
    source, input_text = left_source(call, ast), None
    if source is None and call.run.reads_markdown:
        input_text = input_source(call)
        if input_text is not None and is_its_source(call, ast, input_text):
            source, input_text = input_text, None
    project = load_project(_path_of(source or input_text))
    if call.in_quarto:
        call = replace(call, options=_options_in_quarto(call.options, ast["meta"], input_text))
    document = FilterDocument(call, ast, project, logger, source, input_text, data=text)
    if source is not None:
        document = _with_blocks(document, source)
    if call.previous == 0:
        _report_refused(document)
    return document


def _path_of(text: Source | None) -> Path | None:
    return text.files[0].path if text is not None and text.files else None


def _check_options(options: FilterOptions, logger: LoggerBase) -> None:
    for option in options.unknown:
        names = ", ".join(f"lmm-{name}" for name in sorted(OPTIONS))
        logger.warning(f"There is no option lmm-{option}. Known options are {names}.")
    if options.spelling not in ("", *get_args(Spelling)):
        raise FilterError(f"lmm-spelling must be div, native or comment, not {options.spelling!r}.")


def _with_blocks(document: FilterDocument, source: Source) -> FilterDocument:
    problems: list[Problem] = []
    blocks = parse_markdown_text(source.text, problems)
    logger = LocatedLogger(document.logger, source.locate)
    for problem in problems if document.call.previous == 0 else ():
        logger.warning(problem.message, problem.line)
    return replace(document, blocks=blocks, problems=problems, logger=logger)


def _report_refused(document: FilterDocument) -> None:
    if document.source is not None:
        report_refused(document.blocks, document.logger)
    reported = {message for _, message in refused_options(document.blocks)}
    for message in map(refusal, document.options.refused):
        if message not in reported:
            document.logger.warning(message)


def _options_in_quarto(options: FilterOptions, meta: dict[str, Any], text: Source | None) -> FilterOptions:
    """Return the options with the Quarto project's, for which Quarto passes the header's `lmm:`.

    A document may add classes, but no types to keep. Raise FilterError for unreadable settings.
    """
    from lmm_core.errors import QuartoError

    try:
        by_project, by_document = _project_options(_path_of(text)), _kept_by_document(text)
    except QuartoError as error:
        raise FilterError(str(error)) from None
    kept_types = words_of(plain_options(meta).get("keep"))
    others = [] if text is None else [word for word in kept_types if word not in by_document]
    keep = [*_words("keep", by_project), *others]
    div_types = [*_words("div-types", by_project), *options.div_types]
    refused = [name for name in options.refused if name != "keep" or set(kept_types) - set(keep)]
    return replace(options, keep=keep, div_types=div_types, refused=refused)


def _project_options(path: Path | None) -> list[dict[str, Any]]:
    from lmm_core.settings.quarto_project import folder_settings, read_project

    folder = Path(os.environ.get("QUARTO_PROJECT_DIR", "."))
    return [options_in(read_project(folder)), options_in(folder_settings(path, folder) if path else {})]


def _words(key: str, options: Sequence[Mapping[str, Any]]) -> list[str]:
    return [word for group in options for word in words_of(group.get(key))]


def _kept_by_document(text: Source | None) -> set[str]:
    from lmm_core.settings.quarto_project import with_named

    if text is None:
        return set()
    header = with_named(header_content(text.blocks), text.files[0].path.parent)
    tables = [header, *(block.content for block in text.blocks if isinstance(block, MetadataBlock))]
    return {word for table in tables for word in words_of(options_in(table).get("keep"))}


def read_elements(document: FilterDocument) -> tuple[Elements, list[Block]]:
    """Return a document's elements, and a block with pandoc's markdown for each.

    Raise FilterError if metadata blocks have lost their places.
    """
    from .elements import Elements, markdown_of_each

    require_places(document)
    texts = markdown_of_each(document.ast, document.call.run.executable)
    elements = Elements.read(document.load(document.ast), texts)
    meta = document.ast["meta"]
    return elements, [*([header_from(meta)] if meta else []), *elements.blocks]


def require_places(document: FilterDocument) -> None:
    """Raise FilterError if metadata blocks may have lost their places."""
    text = document.input_text
    blocks = text.blocks if text is not None else None
    if document.call.previous:
        return
    _require_comments(document, blocks)
    if blocks is not None and not any(map(is_native, blocks)):
        return
    keys = [key for key in document.ast["meta"] if is_positional(key)]
    if not keys:
        return
    fault = f"The document's metadata has {', '.join(f'`{key}`' for key in keys[:4])}, {_LOST}."
    if document.call.in_quarto:
        raise FilterError(f"{fault} Write the blocks as divs: lmm convert --to div FILE")
    name = document.call.name
    advice = f"Give pandoc the file by its name (pandoc -F {name} FILE -o …), name it with -M lmm-source=FILE"
    if text is not None and document.call.may_follow_foreign:
        advice = f"Put -F {name} before the other filters (and before --citeproc)"
    raise FilterError(f"{fault} {advice}, or write the blocks as divs (lmm convert --to div FILE).")


def _require_comments(document: FilterDocument, blocks: Sequence[Block] | None) -> None:
    from .elements import find_elements, is_comment

    if blocks is None:
        is_lost = document.call.run.strips_comments
    else:
        has_some = any(map(_holds_comment, blocks))
        is_lost = has_some and not any(map(is_comment, find_elements(document.load(document.ast))))
    if is_lost:
        raise FilterError(
            "The document's comments were taken out before this filter (by --strip-comments, or by another filter), "
            "and with them the metadata in comments. Keep the comments, or write the blocks as divs: "
            "lmm convert --to div FILE"
        )


def _holds_comment(block: Block) -> bool:
    if isinstance(block, MetadataBlock):
        return block.spelling == "comment"
    return "<!--" in block.source and any(part.spelling == "comment" for part in find_parts(block.source))
