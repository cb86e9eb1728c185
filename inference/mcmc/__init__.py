"""Posteriors of NumPyro models, and what speaks against their draws. NumPyro comes before ArviZ,
for its sake.
"""

from .. import whole_numpyro  # noqa: F401,I001
import numpyro  # noqa: F401
