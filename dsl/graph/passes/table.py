"""Every rewrite of graphs, in one list: its name and the first sentence of its docstring say all.

Each is a pure function from graph to graph, and its result is verified.
"""

from collections.abc import Callable
from typing import Any

from .joined import join_cases
from .missing import leave_out_missing, open_missing
from .moments import arguments_as_nodes, tilt_moment
from .noncentered import decentre
from .parts import (
    compute_only,
    draws_given,
    guided,
    mark_observed,
    needed_for,
    observed_given,
    one_draw,
    without_draws,
    without_objective,
    without_pieces,
)
from .relaxed import relax
from .split import split
from .standard import PASSES
from .tables import tables_as_parameters

REWRITES: tuple[Callable[..., Any], ...] = (
    *PASSES,
    decentre,
    open_missing,
    leave_out_missing,
    join_cases,
    tables_as_parameters,
    tilt_moment,
    arguments_as_nodes,
    draws_given,
    mark_observed,
    observed_given,
    without_objective,
    without_draws,
    without_pieces,
    one_draw,
    compute_only,
    needed_for,
    guided,
    relax,
    split,
)
