"""The settings of a project: defaults, environment, `config.toml`, `_quarto.yml`.

May import `files`, `markdown`, `models` and `scan`.
"""
