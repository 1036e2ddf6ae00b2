"""Settings in a document's header that cannot be used."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ConfigError
from ...markdown.blocks import Block, header_content
from ...settings.project import Project, for_document
from .finding import Finding


def wrong_settings(blocks: Sequence[Block], project: Project) -> list[Finding]:
    """Return the settings in a document's header that cannot be used."""
    try:
        for_document(project, header_content(blocks))
    except ConfigError as error:
        return wrong_values(blocks, error)
    return []


def wrong_values(blocks: Sequence[Block], error: ConfigError) -> list[Finding]:
    """Return a finding for each problem that an error of `for_document` names."""
    return [Finding(blocks[0].line, "header-value", problem) for problem in str(error).split("\n")]
