"""A course with an image, a file to load, parts and documents that are left out, and files outside of it."""

from tests.commands import write
from tests.indexing import lmm

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
OAKS = """\
---
title: Oaks & elms
docid: oaks
~summary: SECRET-SUMMARY
---
# Oaks

An oak has $\\bar{x}_{1} \\ge 2$ rings; see [elms](sub/elms.md#elms-grow), [the data](rings.csv), [the key](key.py),
[a site](https://example.org/a?b=1), [out](../outside.png) and [the cut](#cut).

![Rings](figures/rings.png){width=50%}
![Out](../outside.png) ![Hidden](.lmm/x.png) ![Net](https://example.org/x.png) ![Up](figures/%2e%2e/%2e%2e/outside.png)

<!-- SECRET-COMMENT -->
<script>document.title = "Ran"</script>
<b onclick="alert(1)">Bold</b> [link](javascript:alert(1)) <iframe src="https://example.org"></iframe>

## Cutting an oak {#cut}

Cut it in autumn.

---
type: exercise
---
### SECRET-EXERCISE

SECRET-QUESTION ![](figures/secret.png)

::: {.solution}
SECRET-SOLUTION
:::

## After it

{{< include _shared.md >}}
"""
SHARED = "Elms are shared.\n\n::: exercise\nSECRET-INCLUDED\n:::\n"
ELMS = (
    "---\ntitle: Elms\ndocid: elms\n---\n# Elms grow\n\nElms grow; see [oaks](../oaks.md). ![](../figures/rings.png)\n"
)


def make_woods(tmp_path, monkeypatch):
    """A course with an image, a file to load, what is left out, and what lies outside."""
    folder = tmp_path / "woods"
    write(folder / "config.toml", '[knit]\ndiv_types = ["solution"]\n')
    write(folder / "oaks.md", OAKS)
    write(folder / "_shared.md", SHARED)
    write(folder / "sub/elms.md", ELMS)
    write(folder / "keys.md", "---\ntitle: SECRET-KEYS\ndocid: keys\nknit: false\n---\n# Keys\n\nSECRET-KEY\n")
    write(folder / "draft.md", "---\ntitle: SECRET-DRAFT\ndocid: draft\ndraft: true\n---\n# Draft\n\nSECRET-DRAFT\n")
    for name in ("figures/rings.png", "figures/secret.png", "figures/unused.png", ".lmm/x.png", "../outside.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(PNG)
    write(folder / "rings.csv", "rings\n80\n")
    write(folder / "key.py", "SECRET = 1\n")
    monkeypatch.chdir(folder)
    lmm("index .")
    write(folder / "later.md", "---\ntitle: Later\ndocid: later\n---\n# Later\n\nNot indexed yet.\n")
    return folder
