"""docs/SECURITY.md names the tests that try each attack: all of this folder, and none that does not exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_names_the_tests():
    named = re.findall(r"`([\w/]+\.py)`", (ROOT / "docs" / "SECURITY.md").read_text(encoding="utf-8"))
    attacks = {path.name for path in (ROOT / "tests" / "attacks").glob("test_*.py")} - {Path(__file__).name}
    assert attacks == {name for name in named if "/" not in name}
    assert [name for name in named if "/" in name and not (ROOT / name).is_file()] == []
