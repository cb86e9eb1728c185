"""Gradients of expectations: every draw of a stochastic program has an estimator. Knows nothing of the language."""

from .program import Block, Compute, Cost, Draw, Score, Step, Upto
from .surrogate import Estimate, surrogate

__all__ = ["Block", "Compute", "Cost", "Draw", "Estimate", "Score", "Step", "Upto", "surrogate"]
