"""Formulas in the ask box, in a real browser."""

from functools import partial

from tests.box_pages import IN_A_BROWSER, Static, choose, make_site, opened, search, served
from tests.commands import text, write

pytestmark = IN_A_BROWSER
NOTES = "# Means\n\nThe mean is drawn.\n"
REPLY = r"""The difference $\bar{x}_{1} - \bar{x}_{2}$ and $A[1]$ [1], `$x$` and `a[1]` cost $5 and $6.

$$
\hat\sigma^2 = \frac{1}{n-1} \sum_i (x_i - \bar x)^2 \label{eq:here}
$$

| $P(A|B)$ | $\begin{pmatrix} 1 & 2 \end{pmatrix}$ |
|---|---|
| \(f'(x)\) | $\E[X]$ |
"""
MACRO = "<script>window.MathJax = {tex: {macros: {E: '\\\\mathbb{E}'}}}</script>"
SHOW = """async reply => {
    for (const name of ["markdown-it.js", "markdown.js"]) if (!lmmAsk.markdown) await lmmAsk.load(name); // for answers alone
    const cite = (number) => (number === 1 ? lmmAsk.el("a", { href: "#", class: "lmm-ask-cite" }, `[${number}]`) : null);
    const made = lmmAsk.el("div", { class: "lmm-ask-answer" }, lmmAsk.markdown(reply, cite));
    document.querySelector(".lmm-ask-log").replaceChildren(made);
}"""


def shown(page, reply, typeset=1):
    """The answer that is shown for a reply, when so many of its formulas are typeset."""
    page.evaluate(SHOW, reply)
    page.locator(".lmm-ask-formula > *").nth(typeset - 1).wait_for(state="attached")
    return page.locator(".lmm-ask-answer")


# Typeset


def test_formulas_are_typeset_with_macros_of_the_page(tab):
    site = make_site(NOTES)
    write(site / "notes.html", text(site / "notes.html").replace("</head>", f"{MACRO}</head>"))
    page = tab()
    page.set_viewport_size({"width": 320, "height": 600})
    opened(page, (site / "notes.html").as_uri())
    answer = shown(page, REPLY, 6)
    assert [formula.locator("math").count() for formula in answer.locator(".lmm-ask-formula").all()] == [1] * 7
    assert answer.locator(".lmm-ask-cite").count() == 1
    assert answer.locator("code").all_inner_texts() == ["$x$", "a[1]"]
    assert "cost $5 and $6." in answer.inner_text()
    shown(page, "$$" + " + ".join(f"x_{{{number}}}" for number in range(60)) + "$$")  # scrolled on a phone
    assert page.evaluate("document.querySelector('.lmm-ask-body').scrollWidth") <= 320


def test_under_a_strict_policy_and_where_a_page_has_a_module_loader(tab):
    """As pages with widgets have RequireJS."""
    site = make_site(NOTES)
    write(site / "amd.js", "window.define = () => { document.title = 'defined'; }; window.define.amd = {};")
    write(site / "notes.html", text(site / "notes.html").replace("<head>", '<head><script src="amd.js"></script>', 1))
    with served(partial(Static, directory=str(site))) as address:
        page = tab()
        refused = []
        page.on("console", lambda said: refused.append(said.text) if "Content Security" in said.text else None)
        opened(page, f"{address}/notes.html")
        assert shown(page, REPLY, 6).locator("math").count() == 6
        assert page.title() != "defined"
        assert not [one for one in refused if "lmm-ask" in one]


# In what the data hold

MATERIAL = r"""# The mean $\bar{x}$

::: {.lmm .content-hidden}
``` yaml
questions: 'What does $\mu_0$ stand for among samples?'
```
:::

The mean $\bar{x}_1$ of `df$x$` costs $5 and $6. Its error is

$$
\frac{\sigma}{\sqrt{n}}
$$

for drawn samples.
"""


def formulas_of(place):
    return [formula.text_content() for formula in place.locator("math").all()]


def test_formulas_of_snippets_contents_and_cards(tab):
    page = opened(tab(), (make_site(MATERIAL) / "notes.html").as_uri())
    search(page, "error of the mean")
    hit = page.locator(".lmm-ask-hits li").first
    hit.locator(".lmm-ask-snippet math").wait_for()
    assert formulas_of(hit.locator("strong")) == ["x‾"]
    assert formulas_of(hit.locator(".lmm-ask-snippet")) == ["x‾1"]
    snippet = hit.locator(".lmm-ask-snippet").text_content()
    assert "of df$x$ costs $5 and $6." in snippet and "\ue000" not in snippet
    choose(page, "Contents")
    assert formulas_of(page.locator("#lmm-ask-contents li a")) == ["x‾"]
    choose(page, "Cards")
    assert formulas_of(page.locator(".lmm-ask-front")) == ["μ0"]
    page.get_by_role("button", name="Show the answer").click()
    assert formulas_of(page.locator(".lmm-ask-back .lmm-ask-text")) == ["x‾1", "σn"]


# Hostile formulas

HOSTILE = [
    r"\href{javascript:document.title='run'}{x}",
    r"\htmlData{onclick=document.title='run'}{x}",
    r"\style{position:fixed;inset:0}{x}",
    r"\includegraphics[width=1em]{http://127.0.0.1:9/x.png}",
    r"\def\a{\a\a}\a",
    r"\text{<img src=x onerror=document.title='run'>}",
    r"\rule{99999em}{99999em}",
    r"\sqrt{" * 500 + "x" + "}" * 500,
    "x" * 20_000,
]


def test_hostile_formulas_do_nothing(tab):
    page = tab()
    loaded = []
    page.on("request", lambda sent: loaded.append(sent.url))
    opened(page, (make_site(NOTES) / "notes.html").as_uri())
    before = page.evaluate("performance.now()")
    answer = shown(page, "\n\n".join(f"${tex}$ and $$ {tex} $$" for tex in HOSTILE) + "\n\n$x$")
    assert page.evaluate("performance.now()") - before < 8000
    assert {link.get_attribute("href") for link in answer.locator("a").all()} <= {"#"}
    assert answer.locator("img, script, iframe, style, foreignObject, [onclick], [onerror]").count() == 0
    positions = "[...document.querySelectorAll('.lmm-ask-answer *')].map(element => getComputedStyle(element).position)"
    assert "fixed" not in page.evaluate(positions)
    assert page.title() != "run"
    assert not [url for url in loaded if "127.0.0.1:9" in url]
