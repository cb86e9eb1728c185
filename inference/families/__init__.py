"""Exponential families (PL15 to PL22): one family to a row; `table.py` lists them."""
