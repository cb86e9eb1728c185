"""Every rewrite of graphs, in one list: a name and the first sentence of its docstring say all."""

from collections.abc import Callable
from typing import Any

from . import (
    chances,
    gumbel,
    joined,
    missing,
    moments,
    noncentered,
    parts,
    relaxed,
    sampled,
    scatter,
    smoothing,
    split,
    standard,
    tables,
)

REWRITES: tuple[Callable[..., Any], ...] = (
    *standard.PASSES,
    noncentered.decentre,
    missing.open_missing,
    missing.leave_out_missing,
    joined.join_cases,
    tables.tables_as_parameters,
    moments.tilt_moment,
    moments.arguments_as_nodes,
    chances.ask_of_distributions,
    chances.add_entropies,
    parts.draws_given,
    parts.mark_observed,
    parts.observed_given,
    parts.without_objective,
    parts.bound_as_number,
    parts.without_draws,
    parts.without_pieces,
    parts.one_draw,
    parts.compute_only,
    parts.needed_for,
    parts.guided,
    relaxed.relax,
    gumbel.gumbel_max,
    scatter.scatter,
    split.split,
    sampled.sample_sides,
    smoothing.by_another_rule,
)
