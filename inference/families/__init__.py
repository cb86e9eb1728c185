"""Exponential families (PL15 to PL22): one family to a row, one file to a kind; `table.py` lists
them.
"""
