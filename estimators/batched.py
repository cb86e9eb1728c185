"""A law for every sample of what is above it, as one law: its parameters with the sample axes
before their own.

Draws of it for all samples are then elements of one draw, from one key, which is several times
faster than a key for every sample.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.distributions import Distribution, ExpandedDistribution

from .axes import Placed, mapped

PARAMETERS: dict[type, dict[str, int]] = {
    dist.Normal: {"loc": 0, "scale": 0},
    dist.LogNormal: {"loc": 0, "scale": 0},
    dist.Laplace: {"loc": 0, "scale": 0},
    dist.Logistic: {"loc": 0, "scale": 0},
    dist.Cauchy: {"loc": 0, "scale": 0},
    dist.Gumbel: {"loc": 0, "scale": 0},
    dist.StudentT: {"df": 0, "loc": 0, "scale": 0},
    dist.Uniform: {"low": 0, "high": 0},
    dist.HalfNormal: {"scale": 0},
    dist.Exponential: {"rate": 0},
    dist.Gamma: {"concentration": 0, "rate": 0},
    dist.Beta: {"concentration1": 0, "concentration0": 0},
    dist.Dirichlet: {"concentration": 1},
    dist.BernoulliProbs: {"probs": 0},
    dist.BernoulliLogits: {"logits": 0},
    dist.CategoricalProbs: {"probs": 1},
    dist.CategoricalLogits: {"logits": 1},
    dist.BinomialProbs: {"probs": 0, "total_count": 0},
    dist.BinomialLogits: {"logits": 0, "total_count": 0},
    dist.GeometricProbs: {"probs": 0},
    dist.GeometricLogits: {"logits": 0},
    dist.Poisson: {"rate": 0},
}
"""Laws that are made of arrays alone, with the number of axes of an event that each of these has.
"""


def batched_law(
    law: Callable[[Mapping[str, Any]], Distribution],
    given: Mapping[str, Placed],
    axes: tuple[int, ...],
    shape: tuple[int, ...],
) -> Distribution | None:
    """The distribution with these sample axes before its plates; None if not made of arrays."""
    every, own = mapped(law, given)
    base = every.base_dist if isinstance(every, ExpandedDistribution) else every
    if type(base) not in PARAMETERS:
        return None
    plates: tuple[int, ...] = every.batch_shape

    def placed(array: jax.Array, event: int) -> jax.Array:
        """Axes of length one for samples that it is independent of and plates it lacks."""
        array = jnp.expand_dims(
            array, [place for place, axis in enumerate(axes) if axis not in own]
        )
        missing = len(axes) + len(plates) + event - array.ndim
        return jnp.expand_dims(array, range(len(axes), len(axes) + missing))

    parameters = {
        name: placed(getattr(base, name), event) for name, event in PARAMETERS[type(base)].items()
    }
    return type(base)(**parameters).expand((*shape, *plates))
