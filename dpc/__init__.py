"""dpc: a small language for probabilistic models, and a compiler that turns them into fast JAX programs."""

from __future__ import annotations


def __getattr__(name: str) -> str:
    """The version is looked up when asked for: package metadata is slow to load."""
    if name == "__version__":
        from importlib.metadata import version

        return version("dpc")
    raise AttributeError(f"module 'dpc' has no attribute {name!r}")
