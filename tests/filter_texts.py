"""Texts for the filters, with and without blocks, and a run of pandoc that has to succeed."""

from tests.commands import run

PROSE = "A residual is the vertical distance between a point and the line that was fitted, in units of the response.\n"
NOTES = f"# A\n\n{PROSE}"
NATIVE = f"---\ntitle: T\n---\n\n# A\n\n{PROSE}\n---\ntype: exercise\n---\n\n## Practice\n\nSECRET\n"
DIVS = f"---\ntitle: T\n---\n\n# A\n\n{PROSE}\n::: lmm\n```yaml\ntype: exercise\n```\n:::\n\n## Practice\n\nSECRET\n"
FOREIGN = "function Str(el) el.text = el.text:gsub('residual', 'RESIDUAL'); return el end\n"


def ok(command, pandoc, **options):
    """Run a command line that has to succeed."""
    done = run(command, pandoc, **options)
    assert done.returncode == 0, done.stderr.decode()
    return done
