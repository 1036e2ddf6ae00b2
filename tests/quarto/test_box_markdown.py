"""What the ask box makes of the markdown of answers, in node: formulas, code and citations are told apart."""

import json
import shutil
import subprocess

import pytest

from tests.box_pages import ROOT

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node on PATH")
SCRIPTS = ROOT / "quarto-ext/_extensions/lmm/ask"


def run_parser(texts, *options):
    given = json.dumps(texts)
    command = ["node", ROOT / "tests/box_markdown.js", SCRIPTS, *options]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def shown(*texts):
    """What is shown of each text."""
    return run_parser(texts)


def paragraph(text):
    """What is in the only paragraph that is shown of a text."""
    ((name, *inside),) = shown(text)[0]
    assert name == "p"
    return inside


# Formulas


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("Take $A[1]$ [1].", ["Take ", ["$", "A[1]"], " ", ["cite", "1"], "."]),
        ("$a_1$[2], *$b_2$* and $c*d*e$", [["$", "a_1"], ["cite", "2"], ", ", ["em", ["$", "b_2"]], " and ", ["$", "c*d*e"]]),
        (r"So $$\sum_i x_i$$ and $\text{a \$ sign}$", ["So ", ["$$", r"\sum_i x_i"], " and ", ["$", r"\text{a \$ sign}"]]),
        ("from $5 to $10 and $x$ [1]", ["from $5 to $10 and ", ["$", "x"], " ", ["cite", "1"]]),
        ("`df$a[1]` or `df$b` costs", [["code", "df$a[1]"], " or ", ["code", "df$b"], " costs"]),
    ],
)  # fmt: skip
def test_formulas_code_and_citations(text, inside):
    assert paragraph(text) == inside


def test_signs_in_a_formula_on_lines_of_its_own():
    formula = [["p", "Before"], ["$$", "\n- a\n+ b > 0\n= c\n"], ["p", "after"]]
    texts = "Before\n$$\n- a\n+ b > 0\n= c\n$$\nafter", "Before\n\n\\[\n- a\n+ b > 0\n= c\n\\]\n\nafter"
    assert shown(*texts) == [formula, formula]


def test_formulas_in_lists_quotations_and_tables():
    found = shown("- $x_1$ [1]\n    $$\n    x\n    $$\n\n> $y$\n\n| $P(A|B)$ | b |\n|---|---|\n| `ab` | $\\|x\\|$ |")[0]
    assert found[0] == ["ul", ["li", ["$", "x_1"], " ", ["cite", "1"], ["$$", "\nx\n"]]]
    assert found[1] == ["blockquote", ["p", ["$", "y"]]]
    head, body = found[2][1][1:]
    assert head == ["thead", ["tr", ["th", ["$", "P(A|B)"]], ["th", "b"]]]
    assert body == ["tbody", ["tr", ["td", ["code", "ab"]], ["td", ["$", "\\|x\\|"]]]]


# Citations


def test_citations():
    assert paragraph("So [^2], not [7] nor [1, 7].") == ["So ", ["cite", "2"], ", not [7] nor [1, 7]."]


# The rest of markdown


def test_what_models_write():
    text = (
        "# A *title*\n\nText **bold** and ~~gone~~\nnext.\n\n3. three\n4. four\n   - inner\n\n```r\nx$y[1]\n```\n\n---"
    )
    assert shown(text)[0] == [
        ["p", ["strong", "A ", ["em", "title"]]],
        ["p", "Text ", ["strong", "bold"], " and ", ["s", "gone"], "\nnext."],
        ["ol", ["li", "three"], ["li", "four", ["ul", ["li", "inner"]]]],
        ["pre", ["code", "x$y[1]"]],
        ["hr"],
    ]


@pytest.mark.parametrize(
    "text",
    ["[a](javascript:alert(1))", "<script>alert(1)</script>", "![a](http://b.c/d.png)", r"broken off in $\frac{a"],
)
def test_html_links_images_and_half_a_formula_are_text(text):
    assert paragraph(text) == [text]


# Hostile answers


@pytest.mark.slow
def test_hostile_answers_take_no_time():
    parts = ["$", "$a ", "\\[\n", "`", "| `$", "*_", "[1, ", "> ", "\\begin{align}\n", "|$a"]
    assert max(run_parser([part * (60_000 // len(part)) for part in parts], "seconds")) < 2
