"""Courses: make one of a folder of notes, and build its site and index in one go."""
