"""Golden cases: readable files that say what commands make of files.

    What the case shows.
    $ pandoc -F lmm-rag notes.md -o notes.md
    $ lmm rag notes.md
    ======== notes.md
    the file before
    ======== notes.md after
    the file after each of the commands
    ======== stderr
    what a command says (a line each that has to be in it)
    ======== exit 1

Each command runs on its own, in a folder of its own.
"""

from dataclasses import dataclass, field
from pathlib import Path

from tests.commands import in_process, run, text, write

FOLDER = Path(__file__).parent / "cases"
RULE = "======== "


@dataclass
class Case:
    """One case file. `before` and `after` are texts by file name."""

    path: Path
    about: str
    commands: list[str]
    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    stderr: list[str] = field(default_factory=list)
    status: int = 0


def load(path):
    """Read a case file."""
    head, *parts = ("\n" + text(path)).split("\n" + RULE)
    lines = head.strip().splitlines()
    case = Case(path, lines[0], [line[2:] for line in lines if line.startswith("$ ")])
    for part in parts:
        title, _, body = part.partition("\n")
        body += "\n" if body and not body.endswith("\n") else ""
        if title == "stderr":
            case.stderr = body.splitlines()
        elif title.startswith("exit "):
            case.status = int(title.removeprefix("exit "))
        elif title.endswith(" after"):
            case.after[title.removesuffix(" after")] = body
        else:
            case.before[title] = body
    return case


def dump(case):
    """The text of a case file."""
    parts = [case.about + "\n" + "".join(f"$ {command}\n" for command in case.commands)]
    parts += [f"{RULE}{name}\n{body}" for name, body in case.before.items()]
    parts += [f"{RULE}{name} after\n{body}" for name, body in case.after.items()]
    if case.stderr:
        parts.append(f"{RULE}stderr\n" + "".join(line + "\n" for line in case.stderr))
    if case.status:
        parts.append(f"{RULE}exit {case.status}\n")
    return "".join(parts)


def play(case, command, pandoc):
    """Run one command of a case in the working folder; what it left and said."""
    for name, body in case.before.items():
        write(name, body)
    if command.startswith("lmm "):
        done = in_process(command.removeprefix("lmm "))
        said, status = done.stderr, done.exit_code
    else:
        done = run(command, pandoc)
        said, status = done.stderr.decode("utf-8"), done.returncode
    after = {name: text(name) if Path(name).exists() else "(no such file)\n" for name in case.after or case.before}
    return after, said, status


def all_cases():
    """All case files, sorted by name."""
    return sorted(FOLDER.glob("*.txt"))
