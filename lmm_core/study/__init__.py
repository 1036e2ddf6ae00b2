"""For those who learn: an outline, study plans, cards, and measures of how well a course is found.

May import what `retrieve` may, and `retrieve`.
"""
