"""Make a static site of a course by pandoc, where there is no Quarto: a page for each document, with
the way to the others, and the ask box on each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CourseError, RenderError
from ..files.walk import is_inside
from ..installation import packaged_pandoc
from ..logging import LoggerBase
from ..markdown.blocks import header_content
from ..markdown.files import read_markdown
from ..markdown.parse import parse_markdown_text
from ..quarto.after_render import shown_pages, write_site_box
from ..quarto.pages import Page
from ..settings.project import load_project
from ..settings.quarto_project import folder_settings, merged, with_quarto_rules
from .contents import Entry, read_contents, site_title
from .frame import first_page, framed
from .links import mend_links
from .sources import page_source
from .words import site_words

FILES = Path(__file__).with_name("files")
LOOKS = "lmm-site"  # the folder of a site that holds its style sheet
_OPTIONS = ("-f", "markdown", "-t", "html5", "-s", "--toc", "--toc-depth=3", "--mathml", "--wrap=preserve")


@dataclass(frozen=True, slots=True)
class Site:
    """A site that is being made. folder: the course's; output: of the site; sources: where pandoc reads
    the pages; pandoc: its command."""

    folder: Path
    output: Path
    sources: Path
    settings: Mapping[str, Any]
    contents: Sequence[Entry]
    title: str
    pandoc: str

    @property
    def language(self) -> str:
        return str(self.settings.get("lang") or "en")

    @property
    def words(self) -> dict[str, str]:
        return site_words(self.language)

    @property
    def pages(self) -> list[Entry]:
        return [entry for entry in self.contents if entry.page]


def write_site(
    documents: Sequence[Page],
    folder: Path,
    output: Path,
    sources: Path,
    settings: Mapping[str, Any],
    logger: LoggerBase,
) -> int:
    """Write the site of some documents, and return the number of its pages. folder: the course's;
    output: of the site, new; sources: a new folder in the course's, for what pandoc reads. Raise
    CourseError if there is no pandoc, and RenderError with a line for each page that failed."""
    project = with_quarto_rules(load_project(folder / "-"))
    shown = [page.file.path for page in shown_pages(documents, folder)]
    contents = read_contents(shown, project, folder, settings)
    site = Site(folder, output, sources, settings, contents, site_title(folder, settings, contents), find_pandoc())
    _write_sources(site, logger)
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        failed = [found for found in workers.map(lambda entry: _write_page(site, entry, logger), site.pages) if found]
    if failed:
        raise RenderError("\n".join(failed))
    (output / LOOKS).mkdir(parents=True)
    shutil.copyfile(FILES / "page.css", output / LOOKS / "page.css")
    if not (output / "index.html").exists():
        text = first_page(site.title, site.contents, site.words, site.language)
        (output / "index.html").write_text(text, encoding="utf-8")
    mend_links(output, {entry.page: entry.source for entry in site.pages if entry.source}, folder, settings, logger)
    write_site_box(output, folder, logger)
    return len(site.pages)


def find_pandoc() -> str:
    """Return the command of pandoc: on PATH, else that of our installation. Raise CourseError."""
    if found := shutil.which("pandoc") or packaged_pandoc():
        return str(found)
    raise CourseError("There is neither Quarto nor pandoc on this machine to render the site: install one of them")


# Pages


def _write_sources(site: Site, logger: LoggerBase) -> None:
    """Write the texts that pandoc reads, with the settings of their folders beside them."""
    for entry in site.pages:
        assert entry.source is not None
        text = page_source(entry.source, site.folder, site.settings, logger)
        target = _source_place(site, entry)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "surrogateescape"))
    for name in ("_metadata.yml", "_metadata.yaml"):
        for folder in {entry.source.parent for entry in site.pages if entry.source}:
            for place in (folder, *folder.parents):
                if place.is_relative_to(site.folder) and (place / name).is_file():
                    target = site.sources / place.relative_to(site.folder) / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(place / name, target)


def _source_place(site: Site, entry: Entry) -> Path:
    return site.sources / f"{entry.page.removesuffix('.html')}.md"


def _write_page(site: Site, entry: Entry, logger: LoggerBase) -> str:
    """Write a page, and return why that failed, or ""."""
    assert entry.source is not None
    target = site.output / entry.page
    target.parent.mkdir(parents=True, exist_ok=True)
    source = _source_place(site, entry)
    command = [site.pandoc, source, "-o", target, *_OPTIONS, "--template", FILES / "page.html", "-F", "lmm-knit"]
    command += ["-L", FILES / "site.lua", "--citeproc", "-M", f"pagetitle={entry.title}"]
    done = subprocess.run(
        [*map(str, command), *_settings(site, entry)],
        cwd=entry.source.parent,
        env=_environment(site.words),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    said = done.stderr.replace(str(source), entry.source.relative_to(site.folder).as_posix()).strip()
    if done.returncode:
        return f"{entry.source.relative_to(site.folder)}: {said or f'pandoc has failed ({done.returncode})'}"
    for line in said.splitlines():
        logger.warning(line.strip())
    text = framed(target.read_text(encoding="utf-8"), entry, site.title, site.contents, site.words)
    target.write_text(text, encoding="utf-8")
    return ""


def _settings(site: Site, entry: Entry) -> list[str]:
    """Return the options of pandoc for what `_quarto.yml` says, and the page does not say itself."""
    assert entry.source is not None
    header = header_content(parse_markdown_text(read_markdown(entry.source).text))
    found = merged(site.settings, folder_settings(entry.source, site.folder))
    found = {key: value for key, value in found.items() if key not in header}
    named = found.get("bibliography") or []
    options = [
        f"--bibliography={path}"
        for one in (named if isinstance(named, list) else [named])
        if (path := _inside(one, site))
    ]
    options += [f"--csl={path}" for one in [found.get("csl")] if (path := _inside(one, site))]
    return options + ([f"-Mlang={site.language}"] if "lang" not in header else [])


def _inside(name: object, site: Site) -> Path | None:
    """Return the file that `_quarto.yml` names, if there is one in the course."""
    path = site.folder / str(name).lstrip("/")
    return path if name and path.is_file() and is_inside(path, site.folder) else None


def _environment(words: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for pandoc: with our filter on PATH, and nothing that makes it believe that
    Quarto has started it."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("QUARTO_") or name == "QUARTO_PROFILE"
    }
    if shutil.which("lmm-knit") is None:
        kept["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return kept | {"SITE_WORDS": "\n".join(f"{key}={word}" for key, word in words.items())}
