"""Models in Python."""

from dpc.inference import whole_numpyro  # noqa: F401
