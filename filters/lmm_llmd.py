"""`lmm-llmd`: an LLMD document as a page to read.

The page has the mission, the files, and the conversation with the proposed changes as diffs.
"""

from __future__ import annotations

import html
import json
import re
import secrets
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lmm_core.llmd import Llmd, ThreadEntry, parse_llmd
from lmm_core.llmd.page import DisplayedChange, read_reply

from .errors import FilterError
from .pandoc.document import FilterDocument, FilterOutput
from .pandoc.runs.run import base_format, run_pandoc
from .pandoc.write_elements import hand_on
from .process import run_filter

Element = dict[str, Any]
_STYLE = Path(__file__).with_name("llmd.css")
_FRAGMENT = (
    '<meta charset="utf-8">\n'
    "<style>body { max-width: 48em; margin: 2em auto; padding: 0 1em; font-family: sans-serif; line-height: 1.5; }\n"
    "</style>"
)
_HTML = ("html", "html4", "html5")
_STANDALONE = ("standalone", "template", "self-contained", "embed-resources")
_SCHEME = re.compile(r"[^/?#]*:")
_LINKED = ("http:", "https:", "mailto:")
_TEX = re.compile(r"\\|\^\^")  # runs commands in math that TeX or MathJax reads


def show(document: FilterDocument) -> FilterOutput:
    """Return the page of an LLMD document. Raise FilterError if the document is not one."""
    llmd = _read(document)
    blocks = _LlmdPage(document, base_format(document.call.target) in _HTML).build(llmd)
    meta = {"title": {"t": "MetaInlines", "c": [_str(llmd.name)]}, **document.ast["meta"]}
    return hand_on(document, {**document.ast, "blocks": blocks, "meta": meta})


def _read(document: FilterDocument) -> Llmd:
    source = document.source or document.input_text
    if source is None:
        raise FilterError("Give pandoc the LLMD document by its name: pandoc -F lmm-llmd PROJECT.md -o project.html")
    run = document.call.run
    if run is not None and run.overwrites_input():
        raise FilterError(
            f"Refused: the page would be written over {run.output}, which is an input. Name another output."
        )
    llmd = parse_llmd(source.text)
    if not (llmd.name and llmd.mission and llmd.thread):
        raise FilterError("This is not an LLMD document. To see what is missing, run: lmm llmd check FILE")
    if document.call.done == 0:
        for problem in llmd.problems:
            document.logger.warning(problem.message, problem.line)
    return llmd


class _LlmdPage:
    """A page that is being built. Texts that pandoc has to read are collected, and put in at the end."""

    def __init__(self, document: FilterDocument, to_html: bool) -> None:
        self.call, self.to_html = document.call, to_html
        self.texts: list[str] = []

    def build(self, llmd: Llmd) -> list[Element]:
        blocks = [*self._head(llmd), *self._guidance(llmd)]
        blocks += [_header(2, "Mission"), *self._text(llmd.mission.text if llmd.mission else "")]
        blocks += [_header(2, "Code Context"), *self._files(llmd)]
        blocks += [_header(2, "Changelog"), *self._text(llmd.log.text if llmd.log else "")]
        blocks.append(_header(2, "Conversation Thread"))
        for entry in llmd.entries:
            blocks += self._entry(entry) if entry.human or entry.assistant is not None else []
        return _put_in(blocks, self._parsed())

    def _head(self, llmd: Llmd) -> Iterator[Element]:
        if not self.to_html:
            return
        run = self.call.run
        standalone = run is not None and any(
            run.value(name) not in (None, "False") or (name, None) in run.options for name in _STANDALONE
        )
        style = f"<style>\n{_STYLE.read_text(encoding='utf-8')}</style>"
        yield _raw(style if standalone else f"{_FRAGMENT}\n{style}")
        if not standalone:
            yield _header(1, llmd.name)

    def _guidance(self, llmd: Llmd) -> list[Element]:
        said = [part.text for part in (llmd.meta, llmd.instructions, llmd.tools) if part]
        return self._folded("About this document", [one for text in said for one in self._text(text)])

    def _files(self, llmd: Llmd) -> Iterator[Element]:
        for file in llmd.files.values():
            code = _code(file.content.removesuffix("\n"), file.language)
            yield from self._folded(file.path, [code], is_open=True)

    def _folded(self, title: str, blocks: list[Element], is_open: bool = False) -> list[Element]:
        """Return blocks that a reader of HTML can fold away; for other targets, under a heading."""
        if not self.to_html:
            return [_header(3, title), *blocks]
        summary = f"<details{' open' if is_open else ''}><summary>{html.escape(title)}</summary>"
        return [_raw(summary), *blocks, _raw("</details>")]

    def _entry(self, entry: ThreadEntry) -> Iterator[Element]:
        yield _header(3, f"Entry {entry.number}")
        if entry.human:
            yield _div("llmd-human", [_strong("Human"), *self._text(entry.human)])
        if entry.assistant is not None:
            parts = [
                self._change(one) if isinstance(one, DisplayedChange) else self._text(one.text)
                for one in read_reply(entry.assistant, entry.human)
            ]
            yield _div("llmd-assistant", [_strong("Assistant"), *(block for part in parts for block in part)])

    def _change(self, change: DisplayedChange) -> list[Element]:
        name: Element = {"t": "Code", "c": [_attr(), change.title]} if change.is_file else _str(change.title)
        return [_div("llmd-change", [{"t": "Para", "c": [name]}, _code(change.diff, "diff")])]

    def _text(self, text: str) -> list[Element]:
        """Return a placeholder for a text that pandoc has to read."""
        self.texts.append(text)
        return [{"t": "Piece", "c": len(self.texts) - 1}]

    def _parsed(self) -> list[list[Element]]:
        """Return the blocks of each text, read by itself so that nothing it leaves open reaches another."""
        mark = f"lmm-piece-{secrets.token_hex(8)}"
        run = self.call.run
        with tempfile.TemporaryDirectory(prefix="lmm-") as folder:
            names = []
            for number, text in enumerate(self.texts):
                for name, content in ((f"{number}.md", text + "\n"), (f"{number}-end.md", f"~~~~\n{mark}\n~~~~\n")):
                    Path(folder, name).write_bytes(content.encode("utf-8", "replace"))
                    names.append(name)
            reader = run.reader if run is not None and run.reads_markdown else "markdown"
            arguments = ["-f", reader, "-t", "json", "--file-scope", *names]
            output = run_pandoc(self.call.executable, arguments, None, Path(folder))
        return _pieces(json.loads(output)["blocks"], mark)


def _pieces(blocks: Sequence[Element], mark: str) -> list[list[Element]]:
    """Return the blocks between code blocks that hold the mark, made harmless."""
    pieces: list[list[Element]] = [[]]
    for block in blocks:
        if block["t"] == "CodeBlock" and block["c"][1] == mark:
            pieces.append([])
        else:
            pieces[-1].append(_safe(block))
    return pieces


def _safe(node: Any) -> Any:
    """Return what somebody has said as harmless elements.

    Raw HTML and commands of TeX are shown and not run, links run nothing, pictures come from the
    document's folder only, attributes go, and headings are below those of the page."""
    if isinstance(node, list):
        is_attr = len(node) == 3 and isinstance(node[0], str) and all(isinstance(part, list) for part in node[1:])
        return ["", node[1], []] if is_attr else [_safe(part) for part in node]
    if not isinstance(node, dict):
        return node
    kind: str = node.get("t", "")
    content: Any = node.get("c")
    if kind in ("RawBlock", "RawInline"):
        return {"t": "CodeBlock" if kind == "RawBlock" else "Code", "c": [_attr(), content[1]]}
    if kind == "Header":
        return {"t": "Header", "c": [min(content[0] + 3, 6), _attr(), _safe(content[2])]}
    if kind == "Math" and _TEX.search(content[1]):
        return {"t": "Code", "c": [_attr(), content[1]]}
    if kind in ("Link", "Image"):
        return _safe_link(kind, content)
    return {key: _safe(value) for key, value in node.items()}


def _safe_link(kind: str, content: Any) -> Element:
    """Return a link that leads to a page or into the folder, or else its text alone.

    A picture from elsewhere becomes a link, so that nothing is fetched or read for it."""
    target = "".join(sign for sign in content[2][0] if sign > " ")  # as browsers read it
    scheme = _SCHEME.match(target)
    if scheme and scheme[0].lower() not in _LINKED:
        return {"t": "Span", "c": [_attr(), _safe(content[1])]}
    place = unquote(target).replace("\\", "/")
    is_elsewhere = scheme or place.startswith("/") or ".." in place.split("/")
    shown = "Link" if is_elsewhere else kind
    return {"t": shown, "c": [_attr(), _safe(content[1]), content[2]]}


def _put_in(blocks: Sequence[Element], pieces: Sequence[list[Element]]) -> list[Element]:
    """Return blocks with the pieces in place of their placeholders."""
    made: list[Element] = []
    for block in blocks:
        if block["t"] == "Piece":
            made += pieces[block["c"]]
        elif block["t"] == "Div":
            made.append({"t": "Div", "c": [block["c"][0], _put_in(block["c"][1], pieces)]})
        else:
            made.append(block)
    return made


# Pandoc's elements


def _attr(name: str = "") -> list[Any]:
    return ["", [name] if name else [], []]


def _str(text: str) -> Element:
    return {"t": "Str", "c": text}


def _strong(text: str) -> Element:
    return {"t": "Para", "c": [{"t": "Strong", "c": [_str(text)]}]}


def _header(level: int, title: str) -> Element:
    identifier = re.sub(r"\W+", "-", title.lower()).strip("-")
    return {"t": "Header", "c": [level, [identifier, [], []], [_str(title)]]}


def _div(name: str, blocks: list[Element]) -> Element:
    return {"t": "Div", "c": [_attr(name), blocks]}


def _code(text: str, language: str) -> Element:
    return {"t": "CodeBlock", "c": [_attr(language), text]}


def _raw(text: str) -> Element:
    return {"t": "RawBlock", "c": ["html", text]}


def main() -> None:
    """Run the command `lmm-llmd`, which pandoc starts."""
    sys.exit(run_filter("lmm-llmd", show))


if __name__ == "__main__":
    main()
