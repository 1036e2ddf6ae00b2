"""An example of a pass of your own: two requests, one after the other, write a glossary above each section.

lmm pass glossary:explain notes.md
"""

import json

from lmm_core import Prompt, blocks_to_tree, chat_model_from_config, sections, tree_to_blocks
from lmm_core.markdown import make_block

TERMS = Prompt("Name the technical terms of the text, in one line.", "<text>\n{text}\n</text>")
EXPLAIN = Prompt("Explain these terms to a beginner, in one line.", "{terms}")


async def explain(blocks):
    model, tree = chat_model_from_config("minor"), blocks_to_tree(blocks)
    for section in [part for part in sections(tree) if part.texts and not part.get("glossary")]:
        terms = await model.ask(TERMS.request({"text": section.texts[0].content}), str)
        explanation = await model.ask(EXPLAIN.request({"terms": terms}), str)
        section.metadata.append(make_block(f"glossary: {json.dumps(explanation)}\n", "div"))
    await model.close()
    return tree_to_blocks(tree)
