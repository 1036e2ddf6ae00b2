"""Write the settings on docs/configuration.md, with the default and the meaning of each, from what the program reads.

`python docs/configuration.py` replaces the first TOML block of the page and leaves its prose as it
is; a test compares the page with what would be written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lmm_core.arguments import keys_of
from lmm_core.models.sources import ModelSource
from lmm_core.settings.config import default_text, toml_line
from lmm_core.settings.tables import SECTIONS

PAGE = Path(__file__).resolve().parent / "configuration.md"
WIDTH = 28  # characters before a comment, where the setting has no more
_BLOCK = re.compile(r"(?<=```toml\n).*?(?=^```$)", re.M | re.S)
# Of a source, nothing but the address is needed; it has no defaults to show.
_SOURCE = {"base_url": "https://api.groq.com/openai/v1", "key_variable": "GROQ_API_KEY"}
_SAME = {"minor": "major", "aux": "major"}  # sections with the keys of another one


def main() -> None:
    PAGE.write_text(make_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def make_page(page: str) -> str:
    """Return the page with the settings that the program has."""
    return _BLOCK.sub(lambda _: "\n".join(_lines()) + "\n", page, count=1)


def _lines() -> Iterator[str]:
    """Yield the lines of a file that holds every setting."""
    top, *sections = default_text().split("\n\n")[1:]
    yield from map(_shown, top.splitlines())
    for section in sections:
        heading, *keys = section.rstrip().splitlines()
        name = heading[1 : heading.index("]")]
        yield ""
        if name == "sources":
            yield _aligned("[sources.groq]", "a server that speaks the OpenAI protocol: groq/MODEL")
            values = {key: info.default for key, info in keys_of(ModelSource).items()} | _SOURCE
            yield from (_shown(toml_line(ModelSource, key, value)) for key, value in values.items())
        elif name in _SAME:
            yield _aligned(f"[{name}]", f"{SECTIONS[name].metadata['description']}; keys as in [{_SAME[name]}]")
        else:
            yield from (_shown(line) for line in (heading, *keys))


def _shown(line: str) -> str:
    setting, _, meaning = line.removeprefix("# ").partition("   # ")
    return _aligned(setting, meaning)


def _aligned(setting: str, meaning: str) -> str:
    return f"{setting:<{WIDTH - 1}} # {meaning}" if len(setting) < WIDTH else f"{setting}   # {meaning}"


if __name__ == "__main__":
    main()
