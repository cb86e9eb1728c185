"""Gradients of expectations: every draw of a stochastic program has an estimator."""

from dpc.inference import whole_numpyro  # noqa: F401

from .program import Block, Compute, Cost, Draw, Path, Score, Step, Upto
from .surrogate import Estimate, surrogate

__all__ = [
    "Block",
    "Compute",
    "Cost",
    "Draw",
    "Estimate",
    "Path",
    "Score",
    "Step",
    "Upto",
    "surrogate",
]
