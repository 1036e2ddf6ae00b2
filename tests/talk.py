"""What the tests of chats and edits share: documents, a model that says what it is told, and
the command in this process (importing openai each time takes longer than all the rest)."""

from lmm_core.logging import ListLogger
from lmm_core.markdown import MetadataBlock, parse_markdown_text, serialize_blocks
from lmm_core.models.chat import Asker, Reply, Usage
from lmm_core.scan.decisions import decide_edits
from lmm_core.scan.edit import EditRun
from lmm_core.scan.record import read_chat
from lmm_core.scan.requests import Talk
from tests.commands import in_process, text
from tests.strategies import DIV, NATIVE

SPELLINGS = {"native": NATIVE, "div": DIV}


class Sayer:
    """A chat model within this process; `reply` is a text or a function from a request."""

    name = "test/sayer"
    stopped = None

    def __init__(self, reply):
        self.says, self.usage, self.requests = reply, Usage(), []

    async def reply(self, request, show=None):
        self.requests.append(request)
        return Reply(self.says(request) if callable(self.says) else self.says)

    async def close(self):
        """Nothing is open."""


def edited(document, reply, logger=None, **options):
    """The text after the edit pass."""
    run = EditRun(Talk(Asker(Sayer(reply)), **options), logger or ListLogger())
    return serialize_blocks(run.carry_out(parse_markdown_text(document)))


def accepted(document, line=None, logger=None):
    return _decided(document, line, logger, accept=True)


def rejected(document, line=None, logger=None):
    return _decided(document, line, logger, accept=False)


def _decided(document, line, logger, accept):
    decision = decide_edits(parse_markdown_text(document), line, logger or ListLogger(), accept=accept)
    return serialize_blocks(decision.blocks)


def block(body, spelling="native"):
    """A metadata block."""
    return SPELLINGS[spelling].format(body)


def metadata(document):
    """All metadata blocks."""
    return [one for one in parse_markdown_text(document) if isinstance(one, MetadataBlock)]


def chats(document):
    """All recorded chats."""
    return [read_chat(one.content["~chat"]) for one in metadata(document) if "~chat" in one.content]


def chat_in(path="notes.md"):
    """The one recorded chat of a file."""
    (found,) = chats(text(path))
    return found


def lmm(command, status=0):
    """A command line of `lmm`, in this process."""
    done = in_process(command.removeprefix("lmm "))
    assert done.exit_code == status, done.output
    return done


def asked_text(body):
    """The text that a request is about."""
    return body["messages"][1]["content"].split("<text>\n", 1)[1].rsplit("\n</text>", 1)[0]


def question_of(body):
    """What a request asks, in its last message."""
    return body["messages"][-1]["content"].rsplit("</text>\n\n", 1)[-1]
