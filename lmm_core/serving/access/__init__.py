"""Who may ask: tokens in a file, and users whom a proxy names. Imports neither `starlette` nor `uvicorn`."""
