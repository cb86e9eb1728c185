"""Exact inference on chains of finite variables, as scans under JAX."""

from .decode import kbest as kbest
from .decode import mode as mode
from .decode import sample as sample
from .layout import Domain as Domain
from .sums import cross_entropy as cross_entropy
from .sums import divergence as divergence
from .sums import entropy as entropy
from .sums import log_partition as log_partition
from .sums import log_prob as log_prob
from .sums import marginals as marginals
from .sums import score as score
from .sums import unary_marginals as unary_marginals
