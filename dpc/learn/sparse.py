"""Fenchel-Young losses of classifiers: other regularisers than Shannon's entropy, for laws that are
given by logits.

L(theta, y) = Omega*(theta) + Omega(y) - <theta, y>,   with predictions that may be exactly zero
(DU07, DU08)
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from dpc.dsl.library.rows import Distribution
from dpc.inference.losses.fenchel_young import fenchel_young, tsallis

from .likelihood import Arrays, Likelihood
from .natural import Natural, observed

Values = dict[str, Any]

SPARSE_LOSSES: dict[str, tuple[float, str]] = {
    "sparsemax": (2.0, "sparsemax: Gini's entropy in place of Shannon's"),
    "entmax": (1.5, "1.5-entmax: Tsallis' entropy in place of Shannon's"),
}


def why_not_sparse(likelihood: Likelihood) -> str:
    """Empty where all laws of the data are Categorical or Bernoulli with logits."""
    if not likelihood.is_complete or not likelihood.roles.is_normalised or likelihood.masked:
        return "it needs complete data and a directed model"
    for node in observed(likelihood):
        for law in node.laws:
            if not (law.facts.finite and law.facts.natural):
                return (
                    f"`{node.name}` is {law.name}({', '.join(dict(law.arguments))}), and it is "
                    "for laws with logits"
                )
    return ""


def sparse_loss(likelihood: Likelihood, name: str) -> Callable[[Values, list[Arrays]], Any]:
    """sum over the data of L(logits, what was seen), less the log density of the prior."""
    regulariser = tsallis(SPARSE_LOSSES[name][0])
    natural = Natural(likelihood)

    def each(row: Distribution, odds: Any, y: Any) -> Any:
        # the reference, with logit zero, is `false` of a Bernoulli and the last of a Categorical
        zero = jnp.zeros_like(odds[..., :1])
        theta = jnp.concatenate([zero, odds] if row.coin else [odds, zero], axis=-1)
        seen = jax.nn.one_hot(jnp.asarray(y, int), theta.shape[-1], dtype=theta.dtype)
        return fenchel_young(regulariser, theta, seen)

    def loss(raw: Values, arrays: list[Arrays]) -> Any:
        outputs, _ = natural.outputs(raw, arrays)
        return natural.total(each, outputs, arrays) - likelihood.log_prior(
            likelihood.constrain(raw)
        )

    return loss
