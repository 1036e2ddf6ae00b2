"""Large and odd notes, full disks: done in time or refused in a sentence, and nothing is half-written."""

import errno
import io
import resource
import subprocess
from pathlib import Path

import pytest

from lmm_core.markdown.metadata.body import parse_metadata
from tests.commands import in_process, run, text, write


def keys(count, form="key{}: value {}\n"):
    return "".join(form.format(at, at) for at in range(count))


# Limits


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("a: &a [" + "x, " * 999 + "x]\nb: &b [" + "*a, " * 9 + "*a]\nc: *b\n", "has an anchor of its own"),
        ("a: &a 1\n" + keys(21, "k{}: *a #{}\n"), "more than 20 aliases"),
        ("a: " + "[" * 500 + "]" * 500 + "\n", "nested more than 64 levels deep"),
        ("a: " + "1" * 100_000 + "\n", "Exceeds the limit"),
    ],
)
def test_what_would_grow_is_refused_in_a_sentence(body, told):
    assert told in parse_metadata(body).error


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        f"---\ntitle: T\n{keys(3_000)}---\n\n# H\n\nText.\n",
        f"# H\n\n::: {{.lmm .content-hidden}}\n``` yaml\n{keys(3_000)}```\n:::\n\nText.\n",
        "---\ntitle: T\n---\n\n" + keys(1_000, "---\nx{}: {}\n---\n\n") + "Text.\n",
        "-- --\nText\n\n" * 8_000,
    ],
    ids=["header", "div", "blocks", "open tables"],
)
def test_large_notes_are_done(content, pandoc):
    write("config.toml", "")
    for line in ("scan x.md", "rag x.md", "knit x.md -o y.md", "convert x.md --to div", "index x.md"):
        write("x.md", content)
        assert in_process(line).exit_code in (0, 1)
        assert "Text" in text("x.md")
    assert run("pandoc -F lmm-rag x.md -t markdown -o z.md", pandoc).returncode == 0
    assert "Text" in text("z.md")


# Full disks


class Full(io.BytesIO):
    def write(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")


def fill_disk(monkeypatch, after):
    """Let new files be made, and nothing be written into them, after so many."""
    real, opened = Path.open, []

    def opening(self, mode="r", *args, **options):
        if "x" in mode:
            opened.append(self)
            if len(opened) > after:
                real(self, "xb").close()
                return Full()
        return real(self, mode, *args, **options)

    monkeypatch.setattr(Path, "open", opening)


def test_what_is_half_made_on_a_full_disk_is_taken_back(monkeypatch):
    in_process("init --quarto whole")
    fill_disk(monkeypatch, after=sum(path.is_file() for path in Path("whole").rglob("*")) - 1)
    done = in_process("init --quarto book")
    assert done.exit_code == 1
    assert done.stderr.endswith(": No space left on device\n") and done.stderr.count("\n") == 1
    assert not [path for path in Path("book").rglob("*") if path.is_file() or path.name == "_extensions"]


# Configurations, and devices


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("x = " + "{a=" * 30_000, "nested too deep"),
        ("# " + "x" * 1_000_000, "longer than 100,000 bytes"),
    ],
)
def test_what_no_configuration_holds_is_refused_in_a_sentence(content, told):
    write("config.toml", content)
    write("notes.md", "# A\n\nText.\n")
    for line in ("scan notes.md", "config show"):
        done = in_process(line)
        assert done.exit_code and told in done.stderr
        assert len(done.stderr) < 500


def test_a_link_to_a_device_is_not_read():
    Path("notes.md").symlink_to("/dev/zero")
    done = subprocess.run(
        ["lmm", "knit", "-o", "out.md", "notes.md"],
        capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4_000_000_000, 4_000_000_000)),
    )  # fmt: skip
    assert done.returncode and "device" in done.stderr, done
    assert "Traceback" not in done.stderr and not Path("out.md").exists()
