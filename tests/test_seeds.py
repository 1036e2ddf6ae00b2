"""Code as the documents of LM markdown and of LM markdown for education write it, its imports alone adapted."""

from pathlib import Path

from lmm_core import load_markdown, load_tree, parse_markdown_text, save_markdown, serialize_blocks
from lmm_core.logging import ListLogger

# LM markdown: files, blocks and trees


def test_a_file_is_read_changed_as_blocks_and_saved(tmp_path: Path) -> None:
    file, logger = str(tmp_path / "notes.md"), ListLogger()
    assert save_markdown(file, "# Means\n\nText.\n", logger)
    blocks = parse_markdown_text(load_markdown(file, logger) or "")
    assert serialize_blocks(blocks) == "# Means\n\nText.\n"
    tree = load_tree(file, logger)
    assert tree is not None and [child.title for child in tree.sections] == ["Means"]


# LM markdown for education: settings


# LM markdown for education: chunks, the store, queries


# LM markdown for education: retrievers and ingestion
