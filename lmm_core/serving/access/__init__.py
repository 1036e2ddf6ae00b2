"""Who may ask, how much, and from where: names and sites, tokens, users whom a proxy names, rates, connections.

`readers` and `tokens` import neither `starlette` nor `uvicorn`.
"""
