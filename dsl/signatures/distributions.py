"""The distributions of the language: one row for each way of giving the parameters, no code.

`numpyro` is the constructor that means the same, written with the names of the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .notation import Signature, parse_signature


@dataclass(frozen=True, slots=True)
class Distribution:
    """`reparametrised`: a draw is a differentiable function of parameters and noise of a fixed law."""

    text: str
    numpyro: str
    doc: str
    reparametrised: bool = False

    @property
    def name(self) -> str:
        return self.text.partition("(")[0]

    @property
    def signature(self) -> Signature:
        return parse_signature(self.text)

    @property
    def discrete(self) -> bool:
        return self.signature.result.domain in {"bool", "int", "count", "index"}


CONTINUOUS = (
    Distribution(
        "Normal(mean: real, sd: positive) -> real",
        "Normal(loc=mean, scale=sd)",
        "the Gaussian; `sd` is the standard deviation",
        reparametrised=True,
    ),
)

DISCRETE = (
    Distribution("Bernoulli(p: unit) -> bool", "Bernoulli(probs=p)", "true with probability p"),
    Distribution("Bernoulli(logits: real) -> bool", "Bernoulli(logits=logits)", "true with odds exp(logits)"),
    Distribution(
        "Categorical(p: simplex[N]) -> index[N]", "Categorical(probs=p)", "a label or index with these probabilities"
    ),
)

DISTRIBUTIONS: tuple[Distribution, ...] = CONTINUOUS + DISCRETE


@cache
def distributions_by_name() -> dict[str, tuple[Distribution, ...]]:
    """Rows of one name are alternatives: the first takes positional arguments, the others are told by name."""
    table: dict[str, tuple[Distribution, ...]] = {}
    for row in DISTRIBUTIONS:
        table[row.name] = (*table.get(row.name, ()), row)
    return table
