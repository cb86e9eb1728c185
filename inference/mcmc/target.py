"""The density that is sampled: a NumPyro model over unconstrained space, as pure functions."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
from numpyro.distributions import biject_to
from numpyro.handlers import seed, substitute, trace
from numpyro.infer import init_to_uniform
from numpyro.infer.util import constrain_fn, helpful_support_errors, potential_energy

Values = dict[str, Any]
Shapes = dict[str, tuple[int, ...]]


class TargetDensity:
    """`model` is called without arguments; its latent sites must be continuous."""

    def __init__(self, model: Callable[[], None]):
        self.model = model

    def potential(self, raw: Values) -> Any:
        """Minus the log density in unconstrained space, volume of the bijections included."""
        return potential_energy(self.model, (), {}, raw)

    def constrain(self, raw: Values) -> Values:
        """The values of all latent and deterministic sites."""
        found: Values = constrain_fn(self.model, (), {}, raw, return_deterministic=True)
        return found

    @cached_property
    def shapes(self) -> Shapes:
        """The shape of every latent site in unconstrained space; nothing is computed."""
        found: Shapes = {}

        def run(key: Any) -> None:
            started = substitute(seed(self.model, key), substitute_fn=init_to_uniform())
            for name, site in trace(started).get_trace().items():
                if site["type"] == "sample" and not site["is_observed"]:
                    found[name] = _unconstrained_shape(site)

        jax.eval_shape(run, jax.random.PRNGKey(0))
        return found


def _unconstrained_shape(site: Any) -> tuple[int, ...]:
    with helpful_support_errors(site):
        shape: tuple[int, ...] = biject_to(site["fn"].support).inverse_shape(
            tuple(site["fn"].shape())
        )
    return shape
