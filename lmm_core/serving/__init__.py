"""The servers: `lmm serve` for the pages of a course, and the tools for agents (MCP).

May import `study` and everything below. `lmm serve` needs the packages `starlette` and
`uvicorn` (the extra `serve`).
"""
