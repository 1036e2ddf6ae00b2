"""Sum up the leaks of a render, and name the settings of Quarto that have caused them by publishing
whole sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ...files.walk import SUFFIXES
from ...logging import counted

_EMBEDDED = b'id="quarto-embedded-source-code'  # the element into which Quarto puts a page's source
CODE_TOOLS = (
    "The page holds its whole source, since `code-tools` (its `source`) or `keep-source` asks for that. "
    "Set it to false."
)
KEEP_MD = "`keep-md` has kept the page as it was before anything was left out. Set it to false, and remove the file."
RESOURCES = (
    "A source was copied into the site. Name no sources under `resources` (of `project:` or a page), "
    "and link to pages, not to files."
)


def conclusion(files: Sequence[Path], output: Path, project_dir: Path) -> str:
    """Return the messages, one a line, that sum up the leaks of a render. files: the files of the output
    in which they stand, one for each leak."""
    where = f"{output.relative_to(project_dir)}/" if output.is_relative_to(project_dir) else f"{output}/"
    parts = counted(len(files), "part") + (" that is" if len(files) == 1 else " that are")
    stands = "stands" if len(files) == 1 else "stand"
    summary = (
        f"{parts} left out of the notes {stands} in {counted(len(set(files)), 'file')} of the site. "
        f"The render has failed, and {where} still holds what it has made. Do not publish it."
    )
    return "\n".join(f"LM markdown: {line}" for line in [summary, *_causes(files, output, project_dir)])


def _causes(files: Iterable[Path], output: Path, project_dir: Path) -> Iterator[str]:
    named: dict[str, Path] = {}
    for file in files:
        if cause := cause_of(file, output, project_dir):
            named.setdefault(cause, file)
    for cause, file in named.items():
        yield f"{file.relative_to(project_dir) if file.is_relative_to(project_dir) else file}: {cause}"


def cause_of(file: Path, output: Path, project_dir: Path) -> str:
    """Return the message on the setting that has put sources into a file of the output, or ""."""
    if file.suffix in SUFFIXES:
        inside = file.relative_to(output) if file.is_relative_to(output) else file
        is_copy = (project_dir / inside).is_file() and (project_dir / inside) != file
        return RESOURCES if is_copy else KEEP_MD if _source_of(inside, project_dir) else ""
    if file.suffix.lower() in (".html", ".htm") and file.is_file() and _EMBEDDED in file.read_bytes():
        return CODE_TOOLS
    return ""


def _source_of(inside: Path, project_dir: Path) -> bool:
    """Return True if a file (`a.html.md`, `a.md`) is named like a source that is written as markdown."""
    stem = inside.name.split(".")[0]
    return any((project_dir / inside.parent / f"{stem}{suffix}").is_file() for suffix in SUFFIXES)
