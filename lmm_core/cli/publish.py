"""Commands for what is published, and how it is spelled."""

from __future__ import annotations

from pathlib import Path

import click

from ..logging import put
from ..markdown.blocks import Spelling
from ..markdown.files import save_markdown
from ..markdown_files import convert_work, knit_work
from .shared import Told, find, leave, paths_argument, rewrite, run, tell, work_file, writing_options


@click.command()
@paths_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File, or folder for several files.")
@click.option("--keep", multiple=True, metavar="TYPE", help="A type that stays in (exercise, …).")
def knit(paths: tuple[Path, ...], output: Path | None, keep: tuple[str, ...]) -> None:
    """Write the lecture notes: no metadata, no RAG-only material."""
    logger = Told()
    files = [path for path in find(paths) if not (output and output.is_dir() and _is_in(path, output))]
    if len(files) > 1 and (output is None or output.is_file()):
        raise click.UsageError("several files need a folder to be written to: -o FOLDER")
    targets = {path: _target(path, paths, output) for path in files}
    if len(set(targets.values())) < len(files):
        raise click.UsageError("several of the files would be written to one place; knit them one by one")
    for path, target in targets.items():
        text = run(work_file(path, knit_work(keep), logger))
        if text is not None:
            _write_notes(path, text[1], target, logger)
    leave(logger)


@click.command()
@writing_options
@click.option("--to", required=True, type=click.Choice(["div", "native"]), help="The spelling to write.")
def convert(paths: tuple[Path, ...], check: bool, diff: bool, as_json: bool, to: Spelling) -> None:
    """Write all metadata blocks as fenced divs or as native `---` blocks, in place."""
    rewrite(paths, convert_work(to), check, diff, as_json, "converted")


def _target(path: Path, paths: tuple[Path, ...], output: Path | None) -> Path | None:
    """Where a file's notes go: the file named, or the same place in the folder named."""
    folders = [folder for folder in paths if folder.is_dir() and path.is_relative_to(folder)]
    if output is None or not (output.is_dir() or folders or len(paths) > 1):
        return output
    return output / (path.relative_to(folders[0]) if folders else path.name)


def _is_in(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _write_notes(path: Path, text: str, target: Path | None, logger: Told) -> None:
    if target is None:
        put(text)
        return
    if target.exists() and target.samefile(path):
        raise click.UsageError(f"{path}: the notes would be written over their source; name another output")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        save_markdown(target, text)
    except OSError as error:
        tell(error, target, logger)
