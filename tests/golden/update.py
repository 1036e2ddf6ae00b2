"""Write what the commands give now into the golden cases: `make update-golden`,
then review with `git diff`."""

import os
import tempfile

from tests.commands import pandocs
from tests.golden.cases import all_cases, dump, load, play


def update(path):
    """Run the first command of a case and write what came of it."""
    case = load(path)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        case.after, _, case.status = play(case, case.commands[0], pandocs()[-1])
        os.chdir(path.parent)
    path.write_text(dump(case), encoding="utf-8", newline="")


if __name__ == "__main__":
    for case_path in all_cases():
        update(case_path)
        print(case_path.name)
