"""The table of families: adding a row, and nothing else, adds a family and its tests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InferenceError
from .counts import bernoulli, binomial, categorical, geometric, multinomial, poisson
from .family import Family
from .normals import multivariate_normal, normal, normal_of_known_scale, wishart
from .positives import beta, dirichlet, exponential, gamma, laplace_of_known_location, von_mises


@dataclass(frozen=True)
class FamilyRow:
    """How a family is made, from what is known beforehand; `example` is that in the tests."""

    make: Callable[..., Family]
    example: Mapping[str, Any] = field(default_factory=dict)


FAMILIES = {
    "Bernoulli": FamilyRow(bernoulli),
    "Categorical": FamilyRow(categorical, {"size": 4}),
    "Binomial": FamilyRow(binomial, {"total_count": 9}),
    "Multinomial": FamilyRow(multinomial, {"total_count": 5, "size": 3}),
    "Poisson": FamilyRow(poisson),
    "Geometric": FamilyRow(geometric),
    "Normal of known scale": FamilyRow(normal_of_known_scale, {"scale": 1.7}),
    "Normal": FamilyRow(normal),
    "MultivariateNormal": FamilyRow(multivariate_normal, {"size": 2}),
    "Exponential": FamilyRow(exponential),
    "Gamma": FamilyRow(gamma),
    "Beta": FamilyRow(beta),
    "Dirichlet": FamilyRow(dirichlet, {"size": 3}),
    "Laplace of known location": FamilyRow(laplace_of_known_location, {"loc": 0.4}),
    "VonMises": FamilyRow(von_mises),
    "Wishart": FamilyRow(wishart, {"size": 2}),
}

NOT_FAMILIES = {
    "Gumbel": "its density holds exp(-(x - loc) / scale), no finite sum of parameters times "
    "statistics; with the scale known, exp(-x / scale) is Exponential of rate exp(loc / scale)",
    "Laplace": "|x - loc| is no finite sum of parameters times statistics; with the location known "
    "it is one, 'Laplace of known location'",
}


def find_family(name: str, **known: Any) -> Family:
    """The family of that name, with what is known beforehand (`total_count`, `size`, ...)."""
    if name in NOT_FAMILIES:
        raise InferenceError(f"{name} is not an exponential family: {NOT_FAMILIES[name]}")
    if name not in FAMILIES:
        raise InferenceError(
            f"{name} is not in the table of families, which has {', '.join(FAMILIES)}"
        )
    row = FAMILIES[name]
    if set(known) != set(row.example):
        needed, given = (", ".join(sorted(names)) or "nothing" for names in (row.example, known))
        raise InferenceError(f"{name} is made from {needed}, not from {given}")
    return row.make(**known)
