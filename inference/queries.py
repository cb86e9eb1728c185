"""The front of exact inference: every question about a factor graph.

`given` maps a variable to a state (an int), a likelihood vector (an array) or a set of states.
`memory` is a limit in bytes (half of the free memory unless given). A `plan` made once serves all
questions with the same observed variables.
"""

from .engines.numpy.cases import CaseAnswers, infer_cases
from .engines.numpy.decisions import (
    Configuration,
    infer_kbest,
    infer_marginal_mode,
    infer_mode,
    infer_samples,
)
from .engines.numpy.functionals import (
    Moments,
    Term,
    infer_covariance,
    infer_cross_entropy,
    infer_divergence,
    infer_entropy,
    infer_mean,
    infer_moments,
    plan_moments,
)
from .engines.numpy.sums import (
    infer_count,
    infer_factor_marginals,
    infer_in_semiring,
    infer_joint,
    infer_log_partition,
    infer_log_probability,
    infer_marginals,
    infer_probability,
    plan_joint,
    plan_marginals,
    plan_partition,
)

__all__ = [
    "CaseAnswers",
    "Configuration",
    "Moments",
    "Term",
    "infer_cases",
    "infer_count",
    "infer_covariance",
    "infer_cross_entropy",
    "infer_divergence",
    "infer_entropy",
    "infer_factor_marginals",
    "infer_in_semiring",
    "infer_joint",
    "infer_kbest",
    "infer_log_partition",
    "infer_log_probability",
    "infer_marginal_mode",
    "infer_marginals",
    "infer_mean",
    "infer_mode",
    "infer_moments",
    "infer_probability",
    "infer_samples",
    "plan_joint",
    "plan_marginals",
    "plan_moments",
    "plan_partition",
]
