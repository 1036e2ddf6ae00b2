"""The settings of a project, from the environment, `config.toml` and `_quarto.yml`.

May import `files`, `markdown`, `models` and `scan`.
"""
