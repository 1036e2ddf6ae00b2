"""Validate replies before they are written or shown.

May import `errors`, `logging` and the rest of `models`. Checks the schema, blanks, labels, repetitions and echoes of
the prompt. In doubt a reply passes: a good one that is refused is lost.
"""
