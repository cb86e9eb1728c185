"""Losses in place of a likelihood whose log-partition is too wide: scalar functions of a
structure's tables.
"""
