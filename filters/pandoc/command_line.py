"""Parser for pandoc's arguments and defaults files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lmm_core.errors import FilterError

Option = tuple[str, str | None]

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


def split_options(arguments: list[str]) -> Iterator[Option]:
    """Yield the long name of each option and its value or None, and `("", FILE)` for inputs."""
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


def _long_option(text: str, rest: list[str]) -> Option:
    name, equals, value = text.partition("=")
    if name not in _WITH_VALUE and name not in _FLAGS:
        matching = [option for option in (*_WITH_VALUE, *_FLAGS) if option.startswith(name)]
        name = matching[0] if len(matching) == 1 else name
    name = _ALIASES.get(name, name)
    if equals:
        return name, value
    return name, rest.pop(0) if name in _WITH_VALUE and rest else None


def _short_options(text: str, rest: list[str]) -> Iterator[Option]:
    while text:
        letter, text = text[0], text[1:]
        if letter in _SHORT:
            yield _SHORT[letter], (text.removeprefix("=") if text else rest.pop(0) if rest else None)
            return
        yield _SHORT_FLAGS.get(letter, letter), None
        if text in ("true", "false"):
            return


def find_defaults(name: str, folder: Path, data_dir: str | None) -> Path | None:
    """Return the path of a defaults file, or None if there is none of this name.

    folder: pandoc's working folder
    """
    places = [folder, *([folder / data_dir / "defaults"] if data_dir else [])]
    places += [place / "defaults" for place in _data_folders()]
    candidates = [candidate for place in places for candidate in (place / name, place / f"{name}.yaml")]
    return next((path for path in candidates if path.is_file()), None)


def read_defaults(path: Path) -> dict[str, Any] | None:
    """Return the settings of a defaults file, or None if it is not a mapping. Raise FilterError if unreadable."""
    import yaml

    try:
        settings = yaml.safe_load(_expand(path.read_text(encoding="utf-8"), path))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise FilterError(f"{path}: The defaults file cannot be read: {error}") from None
    return settings if isinstance(settings, dict) else None


def _expand(text: str, path: Path) -> str:
    values = {".": str(path.parent), **os.environ}
    return re.sub(r"\$\{([.\w]+)\}", lambda variable: values.get(variable[1], variable[0]), text)


def _data_folders() -> list[Path]:
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 (Path.home fails without a home)
    configured = os.environ.get("XDG_DATA_HOME")
    data = Path(configured) if configured else home / ".local" / "share"
    on_windows = [Path(os.environ["APPDATA"])] if os.environ.get("APPDATA") else []
    return [*(place / "pandoc" for place in (data, *on_windows)), home / ".pandoc"]
