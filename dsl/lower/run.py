"""Running the functions of a program, which is a tree of code."""

import ast
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax import lax

from ..execute import execute
from ..graph.graph import Graph
from ..library.bodies.source import resolve
from .program import LoweredProgram, lower_program

MODULES = {"jax": jax, "jnp": jnp, "lax": lax, "dist": dist, "Arrays": dict[str, jax.Array]}


def run_program(
    program: LoweredProgram,
    externs: Mapping[str, Callable[..., Any]],
    given: Mapping[str, Any] | None = None,
) -> dict[str, Callable[..., Any]]:
    """The functions that a program defines, by their names in it.

    `externs` are the caller's functions by their names in the model; `given` are other names that
    the program reads, which hide the usual modules.
    """
    space: dict[str, Any] = {
        **MODULES,
        **{helper: resolve(helper) for helper in program.helpers},
        **program.constants,
        **{program.names[key]: value for key, value in externs.items() if key in program.names},
        **(given or {}),
    }
    module = ast.Module([*program.dims, *program.functions], [])
    execute(module, "<dpc>", space)
    return {name: space[name] for name in program.defined}


def run_graph(
    graph: Graph, externs: Mapping[str, Callable[..., Any]]
) -> dict[str, Callable[..., Any]]:
    """The standard functions of a graph."""
    return run_program(lower_program(graph), externs)
