"""Networks compared, to prove round trips."""

import numpy as np

from dpc.inference.formats.network import Network


def same_network(a: Network, b: Network, tolerance: float = 0.0) -> bool:
    """The same variables in the same order, and the same tables."""
    heads = [(n.name, n.variables, n.is_bayesian, n.properties, len(n.tables)) for n in (a, b)]
    return heads[0] == heads[1] and all(
        x.scope == y.scope
        and x.properties == y.properties
        and np.allclose(x.values, y.values, rtol=tolerance, atol=0)
        for x, y in zip(a.tables, b.tables, strict=True)
    )
