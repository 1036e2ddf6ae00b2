"""docs/SECURITY.md says which test tries what; the tests that it names are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(?P<file>[\w/]+\.py)?(?:::(?P<test>\w+))?`")


def test_every_test_that_is_named_is_there():
    file, found = "", 0
    for match in NAMED.finditer((ROOT / "docs" / "SECURITY.md").read_text(encoding="utf-8")):
        file = match["file"] or file
        path = ROOT / (file if file.startswith("tests/") else f"tests/attacks/{file}")
        source = path.read_text(encoding="utf-8")
        assert not match["test"] or f"def {match['test']}(" in source, match[0]
        found += 1
    assert found > 50


def test_every_attack_is_on_the_page():
    page = (ROOT / "docs" / "SECURITY.md").read_text(encoding="utf-8")
    for path in (ROOT / "tests" / "attacks").glob("test_*.py"):
        assert path.name in page or path.name == Path(__file__).name, path.name
