"""Exact inference on chains of finite variables, as scans under JAX."""

from .decode import Sequences, kbest, mode, sample
from .domains import Domain
from .functionals import cross_entropy, divergence, entropy, log_prob, score
from .sums import Marginals, log_partition, marginals, unary_marginals

__all__ = [
    "Domain",
    "Marginals",
    "Sequences",
    "cross_entropy",
    "divergence",
    "entropy",
    "kbest",
    "log_partition",
    "log_prob",
    "marginals",
    "mode",
    "sample",
    "score",
    "unary_marginals",
]
