"""dpc: a small language for probabilistic models, and a compiler that turns them into fast JAX programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpc.dsl.data import DataError
    from dpc.dsl.diagnostics import DpError
    from dpc.dsl.embed.load import load, parse
    from dpc.dsl.embed.model import Model

__all__ = ["DataError", "DpError", "Model", "load", "parse"]

_HOME = {
    "DataError": "dpc.dsl.data",
    "DpError": "dpc.dsl.diagnostics",
    "Model": "dpc.dsl.embed.model",
    "load": "dpc.dsl.embed.load",
    "parse": "dpc.dsl.embed.load",
}


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext dpc` in a notebook."""
    from dpc.dsl.embed.magic import register

    register(shell)


def __getattr__(name: str) -> Any:
    """Everything is imported when it is asked for: `dpc check` needs none of it, and jax takes a second to load."""
    if name == "__version__":
        from importlib.metadata import version

        return version("dpc")
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'dpc' has no attribute {name!r}")
