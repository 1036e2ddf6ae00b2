"""Write what the commands give now into the golden cases and transcripts: `make update-golden`,
then review with `git diff`."""

import os
import tempfile
from pathlib import Path

from tests.commands import pandocs
from tests.golden.cases import all_cases, dump, load, play
from tests.golden.transcripts import COURSES, FOLDER, transcript


def update(path):
    """Run the first command of a case and write what came of it."""
    case = load(path)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        case.after, _, case.status = play(case, case.commands[0], pandocs()[-1])
        os.chdir(path.parent)
    path.write_text(dump(case), encoding="utf-8", newline="")


def update_transcript(course):
    """Run the commands of a transcript and write what they print."""
    with tempfile.TemporaryDirectory() as folder:
        shown = transcript(course, Path(folder).resolve())
    (FOLDER / f"{course}.txt").write_text(shown, encoding="utf-8", newline="")


if __name__ == "__main__":
    for case_path in all_cases():
        update(case_path)
        print(case_path.name)
    for name, source in COURSES.items():
        if source.is_dir():
            update_transcript(name)
