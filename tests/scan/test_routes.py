"""One rule for all routes: `lmm knit`, the filter, the index, the ask box's data and the leak check leave out the
same parts: of the cases in `tests/golden/parts` (`tests/routes.py` says how to read them), for each reason in each
form, and in any nesting of containers and marks."""

import random
import shutil
from pathlib import Path

import pytest

from lmm_core.indexing.chunks import blocks_to_chunks
from lmm_core.markdown import parse_markdown_text
from lmm_core.markdown.metadata.keys import DECIDING
from tests.routes import check, read_all
from tests.strategies import knitted

RULE = "======== "


def load():
    """Return all cases by name."""
    cases = {}
    for path in sorted((Path(__file__).parents[1] / "golden" / "parts").glob("*.txt")):
        for part in ("\n" + path.read_text("utf-8")).split("\n" + RULE)[1:]:
            title, _, text = part.partition("\n")
            text = text if text.endswith("\n") else text + "\n"
            cases[title] = text.replace("\n", "\r\n") if "(crlf)" in title else text
    return cases


# Each reason in each form: what leaves a part out, and the kind of its words

LEAVING_OUT = {"knit": ("false", "hidden"), "type": ("exercise", "exercise"), "skip": ("true", "skipped")}
DIV = "::: lmm\n``` yaml\n{key}: {value}\n```\n:::"
FORMS = {
    "native": "---\n{key}: {value}\n---\n\n{kind}1\n",
    "section": "---\n{key}: {value}\n---\n\n## {kind}2\n\n{kind}1\n\n### {kind}3\n\n{kind}4\n",
    "comment": "<!-- lmm\n{key}: {value}\n-->\n\n{kind}1\n",
    "block in a div": f"::: note\n\n{DIV}\n\n{{kind}}1\n:::\n",
    "block in an item": f"- one\n\n  {DIV.replace(chr(10), chr(10) + '  ')}\n\n  {{kind}}1\n\n- two\n",
    "attribute": "::: {{.note {key}={value}}}\n{kind}1\n:::\n",
    "html": '<div {key}="{value}">\n\n{kind}1\n\n</div>\n',
}


def of_reason(key, form):
    value, kind = LEAVING_OUT[key]
    return f"# stays1\n\nstays2\n\n{FORMS[form].format(key=key, value=value, kind=kind)}\n# stays3\n\nstays4\n"


CASES = load() | {f"{key} ({form})": of_reason(key, form) for key in LEAVING_OUT for form in FORMS}


@pytest.fixture(scope="module")
def asts(tmp_path_factory):
    """Return Pandoc's JSON of all cases, by pandoc."""
    known = {}

    def read(pandoc):
        if pandoc not in known:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(tmp_path_factory.mktemp("cases"))
                known[pandoc] = read_all({f"{name}.md": text for name, text in CASES.items()}, pandoc)
        return known[pandoc]

    return read


@pytest.mark.parametrize("name", CASES)
def test_all_routes_leave_out_the_same(name, asts, pandoc):
    Path(f"{name}.md").write_bytes(CASES[name].encode())
    check(f"{name}.md", CASES[name], asts(pandoc)[f"{name}.md"], pandoc)


def test_every_key_that_decides_has_cases():
    assert set(LEAVING_OUT) == DECIDING


@pytest.mark.parametrize("line", ["knit: false", "skip: true", "type: exercise"])
def test_a_header_speaks_of_the_whole_document_but_its_type_is_another_programs(line):
    text = f"---\n{line}\n---\n\n# A\n\nshown\n"
    assert ("shown" in knitted(text)) == (line != "knit: false")
    assert bool(blocks_to_chunks(parse_markdown_text(text), docid="d")) == (line != "skip: true")


# Any nesting

TYPES = ["exercise", "topic", "definition"]


class Writer:
    """Writes random texts whose words say what should become of them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0

    def word(self, kind):
        self.count += 1
        return f"{kind}{self.count}"

    def blocks(self, depth, kind="stays", width=7):
        """Return blocks for a part of a kind; `width` is the number of colons that a div in them may have."""
        made = []
        for _ in range(self.random.randint(1, 3)):
            block = self.random.choice(
                [self.paragraph, self.list_of_words, self.marked, self.container, self.container]
            )
            made.append(block(depth, kind, width))
        return "\n\n".join(made)

    def paragraph(self, depth, kind, width):
        return self.word(kind)

    def list_of_words(self, depth, kind, width):
        return "\n".join(f"- {self.word(kind)}" for _ in range(2)) + "\n\n<!-- -->"

    def container(self, depth, kind, width):
        if depth <= 0:
            return self.paragraph(depth, kind, width)
        text = self.blocks(depth - 1, kind, width - 1)
        return self.random.choice([self.div, self.item, self.quote, self.details, self.html])(text, width)

    def div(self, text, width, opened="{.callout-note}"):
        return f"{':' * width} {opened}\n{text}\n{':' * width}"

    def item(self, text, width):
        mark = self.random.choice(["- ", "1. ", "-   ", "(@) "])
        return mark + indented(text, len(mark)).lstrip(" ") + "\n\n<!-- -->"

    def quote(self, text, width):
        return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))

    def html(self, text, width):
        return f'<div class="box">\n\n{text}\n\n</div>'

    def details(self, text, width):
        return f"<details>\n\n{text}\n\n</details>"

    def marked(self, depth, kind, width):
        """Return a part with a type, given by a div or by metadata before it."""
        own = self.random.choice(TYPES)
        if self.random.random() < 0.6 or depth <= 0:
            inside = self.blocks(depth - 1, own, width - 1) if depth > 0 else self.word(own)
            classes = "{.rag-only type=definition}" if own == "definition" else own
            return self.random.choice(
                [f'<div class="{own}">\n\n{inside}\n\n</div>' if own != "definition" else ""]
                + [self.div(inside, width, classes)] * 2
            ) or self.div(inside, width, classes)
        block = f"::: {{.lmm .content-hidden}}\n``` yaml\ntype: {own}\n```\n:::\n\n"
        return block + self.random.choice([self.paragraph, self.div_of])(depth, own, width)

    def div_of(self, depth, kind, width):
        return self.div(self.blocks(depth - 1, kind, width - 1), width)


def indented(text, width):
    return "\n".join(" " * width + line if line else "" for line in text.split("\n"))


def compare(seeds, pandoc):
    texts = {f"{seed}.md": Writer(seed).blocks(3) + "\n" for seed in seeds}
    asts = read_all(texts, pandoc)
    for name, text in texts.items():
        shutil.rmtree("site", ignore_errors=True)
        check(name, text, asts[name], pandoc)
        Path(name).unlink()


def test_some_nestings(pandoc):
    compare(range(10), pandoc)


@pytest.mark.long
def test_many_nestings(pandoc):
    compare(range(1000, 2500), pandoc)
