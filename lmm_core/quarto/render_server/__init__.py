"""One Python for all that a render by Quarto asks of us, on Linux.

When its own work is done, the hook before a render forks a server (`server`), which imports what pages and the hook
after the render need while Quarto works. The extension's `lmm_client.py`, started for each of these, asks it for a fork
of it that does the work, with the client's streams, arguments, environment and folder, and hands on the exit status.
Where no server is, or one that does not fit (`place`), the work is done by `lmm-knit` and the hook, as it is on other
systems.
"""
