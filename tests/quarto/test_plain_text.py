"""What readers see for references, citations and formulas."""

import pytest

from lmm_core.markdown.formulas import readable_math
from lmm_core.quarto.ask_box.page_html import read_html
from lmm_core.quarto.ask_box.plain_text import in_unicode, plain_line, plain_text, with_formulas
from tests.effort import at_most

PAGE = """<p>As <a href="a.html#sec-mean" class="quarto-xref"><span>Section 2.1</span></a> says, <span class="citation"
data-cites="gelman2007">Gelman and Hill (<a href="#ref" role="doc-biblioref">2007</a>)</span> and others <span
class="citation" data-cites="tukey1977">(<a href="#ref">Tukey 1977</a>)</span> say in
<a href="#sec-lost" class="quarto-xref"><span>?sec-lost</span></a>.</p>"""


def test_the_words_of_a_page():
    assert read_html(PAGE).words == {"sec-mean": "Section 2.1", "gelman2007": "Gelman and Hill (2007)"}


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("As @sec-mean and @gelman2007 say.", "As Section 2.1 and Gelman and Hill (2007) say."),
        ("It is so [@gelman2007].", "It is so."),
        ("In @sec-lost, or @fig-other.", "In […], or […]."),
        ("Write `@sec-mean` or a@gelman2007.", "Write @sec-mean or a@gelman2007."),
        ("By @unknown1999.", "By @unknown1999."),
        ("The mean $\\mu$ costs 5$ or 6$.", "The mean μ costs 5$ or 6$."),
    ],
)
def test_a_text_with_the_words_of_its_page(source, read):
    assert in_unicode(plain_text(source, read_html(PAGE).words)) == read


def test_formulas_are_in_the_data_in_unicode_and_in_tex():
    assert plain_text(r"The mean $\mu$ of `$x$`.") == "The mean \ue000μ\ue001\\mu\ue003 of $x$."
    assert (
        plain_text("So\n\n$$\n\\bar{x}\n$$ {#eq-mean}\n\nis.")
        .split("\n\n")[1]
        .startswith("\ue000x̄\ue002\\bar{x}\ue003")
    )
    assert plain_line(r"The *mean* $\mu$ {#sec-mean}") == "The mean \ue000μ\ue001\\mu\ue003"
    assert with_formulas(r"Is `a$b$` *what* $\mu$ is?") == "Is `a$b$` *what* \ue000μ\ue001\\mu\ue003 is?"
    assert in_unicode(with_formulas("\ue000a\ue001b\ue003 $x_1$")) == "ab x₁"  # signs in the notes are none of ours


@pytest.mark.parametrize(
    ("tex", "read"),
    [
        (r"\mu", "μ"),
        (r"\bar{x}_i \le \mu", "x̄ᵢ ≤ μ"),
        (r"\sigma/\sqrt{n}", "σ/√n"),
        (r"\frac{1}{n}\sum_{i=1}^n x_i", "1/n∑ᵢ₌₁ⁿ xᵢ"),
        (r"\frac{a + b}{\sqrt{n - 1}}", "(a + b)/(√(n - 1))"),
        (r"s^2 = 4 \text{ cm}^2", "s² = 4 cm²"),
        (r"P(A \mid B)", "P(A | B)"),
        (r"\hat\beta_1", "β\u0302₁"),
        (r"\log x, 5\,\%", "log x, 5 %"),
        (r"x_{\max}", "xmax"),
        (r"e^{-x^2}", "e^(-x²)"),
    ],
)
def test_formulas_in_unicode(tex, read):
    assert readable_math(tex) == read


@pytest.mark.parametrize("tex", ["\\frac{" * 20_000, "_{" * 20_000, "\\text{" * 20_000, "{" * 50_000, "\\bar" * 20_000])
def test_hostile_formulas_take_no_time(tex):
    with at_most(seconds=5):
        readable_math(tex)
