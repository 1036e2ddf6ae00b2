"""One rule for all routes: `lmm knit`, the filter, the index and the ask box's data leave out the
same parts in one set of cases (`tests/golden/parts`; `tests/routes.py` says how to read them)."""

from pathlib import Path

import pytest

from tests.routes import check, read_all

RULE = "======== "


def load():
    """Return all cases by name."""
    cases = {}
    for path in sorted((Path(__file__).parents[1] / "golden" / "parts").glob("*.txt")):
        for part in ("\n" + path.read_text("utf-8")).split("\n" + RULE)[1:]:
            title, _, text = part.partition("\n")
            text = text if text.endswith("\n") else text + "\n"
            assert title not in cases, title
            cases[title] = text.replace("\n", "\r\n") if "(crlf)" in title else text
    return cases


CASES = load()


@pytest.fixture(scope="module")
def asts(tmp_path_factory):
    """Return Pandoc's JSON of all cases, by pandoc."""
    known = {}

    def read(pandoc):
        if pandoc not in known:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(tmp_path_factory.mktemp("cases"))
                known[pandoc] = read_all({f"{name}.md": text for name, text in CASES.items()}, pandoc)
        return known[pandoc]

    return read


@pytest.mark.parametrize("name", CASES)
def test_all_routes_leave_out_the_same(name, asts, pandoc):
    Path(f"{name}.md").write_bytes(CASES[name].encode())
    check(f"{name}.md", CASES[name], asts(pandoc)[f"{name}.md"], pandoc)


def test_there_are_many_cases():
    assert len(CASES) >= 60
