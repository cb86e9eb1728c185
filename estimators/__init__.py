"""Gradients of expectations: every draw of a stochastic program has an estimator."""

from dpc.inference import whole_numpyro  # noqa: F401

from .program import Block as Block
from .program import Compute as Compute
from .program import Cost as Cost
from .program import Draw as Draw
from .program import Path as Path
from .program import Score as Score
from .program import Step as Step
from .program import Upto as Upto
from .surrogate import Estimate as Estimate
from .surrogate import surrogate as surrogate
