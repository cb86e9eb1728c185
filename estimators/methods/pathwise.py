"""Pathwise: x = g(theta, noise), d E[f(x)] = E[f'(x) d g] (DI20, DI23); NumPyro's samplers."""

from dataclasses import dataclass
from typing import ClassVar

import jax
from numpyro.distributions import Distribution

from .method import Method, Points


@dataclass(frozen=True)
class Pathwise(Method):
    name: ClassVar[str] = "pathwise"

    def points(self, key: jax.Array, law: Distribution, local: tuple[int, ...]) -> Points:
        return Points(jax.tree.map(lambda x: x[None], law.rsample(key)))

    @classmethod
    def refusal(cls, law: Distribution) -> str:
        return (
            "" if law.has_rsample else "its draws are no differentiable function of its parameters"
        )
