"""Validation of replies: what a model says is checked before it is written or shown.

May import `errors`, `logging` and the other modules of `models`. It asks for what the schema says, no
blanks, labels, repetitions nor echoes of the prompt. Where it is unsure, it lets a reply pass: a good
one that is refused cannot be got back.
"""
