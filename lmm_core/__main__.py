"""Run the command `lmm` as `python -m lmm_core`."""

from .cli import main

main()
