"""One forward pass: an engine gives log Z and finds configurations; the rest is derived from log Z.

P(v = s) = d log Z / d evidence[v, s],    P(scope) = d log Z / d tables,    H = log Z - E[score]
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp

Array = Any
Tables = Sequence[Array]


class Decoded(NamedTuple):
    """States, and the sum of log-potentials there: -inf where nothing is possible."""

    states: Array
    score: Array


class Engine(ABC):
    """Answers for one structure, as pure functions that jit, vmap and grad accept. Tables are
    log-potentials, [factors or 1, states...] a group; evidence [variables, most states].
    """

    @abstractmethod
    def log_partition(self, tables: Tables, log_evidence: Array) -> Array:
        """log Z; minus infinity, with gradient zero, where nothing is possible."""

    @abstractmethod
    def mode(self, tables: Tables, log_evidence: Array) -> Decoded:
        """One most probable configuration, and its log-score."""

    @abstractmethod
    def sample(self, key: Array, count: int, tables: Tables, log_evidence: Array) -> Array:
        """Exact joint samples (sample, variable); they mean nothing where log Z is -infinity."""

    def in_any_range(self) -> Self:
        """The engine itself, or one whose log Z is never NaN where potentials are too wide."""
        return self

    def marginals(self, tables: Tables, log_evidence: Array) -> Array:
        """P(v = s) in row v, column s; zeros beyond its states, and on impossible evidence."""
        return jax.grad(self.in_any_range().log_partition, 1)(tables, log_evidence)

    def factor_marginals(self, tables: Tables, log_evidence: Array) -> Tables:
        """P(scope) of every factor, in arrays like the tables; added up where factors share one."""
        found: Tables = jax.grad(self.in_any_range().log_partition)(tables, log_evidence)
        return found

    def entropy(self, tables: Tables, log_evidence: Array) -> Array:
        """H = log Z - E[score] of all variables together, in nats; zero times -infinity is zero."""
        both = jax.value_and_grad(self.in_any_range().log_partition, (0, 1))
        log_z, marginals = both(tables, log_evidence)
        for p, logs in zip(jax.tree.leaves(marginals), [*tables, log_evidence], strict=True):
            possible = logs > -jnp.inf
            log_z = log_z - jnp.vdot(jnp.where(possible, p, 0.0), jnp.where(possible, logs, 0.0))
        return log_z
