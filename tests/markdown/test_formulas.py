"""Formulas in Unicode, as well as that goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.markdown.formulas import readable_math
from tests.effort import at_most


@pytest.mark.parametrize(
    ("tex", "read"),
    [
        (r"\bar{x}_i \le \mu", "x̄ᵢ ≤ μ"),
        (r"\frac{1}{n}\sum_{i=1}^n x_i", "1/n∑ᵢ₌₁ⁿ xᵢ"),
        (r"s^2 = 4 \text{ cm}^2", "s² = 4 cm²"),
        (r"P(A \mid B) \in \mathbb{R}", "P(A | B) ∈ ℝ"),
        (r"\hat\beta_1 \sim N(\beta_1, \sigma^2)", "β̂₁ ∼ N(β₁, σ²)"),
        (r"x_{bad}, \sigma_X^2", "x_bad, σ_X²"),
        (r"\gamma_{j i}\boldsymbol x_i^\top \mathbf{W}_{b}", "γⱼᵢxᵢᵀW_b"),
        (r"\lim_{n \to \infty} \log_2 x \leqslant 90^\circ", "lim_(n → ∞) log₂ x ≤ 90°"),
        (r"\frac 12, \cfrac{a}{b}", "1/2, a/b"),
        (r"\left\{\begin{array}{ll} 1, & x > 0 \\ 0, & x \le 0 \end{array}\right.", "{ 1, x > 0 0, x ≤ 0"),
        (r"\underset{\theta}{\arg\min}\ f(\theta)", "arg min_θ f(θ)"),
        (r"\sqrt[3]{x} \sqrt[n]{x + 1} \unknown{y}", "³√x ⁿ√(x + 1) unknown y"),
        (r"\text{if }x > 10^{-3}", "if x > 10⁻³"),
        ("f'(x) = A[1]", "f′(x) = A[1]"),
        ("x^{a} b}c", "x^a bc"),
    ],
)
def test_formulas_in_unicode(tex, read):
    assert readable_math(tex) == read


@pytest.mark.parametrize("part", ["\\frac{", "_{", "\\begin{array}", "\\frac\\left"])
def test_hostile_formulas_take_no_time(part):
    with at_most(seconds=2):
        readable_math(part * (10_000 // len(part)))


@given(st.text(alphabet="\\\\{}_^[]ab1 &~$'frac", max_size=60) | st.text(max_size=30))
def test_any_text_is_read(tex):
    assert isinstance(readable_math(tex), str)
