"""The gate for replies: what a model says is checked before it is written or shown.

May import `errors`, `logging` and the other modules of `models`. Where it is unsure, it lets a
reply pass: a good one that is refused cannot be got back.
"""
