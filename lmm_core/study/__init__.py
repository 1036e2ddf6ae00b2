"""For learners: outlines, study plans, cards, and measures of how well a course is found.

May import what `retrieve` may, and `retrieve`.
"""
