"""Define the errors of this package: a base class, and one for each part that can fail.

Each message tells the user what is wrong, where, and what to do. No message contains a key. Imports nothing.
"""

from __future__ import annotations


class LmmError(Exception):
    """Base class of all errors of this package. The message says what is wrong and what to do."""


class ReportedError(LmmError):
    """A report, as raised by a logger that raises instead of printing."""


# Files and folders


class FolderError(LmmError):
    """A folder or file was not made by this program, or must not be used by it."""


class OutputError(LmmError):
    """A file may not be written."""


class RecoveryError(LmmError):
    """A text cannot be saved, so nothing may be written over it."""


# Documents


class MarkdownError(LmmError):
    """A markdown text or its metadata cannot be read, or cannot be changed as requested."""


class ChangedError(MarkdownError):
    """A file on disk is no longer the one that was read."""


class LlmdError(MarkdownError):
    """An LLMD document or a reply to it cannot be read, or a file cannot be read or changed for it."""


class PassError(LmmError):
    """A user's own pass does not exist, or did not return a document."""


# Models and settings


class ModelError(LmmError):
    """A model cannot answer. stop: True if further requests would fail too (a wrong key, an unknown model)."""

    def __init__(self, message: str, stop: bool = False) -> None:
        super().__init__(message)
        self.stop = stop


class CutOffError(ModelError):
    """A model's reply was cut off: by the limit of its length, or because it was repetitive. text: what arrived."""

    def __init__(self, message: str, text: str = "") -> None:
        super().__init__(message)
        self.text = text


class ReplyError(ModelError):
    """A model's reply, or a part of it, is not valid. quote: the faulty words, or ""."""

    def __init__(self, message: str, quote: str = "") -> None:
        super().__init__(message)
        self.quote = quote


class TrustError(LmmError):
    """A host or a variable is not valid, or the file of trusted hosts cannot be used."""


class CacheError(LmmError):
    """The cache of replies cannot be read or written. The message names its file."""


class ConfigError(LmmError):
    """Settings are unknown or wrong. The message has a line for each, with its place, its key and what is allowed."""


# Index and retrieval


class PromptError(LmmError):
    """A user's own prompt cannot be used. The message has a line for each problem."""


class StoreError(LmmError):
    """An index cannot be opened, read or written."""


class IndexChangedError(StoreError):
    """An index was rebuilt after it was opened, or is being rebuilt."""


class RetrieveError(LmmError):
    """A question cannot be answered."""


class QuestionsError(RetrieveError):
    """A file of questions cannot be used. The message has a line for each problem."""


class ToolError(LmmError):
    """An agent's call of a tool failed. The message is for the agent."""


class CrawlError(LmmError):
    """A folder of markdown cannot be indexed, or its index cannot be searched."""


# What students asked


class RecordingError(LmmError):
    """Questions and answers cannot be recorded, or recordings cannot be read or removed."""


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
