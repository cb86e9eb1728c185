"""Posteriors of NumPyro models; NumPyro is imported before ArviZ, for its sake."""

from .. import whole_numpyro  # noqa: F401,I001
import numpyro  # noqa: F401
