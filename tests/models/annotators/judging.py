"""What the stand-in asks and sums up in real files, and the judgements of it in `judged.tsv`.

A row of the table: whether the rules were made on its file (`tuned`) or not (`aside`), the collection,
the file, the heading, the kind (`question`, `summary`), the text, the verdict (`good`: well-formed and
answered in its section, or fit to be shown to students as it stands; `bad`) and, for bad ones, why.
Collections that are not here are public: `owner/name` on GitHub.

The shares of bad rows say less than they seem to: rules were changed after looking at the rows `aside`,
too. The two courses judged last, hadley/adv-r and swcarpentry/sql-novice-survey, are nearest to
unseen text: at first look, before the last rules, about 1 of 52 questions and 11 of 88 summaries in
them were bad.

    python -m tests.models.annotators.judging     print what is not in the table yet, with an empty
                                                  verdict, to be judged by hand and added to it
"""

import csv
from dataclasses import dataclass
from pathlib import Path

from lmm_core.errors import MarkdownError
from lmm_core.logging import ListLogger
from lmm_core.markdown import blocks_to_tree, parse_markdown_text
from lmm_core.markdown.files import read_markdown
from lmm_core.markdown.tree import sections
from lmm_core.models.annotators.lazy import stand_in
from lmm_core.scan import scan_rag
from tests.real_files import CORPORA, SAMPLE

TABLE = Path(__file__).parent / "judged.tsv"
BOOK = Path(__file__).parents[3] / "sample-book"
PLACES = {"sample-book": BOOK, "tests/real": SAMPLE, "corpora": CORPORA}
FIELDS = ("tuned", "collection", "file", "heading", "kind", "text", "verdict", "remark")


@dataclass(frozen=True)
class Row:
    """A question or a summary with its judgement."""

    tuned: str
    collection: str
    file: str
    heading: str
    kind: str
    text: str
    verdict: str = ""
    remark: str = ""

    @property
    def key(self):
        """What the judgement is about."""
        return self.collection, self.file, self.heading, self.kind, self.text


def judged():
    """Return the rows of the table."""
    with TABLE.open(encoding="utf-8", newline="") as table:
        return [Row(**row) for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)]


def made(collection):
    """Return what the stand-in writes into the files of a collection, not judged yet."""
    place, rows = PLACES[collection], []
    for path in sorted(place.rglob("*")):
        if path.suffix in (".md", ".Rmd", ".qmd") and path.name != "LICENSE.md":
            rows += _of_file(path, collection, path.relative_to(place).as_posix())
    return rows


def _of_file(path, collection, name):
    try:
        blocks = parse_markdown_text(read_markdown(path).text)
    except MarkdownError:
        return
    tree = blocks_to_tree(scan_rag(blocks, annotator=stand_in(), logger=ListLogger()))
    for node in sections(tree) if tree else []:
        asked, said = node.properties.get("~questions"), node.properties.get("~summary")
        for kind, text in [*(("question", one) for one in asked or []), *([("summary", said)] if said else [])]:
            yield Row("", collection, name, " ".join(node.title.split()), kind, text)


if __name__ == "__main__":
    known = {row.key for row in judged()}
    for row in (row for collection in PLACES for row in made(collection) if row.key not in known):
        print("\t".join(getattr(row, name) for name in FIELDS))
