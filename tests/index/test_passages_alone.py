"""Chunks for who looks at nothing else: the ask box."""

from pathlib import Path

from lmm_core.indexing.collection import GROUP
from lmm_core.indexing.documents import blocklist_encode, encode_passages
from lmm_core.logging import ListLogger
from lmm_core.markdown import parse_markdown_text
from lmm_core.settings.project import Project, load_project

NOTES = """---
title: Energy
---

# Heat

::: {.lmm .content-hidden}
``` yaml
~questions: What is heat?
~summary: Of heat.
```
:::

Heat is the energy that goes from a warmer body to a colder one, and the one that stays is not called so.

## Work

::: exercise
What is work?
:::
"""
BESIDE = {"language", "hash", GROUP}  # the hash is of the language, too


def project_in(folder: Path, config: str = "") -> Project:
    (folder / "config.toml").write_text(config, encoding="utf-8")
    return load_project(folder / "notes.md")


def without(payload: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in payload.items() if key not in BESIDE}


def compare(project: Project) -> None:
    blocks = parse_markdown_text(NOTES)
    alone = encode_passages(blocks, project, ListLogger(), "energy", "notes.md")
    whole = blocklist_encode(blocks, project, ListLogger(), docid="energy", source="notes.md").chunks
    assert [(one.uuid, without(one.payload)) for one in alone] == [(one.uuid, without(one.payload)) for one in whole]
    assert not any(one.payload.keys() & {"language", GROUP} for one in alone)
    assert all(GROUP in one.payload for one in whole)


def test_they_are_those_of_the_index(tmp_path):
    compare(project_in(tmp_path))


def test_they_end_where_documents_of_a_size_do(tmp_path):
    compare(project_in(tmp_path, "[split]\ndocuments = 60\n"))
