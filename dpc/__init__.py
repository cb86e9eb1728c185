"""dpc: a small language for probabilistic models, and its compiler to fast JAX programs."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpc.dsl.diagnostics import DpError

    from .data import DataError
    from .extend import add_distribution, add_estimator, add_function
    from .model.load import load, parse
    from .model.model import Model
    from .model.values import OPEN

__all__ = [
    "OPEN",
    "DataError",
    "DpError",
    "Model",
    "add_distribution",
    "add_estimator",
    "add_function",
    "load",
    "parse",
]

_HOME = {
    "OPEN": "dpc.model.values",
    "DataError": "dpc.data",
    "DpError": "dpc.dsl.diagnostics",
    "Model": "dpc.model.model",
    "add_distribution": "dpc.extend",
    "add_estimator": "dpc.extend",
    "add_function": "dpc.extend",
    "load": "dpc.model.load",
    "parse": "dpc.model.load",
}


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext dpc` in a notebook."""
    from .show.magic import register

    register(shell)


def __getattr__(name: str) -> Any:
    """Imported when asked for: `dpc check` needs none of it, and jax takes a second to load."""
    if name == "__version__":
        from importlib.metadata import version

        return version("dpc")
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'dpc' has no attribute {name!r}")
