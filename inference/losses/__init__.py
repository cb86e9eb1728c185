"""Losses in place of a likelihood that is too wide: scalar functions of tables."""
