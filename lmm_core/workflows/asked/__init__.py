"""What a teacher learns from recorded questions: groups with the sections nearest to them, and the dashboard.

May import what `workflows` may.
"""
