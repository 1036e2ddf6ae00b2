"""What a site's pages say in the place of references, citations and formulas: the words that
the ask box shows for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.parser import HTMLParser

from ...scan.references import LEFT_OUT, is_cross_reference

_REFERENCE = re.compile(r"(`[^`\n]+`)|(?<![\w@\\])(-?)@(?:\{([^{}\n]+)\}|([A-Za-z](?:[\w:.-]*\w)?))")
_MATH = re.compile(r"(`[^`\n]+`)|\$\$([^$]+)\$\$|(?<![\\$])\$(?=[^\s$])([^$\n]+)(?<=\S)\$(?!\d)")

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
_ROOT = re.compile(r"\\sqrt\{([^{}]*)\}")
_WORDS = re.compile(r"\\(?:text|mathrm|mathbf|mathit|mathcal|mathbb|operatorname|boldsymbol|mathsf)\*?\{([^{}]*)\}")
_SCRIPT = re.compile(r"([_^])(?:\{([^{}]*)\}|(\w))")
_SIZES = re.compile(r"\\(?:left|right|[bB]igg?[lr]?|displaystyle|limits|nolimits|label\{[^{}]*\})(?![a-zA-Z])")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?")


def readable_math(tex: str) -> str:
    """Return a formula in the signs of Unicode: `\\bar{x}_i \\le \\mu` as `x̄ᵢ ≤ μ`. What has no
    sign stays as it is written, without backslashes and braces."""
    text = re.sub(r"\\\\|&|\\(?:begin|end)\{[^{}]*\}", " ", _SIZES.sub("", tex))
    text = re.sub(r"\\[,;:! ]|~", " ", text)
    text = _ACCENTED.sub(lambda found: (found[2] or found[3]) + _ACCENTS[found[1]], text)
    text = _WORDS.sub(r"\1", text)
    for _ in range(3):  # one in the other
        text = _SCRIPT.sub(_script, text)
        text = _FRACTION.sub(lambda found: f"{_grouped(found[1])}/{_grouped(found[2])}", text)
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


def with_words(text: str, words: Mapping[str, str]) -> str:
    """Return a text without code blocks with its references and formulas as readers see them:
    in code spans, in which nothing else is read. words: of each label, what the page shows."""

    def reference(found: re.Match[str]) -> str:
        label = found[3] or found[4] or ""
        known = words.get(label, LEFT_OUT if is_cross_reference(label) else "")
        return _span(known) if known else found[0]

    text = _MATH.sub(lambda found: found[1] or _span(readable_math(found[2] or found[3])), text)
    return _REFERENCE.sub(reference, text)


def _span(text: str) -> str:
    plain = " ".join(text.replace("`", "").split())
    return f"`{plain}`" if plain else ""


class _Words(HTMLParser):
    """Gathers the texts of references and citations: those in the text, not in brackets."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.open: list[tuple[str, str, list[str]]] = []  # tag, label, text
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.open and tag == self.open[-1][0]:
            self.depth += 1
        elif not self.open and (label := _label(tag, {name: value or "" for name, value in attrs})):
            self.open.append((tag, label, []))
            self.depth = 0

    def handle_data(self, data: str) -> None:
        if self.open:
            self.open[-1][2].append(data)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or tag != self.open[-1][0]:
            return
        if self.depth:
            self.depth -= 1
            return
        _, label, pieces = self.open.pop()
        text = " ".join("".join(pieces).split())
        if text and not text.startswith(("(", "[", "?")):
            self.found.setdefault(label, text)


def _label(tag: str, attributes: Mapping[str, str]) -> str:
    classes = attributes.get("class", "").split()
    if tag == "a" and "quarto-xref" in classes:
        return attributes.get("href", "").rpartition("#")[2]
    cited = attributes.get("data-cites", "").split()
    return cited[0] if tag == "span" and "citation" in classes and len(cited) == 1 else ""


def page_words(page: str) -> dict[str, str]:
    """Return what an HTML page of Quarto's shows for each label that it refers to, and each work
    that it cites in the text."""
    parser = _Words()
    parser.feed(page)
    parser.close()
    return parser.found
