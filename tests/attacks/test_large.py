"""Large and odd notes, full disks: done in time or refused in a sentence, and nothing is half-written."""

import errno
import io
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lmm_core.cli import cli
from lmm_core.markdown.files import read_markdown
from lmm_core.markdown.metadata import body as metadata
from lmm_core.markdown.metadata.body import key_spans, parse_metadata
from lmm_core.settings.config import ConfigSettings
from tests.commands import BIN, run, text, write
from tests.effort import at_most


def keys(count, form="key{}: value {}\n"):
    return "".join(form.format(at, at) for at in range(count))


def lmm(line):
    """A command that ends by itself."""
    done = CliRunner().invoke(cli, line.split())
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done


# Time: counted in steps, not measured


class Counted(str):
    """A text that counts the characters that `count` and `find` go over."""

    gone_over = 0

    def count(self, sub, start=0, end=None):
        end = len(self) if end is None else end
        Counted.gone_over += end - start
        return str.count(self, sub, start, end)


@pytest.mark.parametrize("form", ["key{}: value {}\n", "? key{}\n: {}\n"])
def test_finding_the_lines_of_keys_goes_over_the_text_a_few_times(form, monkeypatch):
    compose = metadata.yaml.compose
    monkeypatch.setattr(metadata.yaml, "compose", lambda text, **options: compose(text[:], **options))
    body = Counted(keys(2_000, form))
    Counted.gone_over = 0
    assert len(key_spans(body)) == 2_000
    assert Counted.gone_over <= 4 * len(body)


# Limits


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("a: &a [" + "x, " * 999 + "x]\nb: &b [" + "*a, " * 9 + "*a]\nc: *b\n", "has an anchor itself"),
        ("a: &a 1\n" + keys(21, "k{}: *a #{}\n"), "more than 20 aliases"),
        ("a: " + "[" * 500 + "]" * 500 + "\n", "nested more than 64 levels deep"),
        ("a: " + "[" * 100_000 + "]" * 100_000 + "\n", "nest"),  # from 1,000 on, libyaml 0.2.6 refuses it itself
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
        "---\ntitle: T\n" + keys(3_000, "k{}: &a{} 1\n") + "---\n\n# H\n\nText.\n",
        "---\ntitle: T\n---\n\n# H\n\n---\n" + keys(1_000, "?: why {} {}\n") + "---\n\nText.\n",
        "---\ntitle: T\n---\n\n" + keys(1_000, "---\nx{}: {}\n---\n\n") + "Text.\n",
        f"---\ntitle: T\na: {'word ' * 100_000}\n---\n\n# H\n\nText.\n",
    ],
    ids=["header", "div", "anchors", "questions", "blocks", "value"],
)
def test_large_notes_are_done(content, pandoc):
    write("config.toml", "")
    for line in ("scan x.md", "rag x.md", "knit x.md -o y.md", "convert x.md --to div", "index x.md"):
        write("x.md", content)
        assert lmm(line).exit_code in (0, 1)
        assert "Text" in text("x.md")
    assert run("pandoc -F lmm-rag x.md -t markdown -o z.md", pandoc).returncode == 0
    assert "Text" in text("z.md")


# Full disks


class Full(io.BytesIO):
    def write(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def full_disk(monkeypatch):
    """New files can be made, and nothing can be written into them, from the given one on."""
    real, opened = Path.open, []

    def fill(after=0):
        def opening(self, mode="r", *args, **options):
            if "x" in mode:
                opened.append(self)
                if len(opened) > after:
                    real(self, "xb").close()
                    return Full()
            return real(self, mode, *args, **options)

        monkeypatch.setattr(Path, "open", opening)

    return fill


@pytest.mark.parametrize("after", [0, 5, "all but one"])
def test_what_is_half_made_on_a_full_disk_is_taken_back(full_disk, after):
    if after == "all but one":
        lmm("init --quarto whole")
        after = sum(path.is_file() for path in Path("whole").rglob("*")) - 1
    full_disk(after)
    done = lmm("init --quarto book")
    assert done.exit_code == 1
    assert done.stderr.endswith(": No space left on device\n") and done.stderr.count("\n") == 1
    assert not [path for path in Path("book").rglob("*") if path.is_file() or path.name == "_extensions"]


@pytest.mark.slow
@pytest.mark.parametrize("line", ["llmd new P.md", "config init"])
def test_a_real_limit_of_file_sizes(line):
    code = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); " \
           "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); from lmm_core.cli import main; main()"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code, *line.split()], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "File too large" in done.stderr and "Traceback" not in done.stderr
    assert not [path for path in Path().rglob("*") if path.is_file() and path.suffix in (".md", ".toml")]


# Configurations, and devices


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("x = " + "{a=" * 30_000, "nested too deep"),
        ("x = " + "[" * 50_000, "nested too deep"),
        ("# " + "x" * 1_000_000, "longer than 100,000 bytes"),
    ],
)
def test_what_no_configuration_holds_is_refused_in_a_sentence(content, told):
    write("config.toml", content)
    write("notes.md", "# A\n\nText.\n")
    for line in ("scan notes.md", "config show"):
        done = lmm(line)
        assert done.exit_code and told in done.stderr
        assert len(done.stderr) < 500


@pytest.mark.parametrize("line", ["x" * 90_000, "'" * 30_000, "1.2 " * 10_000])
def test_long_lines_of_a_configuration_are_gone_over_once(line):
    write("config.toml", f"# {line}\nspelling = 'native'\n")
    with at_most(seconds=4):
        assert ConfigSettings().spelling == "native"


@pytest.mark.parametrize(
    ("device", "command"),
    [("/dev/zero", "scan"), ("/dev/zero", "knit -o out.md"), ("/dev/urandom", "rag"), ("/dev/full", "index")],
)
def test_a_link_to_a_device_is_not_read(device, command):
    Path("notes.md").symlink_to(device)
    done = subprocess.run(
        ["lmm", *command.split(), "notes.md"],
        capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4_000_000_000, 4_000_000_000)),
    )  # fmt: skip
    assert done.returncode and "device" in done.stderr, done
    assert "Traceback" not in done.stderr and not Path("out.md").exists()


@pytest.mark.slow
def test_what_comes_through_a_pipe_is_read(monkeypatch):
    monkeypatch.setenv("PATH", str(BIN), prepend=os.pathsep)  # the ready commands get no descriptor but the first three
    write("notes.md", "# A\n\nText of a section.\n")
    for command in ("cat notes.md | lmm chunks /dev/stdin", "lmm chunks <(cat notes.md)"):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
        assert "Text of a section." in done.stdout, (command, done)
    assert read_markdown(Path("/dev/null")).text == ""
