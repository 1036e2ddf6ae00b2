"""Print the notes of a release: its part of CHANGELOG.md, with links that lead to the repository.

    python .github/scripts/release_notes.py TAG ADDRESS

TAG: as git has it (v1.2.0); ADDRESS: of the repository. Exit with 1 and a sentence where the tag is not
that of the package's version, or CHANGELOG.md has nothing about it or still calls it unreleased.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def package_version() -> str:
    """Return the version of the package in this checkout."""
    text = (ROOT / "lmm_core" / "__init__.py").read_text(encoding="utf-8")
    return re.findall(r'^__version__ = "(.*)"$', text, re.M)[0]


def release_notes(changelog: str, version: str) -> str:
    """Return what a changelog says about a version, without its heading. Exit if that is nothing."""
    heading = re.search(rf"^## {re.escape(version)}(?P<remark>|[ ].*)$", changelog, re.M)
    if heading is None:
        sys.exit(f"CHANGELOG.md: there is no heading `## {version}`")
    if "unreleased" in heading["remark"]:
        sys.exit(f"CHANGELOG.md: {version} is called unreleased: put the date there")
    notes = re.split(r"^## ", changelog[heading.end() :], maxsplit=1, flags=re.M)[0].strip()
    return notes or sys.exit(f"CHANGELOG.md: there is nothing below `## {version}`")


def with_full_links(notes: str, address: str, tag: str) -> str:
    """Return notes whose relative links lead to the files of the tag: a release has no folder around it."""
    return re.sub(r"\]\((?![a-z]+:|#)([^)]*)\)", rf"]({address}/blob/{tag}/\1)", notes)


def main() -> None:
    tag, address = sys.argv[1:]
    if tag != f"v{package_version()}":
        sys.exit(f"the tag {tag} is not v{package_version()}, the version of the package: change lmm_core/__init__.py")
    notes = release_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), tag.removeprefix("v"))
    sys.stdout.buffer.write(f"{with_full_links(notes, address.rstrip('/'), tag)}\n".encode())


if __name__ == "__main__":
    main()
