"""The server of `lmm serve`: answers, search and outline for the pages of a course.

It needs the packages `starlette` and `uvicorn` (`pip install 'lmm-markdown[serve]'`).
"""
