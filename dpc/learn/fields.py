"""Losses of a random field in place of its likelihood: cheaper, or of another kind."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from dpc.dsl.record import Record
from dpc.inference.losses.fields import (
    bethe_loss,
    contrastive_loss,
    perturbed_loss,
    pseudo_likelihood,
)
from dpc.inference.losses.structured import perceptron_loss, sparsemap_loss

from ..finite.finite import Finite

Score = Callable[[Finite, list[Any], Any, Any], Any]


class FieldLoss(Record):
    """`needs_engine`: it finds exact modes. `draws`: every evaluation needs a key of its own."""

    about: str
    loss: Score
    needs_engine: bool = False
    draws: bool = False


def _mode(finite: Finite) -> Callable[..., Any]:
    def solve(tables: Any, evidence: Any = None) -> Any:
        shape = len(finite.structure.sizes), finite.structure.most_states
        return finite.engine.mode(
            list(tables), jnp.zeros(shape) if evidence is None else evidence
        ).states

    return solve


def _perturbed(finite: Finite, tables: list[Any], states: Any, key: Any) -> Any:
    return perturbed_loss(finite.structure, _mode(finite), tables, states, key)


FIELD_LOSSES: dict[str, FieldLoss] = {
    "pseudo": FieldLoss(
        "the pseudo-likelihood: each variable given all others",
        lambda finite, tables, states, key: pseudo_likelihood(finite.structure, tables, states),
    ),
    "bethe": FieldLoss(
        "Bethe's log-partition by loopy belief propagation",
        lambda finite, tables, states, key: bethe_loss(finite.structure, tables, states),
    ),
    "contrastive": FieldLoss(
        "contrastive divergence: one Gibbs sweep from the data",
        lambda finite, tables, states, key: contrastive_loss(finite.structure, tables, states, key),
        draws=True,
    ),
    "perturbed": FieldLoss(
        "perturb-and-MAP: the mean of perturbed maxima", _perturbed, needs_engine=True, draws=True
    ),
    "perceptron": FieldLoss(
        "the structured perceptron: the best score less that of the data",
        lambda finite, tables, states, key: perceptron_loss(
            finite.structure, _mode(finite), tables, states
        ),
        needs_engine=True,
        draws=True,
    ),
    "sparsemap": FieldLoss(
        "SparseMAP: the nearest mixture of few configurations",
        lambda finite, tables, states, key: sparsemap_loss(
            finite.structure, _mode(finite), tables, states
        ),
        needs_engine=True,
    ),
}
