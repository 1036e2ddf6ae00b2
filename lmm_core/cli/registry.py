"""The commands of `lmm`, with what the list of them says of each.

The list stands here so that `lmm --help` imports no command. A test compares it with the commands' own help.
"""

from __future__ import annotations

from typing import NamedTuple


class Registered(NamedTuple):
    """A command: its module in `commands`, and the first sentence of its help."""

    module: str
    help: str


# By what a person wants to do
GROUPS: dict[str, dict[str, Registered]] = {
    "Write": {
        "scan": Registered("overview", "Show title, sections, words, what is missing, and mistakes."),
        "rag": Registered("write", "Annotate each section with questions and a summary, in place."),
        "pass": Registered("write", "Run a pass of your own, a Python function from blocks to blocks."),
        "recover": Registered("write", "Restore a file, byte for byte, that pandoc was stopped from writing."),
    },
    "Talk to the model": {
        "chat": Registered("talk", "Answer questions (?:) and messages (+:), and propose the requested edits (=:)."),
        "accept": Registered("talk", "Put the new versions in place of the old texts."),
        "reject": Registered("talk", "Put the old texts back, byte for byte."),
        "clear": Registered("talk", "Take questions, messages and answers out of the documents."),
    },
    "Find": {
        "index": Registered("index", "Send documents to the index."),
        "search": Registered("asking.search", "Find chunks by a question or by words."),
        "chunks": Registered("chunks", "List the chunks of documents: sizes, places, and what will be embedded."),
        "md-index": Registered("folders", "Index any folder of markdown."),
        "md-search": Registered("folders", "Find snippets in folders that lmm md-index has indexed."),
    },
    "Ask": {
        "ask": Registered("asking.ask", "Answer a question from the notes, with the sources."),
        "toc": Registered("asking.teach", "List what is in the notes, with reading times, or plan how to study them."),
        "cards": Registered(
            "asking.teach", "Make study cards of questions, definitions and exercises, in FILES or else in the index."
        ),
        "asked": Registered(
            "asking.asked", "Show what students asked, what the notes did not answer, and what nobody needed."
        ),
        "bench": Registered("asking.bench", "Measure which sections students cannot find."),
        "mcp": Registered(
            "asking.serve", "Give agents tools to search and read the notes, by the Model Context Protocol."
        ),
        "serve": Registered(
            "asking.serve", "Answer students' questions from a web page: the course site's, or its own."
        ),
    },
    "Work on a project": {
        "llmd": Registered("llmd", "Work on a project in one document, together with a model."),
        "import": Registered(
            "importing", "Make documents of Word, slides, web pages, notebooks, PDF, and other formats."
        ),
    },
    "Publish": {
        "knit": Registered("publish", "Write the lecture notes, without metadata and RAG-only material."),
        "convert": Registered(
            "publish", "Write all metadata blocks as fenced divs, native `---` blocks or HTML comments, in place."
        ),
        "course": Registered(
            "course", "Make the site and the index of a course: check the notes, annotate them (if..."
        ),
        "leak-check": Registered(
            "course", "Search every file of a rendered site for text that is left out of the notes."
        ),
    },
    "Set up": {
        "init": Registered("course", "Make a course of a folder of notes, or of nothing."),
        "demo": Registered("course", "Copy the sample course into FOLDER, annotate it, and make its site and index."),
        "doctor": Registered("machine", "Show what is installed, what is found, and which models do what."),
        "models": Registered("models", "List and get embedding models that work on this machine."),
        "config": Registered(
            "machine", "Show or begin a config.toml; prompts, trusted hosts, the cache, completion in shells."
        ),
    },
}
# For the scripts of the Quarto extension, not for people
HIDDEN = {"quarto": Registered("course", "Do what the Quarto extension calls before and after a render.")}
COMMANDS = {name: command for commands in [*GROUPS.values(), HIDDEN] for name, command in commands.items()}
