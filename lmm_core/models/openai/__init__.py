"""The OpenAI protocol: clients, requests and completions.

May import `errors`, `logging` and the rest of `models`. `openai` is imported with the first client.
"""
