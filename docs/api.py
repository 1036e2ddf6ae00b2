"""Write docs/api.md from docs/api.in.md and the docstrings of what it names.

`python docs/api.py` writes the page; a test compares it with what would be written. In the
template each `### NAME` is followed by an example; the signature and the docstring of the
name are put between the two.
"""

from __future__ import annotations

import re
from pathlib import Path

import griffe

import lmm_core

DOCS = Path(__file__).resolve().parent
_ENTRY = re.compile(r"^### (\w+)\n\n(.+?)(?=\n+#{2,3} |\Z)", re.M | re.S)


def main() -> None:
    (DOCS / "api.md").write_text(make_page(), encoding="utf-8")


def make_page() -> str:
    """Return the text of docs/api.md."""
    package = griffe.load("lmm_core", search_paths=[DOCS.parent])
    template = (DOCS / "api.in.md").read_text(encoding="utf-8")
    return _ENTRY.sub(lambda found: _entry(package, found[1], found[2]), template)


def examples() -> dict[str, str]:
    """Return the example of each name, for the test that runs them."""
    return {found[1]: found[2] for found in _ENTRY.finditer((DOCS / "api.in.md").read_text(encoding="utf-8"))}


def _entry(package: griffe.Object | griffe.Alias, name: str, example: str) -> str:
    module = getattr(lmm_core, name).__module__
    found = package[f"{module.removeprefix('lmm_core.')}.{name}"]
    kind = "class" if found.is_class else "def"
    text = found.docstring.value if found.docstring else ""
    return "\n\n".join(
        [
            f"### {name}",
            f"```python\n{kind} {name}{_signature(found)}\n```",
            f"From `{module}`.",
            _escaped(text),
            f"```python\n{example.strip()}\n```",
        ]
    )


def _signature(found: griffe.Object | griffe.Alias) -> str:
    """Return the parameters as they are written, on one line or one a line."""
    if found.is_class and "__init__" not in found.members and not found.labels & {"dataclass"}:
        return ""
    if any(one.name.startswith("_") for one in found.parameters):
        return ""
    parameters = [_parameter(one) for one in found.parameters if one.name != "self"]
    end = f" -> {found.returns}" if found.is_function and found.returns else ""
    line = f"({', '.join(parameters)}){end}"
    return line if len(line) < 80 else "(\n" + "".join(f"    {one},\n" for one in parameters) + f"){end}"


def _parameter(one: griffe.Parameter) -> str:
    annotation = f": {one.annotation}" if one.annotation is not None else ""
    if one.default is None:
        return one.name + annotation
    default = re.sub(r"^key\((.*?), ['\"].*", r"\1", str(one.default))  # of a table of config.toml
    return f"{one.name}{annotation}{' = ' if annotation else '='}{default}"


def _escaped(text: str) -> str:
    """Return a docstring as markdown: only its HTML would be read as something else."""
    return text.replace("<", "\\<")


if __name__ == "__main__":
    main()
