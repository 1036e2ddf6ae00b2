"""Formulas written in Unicode."""

from __future__ import annotations

import re

_SIGNS = {"quad": " ", "qquad": " "} | dict(
    zip(
        """alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi rho sigma tau
        upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega sum prod int infty
        partial nabla pm mp times cdot div le leq ge geq ne neq approx sim simeq equiv propto in notin subset subseteq
        cup cap emptyset forall exists to rightarrow leftarrow Rightarrow Leftrightarrow mapsto ldots dots cdots mid
        vert lvert rvert ll gg perp circ prime ell langle rangle""".split(),
        """α β γ δ ε ε ζ η θ ϑ ι κ λ μ ν ξ π ρ σ τ υ φ φ χ ψ ω Γ Δ Θ Λ Ξ Π Σ Υ Φ Ψ Ω ∑ ∏ ∫ ∞ ∂ ∇ ± ∓ × · ÷ ≤ ≤ ≥ ≥ ≠ ≠
        ≈ ∼ ≃ ≡ ∝ ∈ ∉ ⊂ ⊆ ∪ ∩ ∅ ∀ ∃ → → ← ⇒ ⇔ ↦ … … … | | | | ≪ ≫ ⊥ ∘ ′ ℓ ⟨ ⟩""".split(),
        strict=True,
    )
)
_ACCENTS = {"bar": "\u0304", "overline": "\u0304", "hat": "\u0302", "widehat": "\u0302", "tilde": "\u0303",
            "vec": "\u20d7", "dot": "\u0307"}  # fmt: skip
_LOW = str.maketrans("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_HIGH = str.maketrans("0123456789+-=()nixT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣᵀ")
_ACCENTED = re.compile(rf"\\({'|'.join(_ACCENTS)})(?:\{{([^{{}}]*)\}}| ?(\\[A-Za-z]+|\w))")
_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}")
_BINOMIAL = re.compile(r"\\[dt]?binom\{([^{}]*)\}\{([^{}]*)\}")
_ROOT = re.compile(r"\\sqrt\{([^{}]*)\}")
_WORDS = re.compile(r"\\(?:text|mathrm|mathbf|mathit|mathcal|mathbb|operatorname|boldsymbol|mathsf)\*?\{([^{}]*)\}")
_SCRIPT = re.compile(r"([_^])(?:\{([^{}]*)\}|(\w))")
_SIZES = re.compile(r"\\(?:left|right|[bB]igg?[lr]?|displaystyle|limits|nolimits|label\{[^{}]*\})(?![a-zA-Z])")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?")


def readable_math(tex: str) -> str:
    """Return a formula in Unicode characters: `\\bar{x}_i \\le \\mu` as `x̄ᵢ ≤ μ`. A command without
    a character of its own stays, without backslash and braces."""
    text = re.sub(r"\\\\|&|\\(?:begin|end)\{[^{}]*\}", " ", _SIZES.sub("", tex))
    text = re.sub(r"\\[,;:! ]|~", " ", text).replace("{,}", ",")
    text = _ACCENTED.sub(lambda found: (found[2] or found[3]) + _ACCENTS[found[1]], text)
    text = _WORDS.sub(r"\1", text)
    for _ in range(3):  # fractions and scripts inside each other
        text = _SCRIPT.sub(_script, text)
        text = _FRACTION.sub(lambda found: f"{_grouped(found[1])}/{_grouped(found[2])}", text)
        text = _BINOMIAL.sub(r"C(\1, \2)", text)
        text = _ROOT.sub(lambda found: f"√{_grouped(found[1])}", text)
    text = _COMMAND.sub(lambda found: _SIGNS.get(found[1], found[1]), text)
    return " ".join(re.sub(r"\\([{}%$#_&|])|[{}`]", r"\1", text).split())


def _grouped(text: str) -> str:
    return text if re.fullmatch(r"\\?\w*|\w", text) else f"({text})"


def _script(found: re.Match[str]) -> str:
    inside = found[2] if found[2] is not None else found[3]
    table = _LOW if found[1] == "_" else _HIGH
    if inside and all(ord(sign) in table for sign in inside):
        return inside.translate(table)
    return f"{'' if found[1] == '_' else '^'}{inside if len(inside) < 2 or found[1] == '_' else f'({inside})'}"
