"""Filler: the questions that the stand-in made of titles and frequent words before it asked only
what the text answers. They stay in files until these are annotated again, and are not indexed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from ...markdown.blocks import MetadataBlock
from ...markdown.tree import HeadingNode, sections
from ...models.sources import STAND_IN_NAME
from .needs import maker_of

_FILLER = re.compile(
    r"What does the text say about “.*”\?|How are .+ related\?"
    r"|Was sagt der Text über „.*“\?|Wie hängen .+ zusammen\?"
    r"|Que dit le texte de « .* » \?|Comment .+ sont-ils liés \?"
    r"|¿Qué dice el texto sobre «.*»\?|¿Cómo se relacionan .+\?"
    r"|Che cosa dice il testo su «.*»\?|Come sono collegati .+\?"
)


def drop_filler(tree: HeadingNode) -> None:
    """Take filler out of the questions of the sections that the stand-in signed."""
    for node in sections(tree):
        if maker_of(node, tree) == STAND_IN_NAME:
            node.metadata = [_without_filler(block) for block in node.metadata]


def _without_filler(block: MetadataBlock) -> MetadataBlock:
    asked = block.content.get("~questions")
    if not isinstance(asked, list) or not any(map(_is_filler, asked)):
        return block
    kept = [question for question in asked if not _is_filler(question)]
    return replace(block, content={**block.content, "~questions": kept})


def _is_filler(question: Any) -> bool:
    return isinstance(question, str) and _FILLER.fullmatch(question) is not None
