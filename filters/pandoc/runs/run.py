"""The run of pandoc that a filter is part of, read from pandoc's command line.

The document that a filter gets has lost the places of metadata blocks and the writer's spelling. The command line tells
which files it comes from, where it goes, and which filters run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from lmm_core.markdown.metadata.lmm_options import options_in
from lmm_core.markdown.visibility import words_of

from ...errors import FilterError
from .ancestors import find_pandoc
from .command_line import Option, find_defaults, read_defaults, split_options

OURS = ("lmm-rag", "lmm-knit", "lmm-pass", "lmm-chat", "lmm-index")
# Options that decide how text is read. An inner run gets these and no others.
_READING = frozenset(
    """from data-dir metadata metadata-file file-scope sandbox standalone resource-path columns preserve-tabs tab-stop
    abbreviations indented-code-classes default-image-extension shift-heading-level-by base-header-level track-changes
    strip-comments strip-empty-paragraphs bibliography csl citation-abbreviations ignore-args""".split()
)
# Writer options that change text. They have no effect on text that goes out verbatim.
_WRITING = frozenset(
    """wrap toc number-sections reference-links reference-location markdown-headings atx-headers
    list-tables ascii id-prefix title-prefix
    shift-heading-level-by base-header-level section-divs metadata-file columns table-of-contents""".split()
)
# Writer options that put text around text that goes out verbatim, too.
_ADDING = frozenset("template include-in-header include-before-body include-after-body".split())
# Options of ours that add up when they are repeated.
_WORDS = ("keep", "div-types")
_SHIFT = {"shift-heading-level-by", "base-header-level"}
MARKDOWN_FORMATS = frozenset(
    "markdown markdown_strict markdown_mmd markdown_phpextra markdown_github commonmark commonmark_x gfm".split()
)
# Endings of files that pandoc does not read as markdown unless it is told to.
_OTHER_SUFFIXES = frozenset(
    """.adoc .asciidoc .bib .csv .docbook .docx .dbk .epub .fb2 .htm .html .ipynb .json .latex .lhs .ltx .ms .muse
    .native .odt .opml .org .pptx .ris .roff .rst .rtf .t2t .tei .tex .textile .tsv .typ .typst .wiki .xhtml .xlsx
    .xml""".split()
)
# Keys of defaults files that an inner run does not get.
_DEFAULTS_DROPPED = frozenset(
    """filters to writer output-file standalone template variables variables-json include-in-header include-before-body
    include-after-body toc table-of-contents number-sections citeproc pdf-engine pdf-engine-opts reference-doc css
    verbosity log-file highlight-style wrap self-contained embed-resources html-math-method cite-method extract-media
    eol section-divs top-level-division fail-if-warnings dump-args defaults""".split()
)


@dataclass(frozen=True)
class PandocRun:
    """A command line of pandoc, with the settings of its defaults files.

    folder: pandoc's working folder; options: pairs of long name and value, in order; inputs: as written; defaults:
    settings, parents first; filters: names, in order; process: identifies this run, and cannot be known to a document.
    """

    executable: str
    folder: Path
    options: list[Option] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    defaults: list[dict[str, Any]] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    process: str = ""

    def value(self, name: str) -> str | None:
        """Return the last value of an option, on the command line or else in the defaults files."""
        for option, value in reversed(self.options):
            if option == name:
                return value
        keys = {"from": ("from", "reader"), "to": ("to", "writer"), "output": ("output-file",)}.get(name, (name,))
        for defaults in reversed(self.defaults):
            for key in keys:
                if defaults.get(key) is not None:
                    return str(defaults[key])
        return None

    def given_metadata(self) -> list[tuple[str, str | bool]]:
        """Return the keys and values that `-M` gives."""
        pairs = (re.split("[:=]", value, maxsplit=1) for name, value in self.options if name == "metadata" and value)
        return [(key, rest[0] if rest else True) for key, *rest in pairs]

    def lmm_options(self) -> dict[str, Any]:
        """Return our options from `-M` and the defaults files, by name.

        They come from the person who runs pandoc. Repeated lists of words add up, as in pandoc."""
        tables = [settings.get("metadata") for settings in self.defaults]
        given = [pair for table in tables if isinstance(table, dict) for pair in options_in(table).items()]
        for key, value in self.given_metadata():
            given += options_in({key: value}).items()
        options: dict[str, Any] = {}
        for name, value in given:
            options[name] = [*words_of(options.get(name)), *words_of(value)] if name in _WORDS else value
        return options

    @property
    def reader(self) -> str:
        """The reader's name with its extensions, as pandoc picks it: by the option, else by the
        first file's ending, else markdown."""
        if named := self.value("from"):
            return named
        suffix = Path(self.inputs[0]).suffix.lower() if self.inputs else ""
        return suffix.lstrip(".") if suffix in _OTHER_SUFFIXES else "markdown"

    @property
    def reads_markdown(self) -> bool:
        """True if the input is some kind of markdown."""
        return base_format(self.reader) in MARKDOWN_FORMATS

    @property
    def output(self) -> Path | None:
        """The output file, or None for standard output."""
        named = self.value("output")
        return None if named in (None, "-", "") else self.folder / str(named)

    @property
    def files(self) -> list[Path] | None:
        """The input files, or None if some are not regular files (standard input, a web address)."""
        paths = [self.folder / name for name in self.inputs]
        if not paths or any(name == "-" for name in self.inputs) or not all(path.is_file() for path in paths):
            return None
        return paths

    def adds_text(self) -> list[str]:
        """Return the options that make pandoc write more than the text that it is given."""
        names = [f"--{name}" for name, _ in self.options if name in _ADDING]
        return names + [f"{key} (defaults)" for settings in self.defaults for key in settings if key in _ADDING]

    def overwrites_input(self) -> bool:
        """Return True if the output is one of the inputs."""
        output = self.output
        if output is None or not output.exists():
            return False
        return any(path.exists() and path.samefile(output) for path in (self.folder / name for name in self.inputs))

    def ineffective(self, place: int) -> list[str]:
        """Return the options, and the filters after our filter `place`, that have no effect on text
        that goes out verbatim."""
        names = [f"--{name}" for name, _ in self.options if name in _WRITING]
        names += [f"--metadata {v}" for n, v in self.options if n == "metadata" and not (v or "").startswith("lmm")]
        names += [f"{key} (defaults)" for settings in self.defaults for key in settings if key in _WRITING]
        names += [f"-F {name}" for name in self.filters[place + 1 :] if not is_ours(name)]
        return list(dict.fromkeys(names))

    def places(self) -> list[int]:
        """Return the numbers, from 0, of the filters that are ours."""
        return [at for at, name in enumerate(self.filters) if is_ours(name)]

    @property
    def strips_comments(self) -> bool:
        """True if the reader leaves comments out."""
        values = [value for name, value in self.options if name == "strip-comments"]
        return values[-1] != "false" if values else self.value("strip-comments") == "True"

    @property
    def shifts_headings(self) -> bool:
        """True if the levels of headings are shifted."""
        return any(self.value(name) not in (None, "0") for name in _SHIFT)

    @cached_property
    def major(self) -> int:
        """Pandoc's major version."""
        version = os.environ.get("PANDOC_VERSION") or run_pandoc(self.executable, ["--version"], None, self.folder)
        match = re.search(r"(\d+)\.\d+", version)
        return int(match[1]) if match else 3

    # Inner runs

    def parse_inputs(self, with_shift: bool = True) -> dict[str, Any]:
        """Return Pandoc's JSON of the input files, before any filter. Raise FilterError if pandoc fails."""
        return self._parse(self.inputs, None, set() if with_shift else _SHIFT)

    def parse_text(self, text: str, with_shift: bool = True) -> dict[str, Any]:
        """Return Pandoc's JSON of a text, read as the input files are. Raise FilterError if pandoc fails."""
        dropped = {"from", "file-scope"} | (set() if with_shift else _SHIFT)
        return self._parse([], text, dropped, ["-f", self.reader.replace("-yaml_metadata_block", "")])

    def _parse(
        self, inputs: list[str], text: str | None, dropped: set[str], extra: Iterable[str] = ()
    ) -> dict[str, Any]:
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
            output = run_pandoc(
                self.executable, [*arguments, *extra, "-t", "json", "-o", "-", *inputs], text, self.folder
            )
        parsed: dict[str, Any] = json.loads(output)
        return parsed


def _reading_defaults(defaults: dict[str, Any], dropped: set[str]) -> dict[str, Any]:
    """Return the settings of a defaults file that an inner run gets."""
    names = {"from": {"from", "reader", "input-files", "input-file"}}
    gone = _DEFAULTS_DROPPED.union(*(names.get(name, {name}) for name in dropped))
    if "from" not in dropped:
        gone = gone | {"input-files", "input-file"}
    return {key: value for key, value in defaults.items() if key not in gone}


def base_format(name: str) -> str:
    """Return a format's name without its extensions (`markdown-smart` -> `markdown`)."""
    return re.split(r"[+-]", name, maxsplit=1)[0].lower()


def is_ours(name: str) -> bool:
    """Return True if a filter, given by its command or its path, is one of this project's."""
    return filter_name(name) in OURS


def filter_name(name: str) -> str:
    """Return the command of a filter that is given by its command or its path."""
    return Path(name).name.removesuffix(".py").removesuffix(".exe").replace("_", "-")


def run_pandoc(executable: str, arguments: list[str], text: str | None, folder: Path) -> str:
    """Run pandoc in a folder, and return its standard output. text: standard input. Raise FilterError if it fails."""
    import subprocess

    try:
        done = subprocess.run(
            [executable, "--quiet", *arguments],
            input=None if text is None else text.encode("utf-8"),
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True, cwd=folder, env={**os.environ, "LMM_INNER": "1"}, check=False,
        )  # fmt: skip
    except OSError as error:
        raise FilterError(f"Pandoc cannot be run ({executable}): {error.strerror}") from None
    if done.returncode:
        raise FilterError(f"Pandoc could not read the document: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout.decode("utf-8")


# From a command line


def find_run() -> PandocRun | None:
    """Return the run of pandoc that is our parent process or a near ancestor, or None if there is
    none that can be seen."""
    process = find_pandoc()
    return parse_command_line(process.command[1:], process.names[0], process.folder, process.ident) if process else None


def parse_command_line(arguments: list[str], executable: str, folder: Path, process: str = "") -> PandocRun:
    """Return the run that pandoc's arguments and defaults files describe. Raise FilterError for a defaults file that
    cannot be read."""
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
    if path is None or depth > 8:  # without it we would not know what pandoc reads and writes
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
