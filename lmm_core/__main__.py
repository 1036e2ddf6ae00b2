"""`python -m lmm_core` is the command `lmm`."""

from .cli import main

main()
