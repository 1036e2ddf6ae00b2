"""What is said at the end of a render that has leaked: how much, what to do, and the settings
of Quarto that publish whole sources, where one of them is the cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ...files.walk import SUFFIXES
from ...logging import counted

_EMBEDDED = b'id="quarto-embedded-source-code'  # where Quarto puts a page's source
CODE_TOOLS = (
    "the page holds its whole source, since `code-tools` (its `source`) or `keep-source` asks for that: set it to false"
)
KEEP_MD = "`keep-md` writes down what the page was before anything was left out: set it to false, and remove the file"
RESOURCES = (
    "a source was copied into the site: name no sources under `resources` (of `project:` or a page), "
    "and link to pages, not to files"
)


def conclusion(files: Sequence[Path], output: Path, project_dir: Path) -> str:
    """Return the last words on leaks: `files` are those of the output in which they stand, one
    for each leak."""
    where = f"{output.relative_to(project_dir)}/" if output.is_relative_to(project_dir) else f"{output}/"
    parts = counted(len(files), "part") + (" that is" if len(files) == 1 else " that are")
    stands = "stands" if len(files) == 1 else "stand"
    said = [
        f"LM markdown: {parts} left out of the notes {stands} in {counted(len(set(files)), 'file')} of the site: "
        f"the render has failed, and {where} still holds what it has made: do not publish it"
    ]
    return "\n".join([*said, *(f"LM markdown: {cause}" for cause in _causes(files, output, project_dir))])


def _causes(files: Iterable[Path], output: Path, project_dir: Path) -> Iterator[str]:
    named: dict[str, Path] = {}
    for file in files:
        if cause := cause_of(file, output, project_dir):
            named.setdefault(cause, file)
    for cause, file in named.items():
        yield f"{file.relative_to(project_dir) if file.is_relative_to(project_dir) else file}: {cause}"


def cause_of(file: Path, output: Path, project_dir: Path) -> str:
    """Return the setting by which a file of the output holds sources; "" where none is seen."""
    if file.suffix in SUFFIXES:
        inside = file.relative_to(output) if file.is_relative_to(output) else file
        is_copy = (project_dir / inside).is_file() and (project_dir / inside) != file
        return RESOURCES if is_copy else KEEP_MD if _source_of(inside, project_dir) else ""
    if file.suffix.lower() in (".html", ".htm") and file.is_file() and _EMBEDDED in file.read_bytes():
        return CODE_TOOLS
    return ""


def _source_of(inside: Path, project_dir: Path) -> bool:
    """Whether a file (`a.html.md`, `a.md`) has the name of a source that is written as markdown."""
    stem = inside.name.split(".")[0]
    return any((project_dir / inside.parent / f"{stem}{suffix}").is_file() for suffix in SUFFIXES)
