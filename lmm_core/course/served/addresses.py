"""Where the links and images of a served page lead: to other pages, other sites, and files that it shows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote, urlsplit

from ...files.walk import is_inside
from ..links import frozen_file, in_course

IMAGES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".svg": "image/svg+xml",
    ".webp": "image/webp", ".avif": "image/avif",
}  # fmt: skip
DOWNLOADS = {
    ".pdf": "application/pdf", ".csv": "text/csv", ".tsv": "text/tab-separated-values", ".txt": "text/plain",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
}  # fmt: skip


@dataclass
class Addresses:
    """Gives the addresses of a page, and gathers the files that it leads to.

    page: its name; source: its document; page_of: the names of all pages by their documents, links
    followed; files: what the page shows or links to, by name, for nothing else is served."""

    page: str
    source: Path
    folder: Path
    page_of: Mapping[Path, str]
    files: dict[str, Path] = field(default_factory=dict)

    def link(self, address: str) -> str | None:
        """Return the address of a link, None if it leads to what is not served."""
        try:
            parts = urlsplit(address)
        except ValueError:
            return None
        if parts.scheme or parts.netloc:
            return address if parts.scheme in ("http", "https", "mailto") else None
        if not parts.path:
            return address if parts.fragment else None
        path = in_course(unquote(parts.path), self.source, self.folder)
        name = self.page_of.get(path.resolve()) or self.page_of.get(_source_of(path, self.page_of))
        if name:
            return self._from_here(name) + (f"#{parts.fragment}" if parts.fragment else "")
        return self._file(parts.path, {**IMAGES, **DOWNLOADS})

    def image(self, address: str) -> str | None:
        """Return the address of an image of the course, None for another: a page loads nothing from elsewhere."""
        try:
            parts = urlsplit(address)
        except ValueError:
            return None
        return None if parts.scheme or parts.netloc else self._file(parts.path, IMAGES)

    def _file(self, address: str, types: Mapping[str, str]) -> str | None:
        if "\0" in (given := unquote(address)):
            return None
        path = in_course(given, self.source, self.folder)
        if not path.is_relative_to(self.folder) or path.suffix.lower() not in types:
            return None
        place = path.relative_to(self.folder)
        if any(part.startswith(".") for part in place.parts):
            return None
        found = path if path.is_file() else frozen_file(place, self.source, self.folder)
        if found is None or not is_inside(found, self.folder):
            return None
        self.files[place.as_posix()] = found
        return self._from_here(place.as_posix())

    def _from_here(self, name: str) -> str:
        return quote(os.path.relpath(name, PurePosixPath(self.page).parent))


def _source_of(path: Path, page_of: Mapping[Path, str]) -> Path:
    """Return the document that a link to a page (`02-sampling.html`) means, or the path itself."""
    if path.suffix.lower() != ".html":
        return path
    return next((one for one in page_of if one.with_suffix("") == path.resolve().with_suffix("")), path)
