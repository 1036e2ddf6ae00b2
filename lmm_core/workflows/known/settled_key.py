"""The key under which it is filed that the RAG pass leaves a document as it is."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...models.sources import known_sources
from ...settings.project import Project
from ..models import Models
from .remember import digest, key_of


def settled_key(text: bytes, settings: bytes, stem: str, docid: str) -> bytes:
    """Return the key under which it is filed that the RAG pass leaves a text as it is.

    settings: see `settled_settings`; stem: of the file's name; docid: of a text whose header names none."""
    return key_of("settled", text, settings, os.fsencode(stem), os.fsencode(docid))


def settled_settings(project: Project, models: Models, changes: Mapping[str, bool]) -> bytes:
    """Return all that the RAG pass depends on beside the text: settings, options that replace some of them, the
    model, and the keys there are (a header may name any model). Raise ModelError if no model is named."""
    name = str(models.name(project, "minor"))
    sources = known_sources(project.sources).values()
    keys = sorted({one.key_variable for one in sources if os.environ.get(one.key_variable)})
    return repr((digest(project), name, sorted(changes.items()), keys)).encode()
