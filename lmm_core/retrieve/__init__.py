"""From a question to sections, a context within a budget, and an answer with sources."""
