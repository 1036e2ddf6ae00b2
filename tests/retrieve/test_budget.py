"""Laws of the context that a model is shown, whatever was indexed, asked and ranked."""

import re
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from lmm_core.indexing.refresh import Refresh
from lmm_core.logging import ListLogger
from lmm_core.markdown import parse_markdown_text
from lmm_core.models.chat import run
from lmm_core.retrieve.context import build_context
from lmm_core.retrieve.library import open_library
from lmm_core.retrieve.search import Retriever
from lmm_core.settings.models import Models
from lmm_core.settings.project import Project
from lmm_core.settings.tables import EmbeddingOptions, SplitOpts
from lmm_core.store.opening import open_store

SAID = [
    "residual",
    "the mean",
    "of a sample",
    "остатки",
    "slope",
    "p < 0.05",
    "残差是",
    "Streuung",
    "`lm(y ~ x)`",
    "$x^2$",
]
FIRST = 1000  # numbers of four digits mark what is said: each stands once in the notes, but for copies
NUMBERS = re.compile(r"\d{4,}")
# Between two pieces of a source that need not stand together in the notes. Chunks repeat the marks of a div.
GAP = re.compile(r"\n|\[?…\]?|::: exercise|:::")


class Notes:
    """Documents by their ids, and a retriever that searches them."""

    def __init__(self, texts, size, overlap=0):
        self.texts = dict(zip("abc", texts, strict=False))
        split = SplitOpts(size, 2 * size, overlap)
        self.project = Project(Path(), embeddings=EmbeddingOptions(encoding="bm25"), split=split)
        self.overlap = overlap

    def retrieve(self, asked):
        """Return what was found for each question and type, each time in a new index."""
        return run(self._retrieve(asked))

    async def _retrieve(self, asked):
        models, store = Models(), open_store(":memory:")
        upload = Refresh(self.project, store, models, logger=ListLogger())
        for docid, text in self.texts.items():
            await upload.send(parse_markdown_text(text), docid, f"{docid}.md")
        library = await open_library(self.project, models, store)
        material = await library.material()
        found = [
            await Retriever(library).retrieve(question, type)
            for question, type in asked
            if type in ("", *material.types)
        ]
        store.close()
        return found

    def lines(self, source):
        """Return the lines of the notes that a source names."""
        return "\n".join(self.texts[source.docid].split("\n")[source.line_start - 1 : source.line_end])


def shown(context):
    """Return the numbers in the texts of the sources, each as often as it is shown."""
    return Counter(number for source in context.sources for number in NUMBERS.findall(source.text))


@st.composite
def notes(draw):
    """Return notes with text to be found: paragraphs, lists, tables, code, exercises, copies, parts left out."""
    number = iter(range(FIRST, 10 * FIRST))
    kept = []

    def say(most=12):
        count = draw(st.integers(1, most))
        return " ".join(f"{draw(st.sampled_from(SAID))} {next(number)}{draw(st.sampled_from(['', '', ',', '.', '。']))}"
                        for _ in range(count)) + "."  # fmt: skip

    def part():
        type = draw(
            st.sampled_from([*["text"] * 5, *["heading"] * 3, "list", "table", "code", "exercise", "copy", "skip"])
        )
        if type == "text":
            kept.append(f"The {say(40)}")
            return kept[-1]
        if type == "copy" and kept:
            return draw(st.sampled_from(kept))
        rows = range(draw(st.integers(1, 6)))
        return {
            "heading": lambda: f"{'#' * draw(st.integers(1, 4))} On {draw(st.sampled_from(SAID))}",
            "list": lambda: "\n".join(f"- {say(4)}" for _ in rows),
            "table": lambda: "| what | how many |\n|---|---|\n" + "\n".join(f"| {say(2)} | {next(number)} |" for _ in rows),
            "code": lambda: "```r\n" + "\n".join(f"x <- {next(number)}" for _ in rows) + "\n```",
            "exercise": lambda: f"::: exercise\nWhat is {say()}\n:::",
            "skip": lambda: f"---\nskip: true\n---\n\nLeft out: the mean {next(number)} of residuals.",
        }.get(type, say)()  # fmt: skip

    texts = [
        "\n\n".join(part() for _ in range(draw(st.integers(1, 12)))) + "\n" for _ in range(draw(st.integers(1, 3)))
    ]
    texts[0] = f"The mean of a sample is {next(number)}.\n\n{texts[0]}"  # so that there is something
    return Notes(texts, draw(st.sampled_from([60, 200, 1000])), draw(st.sampled_from([0, 0, 30])))


ASKED = st.lists(
    st.tuples(
        st.lists(st.sampled_from([*SAID, "what is", "1003", "*exercise*"]), min_size=1, max_size=4).map(" ".join),
        st.sampled_from(["", "", "exercise"]),
    ),
    min_size=1,
    max_size=3,
)
BUDGETS = st.lists(st.integers(0, 600), min_size=1, max_size=3)
law = settings(max_examples=15, deadline=None)


@law
@given(notes(), ASKED, BUDGETS)
def test_a_source_is_verbatim_and_stands_in_the_lines_that_it_names(written, asked, budgets):
    for found in written.retrieve(asked):
        for budget in budgets:
            for source in build_context(found, budget).sources:
                notes_of_it = " ".join(written.texts[source.docid].split())
                for piece in GAP.split(source.text):
                    assert " ".join(piece.split()) in notes_of_it
                if not written.overlap:  # what a chunk repeats stands before its lines
                    assert set(NUMBERS.findall(source.text)) <= set(NUMBERS.findall(written.lines(source)))


@law
@given(notes(), ASKED, BUDGETS)
def test_no_other_type_comes_than_the_one_that_was_asked_for(written, asked, budgets):
    for found in written.retrieve(asked):
        for budget in budgets:
            types = [source.types for source in build_context(found, budget).sources]
            assert not found.type or all(found.type in of_source for of_source in types)


@law
@given(notes(), ASKED, BUDGETS)
def test_what_the_notes_leave_out_is_never_shown(written, asked, budgets):
    for found in written.retrieve(asked):
        for budget in [*budgets, 10**6]:
            assert "Left out" not in build_context(found, budget).text
