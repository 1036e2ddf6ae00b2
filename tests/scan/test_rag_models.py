"""The RAG pass with models in the same process: order, failures, and arbitrary replies."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.logging import ListLogger
from lmm_core.markdown import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from lmm_core.models.annotators.model_annotator import ModelAnnotator
from lmm_core.models.chat import Asker
from lmm_core.scan.rag import RagRun
from lmm_core.settings.tables import ScanOpts
from tests.strategies import LONG, PROSE, CountingAnnotator, annotate, any_text, markdown, outside_metadata, squeezed
from tests.talk import Sayer

HEADER = "---\ntitle: T\ndocid: d\n---\n\n"
TREE = f"""{HEADER}# A

A. {LONG}

## A1

A1. {LONG}

### A11

A11. {LONG}

## A2

A2. {LONG}

# B

B. {LONG}
"""


class Timed(CountingAnnotator):
    """An annotator that takes time for each section, and fails for some."""

    name = "test/timed"

    def __init__(self, seconds=None, errors=None):
        super().__init__()
        self.seconds, self.errors = seconds or {}, errors or {}
        self.events = []

    async def annotate(self, section, wanted, instead=""):
        title = section.titles[-1]
        self.events.append(f"{title} asked")
        await asyncio.sleep(self.seconds.get(title, 0))
        if title in self.errors:
            raise self.errors[title]
        self.events.append(f"{title} answered")
        return await super().annotate(section, wanted, instead)


# Order


def test_a_section_waits_for_what_is_below_it_and_for_nothing_else():
    annotator = Timed({"A2": 0.05})
    annotate(TREE, annotator)
    assert annotator.events.index("A1 answered") < annotator.events.index("A2 answered")
    assert annotator.events.index("B answered") < annotator.events.index("A2 answered")
    assert annotator.events[-4:] == ["A asked", "A answered", "T asked", "T answered"]


def test_the_first_is_asked_and_may_answer_before_the_last_is_asked():
    """A wrong key shall be tried once."""
    annotator = Timed()
    annotate(HEADER + "\n".join(f"# S{number}\n\nS{number}. {LONG}\n" for number in range(20)), annotator)
    assert annotator.events.index("S0 answered") < annotator.events.index("S19 asked")
    asked = [event for event in annotator.events if event.endswith("asked")]
    assert asked == [*(f"S{number} asked" for number in range(20)), "T asked"]


def test_whoever_stops_it_early_waits_until_no_section_is_asked_any_more():
    """The model's client is closed next, and a request after that ends in a traceback."""
    annotator, left = Timed(dict.fromkeys(["A11", "A2", "B"], 60)), []

    async def stop():
        run = RagRun(ScanOpts(), annotator, "div", KnitRules(), ListLogger())
        run.start(parse_markdown_text(TREE))
        asking = asyncio.create_task(run.ask())
        while not annotator.events:
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        left.extend(task for task in asyncio.all_tasks() if task is not asyncio.current_task())

    asyncio.run(stop())
    assert annotator.events == ["A11 asked"] and not left


# Failures


def test_a_fault_of_the_machine_comes_out_as_it_is():
    with pytest.raises(OSError, match="no space"):
        annotate(TREE, Timed(errors={"A11": OSError("no space")}))


# Any reply


SHORT = f"{HEADER}# A\n\n{LONG}\n\n## B\n\n{PROSE} {LONG}\n\n```\ncode\n```\n"
SPELLINGS = st.sampled_from(["div", "native", "comment"])
words = st.one_of(
    any_text, markdown(4), st.sampled_from(["---", "...", "\n---\n", ":::", "```\n:::", "-->", "\0", "x" * 100_000])
)
values = st.none() | st.integers() | words | st.lists(words, max_size=3)
mappings = st.dictionaries(st.sampled_from(["questions", "summary", "a"]), values)
annotations = st.fixed_dictionaries({"questions": st.lists(words, max_size=3), "summary": words})
replies = words | (mappings | annotations).map(json.dumps)


@given(replies, SPELLINGS)
def test_no_reply_of_a_model_changes_the_text(reply, spelling):
    annotator = ModelAnnotator("test/m", lambda: Asker(Sayer(reply)))
    made = annotate(SHORT, annotator, spelling=spelling)
    assert squeezed(outside_metadata(made)) == squeezed(outside_metadata(SHORT))
    assert annotate(made, annotator, spelling=spelling) == made


def test_no_model_gets_a_comment():
    annotator = CountingAnnotator()
    annotate(SHORT.replace("\n\n", "\n\n<!-- ask Jane\n\nand Jim -->\n\n"), annotator)
    assert annotator.calls
    assert not any("Jane" in section.source or "Jim" in section.source for section in annotator.sections)
