"""The settings of a project, from the environment, `config.toml` and `_quarto.yml`, and the models that they name.

May import `files`, `markdown` and `models`.
"""
