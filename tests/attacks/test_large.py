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
from lmm_core.logging import ListLogger
from lmm_core.markdown.blocks import MetadataBlock, serialize_blocks
from lmm_core.markdown.files import read_markdown
from lmm_core.markdown.metadata import body as metadata
from lmm_core.markdown.metadata.body import DELETED, edit_metadata, key_spans, parse_metadata
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.markdown.tree import TextNode
from lmm_core.markdown.visibility import KnitRules, configured_types, header_rules
from lmm_core.scan.header import scan
from lmm_core.scan.knit import knit
from lmm_core.settings.config import ConfigSettings
from tests.commands import BIN, run, text, write
from tests.effort import PATIENCE

BOM = "\ufeff"


def keys(count, form="key{}: value {}\n"):
    return "".join(form.format(at, at) for at in range(count))


# Time: counted in steps, not measured


class Counted(str):
    """A text that counts the characters that `count` and `find` go over."""

    gone_over = 0

    def count(self, sub, start=0, end=None):
        end = len(self) if end is None else end
        Counted.gone_over += end - start
        return str.count(self, sub, start, end)


@pytest.mark.parametrize("form", ["key{}: value {}\n", "key{}:\n- {}\n", "? key{}\n: {}\n"])
def test_finding_the_lines_of_keys_goes_over_the_text_a_few_times(form, monkeypatch):
    compose = metadata.yaml.compose
    monkeypatch.setattr(metadata.yaml, "compose", lambda text, **options: compose(text[:], **options))
    body = Counted(keys(2_000, form))
    Counted.gone_over = 0
    assert len(key_spans(body)) == 2_000
    assert Counted.gone_over <= 4 * len(body)


def test_removing_all_keys_but_one_leaves_it_alone():
    body = keys(3_000)
    assert edit_metadata(body, {f"key{at}": DELETED for at in range(3_000) if at != 7}) == "key7: value 7\n"


def test_removing_all_messages_leaves_the_rest():
    body = keys(2_000, "?: why {} {}\n") + "key: 1\n"
    assert edit_metadata(body, {"?": DELETED}) == "key: 1\n"


def test_the_properties_of_many_blocks_are_merged_a_few_times(monkeypatch):
    from lmm_core.indexing.chunks import _properties
    from lmm_core.markdown.tree import blocks_to_tree, traverse

    blocks = parse_markdown_text("Before.\n\n" + "".join(f"---\nx{at}: {at}\n---\n\n" for at in range(300)) + "Text\n")
    (node,) = [one for one in traverse(blocks_to_tree(blocks)) if isinstance(one, TextNode) and one.metadata]
    merged = []
    real = TextNode.properties.fget
    monkeypatch.setattr(TextNode, "properties", property(lambda self: merged.append(1) or real(self)))
    assert len(_properties(node)) == 300 and len(merged) < 10


# Limits


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("a: &a [" + "x, " * 999 + "x]\nb: &b [" + "*a, " * 9 + "*a]\nc: *b\n", "has an anchor itself"),
        ("a: &a 1\n" + keys(21, "k{}: *a #{}\n"), "more than 20 aliases"),
        ("a: &a [*a]\n", "has an anchor itself"),
        ("a: " + "[" * 500 + "]" * 500 + "\n", "nested more than 64 levels deep"),
        ("a: " + "[" * 100_000 + "]" * 100_000 + "\n", "nest"),  # from 1,000 on, libyaml 0.2.6 refuses it itself
        ("".join(" " * at + "a:\n" for at in range(500)), "nested more than 64 levels deep"),
        ("a: " + "1" * 100_000 + "\n", "Exceeds the limit"),
    ],
)
def test_what_would_grow_is_refused_in_a_sentence(body, told):
    assert told in parse_metadata(body).error


def test_aliases_of_common_size_are_read():
    assert parse_metadata("a: &a [x, y]\nb: *a\nc: {d: *a}\n").content == {"a": ["x", "y"], "b": ["x", "y"],
                                                                           "c": {"d": ["x", "y"]}}  # fmt: skip


LARGE = {
    "header": f"---\ntitle: T\n{keys(3_000)}---\n\n# H\n\nText.\n",
    "block": f"---\ntitle: T\n---\n\n# H\n\n---\n{keys(3_000)}---\n\nText.\n",
    "div": f"# H\n\n::: {{.lmm .content-hidden}}\n``` yaml\n{keys(3_000)}```\n:::\n\nText.\n",
    "aliases": f"---\ntitle: T\na: &a [{'x, ' * 20_000}x]\nb: *a\n---\n\n# H\n\nText.\n",
    "anchors": "---\ntitle: T\n" + keys(3_000, "k{}: &a{} 1\n") + "---\n\n# H\n\nText.\n",
    "questions": "---\ntitle: T\n---\n\n# H\n\n---\n" + keys(1_000, "?: why {} {}\n") + "---\n\nText.\n",
    "blocks": "---\ntitle: T\n---\n\n" + keys(500, "---\nx: {}\n---\n\nText {}.\n\n"),
    "run": "---\ntitle: T\n---\n\n" + keys(1_000, "---\nx{}: {}\n---\n\n") + "Text.\n",
    "flow": f"---\ntitle: T\na: [{'x, ' * 20_000}x]\n---\n\n# H\n\nText.\n",
    "value": f"---\ntitle: T\na: {'word ' * 100_000}\n---\n\n# H\n\nText.\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("line", ["scan x.md", "rag x.md", "knit x.md -o y.md", "convert x.md --to div", "index x.md"])
def test_large_notes_are_done(name, line):
    write("config.toml", "")
    write("x.md", LARGE[name])
    done = CliRunner().invoke(cli, line.split())
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert done.exit_code in (0, 1) and "Text" in text("x.md")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["header", "block", "div", "run"])
def test_the_filter_does_large_notes(name, pandoc):
    write("x.md", LARGE[name])
    assert run("pandoc -F lmm-rag x.md -t markdown -o y.md", pandoc).returncode == 0
    assert "Text" in text("y.md")


# Byte-order marks

MARKED = [
    "# H\n\nText.\n",
    "---\ntitle: T\n---\n\n# H\n",
    "\n# H\n",
    "Text\n",
    "::: exercise\nx\n:::\n",
    "",
    "\n",
    "---\nx: 1\n",
]


@pytest.mark.parametrize("rest", MARKED)
@pytest.mark.parametrize("marks", [BOM, BOM * 2, BOM * 3, f"{BOM}\n{BOM}", f"{BOM} {BOM}"])
def test_passes_are_idempotent_after_marks(marks, rest):
    once = scan(parse_markdown_text(marks + rest), "x", "x", ListLogger())
    again = scan(parse_markdown_text(serialize_blocks(once)), "x", "x", ListLogger())
    assert serialize_blocks(again) == serialize_blocks(once)
    assert serialize_blocks(parse_markdown_text(marks + rest)) == marks + rest


@pytest.mark.parametrize(
    "line", ["rag x.md", "convert x.md --to native", "convert x.md --to div", "clear x.md", "clear --annotations x.md"]
)
def test_a_second_run_changes_nothing_after_two_marks(line):
    write("config.toml", "")
    write("x.md", BOM * 2 + "# H\n\nText.\n")
    CliRunner().invoke(cli, line.split())
    before = text("x.md")
    CliRunner().invoke(cli, line.split())
    assert text("x.md") == before


def test_many_marks_are_text():
    assert serialize_blocks(parse_markdown_text(BOM * 10_000)) == BOM * 10_000


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


@pytest.mark.parametrize("after", [0, 1, 5])
def test_init_on_a_full_disk(full_disk, after):
    full_disk(after)
    done = CliRunner().invoke(cli, ["init", "--quarto", "book"])
    assert done.exit_code == 1
    assert (
        done.stderr.endswith(": No space left on device\n") and "[" not in done.stderr and done.stderr.count("\n") == 1
    )
    assert not [path for path in Path("book").rglob("*") if path.is_file() or path.name == "_extensions"]


def test_init_where_only_the_last_file_fails(full_disk):
    CliRunner().invoke(cli, ["init", "--quarto", "whole"])
    full_disk(sum(path.is_file() for path in Path("whole").rglob("*")) - 1)
    done = CliRunner().invoke(cli, ["init", "--quarto", "book"])
    assert done.stderr.startswith("Error: book/") and done.stderr.endswith(": No space left on device\n")
    assert not Path("book").exists()


def test_config_init_on_a_full_disk(full_disk):
    full_disk()
    done = CliRunner().invoke(cli, ["config", "init"])
    assert (done.exit_code, done.stderr) == (1, "Error: config.toml: No space left on device\n")
    assert not Path("config.toml").exists()


@pytest.mark.slow
@pytest.mark.parametrize("line", ["llmd new P.md", "config init", "init book --quarto"])
def test_a_real_limit_of_file_sizes(line):
    import subprocess

    code = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); " \
           "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); from lmm_core.cli import main; main()"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code, *line.split()], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "File too large" in done.stderr and "Traceback" not in done.stderr
    assert not [path for path in Path().rglob("*") if path.is_file() and path.suffix in (".md", ".toml", ".yml")]


# Classes that are no types

BOOK = "# Lines\n\n::: {.exercise #exr:line}\nDraw a line.\n:::\n\n::: topic\nFor the exam.\n:::\n"


def knitted(source, rules):
    return serialize_blocks(knit(parse_markdown_text(source), rules, ListLogger()))


def test_the_configuration_takes_a_class_out():
    rules = KnitRules(configured_types(["-exercise", "solution"]))
    assert rules.div_types == {"topic", "rag-only", "solution"}
    assert "Draw a line." in knitted(BOOK, rules) and "exam" not in knitted(BOOK, rules)
    typed = "# L\n\n---\ntype: exercise\n---\n\n## E\n\nDraw.\n"
    assert "Draw" not in knitted(typed, rules)


def test_rag_only_cannot_be_taken_out():
    assert configured_types(["-rag-only", "-topic"]) == {"exercise", "rag-only"}


@pytest.mark.parametrize("said", ["[-exercise]", "-exercise", '"-exercise, x"'])
def test_a_document_takes_no_class_out(said):
    blocks = parse_markdown_text(f"---\nlmm:\n  div-types: {said}\n---\n\n{BOOK}")
    assert isinstance(blocks[0], MetadataBlock)
    rules = header_rules(blocks[0].content, KnitRules())
    assert "exercise" in rules.div_types and "-exercise" not in rules.div_types


@pytest.mark.parametrize("variable", [False, True])
def test_all_routes_keep_the_environment(pandoc, variable, monkeypatch):
    write("config.toml", "" if variable else '[knit]\ndiv_types = ["-exercise"]\n')
    if variable:
        monkeypatch.setenv("LMM_KNIT__DIV_TYPES", '["-exercise"]')
    write("x.md", BOOK)
    for line in (
        "lmm knit x.md -o a.md",
        "pandoc -F lmm-knit x.md -t markdown -o b.md",
        "pandoc -F lmm-knit x.md -o c.html",
    ):
        assert run(line, pandoc).returncode == 0
    for name in ("a.md", "b.md", "c.html"):
        assert "Draw a line." in text(name) and "exam" not in text(name)
    assert run("lmm leak-check c.html x.md").returncode == 0
    assert '"type": "exercise"' not in run("lmm chunks x.md --json").stdout.decode("utf-8")


def test_no_filter_option_takes_a_class_out(pandoc):
    write("x.md", f"---\nlmm-div-types: -exercise\n---\n\n{BOOK}")
    run("pandoc -F lmm-knit x.md -o c.html", pandoc)
    assert "Draw a line." not in text("c.html")


# Configurations, and devices


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = " + "{a=" * 30_000, "nested too deep"),
        ("x = " + "[" * 50_000, "nested too deep"),
        ("# " + "x" * 1_000_000, "longer than 100,000 bytes"),
    ],
)  # fmt: skip
def test_what_no_configuration_holds_is_refused_in_a_sentence(text, told):
    write("config.toml", text)
    write("notes.md", "# A\n\nText.\n")
    for command in (["scan", "notes.md"], ["config", "show"]):
        done = subprocess.run(["lmm", *command], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode and told in done.stderr and "Traceback" not in done.stderr
        assert len(done.stderr) < 500


@pytest.mark.parametrize(
    "line", ["x" * 90_000, "x." * 10 + "y", "'" * 30_000, '"' * 30_001, "a " * 30_000, "1.2 " * 10_000]
)
def test_long_lines_of_a_configuration_are_gone_over_once(line):
    write("config.toml", f"# {line}\nspelling = 'native'\n")
    assert ConfigSettings().spelling == "native"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/full"])
@pytest.mark.parametrize("command", ["scan", "knit -o out.md", "rag", "chat", "chunks", "bench", "index"])
def test_a_link_to_a_device_is_not_read(device, command):
    Path("notes.md").symlink_to(device)
    done = subprocess.run(
        ["lmm", *command.split(), "notes.md"],
        capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4_000_000_000, 4_000_000_000)),
    )  # fmt: skip
    assert done.returncode and "device" in done.stderr, done
    assert "Traceback" not in done.stderr and not Path("out.md").exists()


def test_what_comes_through_a_pipe_is_read(monkeypatch):
    monkeypatch.setenv("PATH", str(BIN), prepend=os.pathsep)  # the ready commands get no descriptor but the first three
    text = "# A\n\nText of a section.\n"
    write("notes.md", text)
    for command in (
        "cat notes.md | lmm chunks /dev/stdin",
        "lmm chunks <(cat notes.md)",
        "lmm chunks notes.md",
    ):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
        assert "Text of a section." in done.stdout, (command, done)
    assert read_markdown(Path("/dev/null")).text == ""
