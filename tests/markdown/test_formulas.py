"""Formulas in Unicode, where nothing of them is lost."""

import pytest

from lmm_core.markdown.formulas import exact_math, with_exact_formulas
from tests.effort import at_most


@pytest.mark.parametrize(
    ("tex", "shown"),
    [
        (r"\alpha", "α"),
        ("x_1", "x₁"),
        (r"\bar{x}", "x̄"),
        (r"\bar{x}_{1} - \bar{x}_{2}", "x̄₁ - x̄₂"),
        ("A[1]", "A[1]"),
        (r"x\le y", "x ≤ y"),
        (r"\hat\beta_1 \sim N(\beta_1, \sigma^2)", "β̂₁ ∼ N(β₁, σ²)"),
        (r"\sum_{i=1}^n x_i", "∑ᵢ₌₁ⁿ xᵢ"),
        (r"\text{if }x > 10^{-3}", "if x > 10⁻³"),
        (r"P(A \mid B) \in \mathbb{R}", "P(A | B) ∈ ℝ"),
        ("f'(x) = 5\\%", "f′(x) = 5%"),
    ],
)
def test_formulas_with_an_exact_form(tex, shown):
    assert exact_math(tex) == shown


@pytest.mark.parametrize(
    "tex",
    [
        r"\frac{a}{b}", r"\sqrt{n - 1}", r"\sqrt[3]{x}", "e^{-x^2}", "x_y", "x_{i_j}", r"\overline{AB}", r"\unknown", "a & b", "x^{a",
        "x}", "x^", "", "{" * 150 + "}" * 50, "x" * 300, r"\mathbf{x}", "a % b",
    ],
)  # fmt: skip
def test_formulas_without_one(tex):
    assert exact_math(tex) is None


def test_a_text_with_formulas():
    text = r"The $\mu$ of `$\mu$` and \(x_1\), \[ \frac{a}{b} \] costs $5 and $6; $\frac{1}{2}$; $$\bar{x}$$ \$x\$"
    assert (
        with_exact_formulas(text)
        == r"The μ of `$\mu$` and x₁, \[ \frac{a}{b} \] costs $5 and $6; $\frac{1}{2}$; x̄ \$x\$"
    )


@pytest.mark.parametrize("part", ["$", "$$", "\\(", "\\[", "`", "`` ", "$a ", "$x_", "$\\bar", "{"])
def test_hostile_texts_take_no_time(part):
    with at_most(seconds=2):
        with_exact_formulas(part * (100_000 // len(part)))
