"""List the commands of `lmm`, so that `lmm --help` imports none.

A test compares the texts with the commands' own help."""

from __future__ import annotations

from typing import NamedTuple


class Registered(NamedTuple):
    """A command: its module in `commands`, and the first sentence of its help."""

    module: str
    help: str


# In the order of a course's life
GROUPS: dict[str, dict[str, Registered]] = {
    "Begin": {
        "demo": Registered("course", "Make the sample course, with its site and index."),
        "init": Registered("course", "Make a course of a folder of notes, or a new one."),
        "doctor": Registered("machine", "Show what is installed, and which models do what."),
        "config": Registered("machine", "Show or begin config.toml; prompts, cache."),
        "models": Registered("machine", "List and download embedding models that run here."),
    },
    "Write": {
        "scan": Registered("overview", "Show sections, what is missing, and mistakes."),
        "rag": Registered("write", "Give each section questions and a summary, in place."),
        "chat": Registered("talk", "Answer questions in the text, and propose requested edits."),
        "accept": Registered("talk", "Replace old texts by their new versions."),
        "reject": Registered("talk", "Restore old texts, byte for byte."),
        "clear": Registered("talk", "Take questions and answers out of the text."),
    },
    "Publish": {
        "course": Registered("course", "Make the site and the index of a course."),
        "knit": Registered("publish", "Write the lecture notes, without RAG-only material."),
        "pandoc": Registered("publish", "Run pandoc with our filters."),
        "serve": Registered("asking.serve", "Answer students' questions on a web page."),
        "asked": Registered("asking.asked", "Show what students asked, and what the notes lack."),
    },
    "Find and learn": {
        "index": Registered("index", "Index documents."),
        "search": Registered("asking.search", "Find passages by a question or by words."),
        "ask": Registered("asking.ask", "Answer a question from the notes, with sources."),
        "toc": Registered("asking.teach", "List contents with reading times, or plan how to study."),
        "cards": Registered("asking.teach", "Make study cards of questions, definitions and exercises."),
    },
}
# Listed by `lmm --help --all`
MORE: dict[str, Registered] = {
    "pass": Registered("write", "Run a pass of your own, a Python function."),
    "convert": Registered("publish", "Change how metadata blocks are written, in place."),
    "recover": Registered("write", "Restore a file that pandoc was stopped from writing."),
    "leak-check": Registered("course", "Search a rendered site for text left out of the notes."),
    "chunks": Registered("index", "List the chunks that would be indexed."),
    "bench": Registered("asking.bench", "Measure which sections students cannot find."),
    "md-index": Registered("folders", "Index any folder of markdown."),
    "md-search": Registered("folders", "Find snippets in folders indexed by lmm md-index."),
    "mcp": Registered("asking.serve", "Give agents tools to search and read the notes (MCP)."),
    "import": Registered("importing", "Make markdown of Word, slides, web pages and PDF."),
    "llmd": Registered("llmd", "Work with a model on a project in one document."),
}
# For the scripts of the Quarto extension
HIDDEN = {"quarto": Registered("course", "Do what the Quarto extension calls before and after a render.")}
COMMANDS = {name: command for commands in [*GROUPS.values(), MORE, HIDDEN] for name, command in commands.items()}
