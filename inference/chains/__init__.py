"""Exact inference on chains of finite variables, as scans under JAX."""

from .sums import Marginals, log_partition, marginals, unary_marginals

__all__ = ["Marginals", "log_partition", "marginals", "unary_marginals"]
