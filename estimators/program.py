"""A stochastic program as plain records: what is computed, drawn, and what it costs, in order.

Functions take the values of their parents by name. A draw and a cost may have several elements
along leading axes, its plates. `follows["z"] = {0: 1}` says that an element depends on those
elements of the draw z alone whose place along axis 0 of z is its own along axis 1; with Upto(1), on
those up to its own place, as in a recurrence. Without such knowledge it depends on all of them.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jax import Array
from numpyro.distributions import Distribution

from .methods.method import Method

Values = Mapping[str, Any]


class Upto(int):
    """An axis along which something depends on its own place and on all before it."""


Follows = Mapping[str, Mapping[int, int]]
NOTHING: Follows = {}


class Compute(NamedTuple):
    """A value that is certain once its parents are known."""

    name: str
    parents: tuple[str, ...]
    value: Callable[[Values], Array]


class Draw(NamedTuple):
    """A random value, drawn once for every particle; `dist` has a batch axis for every plate. With
    `samples` of its own it is drawn that often for each sample of its parents. `critic` is a value,
    not below the draw, that is subtracted from the costs before they weigh its score.
    """

    name: str
    parents: tuple[str, ...]
    dist: Callable[[Values], Distribution]
    method: Method
    plates: int = 0
    follows: Follows = NOTHING
    samples: int | None = None
    critic: str | None = None


class Path(NamedTuple):
    """A finite draw along a recurrence of its own, of values 0 ... `support` - 1, summed exactly.
    `mass(values, own)` is the probability that each element is as in `own`, given those before it
    as in `values`; in a `chain`, given the one a step before along `axis`, at its place elsewhere.
    """

    name: str
    parents: tuple[str, ...]
    mass: Callable[[Values, Array], Array]
    shape: tuple[int, ...]
    support: int
    axis: int
    chain: bool
    follows: Follows = NOTHING


class Score(NamedTuple):
    """The elementwise log density of a part of a block, given parents and the block."""

    name: str
    parents: tuple[str, ...]
    log_prob: Callable[[Values], Array]
    method: Method
    plates: int = 0


class Block(NamedTuple):
    """Values drawn together, as of a recurrence; parts without a score are differentiable."""

    name: str
    parents: tuple[str, ...]
    sample: Callable[[Array, Values], Mapping[str, Array]]
    gives: tuple[str, ...]
    scores: tuple[Score, ...]
    samples: int | None = None


class Cost(NamedTuple):
    """A summand of what is averaged; axes after the plates are its own: vectors give Jacobians."""

    name: str
    parents: tuple[str, ...]
    value: Callable[[Values], Array]
    plates: int = 0
    follows: Follows = NOTHING


Step = Compute | Draw | Path | Block | Cost
