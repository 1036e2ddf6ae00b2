"""The run of pandoc around a filter, from its command line, which names the source files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from lmm_core.errors import FilterError
from lmm_core.markdown.metadata.lmm_options import options_in
from lmm_core.markdown.visibility import words_of

from .command_line import Option, find_defaults, read_defaults, split_options

OURS = ("lmm-rag", "lmm-knit", "lmm-pass", "lmm-chat", "lmm-index")
# Reader options, passed to inner runs
_READING = frozenset(
    """from data-dir metadata metadata-file file-scope sandbox standalone resource-path columns preserve-tabs tab-stop
    abbreviations indented-code-classes default-image-extension shift-heading-level-by base-header-level track-changes
    strip-comments strip-empty-paragraphs bibliography csl citation-abbreviations ignore-args""".split()
)
# Writer options without effect on verbatim text
_WRITING = frozenset(
    """wrap toc number-sections reference-links reference-location markdown-headings atx-headers
    list-tables ascii id-prefix title-prefix
    shift-heading-level-by base-header-level section-divs metadata-file columns table-of-contents""".split()
)
# Writer options that add to verbatim text, too
ADDING = frozenset("template include-in-header include-before-body include-after-body".split())
# Options that accumulate
_WORDS = ("keep", "div-types")
_SHIFT = {"shift-heading-level-by", "base-header-level"}
MARKDOWN_FORMATS = frozenset(
    "markdown markdown_strict markdown_mmd markdown_phpextra markdown_github commonmark commonmark_x gfm".split()
)
# Suffixes that pandoc by default does not read as markdown
_OTHER_SUFFIXES = frozenset(
    """.adoc .asciidoc .bib .csv .docbook .docx .dbk .epub .fb2 .htm .html .ipynb .json .latex .lhs .ltx .ms .muse
    .native .odt .opml .org .pptx .ris .roff .rst .rtf .t2t .tei .tex .textile .tsv .typ .typst .wiki .xhtml .xlsx
    .xml""".split()
)
# Defaults not passed to inner runs
_DEFAULTS_DROPPED = frozenset(
    """filters to writer output-file standalone template variables variables-json include-in-header include-before-body
    include-after-body toc table-of-contents number-sections citeproc pdf-engine pdf-engine-opts reference-doc css
    verbosity log-file highlight-style wrap self-contained embed-resources html-math-method cite-method extract-media
    eol section-divs top-level-division fail-if-warnings dump-args defaults""".split()
)


@dataclass(frozen=True)
class PandocRun:
    """A command line of pandoc, with its defaults files.

    defaults: parents first
    process: identifies this run, unknown to documents; "" if unknown
    """

    executable: str
    folder: Path
    options: list[Option] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    defaults: list[dict[str, Any]] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    process: str = ""

    def value(self, name: str) -> str | None:
        """Return an option's last value, by command line or defaults."""
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
        """Return our trusted options, from `-M` and defaults. Lists accumulate, as in pandoc."""
        tables = [settings.get("metadata") for settings in self.defaults]
        pairs = [pair for table in tables if isinstance(table, dict) for pair in options_in(table).items()]
        for option, setting in self.options:
            if option == "metadata" and setting:
                key, *rest = re.split("[:=]", setting, maxsplit=1)
                pairs += options_in({key: rest[0] if rest else True}).items()
        options: dict[str, Any] = {}
        for name, value in pairs:
            options[name] = [*words_of(options.get(name)), *words_of(value)] if name in _WORDS else value
        return options

    @property
    def reader(self) -> str:
        """Return the reader with extensions, by option or the first file's suffix."""
        if option := self.value("from"):
            return option
        suffix = Path(self.inputs[0]).suffix.lower() if self.inputs else ""
        return suffix.lstrip(".") if suffix in _OTHER_SUFFIXES else "markdown"

    @property
    def reads_markdown(self) -> bool:
        """Return True if the input is markdown or unknown."""
        return base_format(self.reader) in MARKDOWN_FORMATS

    @property
    def output(self) -> Path | None:
        """Return the output file, None if it is standard output or unknown."""
        option = self.value("output")
        return None if option in (None, "-", "") else self.folder / str(option)

    @property
    def files(self) -> list[Path] | None:
        """Return the input files, None unless all are regular files."""
        paths = [self.folder / name for name in self.inputs]
        if not paths or any(name == "-" for name in self.inputs) or not all(path.is_file() for path in paths):
            return None
        return paths

    def given(self, names: Set[str]) -> list[str]:
        """Return which of some options are given, for messages."""
        options = [f"--{name}" for name, _ in self.options if name in names]
        return options + [f"{key} (defaults)" for settings in self.defaults for key in settings if key in names]

    def overwrites_input(self) -> bool:
        """Return True if the output is an input."""
        output = self.output
        if output is None or not output.exists():
            return False
        return any(path.exists() and path.samefile(output) for path in (self.folder / name for name in self.inputs))

    def ineffective(self, place: int) -> list[str]:
        """Return the options and filters without effect on verbatim text."""
        names = self.given(_WRITING)
        names += [f"--metadata {v}" for n, v in self.options if n == "metadata" and not (v or "").startswith("lmm")]
        names += [f"-F {name}" for name in self.filters[place + 1 :] if not is_ours(name)]
        return list(dict.fromkeys(names))

    def places(self) -> list[int]:
        """Return the indices of our filters."""
        return [at for at, name in enumerate(self.filters) if is_ours(name)]

    @property
    def strips_comments(self) -> bool:
        """Return True if the reader strips comments."""
        values = [value for name, value in self.options if name == "strip-comments"]
        return values[-1] != "false" if values else self.value("strip-comments") == "True"

    @property
    def reads_files_apart(self) -> bool:
        """Return True with `--file-scope`."""
        return self.value("file-scope") is not None or any(name == "file-scope" for name, _ in self.options)

    @property
    def shifts_headings(self) -> bool:
        """Return True if heading levels are shifted."""
        return any(self.value(name) not in (None, "0") for name in _SHIFT)

    @cached_property
    def major(self) -> int:
        """Return pandoc's major version."""
        version = os.environ.get("PANDOC_VERSION", "")
        if not version and self.process:
            version = run_pandoc(self.executable, ["--version"], None, self.folder)
        match = re.search(r"(\d+)\.\d+", version)
        return int(match[1]) if match else 3

    def parse(self, text: str | None = None, *, with_shift: bool = True) -> dict[str, Any]:
        """Return the JSON of the input files before filters, or of a text parsed like them. Raise FilterError."""
        dropped, sources = set() if with_shift else _SHIFT, self.inputs
        if text is not None:
            dropped = {"from", "file-scope"} | dropped
            sources = ["-f", self.reader.replace("-yaml_metadata_block", "")]
        arguments = [
            f"--{name}" if value is None else f"--{name}={value}"
            for name, value in self.options
            if name in _READING and name not in dropped
        ]
        import tempfile

        with tempfile.TemporaryDirectory(prefix="lmm-") as folder:
            for at, defaults in enumerate(self.defaults):
                path = Path(folder, f"{at}.yaml")
                path.write_text(json.dumps(_reading_defaults(defaults, dropped)), encoding="utf-8")
                arguments.append(f"--defaults={path}")
            output = run_pandoc(self.executable, [*arguments, "-t", "json", "-o", "-", *sources], text, self.folder)
        parsed: dict[str, Any] = json.loads(output)
        return parsed


def _reading_defaults(defaults: dict[str, Any], dropped: set[str]) -> dict[str, Any]:
    names = {"from": {"from", "reader", "input-files", "input-file"}}
    removed = _DEFAULTS_DROPPED.union(*(names.get(name, {name}) for name in dropped))
    if "from" not in dropped:
        removed = removed | {"input-files", "input-file"}
    return {key: value for key, value in defaults.items() if key not in removed}


def base_format(name: str) -> str:
    """Return a format without extensions (`markdown-smart` -> `markdown`)."""
    return re.split(r"[+-]", name, maxsplit=1)[0].lower()


def is_ours(name: str) -> bool:
    """Return True for a filter of this project."""
    return filter_name(name) in OURS


def filter_name(name: str) -> str:
    """Return the command of a filter given by name or path."""
    return Path(name).name.removesuffix(".py").removesuffix(".exe").replace("_", "-")


def run_pandoc(executable: str, arguments: list[str], text: str | None, folder: Path) -> str:
    """Return pandoc's standard output. text: standard input. Raise FilterError."""
    import subprocess

    try:
        result = subprocess.run(
            [executable, "--quiet", *arguments],
            input=None if text is None else text.encode("utf-8"),
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True, cwd=folder, env={**os.environ, "LMM_INNER": "1"}, check=False,
        )  # fmt: skip
    except OSError as error:
        raise FilterError(f"Pandoc cannot be run ({executable}): {error.strerror}") from None
    if result.returncode:
        raise FilterError(f"Pandoc could not read the document: {result.stderr.decode('utf-8', 'replace').strip()}")
    return result.stdout.decode("utf-8")


def unknown_run() -> PandocRun:
    """Return an unknown run: it reads markdown and writes to standard output."""
    return PandocRun("pandoc", Path.cwd())


def find_run() -> PandocRun:
    """Return the run of the nearest pandoc ancestor, or an unknown one."""
    for process in find_ancestors():
        if any(_PANDOC.match(Path(name).name) for name in process.names):
            return parse_command_line(process.command[1:], process.names[0], process.folder, process.ident)
    return unknown_run()


def parse_command_line(arguments: list[str], executable: str, folder: Path, process: str = "") -> PandocRun:
    """Return the run described by arguments. Raise FilterError."""
    run = PandocRun(executable, folder, process=process)
    for name, value in split_options(arguments):
        if name == "":
            run.inputs.append(str(value))
        elif name == "defaults":
            _add_defaults(run, str(value))
        elif name in ("filter", "lua-filter"):
            run.filters.append(str(value))
        elif name == "citeproc":
            run.filters.append("citeproc")
        else:
            run.options.append((name, value))
    return run


def _add_defaults(run: PandocRun, name: str, depth: int = 0) -> None:
    path = find_defaults(name, run.folder, run.value("data-dir"))
    if path is None or depth > 8:  # inputs and outputs would be unknown
        raise FilterError(f"The defaults file {name} is not found. Name it by its path: --defaults=FOLDER/{name}.yaml")
    settings = read_defaults(path)
    if settings is None:
        return
    parents = settings.get("defaults", [])
    for parent in parents if isinstance(parents, list) else [parents]:
        _add_defaults(run, str(parent), depth + 1)
    run.defaults.append(settings)
    inputs = settings.get("input-files") or settings.get("input-file") or []
    run.inputs.extend(map(str, inputs if isinstance(inputs, list) else [inputs]))
    for entry in settings.get("filters") or []:
        run.filters.append(str(entry.get("path") or entry.get("type")) if isinstance(entry, dict) else str(entry))
    if settings.get("citeproc") is True:
        run.filters.append("citeproc")


# Parent processes

MOST = 6  # shells and Python launchers may be between pandoc and its filter
_PANDOC = re.compile(r"pandoc([-_.]?[\d.]+)?(\.exe)?$", re.I)


class Ancestor(NamedTuple):
    """A process, uniquely identified by `ident`."""

    names: tuple[str, str]
    command: list[str]
    folder: Path
    ident: str


def find_ancestors() -> Iterator[Ancestor]:
    """Yield the ancestors, nearest first, as far as visible."""
    import psutil

    try:
        for process in psutil.Process().parents()[:MOST]:
            command = process.cmdline()
            names = (process.exe() or command[0], process.name())
            yield Ancestor(names, command, Path(process.cwd()), f"{process.pid}/{process.create_time()}")
    except (psutil.Error, OSError, IndexError):
        return
