"""The OpenAI protocol: clients, requests and completions of chat models.

May import `errors`, `logging` and the other modules of `models`. The `openai` package itself
is imported when the first client is opened.
"""
