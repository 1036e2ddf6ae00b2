"""Material made of texts or files, as indexing them would make it."""

from pathlib import Path

from lmm_core.indexing.documents import encode_file
from lmm_core.indexing.passages import build_material
from lmm_core.logging import ListLogger
from lmm_core.settings.project import load_project
from lmm_core.store.vector_store import ScoredPoint


def material(*texts):
    """Return the material of texts (`notes.md`, `notes1.md`, …), or of files."""
    points = []
    for number, text in enumerate(texts):
        path = text if isinstance(text, Path) else Path(f"notes{number or ''}.md")
        if not isinstance(text, Path):
            path.write_text(text, encoding="utf-8")
        found = encode_file(path, load_project(path), ListLogger())
        points += [ScoredPoint(chunk.uuid, chunk.payload) for chunk in found]
    return build_material(points)
