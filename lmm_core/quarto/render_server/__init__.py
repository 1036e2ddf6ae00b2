"""One Python for all that a render by Quarto asks of us, on Linux.

The hook before a render forks a server (`server`), which imports what pages and the hook after the render
need while Quarto works. Each of these asks it (`client`) for a fork of it that does the work, with its own
streams, arguments, environment and folder, and hands on the exit status. Where no server is, or one that does
not fit (`place`), each does its work itself, as it does on other systems.
"""
