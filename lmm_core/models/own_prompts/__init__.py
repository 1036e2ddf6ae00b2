"""Prompts in a person's own words, in place of ours."""
