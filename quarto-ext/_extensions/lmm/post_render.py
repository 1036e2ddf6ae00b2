"""What Quarto runs after a render: hands over to `lmm quarto post-render`."""

import sys

sys.dont_write_bytecode = True  # no folder of ours appears among the project's files

from pre_render import hand_over  # noqa: E402

if __name__ == "__main__":
    sys.exit(hand_over("post-render"))
