"""Report a run of the index: counts, languages, and chunks that are too long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ...index.encoding import Encoder
from ...index.refresh import Counts
from ...logging import LoggerBase, counted
from ...models.languages.stemming import language_name
from .waiting import Waiting

SHOWN = 3  # names in a sentence


def describe_languages(found: Mapping[tuple[str, str], int]) -> str:
    """Return in words the languages of documents, given by code and by what names them, with their numbers.

    Only those that were recognized are marked, since they may be wrong."""
    shown = Counter[str]()
    for (code, named_by), count in found.items():
        mark = ", recognized" if named_by == "recognized" else ""
        shown[f"{language_name(code) if code else 'unknown'} ({{}}{mark})"] += count
    order = sorted(shown.items(), key=lambda one: (-one[1], one[0]))
    listed = [name.format(counted(count, "file")) for name, count in order]
    return f"languages: {', '.join(listed)}" if listed else ""


def describe_counts(counts: Counts, dry_run: bool = False) -> str:
    """Return in words what a run has done to the chunks, or would do."""
    moved = f", {counts.moved} moved" if counts.moved else ""
    written = f"{counted(counts.written, 'chunk')} {'would be ' if dry_run else ''}written"
    return f"{written}, {counts.removed} removed{moved}, {counts.unchanged} unchanged"


def describe_gone(sources: Sequence[str]) -> str:
    """Return the sentence that indexed files are gone, and how their chunks are removed."""
    names = ", ".join(sources[:SHOWN]) + (", …" if len(sources) > SHOWN else "")
    return (
        f"{counted(len(sources), 'indexed file')} {'is' if len(sources) == 1 else 'are'} gone ({names}). "
        "Run `lmm index` on the folder to remove what was stored."
    )


def report_long(made: Sequence[Waiting], encoder: Encoder | None, logger: LoggerBase) -> None:
    """Say how many chunks the embedding model will cut, which happens with sizes that are configured."""
    too_long, count = sum(one.too_long for one in made), sum(one.count for one in made)
    embedder = encoder.embedder if encoder is not None else None
    if too_long and embedder is not None:
        logger.warning(
            f"{too_long} of {counted(count, 'chunk')} have more than the {embedder.window} tokens that "
            f"{embedder.name} reads, and are cut there: choose a smaller max_size in [split], or the default sizes"
        )
