"""TeX formulas as readable Unicode."""

from __future__ import annotations

import re
from itertools import takewhile


def _pairs(table: str) -> dict[str, str]:
    names = table.split()
    return dict(zip(names[::2], names[1::2], strict=True))


_SIGNS = _pairs(r"""
    alpha α  beta β  gamma γ  delta δ  epsilon ϵ  varepsilon ε  zeta ζ  eta η  theta θ  vartheta ϑ  iota ι
    kappa κ  lambda λ  mu μ  nu ν  xi ξ  pi π  varpi ϖ  rho ρ  varrho ϱ  sigma σ  varsigma ς  tau τ  upsilon υ
    phi ϕ  varphi φ  chi χ  psi ψ  omega ω  Gamma Γ  Delta Δ  Theta Θ  Lambda Λ  Xi Ξ  Pi Π  Sigma Σ  Upsilon Υ
    Phi Φ  Psi Ψ  Omega Ω  sum ∑  prod ∏  coprod ∐  int ∫  iint ∬  iiint ∭  oint ∮  bigcup ⋃  bigcap ⋂  infty ∞
    partial ∂  nabla ∇  bullet •  circ ∘  odot ⊙  emptyset ∅  varnothing ∅  forall ∀  exists ∃  nexists ∄
    ldots …  dots …  cdots ⋯  vdots ⋮  ddots ⋱  prime ′  ell ℓ  langle ⟨  rangle ⟩  lfloor ⌊  rfloor ⌋  lceil ⌈
    rceil ⌉  vert |  lvert |  rvert |  Vert ‖  lVert ‖  rVert ‖  backslash \  neg ¬  lnot ¬  Re ℜ  Im ℑ  aleph ℵ
    hbar ℏ  angle ∠  dagger †  top ⊤  bot ⊥  square □  therefore ∴  because ∵  lbrace {  rbrace }  colon :
""")
_RELATIONS = _pairs("""
    pm ±  mp ∓  le ≤  leq ≤  leqq ≤  leqslant ≤  ge ≥  geq ≥  geqq ≥  geqslant ≥  lt <  gt >  ne ≠  neq ≠
    approx ≈  sim ∼  simeq ≃  cong ≅  equiv ≡  triangleq ≜  propto ∝  in ∈  notin ∉  ni ∋  subset ⊂  subseteq ⊆
    supset ⊃  supseteq ⊇  to →  rightarrow →  longrightarrow ⟶  leftarrow ←  gets ←  leftrightarrow ↔
    Rightarrow ⇒  Longrightarrow ⟹  implies ⟹  Leftrightarrow ⇔  Longleftrightarrow ⟺  iff ⟺  mapsto ↦  mid |
    parallel ∥  ll ≪  gg ≫  perp ⊥  prec ≺  preceq ⪯  succ ≻  succeq ⪰  models ⊨  vdash ⊢  times ×  cdot ·
    div ÷  ast ∗  star ⋆  oplus ⊕  otimes ⊗  cup ∪  cap ∩  setminus ∖  land ∧  wedge ∧  lor ∨  vee ∨
""")  # and operators between two terms: with blanks around them
_ACCENTS = {
    "bar": "\u0304", "overline": "\u0304", "hat": "\u0302", "widehat": "\u0302", "tilde": "\u0303",
    "widetilde": "\u0303", "vec": "\u20d7", "overrightarrow": "\u20d7", "dot": "\u0307", "ddot": "\u0308",
}  # fmt: skip
_LOW = str.maketrans("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_HIGH = str.maketrans("0123456789+-=()nixT′∘", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣᵀ′°")
_DOUBLE = str.maketrans("CEHNPQRZ", "ℂ𝔼ℍℕℙℚℝℤ")
_NAMED = frozenset(
    "arccos arcsin arctan arg cos cosh cot cov det dim exp gcd inf ker lim liminf limsup ln log max min Pr sin sinh "
    "sup tan tanh".split()
)
_PLAIN = frozenset({"text", "mathrm", "operatorname", "mbox", "textrm", "mathop"})  # set upright
_SIZES = frozenset("left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr".split())
_WITH_COLUMNS = frozenset({"array", "tabular"})
_SHAPES = {  # number of arguments and template: {0}, or {a} to parenthesize
    **dict.fromkeys("quad qquad nonumber notag limits nolimits displaystyle textstyle".split(), (0, " ")),
    **dict.fromkeys("hline rm bf it cal".split(), (0, " ")),
    **dict.fromkeys("mathbf mathit mathcal mathsf mathfrak mathscr mathtt boldsymbol bm".split(), (1, "{0}")),
    **dict.fromkeys("pmb textbf textit underline underbrace overbrace substack boxed".split(), (1, "{0}")),
    **dict.fromkeys("frac dfrac tfrac cfrac".split(), (2, "{a}/{b}")),
    **dict.fromkeys("binom dbinom tbinom".split(), (2, "C({0}, {1})")),
    **dict.fromkeys("overset stackrel".split(), (2, "{1}^{a}")),
    "underset": (2, "{1}_{a}"),
    "label": (1, ""),
    "tag": (1, " ({0})"),
    "textcircled": (1, "({0})"),
    "pmod": (1, " (mod {0})"),
}
_TOKEN = re.compile(r"\\([A-Za-z]+)(?:(?<=\\operatorname)\*)?\s*|\\(.)|([{}^_])|(.)", re.S)
_DEEPEST = 30  # maximum nesting of arguments


def readable_math(tex: str) -> str:
    r"""Return a formula in Unicode: `\bar{x}_i \le \mu` as `x̄ᵢ ≤ μ`.

    Anything else is spelled out: `a/b`, `x_train`.
    """
    return _Writer(tex).write()


class _Writer:
    def __init__(self, tex: str) -> None:
        self._tokens = list(_TOKEN.finditer(tex))
        self._at = 0
        self._depth = 0

    def write(self) -> str:
        text = self._group()
        while self._at < len(self._tokens):  # an unmatched closing brace
            self._at += 1
            text += self._group()
        return re.sub(r" (?=[.,;]$)", "", " ".join(text.split()))

    def _group(self) -> str:
        parts: list[str] = []
        while self._at < len(self._tokens) and self._tokens[self._at][3] != "}":
            parts.append(self._token())
        return "".join(parts)

    def _token(self) -> str:
        if self._next() == "{":
            return self._argument()
        name, escaped, mark, sign = self._tokens[self._at].groups()
        self._at += 1
        if name:
            return self._command(name)
        if escaped:
            return self._escaped(escaped)
        return self._script(mark) if mark else self._sign(sign)

    def _sign(self, sign: str) -> str:
        if sign in "&~$#%`":  # columns, comments and stray signs
            return {"&": " ", "~": " ", "`": ""}.get(sign, sign)
        return "′" if sign == "'" else sign

    def _escaped(self, sign: str) -> str:
        if sign == "\\":  # a line break
            return " "
        return " " if sign in ",;:> \n" else "" if sign in "!/-" else "‖" if sign == "|" else sign

    def _script(self, mark: str) -> str:
        argument = self._argument().strip()
        table = _LOW if mark == "_" else _HIGH
        if argument and all(ord(char) in table for char in argument):
            return argument.translate(table)
        packed = "".join(argument.split()).replace("⊤", "T")
        if packed and all(ord(char) in table for char in packed):
            return packed.translate(table)
        return f"{mark}{_grouped(argument)}{' ' if self._next().isalnum() else ''}"

    def _command(self, name: str) -> str:
        if name in _SIGNS:
            return _SIGNS[name]
        if name in _RELATIONS:
            return f" {_RELATIONS[name]} "
        if name in _NAMED:
            return f" {name}{'' if self._next() in ('(', '_', '^') else ' '}"
        if name in _ACCENTS:
            return self._argument() + _ACCENTS[name]
        if name == "mathbb":
            return self._argument().translate(_DOUBLE)
        if name == "sqrt":
            return self._root()
        return self._argument() if name in _PLAIN else self._shape(name)

    def _shape(self, name: str) -> str:
        if name in ("begin", "end"):
            return self._environment(name)
        if name in _SIZES:  # a period is an empty bracket
            self._at += self._next() == "."
            return ""
        number, shape = _SHAPES.get(name, (0, f" {name} "))
        inside = [self._argument().strip() for _ in range(number)]
        grouped = dict(zip("ab", map(_grouped, inside), strict=False))
        return shape.format(*inside, **grouped)

    def _environment(self, name: str) -> str:
        if self._argument() in _WITH_COLUMNS and name == "begin":
            self._argument()
        return " "

    def _root(self) -> str:
        degree = self._degree() if self._next() == "[" else ""
        return f"{degree.translate(_HIGH)}√{_grouped(self._argument())}"

    def _degree(self) -> str:
        ahead = [token[0] for token in self._tokens[self._at + 1 : self._at + 4]]
        inside = list(takewhile("]".__ne__, ahead))
        self._at += len(inside) + 2
        return "".join(inside)

    def _next(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _argument(self) -> str:
        if self._next() in ("", "}", "_", "^"):
            return ""
        if self._depth > _DEEPEST:
            self._at += 1
            return ""
        self._depth += 1
        text = self._braced() if self._next() == "{" else self._token()
        self._depth -= 1
        return text

    def _braced(self) -> str:
        self._at += 1
        text = self._group()
        self._at += 1
        return text


def _grouped(text: str) -> str:
    return text if re.fullmatch(r"\w*|.|\w*\([^()]*\)", text) else f"({text.strip()})"
