"""All routes leave out the same parts of any nesting of containers and marks; Pandoc decides on the
structure of a text. Many texts go through pandoc in one run."""

import random
import shutil
from pathlib import Path

import pytest

from tests.routes import check, read_all

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
