"""Chat models over the OpenAI protocol: the client, requests and replies.

May import `errors`, the standard library and the modules of `models`; the `openai` package
is imported when a client is opened.
"""
