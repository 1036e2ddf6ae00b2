"""An example of a pass of your own: a model lists the figures that each section reports, and
they go into figures.csv. The document stays as it is.

    lmm pass figures:extract notes.md
    pandoc -F lmm-pass -M lmm-pass=figures:extract notes.md -o notes.md
"""

import asyncio
import csv
import json

from lmm_core.errors import ModelError
from lmm_core.markdown import blocks_to_tree, sections
from lmm_core.models.chat import ChatMessage, Request
from lmm_core.settings.models import chat_model_from_config

SYSTEM = """List the quantities that the text reports with a number. Reply with one JSON object:
{"figures": [{"quantity": "mean sleep", "value": "6.8", "unit": "h"}]}; the list is empty where there are none."""


async def extract(blocks):
    """Ask about all sections at the same time, write the table, and return the blocks unchanged."""
    # The chat model itself keeps to its limit of requests at the same time.
    asker = chat_model_from_config("minor")
    found = [section for section in sections(blocks_to_tree(blocks)) if section.texts]
    try:
        replies = await asyncio.gather(*(asker.ask(request(section), read) for section in found))
    finally:
        await asker.close()
    with open("figures.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["line", "section", "quantity", "value", "unit"])
        for section, figures in zip(found, replies, strict=True):
            for figure in figures:
                table.writerow([section.line, section.title, figure["quantity"], figure["value"], figure["unit"]])
    return blocks


def request(section):
    """Return the request for a section's figures."""
    text = "\n\n".join(text.content for text in section.texts)
    return Request((ChatMessage("system", SYSTEM), ChatMessage("user", text)))


def read(reply):
    """Return the figures in a reply. Raise ModelError, so that it is not cached, if it holds none."""
    try:
        figures = json.loads(reply)["figures"]
        return [{key: str(figure[key]) for key in ("quantity", "value", "unit")} for figure in figures]
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"not the JSON that was asked for: {error}") from None
