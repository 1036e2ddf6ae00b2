"""The errors of this package: one root, and a kind for each part that can fail.

Each text tells the user in a sentence what is wrong, where, and what to do; none holds a key. Imports nothing.
"""

from __future__ import annotations


class LmmError(Exception):
    """Something cannot be done as asked; the text says why and what to do."""


class ReportedError(LmmError):
    """A report, raised by a logger that raises instead of printing."""


# Files and folders


class FolderError(LmmError):
    """A folder or file is not ours to use."""


class OutputError(LmmError):
    """A file may not be written."""


class RecoveryError(LmmError):
    """Texts cannot be put aside, so nothing may be written over them."""


# Documents


class MarkdownError(LmmError):
    """A markdown text or its metadata does not allow what was asked."""


class ChangedError(MarkdownError):
    """A file on disk is no longer the one that was read."""


class LlmdError(MarkdownError):
    """An LLMD document, or a reply to one, does not allow what was asked."""


class PassError(LmmError):
    """A pass of the user's own does not exist, or returned something that is no document."""


# Models and settings


class ModelError(LmmError):
    """A model cannot answer.

    stop: further requests would fail as well (a wrong key, an unknown model)."""

    def __init__(self, message: str, stop: bool = False) -> None:
        super().__init__(message)
        self.stop = stop


class CutOffError(ModelError):
    """A model's reply ended before its time: at its limit, or because the model only repeated itself.

    text: what there was of it"""

    def __init__(self, message: str, text: str = "") -> None:
        super().__init__(message)
        self.text = text


class ReplyError(ModelError):
    """A reply, or a part of one, is not what was asked for. quote: its words, or the faulty ones."""

    def __init__(self, message: str, quote: str = "") -> None:
        super().__init__(message)
        self.quote = quote


class TrustError(LmmError):
    """A host or a variable is wrong, or the place where trust is kept cannot be used."""


class CacheError(LmmError):
    """The cache of replies cannot be read or written; the text names its file."""


class ConfigError(LmmError):
    """Settings are unknown or wrong: one problem a line, each with its place, its key
    and what is allowed."""


# Index and retrieval


class PromptError(LmmError):
    """A prompt in a person's own words cannot be used; a line for each problem."""


class StoreError(LmmError):
    """A vector store cannot do what was asked."""


class IndexChangedError(StoreError):
    """An index is no longer the one that was opened: it was rebuilt, or is being rebuilt."""


class RetrieveError(LmmError):
    """A question cannot be answered."""


class QuestionsError(RetrieveError):
    """A file of questions has faults, one a line."""


class ToolError(LmmError):
    """A tool cannot do what was asked, in a sentence for the agent that called it."""


class CrawlError(LmmError):
    """The index of a folder does not allow what was asked."""


# What students asked


class RecordingError(LmmError):
    """Questions and answers cannot be recorded, or what is recorded cannot be read or removed."""


# Quarto


class QuartoError(LmmError):
    """A Quarto project cannot be read, or the extension is missing."""


class RenderError(LmmError):
    """The render has to stop: one problem a line."""


class TokenError(LmmError):
    """The tokens of `lmm serve` cannot be read or changed."""


class CourseError(LmmError):
    """The site of a course cannot be made or published."""


class FilterError(LmmError):
    """An error that stops pandoc before it writes. The text says what to do."""
