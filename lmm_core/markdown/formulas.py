"""Formulas written in Unicode: as well as that goes, or only where nothing of them is lost."""

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


# Nothing is lost

_RELATIONS = frozenset("|±∓×÷≤≥≠≈∼≃≡∝∈∉⊂⊆∪∩→←⇒⇔↦≪≫⊥")
_NOT_EXACT = frozenset({"epsilon", "phi", "cdots", "circ", "prime", "quad", "qquad"})  # they look otherwise in TeX
_EXACT = {name: sign for name, sign in _SIGNS.items() if name not in _NOT_EXACT} | {
    "epsilon": "ϵ", "phi": "ϕ", "cdots": "⋯", "circ": "∘", "sqrt": "√", "cong": "≅", "oplus": "⊕", "otimes": "⊗",
    "land": "∧", "lor": "∨", "neg": "¬", "supset": "⊃", "supseteq": "⊇", "setminus": "∖", "Re": "ℜ", "Im": "ℑ",
    "aleph": "ℵ", "hbar": "ℏ", "angle": "∠", "dagger": "†", "star": "⋆", "ast": "∗",
}  # fmt: skip
_NAMED = frozenset(
    "arccos arcsin arctan cos cosh cot cov det dim exp gcd inf ker lim ln log max min Pr sin sinh sup tan tanh".split()
)
_DOUBLE = str.maketrans("CEHNPQRZ", "ℂ𝔼ℍℕℙℚℝℤ")
_TOKEN = re.compile(r"\\([A-Za-z]+)[ ]*|\\([{}%$#_&|,;:! ])|([{}^_])|([^\\{}^_$&~#%])")
_WRITTEN = re.compile(  # code, which the first group takes, and formulas, as Pandoc and models write them
    r"((?<!`)(`+)(?!`)[^`]+\2(?!`))|\$\$((?:[^$\\]|\\.)+)\$\$|\$(?![\s$])((?:[^$\n\\]|\\[^\n])*?)(?<!\s)\$(?![\d$])"
    r"|\\\[((?:[^\\]|\\[^\[\]])+)\\\]|\\\(((?:[^\\]|\\[^()])+)\\\)",
    re.S,
)
_LONGEST = 200  # characters of a formula that is read
_DEEPEST = 30  # groups in it


def with_exact_formulas(text: str) -> str:
    """Return a markdown text with those formulas in Unicode, without dollars, that can be written so
    exactly. The others, and code, stay as they are."""

    def shown(found: re.Match[str]) -> str:
        tex = found[3] or found[4] or found[5] or found[6] or ""
        return found[0] if found[1] else exact_math(tex) or found[0]

    return _WRITTEN.sub(shown, text)


def exact_math(tex: str) -> str | None:
    """Return a formula in Unicode, or None if that cannot say all that it says: `\\bar{x}_1 \\le \\mu` is
    `x̄₁ ≤ μ`, but a fraction has no such form."""
    tokens = list(_TOKEN.finditer(tex)) if len(tex) <= _LONGEST and tex.count("{") <= _DEEPEST else []
    if not tokens or sum(len(found[0]) for found in tokens) < len(tex):
        return None
    try:
        made, end = _exact(tokens, 0)
    except _NotExactError:
        return None
    return " ".join(made.split()) if end == len(tokens) else None


class _NotExactError(Exception):
    """A part of a formula has no exact form in Unicode."""


def _exact(tokens: list[re.Match[str]], at: int) -> tuple[str, int]:
    """Return the tokens from a place on in Unicode, up to the brace that closes the group, and where it is."""
    made = ""
    while at < len(tokens) and tokens[at][3] != "}":
        part, at = _exact_token(tokens, at)
        made += part
    return made, at


def _exact_token(tokens: list[re.Match[str]], at: int) -> tuple[str, int]:
    name, escaped, mark, sign = tokens[at].groups()
    if sign:
        return ("′" if sign == "'" else sign), at + 1
    if escaped:
        return (" " if escaped in ",;: " else "" if escaped == "!" else "‖" if escaped == "|" else escaped), at + 1
    if mark in ("_", "^"):
        inside, at = _argument(tokens, at + 1)
        inside = inside.strip()
        table = _LOW if mark == "_" else _HIGH
        return _checked(inside.translate(table), bool(inside) and all(ord(one) in table for one in inside)), at
    if mark == "{":
        return _argument(tokens, at)
    return _exact_command(name, tokens, at + 1)


def _exact_command(name: str, tokens: list[re.Match[str]], at: int) -> tuple[str, int]:
    if name in _ACCENTS:
        inside, at = _argument(tokens, at)
        return _checked(inside + _ACCENTS[name], len(inside) == 1 and inside.isalpha()), at
    if name == "mathbb":
        inside, at = _argument(tokens, at)
        return _checked(inside.translate(_DOUBLE), len(inside) == 1 and ord(inside) in _DOUBLE), at
    if name in ("text", "mathrm", "operatorname"):
        return _argument(tokens, at)
    if name == "sqrt":
        inside, at = _argument(tokens, at)
        return _checked(f"√{inside}", len(inside) == 1 and inside.isalnum()), at
    if name in _NAMED:
        return f" {name} ", at
    known = _EXACT.get(name, "")
    return _checked(f" {known} " if known in _RELATIONS else known, bool(known)), at


def _argument(tokens: list[re.Match[str]], at: int) -> tuple[str, int]:
    """Return what a command takes, the next token or a group, in Unicode, and where it ends."""
    if at >= len(tokens) or tokens[at][3] in ("}", "_", "^"):
        raise _NotExactError
    if tokens[at][3] != "{":
        return _exact_token(tokens, at)
    inside, end = _exact(tokens, at + 1)
    return _checked(inside, end < len(tokens)), end + 1


def _checked(text: str, is_exact: bool) -> str:
    if not is_exact:
        raise _NotExactError
    return text
