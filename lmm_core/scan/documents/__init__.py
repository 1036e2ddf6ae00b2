"""Passes on files, with the project's settings."""
