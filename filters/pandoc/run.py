"""The run of pandoc that a filter is part of, as pandoc's own command line tells.

A filter gets the parsed document, in which the places of metadata blocks and
the writer's own spelling of the text are lost. The command line says which
files the document comes from, where it goes, and which filters run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from lmm_core.markdown.metadata.lmm_options import options_in
from lmm_core.markdown.rag_only import words_of

OURS = ("lmm-rag", "lmm-knit", "lmm-pass", "lmm-chat", "lmm-edit", "lmm-index")
_SHORT = {
    "f": "from", "r": "from", "t": "to", "w": "to", "o": "output", "M": "metadata", "d": "defaults", "V": "variable",
    "H": "include-in-header", "B": "include-before-body", "A": "include-after-body", "F": "filter", "L": "lua-filter",
    "T": "title-prefix", "c": "css", "D": "print-default-template", "l": "lua-filter",
}  # fmt: skip
_SHORT_FLAGS = {"s": "standalone", "N": "number-sections", "p": "preserve-tabs", "i": "incremental", "C": "citeproc"}
_WITH_VALUE = frozenset(
    """from read to write output data-dir metadata metadata-file defaults template variable variable-json wrap toc-depth
    number-offset top-level-division extract-media resource-path include-in-header include-before-body
    include-after-body highlight-style syntax-definition syntax-highlighting dpi eol columns tab-stop pdf-engine
    pdf-engine-opt reference-doc request-header abbreviations indented-code-classes default-image-extension filter
    lua-filter shift-heading-level-by base-header-level track-changes reference-location figure-caption-position
    table-caption-position markdown-headings slide-level email-obfuscation id-prefix title-prefix css epub-subdirectory
    epub-cover-image epub-metadata epub-embed-font split-level chunk-template epub-chapter-level ipynb-output
    bibliography csl citation-abbreviations log print-default-template print-default-data-file
    print-highlight-style""".split()
)
_FLAGS = frozenset(
    """file-scope sandbox standalone ascii toc table-of-contents lof list-of-figures lot list-of-tables number-sections
    no-highlight preserve-tabs self-contained embed-resources link-images no-check-certificate strip-comments
    reference-links list-tables listings incremental section-divs html-q-tags epub-title-page citeproc natbib biblatex
    mathml webtex mathjax katex gladtex trace dump-args ignore-args verbose quiet fail-if-warnings
    strip-empty-paragraphs atx-headers""".split()
)
_ALIASES = {"read": "from", "write": "to"}
# What decides how text is read; an inner run gets these options and no others.
_READING = frozenset(
    """from data-dir metadata metadata-file file-scope sandbox standalone resource-path columns preserve-tabs tab-stop
    abbreviations indented-code-classes default-image-extension shift-heading-level-by base-header-level track-changes
    strip-comments strip-empty-paragraphs bibliography csl citation-abbreviations ignore-args""".split()
)
# Writer options that would change text, and so have no effect on text that goes out as it is.
_WRITING = frozenset(
    """wrap toc number-sections reference-links reference-location markdown-headings atx-headers
    list-tables ascii id-prefix title-prefix
    shift-heading-level-by base-header-level section-divs metadata-file columns table-of-contents""".split()
)
_WORDS = ("keep", "div-types")
# Writer options that put text around it all the same.
_ADDING = frozenset("template include-in-header include-before-body include-after-body".split())
_SHIFT = {"shift-heading-level-by", "base-header-level"}
MARKDOWN_FORMATS = frozenset(
    "markdown markdown_strict markdown_mmd markdown_phpextra markdown_github commonmark commonmark_x gfm".split()
)
_OTHER_SUFFIXES = frozenset(
    """.adoc .asciidoc .bib .csv .docbook .docx .dbk .epub .fb2 .htm .html .ipynb .json .latex .lhs .ltx .ms .muse
    .native .odt .opml .org .pptx .ris .roff .rst .rtf .t2t .tei .tex .textile .tsv .typ .typst .wiki .xhtml .xlsx
    .xml""".split()
)
_DEFAULTS_DROPPED = frozenset(
    """filters to writer output-file standalone template variables variables-json include-in-header include-before-body
    include-after-body toc table-of-contents number-sections citeproc pdf-engine pdf-engine-opts reference-doc css
    verbosity log-file highlight-style wrap self-contained embed-resources html-math-method cite-method extract-media
    eol section-divs top-level-division fail-if-warnings dump-args defaults""".split()
)


_PANDOC = re.compile(r"pandoc([-_.]?[\d.]+)?(\.exe)?$", re.I)


class FilterError(Exception):
    """A reason to stop pandoc: it then writes nothing. The text says what to do."""


@dataclass
class PandocRun:
    """What a command line of pandoc says. `options` are pairs of long name and value
    in their order, `inputs` the input files, `filters` all filters in their order;
    `process` tells this run from every other, so that no document can know it."""

    executable: str
    folder: Path
    options: list[tuple[str, str | None]] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    defaults: list[dict[str, Any]] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    process: str = ""

    def value(self, name: str) -> str | None:
        """The last value of an option, or that of the defaults files."""
        for option, value in reversed(self.options):
            if option == name:
                return value
        keys = {"from": ("from", "reader"), "to": ("to", "writer"), "output": ("output-file",)}.get(name, (name,))
        for defaults in reversed(self.defaults):
            for key in keys:
                if defaults.get(key) is not None:
                    return str(defaults[key])
        return None

    def lmm_options(self) -> dict[str, Any]:
        """Return our options that `-M` and the defaults files give, by name: what the person
        who runs pandoc says, and no document. Repeated ones of words add up, as in pandoc."""
        tables = [found.get("metadata") for found in self.defaults]
        given = [pair for table in tables if isinstance(table, dict) for pair in options_in(table).items()]
        for name, value in self.options:
            if name == "metadata" and value:
                key, *rest = re.split("[:=]", value, maxsplit=1)
                given += options_in({key: rest[0] if rest else True}).items()
        said: dict[str, Any] = {}
        for name, value in given:
            said[name] = [*words_of(said.get(name)), *words_of(value)] if name in _WORDS else value
        return said

    @property
    def reader(self) -> str:
        """The reader's name with its extensions, as pandoc picks it: the option, else
        by the first file's ending, else markdown."""
        if found := self.value("from"):
            return found
        suffix = Path(self.inputs[0]).suffix.lower() if self.inputs else ""
        return suffix.lstrip(".") if suffix in _OTHER_SUFFIXES else "markdown"

    @property
    def reads_markdown(self) -> bool:
        """Whether the input is some kind of markdown."""
        return base_format(self.reader) in MARKDOWN_FORMATS

    @property
    def output(self) -> Path | None:
        """The output file; None for standard output."""
        found = self.value("output")
        return None if found in (None, "-", "") else self.folder / str(found)

    @property
    def files(self) -> list[Path] | None:
        """The input files, None where some are not regular files (standard input, a
        web address)."""
        paths = [self.folder / name for name in self.inputs]
        if not paths or any(name == "-" for name in self.inputs) or not all(path.is_file() for path in paths):
            return None
        return paths

    def adds_text(self) -> list[str]:
        """Return the options by which pandoc writes more than the text that it is given."""
        names = [f"--{name}" for name, _ in self.options if name in _ADDING]
        return names + [f"{key} (defaults)" for found in self.defaults for key in found if key in _ADDING]

    def overwrites_input(self) -> bool:
        """Whether the output is one of the inputs."""
        output = self.output
        if output is None or not output.exists():
            return False
        return any(path.exists() and path.samefile(output) for path in (self.folder / name for name in self.inputs))

    def ineffective(self, ours: int) -> list[str]:
        """Options and later filters without effect on text that goes out as it is."""
        names = [f"--{name}" for name, _ in self.options if name in _WRITING]
        names += [f"--metadata {v}" for n, v in self.options if n == "metadata" and not (v or "").startswith("lmm")]
        names += [f"{key} (defaults)" for found in self.defaults for key in found if key in _WRITING]
        names += [f"-F {name}" for name in self.filters[ours + 1 :] if not is_ours(name)]
        return list(dict.fromkeys(names))

    def places(self) -> list[int]:
        """Which of the filters are ours, by their numbers."""
        return [at for at, name in enumerate(self.filters) if is_ours(name)]

    # Inner runs

    def parse_inputs(self, with_shift: bool = True) -> dict[str, Any]:
        """The document as pandoc reads it, before any filter."""
        return self._inner(self.inputs, None, set() if with_shift else _SHIFT)

    def parse_text(self, text: str, with_shift: bool = True) -> dict[str, Any]:
        """A text as pandoc would read it in place of the input files."""
        dropped = {"from", "file-scope"} | (set() if with_shift else _SHIFT)
        return self._inner([], text, dropped, ["-f", _with_metadata(self.reader)])

    @property
    def shifts(self) -> bool:
        """Whether headings are shifted."""
        return any(self.value(name) not in (None, "0") for name in _SHIFT)

    def _inner(
        self, inputs: list[str], text: str | None, dropped: set[str], extra: Iterable[str] = ()
    ) -> dict[str, Any]:
        arguments = [
            f"--{name}" if value is None else f"--{name}={value}"
            for name, value in self.options
            if name in _READING and name not in dropped
        ]
        with tempfile.TemporaryDirectory(prefix="lmm-") as folder:
            for at, defaults in enumerate(self.defaults):
                path = Path(folder, f"{at}.yaml")
                path.write_text(json.dumps(_reading_defaults(defaults, dropped)), encoding="utf-8")
                arguments.append(f"--defaults={path}")
            output = run_pandoc(
                self.executable, [*arguments, *extra, "-t", "json", "-o", "-", *inputs], text, self.folder
            )
        parsed: dict[str, Any] = json.loads(output)
        return parsed

    @cached_property
    def major(self) -> int:
        """Pandoc's major version."""
        version = os.environ.get("PANDOC_VERSION") or run_pandoc(self.executable, ["--version"], None, self.folder)
        found = re.search(r"(\d+)\.\d+", version)
        return int(found[1]) if found else 3


def base_format(name: str) -> str:
    """A format's name without its extensions (`markdown-smart` -> `markdown`)."""
    return re.split(r"[+-]", name, maxsplit=1)[0].lower()


def is_ours(name: str) -> bool:
    """Whether a filter, named or by its path, is one of this project's."""
    return filter_name(name) in OURS


def filter_name(name: str) -> str:
    """Return the command that a filter is, named or by its path."""
    return Path(name).name.removesuffix(".py").removesuffix(".exe").replace("_", "-")


def run_pandoc(executable: str, arguments: list[str], text: str | None, folder: Path) -> str:
    """Standard output of a run of pandoc. Raises FilterError where it fails."""
    try:
        done = subprocess.run(
            [executable, "--quiet", *arguments],
            input=None if text is None else text.encode("utf-8"),
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True, cwd=folder, env={**os.environ, "LMM_INNER": "1"}, check=False,
        )  # fmt: skip
    except OSError as error:
        raise FilterError(f"pandoc cannot be run ({executable}): {error.strerror}") from None
    if done.returncode:
        raise FilterError(f"pandoc could not read the document: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout.decode("utf-8")


def _with_metadata(reader: str) -> str:
    return reader.replace("-yaml_metadata_block", "")


def _reading_defaults(defaults: dict[str, Any], dropped: set[str]) -> dict[str, Any]:
    names = {"from": {"from", "reader", "input-files", "input-file"}}
    gone = _DEFAULTS_DROPPED.union(*(names.get(name, {name}) for name in dropped))
    if "from" not in dropped:
        gone = gone | {"input-files", "input-file"}
    return {key: value for key, value in defaults.items() if key not in gone}


# From a command line


def find_run() -> PandocRun | None:
    """The run of pandoc that is our parent process or near ancestor; None where
    there is none to be seen."""
    import psutil

    try:
        for process in psutil.Process().parents()[:6]:
            executable = process.exe() or process.cmdline()[0]
            if any(_PANDOC.match(Path(name).name) for name in (executable, process.name())):
                run = parse_command_line(process.cmdline()[1:], executable, Path(process.cwd()))
                run.process = f"{process.pid}/{process.create_time()}"
                return run
    except (psutil.Error, IndexError, FileNotFoundError):
        return None
    return None


def parse_command_line(arguments: list[str], executable: str, folder: Path) -> PandocRun:
    """What pandoc's arguments say, those of its defaults files included. Raises
    FilterError for a defaults file that cannot be read."""
    run = PandocRun(executable, folder)
    for name, value in _split_options(arguments):
        if name == "":
            run.inputs.append(str(value))
        elif name == "defaults":
            _add_defaults(run, str(value), folder)
        elif name in ("filter", "lua-filter"):
            run.filters.append(str(value))
        elif name == "citeproc":
            run.filters.append("citeproc")
        else:
            run.options.append((name, value))
    return run


def _split_options(arguments: list[str]) -> Iterable[tuple[str, str | None]]:
    """Pairs of long option name and value; ("", file) for input files."""
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            yield from (("", name) for name in rest)
            return
        if argument.startswith("--"):
            yield _long_option(argument[2:], rest)
        elif argument.startswith("-") and argument != "-":
            yield from _short_options(argument[1:], rest)
        else:
            yield "", argument


def _long_option(text: str, rest: list[str]) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    if name not in _WITH_VALUE and name not in _FLAGS:
        fits = [known for known in (*_WITH_VALUE, *_FLAGS) if known.startswith(name)]
        name = fits[0] if len(fits) == 1 else name
    name = _ALIASES.get(name, name)
    if equals:
        return name, value
    return name, rest.pop(0) if name in _WITH_VALUE and rest else None


def _short_options(text: str, rest: list[str]) -> Iterable[tuple[str, str | None]]:
    while text:
        letter, text = text[0], text[1:]
        if letter in _SHORT:
            yield _SHORT[letter], (text.removeprefix("=") if text else rest.pop(0) if rest else None)
            return
        yield _SHORT_FLAGS.get(letter, letter), None
        if text in ("true", "false"):
            return


def _add_defaults(run: PandocRun, name: str, folder: Path, depth: int = 0) -> None:
    path = _find_defaults(run, name, folder)
    if path is None or depth > 8:  # without it we would not know what pandoc reads and writes
        raise FilterError(f"{name}: no such defaults file is found; name it by its path: --defaults=FOLDER/{name}.yaml")
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        found = yaml.safe_load(_expand(text, path))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise FilterError(f"{path}: the defaults file cannot be read: {error}") from None
    if not isinstance(found, dict):
        return
    parents = found.get("defaults", [])
    for parent in parents if isinstance(parents, list) else [parents]:
        _add_defaults(run, str(parent), folder, depth + 1)
    run.defaults.append(found)
    inputs = found.get("input-files") or found.get("input-file") or []
    run.inputs.extend(map(str, inputs if isinstance(inputs, list) else [inputs]))
    for entry in found.get("filters") or []:
        run.filters.append(str(entry.get("path") or entry.get("type")) if isinstance(entry, dict) else str(entry))
    if found.get("citeproc") is True:
        run.filters.append("citeproc")


def _expand(text: str, path: Path) -> str:
    """Pandoc's variables in defaults files: `${.}` is the file's folder."""
    values = {".": str(path.parent), **os.environ}
    return re.sub(r"\$\{([.\w]+)\}", lambda found: values.get(found[1], found[0]), text)


def _data_folders() -> list[Path]:
    """Return where pandoc looks for the user's own data, first to last."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 (Path.home fails where there is none)
    named = os.environ.get("XDG_DATA_HOME")
    data = Path(named) if named else home / ".local" / "share"
    on_windows = [Path(os.environ["APPDATA"])] if os.environ.get("APPDATA") else []
    return [*(place / "pandoc" for place in (data, *on_windows)), home / ".pandoc"]


def _find_defaults(run: PandocRun, name: str, folder: Path) -> Path | None:
    data = run.value("data-dir")
    places = [folder, *([folder / data / "defaults"] if data else [])]
    places += [place / "defaults" for place in _data_folders()]
    for place in places:
        for candidate in (place / name, place / f"{name}.yaml"):
            if candidate.is_file():
                return candidate
    return None
