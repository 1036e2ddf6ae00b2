"""Taking annotations out again: the file is, byte for byte, what it was before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.logging import ListLogger
from lmm_core.markdown import MetadataBlock, parse_markdown_text, serialize_blocks
from lmm_core.markdown.edits import broken_edits
from lmm_core.models.annotators.extractive import ExtractiveAnnotator
from lmm_core.scan.annotations.removal import Removal
from lmm_core.settings.tables import ScanOpts
from tests.real_files import spread
from tests.strategies import LONG, PROSE, CountingAnnotator, annotate, markdown

HEADER = "---\ntitle: T\ndocid: d\n---\n\n"
EVERYTHING = ScanOpts(titles=True, questions_threshold=0, summary_threshold=0)
NATIVE = "---\n{}\n---\n"
DIV = "::: {{.lmm .content-hidden}}\n``` yaml\n{}\n```\n:::\n"


def cleared(text, logger=None, corrected=False):
    """The text after its annotations were taken out."""
    removal = Removal(corrected, logger or ListLogger())
    return serialize_blocks(removal.apply(parse_markdown_text(text)))


def messages(text, corrected=False):
    logger = ListLogger()
    cleared(text, logger, corrected)
    return [(report.line, report.message) for report in logger.reports]


def contents(text):
    """The contents of the metadata blocks of a text."""
    return [block.content for block in parse_markdown_text(text) if isinstance(block, MetadataBlock)]


def annotations_in(text):
    """The names of the system's keys in a text."""
    return [key for content in contents(text) for key in content if key.startswith("~")]


# A file that only we annotated

ONLY_OURS = {
    "no blank line under the header": f"---\ntitle: T\n---\n# A\n\n{LONG}\n",
    "no blank line between headings": f"# A\n## B\n### C\n{LONG}\n",
    "no line end at the end": f"# A\n\n{LONG}\n\n## B",
    "a byte-order mark and a header": f"\ufeff---\ntitle: T\n---\n# A\n\n{LONG}\n",
    "empty blocks": f"{HEADER}::: lmm\n```yml\n\n\n```\n:::\n# A\n\n{LONG}\n\n---\n---\n\n## B\n\n{LONG}\n",
    "blocks of the writer's": f"{HEADER}:::: {{.lmm #x}}\n\n~~~~ yaml\n# mine\na: [1]   # one\n\n~~~~\n\n::::\n\n\n# A\n{LONG}\n",
    "divs and lists": f"{HEADER}# A\n\n::: note\n{LONG}\n\n{DIV.format('a: 1')}\n## B\n:::\n\n- {LONG}\n\n  {PROSE}\n\n# C\n\n{LONG}\n",
    "frozen": f"---\nfrozen: true\n---\n# A\n\n{LONG}\n\n---\nfrozen: false\n---\n## B\n\n{LONG}\n",
}  # fmt: skip


@pytest.mark.parametrize(("spelling", "newline"), [("div", "\n"), ("native", "\r\n")])
@pytest.mark.parametrize("name", ONLY_OURS)
def test_a_file_that_only_we_annotated_is_what_it_was(name, spelling, newline):
    text = ONLY_OURS[name].replace("\n", newline)
    for annotator, opts in ((ExtractiveAnnotator(), None), (CountingAnnotator(), EVERYTHING)):
        made = annotate(text, annotator, opts, spelling)
        assert annotations_in(made) or opts is None
        assert cleared(made) == text
        assert cleared(annotate(made, CountingAnnotator(), EVERYTHING, spelling)) == text


@given(markdown(), st.sampled_from(["div", "native", "comment"]), st.sampled_from([EVERYTHING, None]))
def test_what_was_written_can_be_taken_out(text, spelling, opts):
    for annotator in (ExtractiveAnnotator(), CountingAnnotator()):
        made = annotate(text, annotator, opts, spelling)
        bare = cleared(made)
        assert bare == cleared(text)
        assert cleared(bare) == bare
        if not annotations_in(text):
            assert bare == text


@pytest.mark.slow
def test_real_files_are_what_they_were(real_place):
    for path in spread(real_place, 60):
        text = path.read_bytes().decode("utf-8")
        made = annotate(text, CountingAnnotator(), EVERYTHING, "native" if len(text) % 2 else "div")
        assert cleared(made) == (cleared(text) if annotations_in(text) else text)


# The layout of what is written, which lets it be taken out


def test_a_block_of_the_writers_stays_where_it_is():
    text = f"{HEADER}# A\n::: lmm\n```yaml\nskip: false\n```\n:::\n## B\n\n{LONG}\n"
    made = annotate(text)
    assert "# A\n::: lmm\n```yaml\nskip: false\n~questions:" in made
    assert "\n```\n:::\n## B\n" in made
    assert annotate(made.replace("sum of", "total of")).count("\n\n") == made.count("\n\n")


# What is kept

OURS = annotate(f"{HEADER}Preface. {LONG}\n\n# A\n\n{LONG}\n\n## B\n\nOf B. {LONG}\n")
PLAIN = f"{HEADER}Preface. {LONG}\n\n# A\n\n{LONG}\n\n## B\n\nOf B. {LONG}\n"


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


def test_a_corrected_value_is_kept_with_its_hash():
    changed = OURS.replace("- What of B", "- Why of B")
    made = cleared(changed)
    assert sorted(annotations_in(made)) == ["~questions", "~~annotator", "~~hash"]
    ((line, said),) = messages(changed)
    assert line == line_of(changed, "~questions:\n  - Why") and "~questions was corrected by hand and is kept" in said
    assert cleared(made) == made
    assert cleared(made, corrected=True) == cleared(changed, corrected=True) == PLAIN


def test_a_value_without_a_hash_was_written_by_hand():
    text = f"{HEADER}---\n~summary: Mine.\n---\n\n# A\n\n{LONG}\n"
    assert cleared(text) == text
    assert cleared(text, corrected=True) == f"{HEADER}# A\n\n{LONG}\n"


def test_what_is_frozen_is_kept():
    frozen = OURS.replace("title: T", "title: T\nfrozen: true", 1)
    assert cleared(frozen) == frozen
    assert cleared(frozen, corrected=True) == PLAIN.replace("title: T", "title: T\nfrozen: true", 1)


WRITERS = [
    "# first\nb: 'x'   # one\n\na:   [1,  2]\n# last",
    "questions: What is it?\nsummary=:\n'?': Is it?\n~chat:\n  - user: Is it?\n  - model: It is.",
    "~~edit: {id: k3x9, old: '00'}\n'=': shorter",
]


@pytest.mark.parametrize("body", WRITERS)
def test_what_is_the_writers_is_not_touched(body):
    text = f"{HEADER}{DIV.format(body)}\n# A\n\n{LONG}\n"
    assert cleared(text, corrected=True) == text
    assert cleared(annotate(text), corrected=True) == text


# What cannot be taken out


def test_an_edit_that_waits_is_left_as_it_is_and_said():
    inside = OURS.removeprefix(OURS.split(":::")[0])
    markers = "###### old text {{#lmm-old-k3x9}}\n\n{}\n\n###### new text {{#lmm-new-k3x9}}\n\nNew.\n\n"
    text = f"{HEADER}{markers.format(inside.strip())}###### end of edit {{#lmm-end-k3x9}}\n"
    assert not broken_edits(parse_markdown_text(text))
    assert cleared(text) == text
    before = text.replace(markers[:10], f"{DIV.format('~summary: x')}\n{markers[:10]}")
    assert cleared(before, corrected=True) == text
    ((line, said),) = messages(text)
    assert line == 6 and "an edit waits here" in said


@pytest.mark.parametrize("body", ["~summary: [", "{~summary: x, ~~hash: {summary: [a, b]}}"])
def test_a_block_that_cannot_be_changed_is_left_as_it_is_and_said(body):
    rest = f"\n{NATIVE.format(body)}\n# C\n\nText.\n"
    assert cleared(OURS + rest, corrected=True) == PLAIN + rest
    assert len(messages(OURS + rest, corrected=True)) == 1


def test_no_block_becomes_the_header_because_ours_goes():
    text = annotate(f"# A\n\n{LONG}\n")
    mine = text.replace("::: {.lmm .content-hidden}\n``` yaml\n", "---\ntype: exercise\n")
    mine = mine.replace("```\n:::\n", "---\n")
    made = cleared(mine)
    assert made.startswith("---\n~title: A\n")
    assert made.endswith(f"\n---\ntype: exercise\n---\n\n# A\n\n{LONG}\n")
    assert "this block is kept" in messages(mine)[0][1]


# What an annotating run takes out itself


@pytest.mark.parametrize("name", [*ONLY_OURS][::4])
def test_a_run_that_takes_everything_out_leaves_the_text_as_it_was(name):
    text, spelling = ONLY_OURS[name], "native" if len(name) % 2 else "div"
    made = annotate(text, CountingAnnotator(), ScanOpts(questions_threshold=0, summary_threshold=0), spelling)
    none = ScanOpts(questions_threshold=10_000, summary_threshold=10_000)
    shrunk = annotate(made, CountingAnnotator(), none, spelling)
    assert not {"~questions", "~summary"} & set(annotations_in(shrunk))
    assert cleared(shrunk) == text
    assert annotate(shrunk, CountingAnnotator(), none, spelling) == shrunk
