"""Project settings from the environment, `config.toml` and `_quarto.yml`, and the models they name.

May import `files`, `markdown` and `models`.
"""
