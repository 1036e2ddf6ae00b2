"""What readers see for references, citations and formulas."""

import pytest

from lmm_core.quarto.ask_box.box import read_page
from lmm_core.retrieve.plain_text import in_unicode, labels_in, link_labels, plain_line, plain_text, titles_path
from tests.retrieve.materials import material

PAGE = """<p>As <a href="a.html#sec-mean" class="quarto-xref"><span>Section 2.1</span></a> says, <span class="citation"
data-cites="gelman2007">Gelman and Hill (<a href="#ref" role="doc-biblioref">2007</a>)</span> and others <span
class="citation" data-cites="tukey1977">(<a href="#ref">Tukey 1977</a>)</span> say in
<a href="#sec-lost" class="quarto-xref"><span>?sec-lost</span></a>.</p>"""


def test_the_words_of_a_page():
    assert read_page(PAGE).words == {"sec-mean": "Section 2.1", "gelman2007": "Gelman and Hill (2007)"}


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("As @sec-mean and @gelman2007 say.", "As Section 2.1 and Gelman and Hill (2007) say."),
        ("It is so [@gelman2007].", "It is so."),
        ("In @sec-lost, or `@sec-mean`.", "In […], or @sec-mean."),
        ("The mean $\\mu$ costs 5$ or 6$.", "The mean μ costs 5$ or 6$."),
        (
            "Said.[^1]\n\n[^1]: A note\n    that goes on.\n[^2]:\n    Another one\n    of it.",
            "Said.\n\nA note that goes on.\n\nAnother one of it.",
        ),
        ("    The rest\n    of it.\n\n!!! note\n\n    Text.", "The rest of it.\n\nText."),
        (r"The folder node\_modules, \*all\* of it.", "The folder node_modules, *all* of it."),
        (
            "**The *package* `data.table` has (*fast*) `melt()`.** So *c*entred, 2 * 3 * 4, a_b_c.",
            "The package data.table has (fast) melt(). So centred, 2 * 3 * 4, a_b_c.",
        ),
        ("Write `` `x` `` or ``a`b``.", "Write `x` or a`b."),
        (
            "# {{ page.title }} {%- include badge.html -%}\n\nIs {{ x }}, `{% raw %}{{ y }}{% endraw %}`.",
            "[…]\n\nIs […], {{ y }}.",
        ),
        ('See [a `b` [c]](<x.md> "T"){.d}, ![](e.png){#f}[g]{.h}.', "See a b [c], g."),
        ("A note^[ Of `x`, see @sec-lost.] in {A, B}", "A note (Of x, see […].) in {A, B}"),
        ("1. One\n2. Two\n   lines\n- \n\n\\newcommand{\\a}{b}\n", "1. One\n2. Two lines"),
        ("\\begin{align}\na &= b\n\\end{align}", "a = b"),
        ("So.\n\n```{mermaid}\nflowchart LR\n```\n\n```dotnet\nrun\n```", "So.\n\n    run"),
    ],
)
def test_a_text_with_the_words_of_its_page(source, read):
    assert in_unicode(plain_text(source, read_page(PAGE).words)) == read


def test_formulas_are_in_the_data_in_unicode_and_in_tex():
    assert plain_text(r"The mean $\mu$ of `$x$`.") == "The mean \ue000μ\ue001\\mu\ue003 of $x$."
    assert plain_line(r"The *mean* $\mu$ {#sec-mean}") == "The mean \ue000μ\ue001\\mu\ue003"
    assert titles_path(["Le _package_ [insee](https://x.org)", "<!-- -->", r"$\mu$ {.x}"]) == "Le package insee > μ"
    assert in_unicode(plain_line("\ue000a\ue001b\ue003 $x_1$")) == "ab x₁"  # signs in the notes are none of ours


def test_a_link_of_a_document_is_known_by_its_label():
    labels = link_labels("See.\n\n  [The package]: https://example.org\n[^1]: A note.\n")
    assert plain_text("In [the\npackage] and [sic].", links=labels) == "In the package and [sic]."
    words, labels = labels_in(material("# *A* mean {#sec-a}\n\nSee.\n\n[sic]: https://example.org\n"))
    assert plain_text("As @sec-a, [a mean] and [sic] say.", words, labels) == "As “A mean”, a mean and sic say."
