"""The estimators, one family to a file; `table.py` lists them."""
