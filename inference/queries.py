"""The front of exact inference: every question about a factor graph.

`given` maps a variable to a state (an int), a likelihood vector (an array) or a set of states.
`memory` is a limit in bytes (half of the free memory unless given). A `plan` made once serves all
questions with the same observed variables.
"""

from .engines.numpy.cases import CaseAnswers as CaseAnswers
from .engines.numpy.cases import infer_cases as infer_cases
from .engines.numpy.decisions import Configuration as Configuration
from .engines.numpy.decisions import count_configurations as count_configurations
from .engines.numpy.decisions import infer_kbest as infer_kbest
from .engines.numpy.decisions import infer_marginal_mode as infer_marginal_mode
from .engines.numpy.decisions import infer_mode as infer_mode
from .engines.numpy.decisions import infer_samples as infer_samples
from .engines.numpy.functionals import Moments as Moments
from .engines.numpy.functionals import Term as Term
from .engines.numpy.functionals import infer_covariance as infer_covariance
from .engines.numpy.functionals import infer_cross_entropy as infer_cross_entropy
from .engines.numpy.functionals import infer_divergence as infer_divergence
from .engines.numpy.functionals import infer_entropy as infer_entropy
from .engines.numpy.functionals import infer_mean as infer_mean
from .engines.numpy.functionals import infer_moments as infer_moments
from .engines.numpy.functionals import plan_moments as plan_moments
from .engines.numpy.sums import infer_count as infer_count
from .engines.numpy.sums import infer_factor_marginals as infer_factor_marginals
from .engines.numpy.sums import infer_in_semiring as infer_in_semiring
from .engines.numpy.sums import infer_joint as infer_joint
from .engines.numpy.sums import infer_log_partition as infer_log_partition
from .engines.numpy.sums import infer_log_probability as infer_log_probability
from .engines.numpy.sums import infer_marginals as infer_marginals
from .engines.numpy.sums import infer_probability as infer_probability
from .engines.numpy.sums import plan_joint as plan_joint
from .engines.numpy.sums import plan_marginals as plan_marginals
from .engines.numpy.sums import plan_partition as plan_partition
