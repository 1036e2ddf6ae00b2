"""Texts to test with: arbitrary ones, and ones made of the lines that are hard to tell apart.
With them, what the tests of passes share: an annotator that counts, and one-line calls."""

import re
from zlib import crc32

from hypothesis import strategies as st

from lmm_core.logging import ListLogger
from lmm_core.markdown import MetadataBlock, parse_markdown_text, serialize_blocks
from lmm_core.models.annotators.annotator import Annotation
from lmm_core.scan.header import scan
from lmm_core.scan.knit import knit
from lmm_core.scan.rag import scan_rag

PROSE = "A residual is the vertical distance between a point and the line that was fitted, in units of the response."
LONG = (
    "The mean of a sample is the sum of its values divided by their number. It is the best known measure of centre. "
    "It is also the one that a single wild value can move as far as it likes, which is why careful people look at "
    "the median as well. They draw the data first and decide afterwards which of the two tells the story."
)

# All of Unicode but surrogates, which no UTF-8 file can hold.
any_text = st.text(st.characters(exclude_categories=["Cs"]))

LINE_ENDS = ["\n", "\n", "\n", "\n", "\n", "\n", "\r\n"]

BLANK_LINES = ["", "", "", "", "  ", "\t", "\x0c", "\u00a0"]

FENCES = [
    "```", "````", "``` yaml", "``` {.yaml}", "~~~", "~~~~ py", "   ```", "    ```", "- ```", "> ```", "``` a ` b",
]  # fmt: skip

RULES = ["---", "--- # remark", "---  ", " ---", "----", "...", "... ", "***", "-- -", "===", "---\x0c"]

HEADINGS = [
    "# h", "## h {#id .class}", "### h ###", "###### h", "####### h", "#", "#h", " # h", "# ", "# a {x}", "- # h",
    "> # h",
]  # fmt: skip

DIVS = [
    "::: {.lmm .content-hidden}", "::: lmm", ":::lmm", ":::: {#a .lmm b=c}", ":::", "::::", "::: note", "::: {.a}",
    "::: exercise", "::: {.rag-only type=topic}", "::: {.exercise knit=true}", "  ::: note", "- ::: note",
]  # fmt: skip

YAML_LINES = [
    "key: value", "questions: one", "~summary: text", "~~hash: {summary: [a, b]}", "? x", "?: Is #3 right: yes or no?",
    "+: more", "=: edit: this", "query: |", "  two", "key: [1", "key: 'x", "- item", "# comment", "{a: 1}",
    "skip: true", "frozen: true", "type: exercise", "knit: false", "title: T", "docid: d",
    "date: 2024-01-02", "a: &x 1", "b: *x", "- --", "dash: a -- b", "arrow: a --> b",
]  # fmt: skip

MARKUP = [
    "<!--", "-->", "<!-- one -->", "<!-- lmm", "<!--lmm ", "--!>", "<!-- LMM", "--->", "> <!-- lmm", "text <!-- starts", "<div>", "</div>", "<script>", "</script>", "<pre>", "<br/>",
    "<table><tr>", "</table>", "<?php", "?>", "<![CDATA[", "]]>", "<!DOCTYPE html>", "$$", "$$ x $$ {#eq-x}",
    "\\begin{align}", "\\end{align}", "\\begin{x}", "% title", "| a | b |", "|---|---|", "[^1]: note", "[a]: http://x",
    "`code", "{{< include x.qmd >}}",
]  # fmt: skip

PROSE_LINES = [
    "text", "two words", "trailing  ", "tab\t", "- item", "* item", "1. item", "(@) example", "  nested", "    code",
    "\tcode", ": definition", "~ definition", "> quote", "a [^1] @fig-x", "nul \0", "form \x0c feed", "nel \x85 x",
    "sep \u2028 x \u2029", "\x1c \x1d \x1e \x0b", "\ufeff", "ünïcödé 🙂", "back\\", "a: b", PROSE, LONG,
]  # fmt: skip

LINES = st.one_of(
    [st.sampled_from(kind) for kind in (BLANK_LINES, FENCES, RULES, HEADINGS, DIVS, YAML_LINES, MARKUP, PROSE_LINES)]
)

NATIVE = "---\n{}\n---"
DIV = "::: {{.lmm .content-hidden}}\n``` yaml\n{}\n```\n:::"
COMMENT = "<!-- lmm\n{}\n-->"


@st.composite
def markdown(draw, most=14):
    """Markdown-like texts: tricky lines in any order, in any line ends."""
    parts = draw(st.lists(st.one_of(LINES, LINES, blocks()), max_size=most))
    ends = draw(st.one_of(st.sampled_from(LINE_ENDS).map(lambda end: [end] * 200), ends_of_any_kind))
    lines = "\n".join(parts).split("\n")
    text = "".join(line + ends[at % len(ends)] for at, line in enumerate(lines))
    if draw(st.booleans()):
        text = text.removesuffix("\n").removesuffix("\r")
    return draw(st.sampled_from(["", "", "", "\ufeff", "\n", " \n", "---\ntitle: T\n---\n\n"])) + text


ends_of_any_kind = st.lists(st.sampled_from(LINE_ENDS), min_size=1, max_size=5)


@st.composite
def blocks(draw):
    """A well-formed part: a metadata block in any spelling, a section, code, a div."""
    body = "\n".join(draw(st.lists(st.sampled_from(YAML_LINES[:2] + YAML_LINES[5:7]), min_size=1, max_size=2)))
    return draw(
        st.sampled_from(
            [
                "\n" + NATIVE.format(body) + "\n",
                "\n" + DIV.format(body) + "\n",
                "\n" + NATIVE.format(body),
                DIV.format(body),
                "\n" + COMMENT.format(body) + "\n",
                COMMENT.format(body),
                f"\n- item\n\n  <!-- lmm\n  {body.splitlines()[0]}\n  -->\n\n  more\n",
                f"\n# Section\n\n{PROSE}\n",
                f"\n## Long section\n\n{LONG}\n",
                "\n```\n# code\n\n---\na: 1\n---\n```\n",
                f"\n::: note\n## In a div\n\n{PROSE}\n:::\n",
                f"\n- item\n\n  {DIV.format(body)}\n",
                "\n::: exercise\nsolve this\n:::\n",
            ]
        )
    )


# Bodies of metadata blocks that are mappings, each entry with what may stand around it.

ENTRIES = [
    "{0}: value", "{0}: 'single'", '{0}: "double \\n quoted"', "{0}: 1.10", "{0}: yes", "{0}: 0123", "{0}: 12:30",
    "{0}: 2024-01-02", "{0}: [a, b]", "{0}: {{a: 1, b: [x]}}", "{0}: |\n  line one\n\n  line three\n",
    "{0}: >-\n  folded\n  text",
    "{0}:\n  - one\n  - two # remark", "{0}:\n- one\n- two", "{0}:\n  sub: 1\n  # inside\n  other: 2", "{0}:", "{0}: ~",
    "{0}: several\n  lines of\n  plain text", "{0}: value # remark", "'{0}': quoted key", "{0}   : blanks before",
]  # fmt: skip
BETWEEN = ["", "", "# a comment\n", "\n", "\n\n# far\n"]
MESSAGES = ["?: Is #3 right: yes or no?\n", "+: and more\n", "=: shorter, please\n", "query: |\n  two\n  lines\n", ""]
KEYS = ["alpha", "beta", "~gamma", "~~delta", "eps=", "zeta"]


@st.composite
def bodies(draw, messages=True):
    """The body of a metadata block, and its keys in their order."""
    keys = draw(st.lists(st.sampled_from(KEYS), unique=True, min_size=1, max_size=4))
    parts = []
    for key in keys:
        parts.append(draw(st.sampled_from(BETWEEN)))
        parts.append(draw(st.sampled_from(ENTRIES)).format(key).rstrip("\n") + "\n")
    if messages:
        parts.insert(0, draw(st.sampled_from(MESSAGES)))
    body = "".join(parts).lstrip("\n")
    if draw(st.booleans()):
        body = body.replace("\n", "\r\n")
    return body, keys


values = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=3),
    st.sampled_from(["yes", "1.10", "a: b", "# c", "two\nlines", "- x", "'", '"', "", " lead", "trail ", "---", "..."]),
    st.integers(),
    st.booleans(),
    st.none(),
    st.dictionaries(st.sampled_from(["a", "b: c", "1"]), st.text("ab:#\n ", max_size=5), max_size=2),
)


class CountingAnnotator:
    """An annotator that counts its calls and says something different about each text."""

    name = "test/counting"
    stopped = None

    def __init__(self, questions=True, summary=True):
        self.sections = []
        self.with_questions = questions
        self.with_summary = summary

    @property
    def calls(self):
        return len(self.sections)

    def cost(self, section, wanted):
        """Its text counts as one token."""
        return 1

    async def close(self):
        """Nothing is open."""

    async def annotate(self, section, wanted, instead=""):
        """One question and a summary, made of the text."""
        self.sections.append(section)
        words = " ".join([*section.text.split(), *section.summaries])
        said = f"{''.join(section.titles[-1:])} {words[:30]} {crc32(words.encode())}"
        return Annotation([f"What of {said}?"] * self.with_questions, f"Summary of {said}." * self.with_summary)


def annotate(text, annotator=None, opts=None, spelling="div", logger=None):
    """The text after the header pass and the RAG pass."""
    logger = logger or ListLogger()
    blocks = scan(parse_markdown_text(text), "notes", "notes.md", logger)
    annotator = annotator or CountingAnnotator()
    return serialize_blocks(scan_rag(blocks, opts, annotator, spelling, logger=logger))


def knitted(text, rules=None, logger=None):
    """The text after the knit pass."""
    return serialize_blocks(knit(parse_markdown_text(text), rules, logger or ListLogger()))


def outside_metadata(text):
    """The text without its metadata blocks, and without what may stand before the header."""
    blocks = parse_markdown_text(text.removeprefix("\ufeff"))
    return serialize_blocks(block for block in blocks if not isinstance(block, MetadataBlock)).lstrip(" \t\r\n")


def squeezed(text):
    """A text in which the number of blank lines does not count."""
    return re.sub(r"(?:[ \t]*\r?\n)+", "\n", text.strip(" \t\r\n"))
