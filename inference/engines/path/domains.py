"""Which arithmetic a pass runs in: scaled numbers where nothing can underflow, else logarithms.

Scaled messages lose what falls below the smallest number of the dtype. That is harmless if (a) no
pair potential is zero and none spans more than WIDE of the exponent range: what is lost before a
step can count for at most exp(range of the pair potential) times its share after it, whatever the
unary potentials are; it does not happen if (b) the finite potentials of a step span at most NARROW
of the range, and no non-zero entry of any message came below HALF of it. (a) is read off the
potentials; (b) off the messages, and only where (a) fails, as it does with zeros in the pair
potentials. Where both fail the same questions are answered in logarithms.

To compile both ways takes twice as long as one. The domain "checked" is for those who may ask
again: the scaled way alone, and NaN in place of log Z where "auto" would answer in logarithms.
"""

from collections.abc import Callable
from math import exp
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap

from ...errors import InferenceError

Array = jax.Array
Domain = Literal["auto", "scaled", "log", "checked"]
WIDE, HALF, NARROW = 0.6, 0.5, 0.45


def verify_domain(domain: Domain, *, of_log_partition: bool = False) -> None:
    known = [one for one in get_args(Domain) if one != "checked" or of_log_partition]
    if domain not in known:
        raise InferenceError(f"domain is one of {', '.join(known)}, not {domain!r}")


def exponent_range(dtype: Any) -> float:
    """-log of the smallest normal number: 87 in float32, 708 in float64."""
    return float(-np.log(np.finfo(dtype).tiny))


def lowest_finite(logs: Array) -> Array:
    """The least log-weight that is not -inf (0 if none is); tops are already subtracted."""
    return jnp.min(jnp.where(jnp.isneginf(logs), 0.0, logs), initial=0.0)


def lowest_positive(values: Array) -> Array:
    return jnp.min(jnp.where(values > 0, values, 1.0), initial=1.0)


def nothing_lost(spans: Array, messages: Array) -> Array:
    """(b): `spans` is the sum of the ranges of the finite potentials of the widest step."""
    limit = exponent_range(messages.dtype)
    return (spans <= NARROW * limit) & (lowest_positive(messages) >= exp(-HALF * limit))


@custom_vmap
def everywhere(flag: Array) -> Array:
    """The flag; under vmap, whether all are set, so that `lax.cond` runs one branch, not both."""
    return flag


@everywhere.def_vmap
def everywhere_in_batch(axis_size: int, in_batched: list[bool], flag: Array) -> tuple[Array, bool]:
    return jnp.all(flag), False


def choose_domain(
    domain: Domain, safe: Callable[[], Array], scaled: Callable[[], Any], logs: Callable[[], Any]
) -> Any:
    """In scaled numbers if asked or `safe`, else in logarithms; log Z is the first of it."""
    if domain == "auto":
        return jax.lax.cond(everywhere(safe()), scaled, logs)
    if domain == "checked":
        (log_z, *rest), structure = jax.tree.flatten(scaled())
        return jax.tree.unflatten(structure, [jnp.where(safe(), log_z, jnp.nan), *rest])
    return scaled() if domain == "scaled" else logs()
