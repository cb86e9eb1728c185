"""The numbers of every row against NumPy, SciPy and brute force, and its gradients against finite
differences.

All rows are compiled together, because that is much faster than one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg as sl
import scipy.optimize as so
import scipy.special as sp
from envelopes import ENVELOPES
from scipy.spatial.distance import cdist
from test_runtime_rows import (
    SMOOTH_ROWS,
    arguments,
    by_text,
    call,
    check_type,
    of_floats,
)

from dpc.dsl.library.bodies.source import helpers
from dpc.dsl.library.functions import FUNCTIONS, FunctionRow, functions_by_text

QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

Array = np.ndarray
COMPUTED = [row for row in FUNCTIONS if row.name != "size"]


def is_delicate(row: FunctionRow) -> bool:
    """Its own code chooses between cases, or solves an equation. (betainc compiles long.)"""
    own = helpers().get(functions_by_text()[row.text].body)
    if own is None or row.name == "betainc":
        return False
    return (
        row.name in {"entmax", "sparsemax"}
        or "jnp.where" in own.text
        or "stop_gradient" in own.text
    )


DELICATE = [row for row in SMOOTH_ROWS if is_delicate(row)]
OTHERS = [row for row in SMOOTH_ROWS if not is_delicate(row)]


# ---- what the rows mean, another way


def project(x: Array, t: float = 1.0) -> Array:
    """The nearest point of the simplex to x / t, by trying every support."""
    best, nearest = np.inf, x
    for size in range(1, len(x) + 1):
        for support in map(list, combinations(range(len(x)), size)):
            p = np.zeros_like(x)
            p[support] = x[support] / t + (1 - x[support].sum() / t) / size
            if p.min() >= 0 and np.sum((p - x / t) ** 2) < best:
                best, nearest = np.sum((p - x / t) ** 2), p
    return nearest


def gini(p: Array) -> float:
    return 0.5 - 0.5 * p @ p


def shannon(p: Array) -> float:
    return float(sp.entr(p).sum())


def tsallis(p: Array, a: float) -> float:
    return shannon(p) if a == 1 else (1 - np.sum(p**a)) / (a * (a - 1))


def entmax_weights(x: Array, a: float, t: float = 1.0) -> Array:
    """p^(a - 1) = (a - 1) x / t - tau where that is positive, with tau by Brent's method."""
    scores = (a - 1) * x / t

    def weights(tau: float) -> Array:
        return np.maximum(scores - tau, 0) ** (1 / (a - 1))

    top = (a - 1) * x.max() / t
    ends = sorted([top - 1, top - len(x) ** (1 - a)])
    return weights(so.brentq(lambda tau: weights(tau).sum() - 1, *ends, xtol=1e-15))


def entmax_value(x: Array, a: float, t: float = 1.0) -> float:
    p = entmax_weights(x, a, t)
    return x @ p + t * tsallis(p, a)


def sparsemax(x: Array, t: float = 1.0) -> float:
    return x @ project(x, t) + t * gini(project(x, t))


def divergence(p: Array, q: Array) -> float:
    return float(sp.kl_div(p, q).sum())


def insert(items: Array, i: int, value: float) -> Array:
    return np.insert(items, int(i), value)


def replace(items: Array, i: int, value: float) -> Array:
    return np.array([value if j == i else item for j, item in enumerate(items)])


def mean_over(p: Array, outcome: Callable[[int], Array]) -> Array:
    return sum(p[i] * outcome(i) for i in range(len(p)))


def distances(keys: Array, key: Array) -> Array:
    return np.array([np.linalg.norm(k - key) for k in keys])


def key_weights(keys: Array, key: Array, scale: float) -> Array:
    return sp.softmax(-(distances(keys, key) ** 2) / (2 * scale**2))


def attention(q: Array, k: Array, v: Array, t: float) -> Array:
    return np.stack([sp.softmax(row @ k.T / t) @ v for row in q])


def masked_attention(q: Array, k: Array, v: Array, mask: Array, t: float) -> Array:
    return np.stack(
        [
            sp.softmax(row @ k[m].T / t) @ v[m] if m.any() else 0 * v[0]
            for row, m in zip(q, mask, strict=True)
        ]
    )


def kernel(correlation: Callable[[Array], Array]) -> Callable[..., Array]:
    def covariance(x: Array, *rest: Array) -> Array:
        y, scale, length = (x, *rest) if len(rest) == 2 else rest
        points = [v[:, None] if v.ndim == 1 else v for v in (x, y)]
        return scale**2 * correlation(cdist(*points) / length)

    return covariance


def standardise(x: Array, epsilon: float) -> Array:
    return (x - x.mean(0)) / np.sqrt(x.var(0) + epsilon)


ELEMENTARY: dict[str, Callable[..., Array]] = {
    "pow": np.power,
    "log1mexp": lambda x: np.log(1 - np.exp(-x)),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "Phi": sp.ndtr,
    "Phi_inverse": sp.ndtri,
    "logistic": sp.expit,
    "lgamma": sp.gammaln,
    "lbeta": sp.betaln,
    "lchoose": lambda n, k: np.log(sp.binom(n, k)),
    "step": lambda x: x >= 0,
    "mod": lambda a, b: a - b * np.floor(a / b),
    "logdiffexp": lambda a, b: np.log(np.exp(a) - np.exp(b)),
    "relu": lambda x: np.maximum(x, 0),
    "softplus": lambda x: np.log(1 + np.exp(x)),
    "sparseplus": lambda x: np.where(x > 1, x, np.clip(x + 1, 0, 2) ** 2 / 4),
    "sparsesigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "gelu": lambda x: x * sp.ndtr(x),
    "silu": lambda x: x * sp.expit(x),
    "elu": lambda x, a: np.where(x > 0, x, a * np.expm1(x)),
    "leaky_relu": lambda x, a: np.where(x > 0, x, a * x),
    "huber": lambda x, t: np.where(abs(x) <= t, x**2 / 2, t * (abs(x) - t / 2)),
    "soft_threshold": lambda x, t: np.sign(x) * np.maximum(abs(x) - t, 0),
}

ARRAYS: dict[str, Callable[..., Array]] = {
    "var": lambda x: np.var(x, ddof=1),
    "sd": lambda x: np.std(x, ddof=1),
    "cummax": np.maximum.accumulate,
    "cummin": np.minimum.accumulate,
    "cumlogsumexp": np.logaddexp.accumulate,
    "rank": lambda x: np.array([sum(y < z for y in x) for z in x]),
    "reverse": lambda x: x[::-1],
    "zeros": lambda *n: np.zeros(n),
    "ones": lambda *n: np.ones(n),
    "full": lambda v, *n: np.full(n, v),
    "linspace": lambda n, a, b: np.linspace(a, b, n),
    "one_hot": lambda i, n: np.eye(n)[i],
    "quadratic_form": lambda a, x: x @ a @ x,
    "norm": np.linalg.norm,
    "norm1": lambda x: abs(x).sum(),
    "distance": lambda a, b: np.linalg.norm(a - b),
    "squared_distance": lambda a, b: np.sum((a - b) ** 2),
    "normalize": lambda x: x / np.linalg.norm(x),
    "layer_norm": standardise,
    "batch_norm": standardise,
    "group_soft_threshold": lambda x, t: x * max(1 - t / np.linalg.norm(x), 0),
    "det": np.linalg.det,
    "logdet": lambda a: np.log(abs(np.linalg.det(a))),
    "inv": np.linalg.inv,
    "solve": lambda a, b: np.linalg.inv(a) @ b,
    "cholesky": np.linalg.cholesky,
    "solve_triangular": lambda a, b: np.linalg.inv(a) @ b,
    "matrix_exp": sl.expm,
    "gp_exp_quad": kernel(lambda d: np.exp(-(d**2) / 2)),
    "gp_exponential": kernel(lambda d: np.exp(-d)),
    "gp_matern32": kernel(lambda d: (1 + np.sqrt(3) * d) * np.exp(-np.sqrt(3) * d)),
    "gp_matern52": kernel(lambda d: (1 + np.sqrt(5) * d + 5 * d**2 / 3) * np.exp(-np.sqrt(5) * d)),
}

SMOOTH: dict[str, Callable[..., Array]] = {
    "softmax": lambda x, t: t * np.log(np.sum(np.exp(x / t))),
    "softmin": lambda x, t: -t * np.log(np.sum(np.exp(-x / t))),
    "softargmax": lambda x, t: sp.softmax(x / t),
    "softargmin": lambda x, t: sp.softmax(-x / t),
    "log_softargmax": lambda x, t: sp.log_softmax(x / t),
    "softargmax_inverse": lambda p: np.log(p / np.prod(p) ** (1 / len(p))),
    "sparsemax": sparsemax,
    "sparsemin": lambda x, t: -sparsemax(-x, t),
    "sparseargmax": project,
    "sparseargmin": lambda x, t: project(-x, t),
    "entmax": entmax_value,
    "entargmax": entmax_weights,
    "entropy": shannon,
    "gini_entropy": gini,
    "tsallis_entropy": tsallis,
    "kl": divergence,
}

TARGETS: dict[str, Callable[..., Array]] = {
    "logistic_loss": lambda x, q: divergence(q, sp.softmax(x)),
    "sparsemax_loss": lambda x, q: sparsemax(x) - gini(q) - x @ q,
    "entmax_loss": lambda x, q, a: entmax_value(x, a) - tsallis(q, a) - x @ q,
    "perceptron_loss": lambda x, q: x.max() - x @ q,
}

LISTS: dict[str, Callable[..., Array]] = {
    "get": lambda items, i: items[i],
    "set": replace,
    "insert": insert,
    "push_left": lambda items, v: np.array([v, *items]),
    "push_right": lambda items, v: np.array([*items, v]),
    "pop_left": lambda items: items[1:],
    "pop_right": lambda items: items[:-1],
    "concat": lambda a, b: np.array([*a, *b]),
    "soft_get": lambda items, p, *q: mean_over(
        p, lambda i: mean_over(q[0], lambda j: items[i, j]) if q else items[i]
    ),
    "soft_set": lambda items, p, v: mean_over(p, lambda i: replace(items, i, v)),
    "soft_insert": lambda items, p, v: mean_over(p, lambda i: insert(items, i, v)),
    "lookup": lambda keys, values, key: values[np.argmin(distances(keys, key))],
    "update": lambda keys, values, key, v: np.where(distances(keys, key) == 0, v, values),
    "lookup_weights": key_weights,
    "soft_lookup": lambda keys, values, key, s: key_weights(keys, key, s) @ values,
    "attention": lambda *given: (attention if len(given) == 4 else masked_attention)(*given),
}

REFERENCES = ELEMENTARY | ARRAYS | SMOOTH | ENVELOPES | LISTS
BINARY = {"min": np.minimum, "max": np.maximum, "logsumexp": np.logaddexp}


def on_label(loss: Callable[..., Array]) -> Callable[..., Array]:
    return lambda x, label, *rest: loss(x, np.eye(len(x))[label], *rest)


def reference(row: FunctionRow) -> Callable[..., Array]:
    params = row.signature.params
    if row.name in TARGETS:
        return TARGETS[row.name] if params[1].name == "target" else on_label(TARGETS[row.name])
    if row.name in BINARY and len(params) == 2:
        return BINARY[row.name]
    return REFERENCES.get(row.name) or getattr(np, row.name, None) or getattr(sp, row.name)


# ---- values


def compute(dtype: type) -> dict[str, Array]:
    """The values of all rows, compiled together."""
    given = {row.text: arguments(row, dtype) for row in COMPUTED}
    traced = {text: [v for v in each if not isinstance(v, int)] for text, each in given.items()}

    def every(arrays: dict[str, list[jax.Array]]) -> dict[str, jax.Array]:
        found = {}
        for row in COMPUTED:
            left = iter(arrays[row.text])
            found[row.text] = call(
                row, [v if isinstance(v, int) else next(left) for v in given[row.text]]
            )
        return found

    return {text: np.asarray(value) for text, value in jax.jit(every)(traced).items()}


@pytest.fixture(scope="module")
def values() -> dict[str, Array]:
    return compute(np.float64)


@by_text(COMPUTED)
def test_values_are_those_of_numpy_or_brute_force(
    row: FunctionRow, values: dict[str, Array]
) -> None:
    given = [v if isinstance(v, int) else np.asarray(v)[()] for v in arguments(row)]
    check_type(row, values[row.text], np.float64)
    np.testing.assert_allclose(values[row.text], reference(row)(*given), rtol=1e-11, atol=1e-13)


@pytest.mark.slow
def test_single_precision_gives_nearly_the_same_values(values: dict[str, Array]) -> None:
    for text, value in compute(np.float32).items():
        np.testing.assert_allclose(value, values[text], rtol=1e-4, atol=1e-5, err_msg=text)


MEMBERS: dict[str, Callable[[Array], bool]] = {
    "positive": lambda x: bool(np.all(x > 0)),
    "nonnegative": lambda x: bool(np.all(x >= 0)),
    "unit": lambda x: bool(np.all((x >= 0) & (x <= 1))),
    "count": lambda x: bool(np.all(x >= 0)),
    "simplex": lambda x: bool(np.all(x >= 0)) and abs(x.sum() - 1) < 1e-12,
    "unit_vector": lambda x: abs((x**2).sum() - 1) < 1e-12,
    "cholesky": lambda x: bool(np.all(np.triu(x, 1) == 0) and np.all(np.diagonal(x) > 0)),
    "covariance": lambda x: bool(np.all(x == x.T) and np.all(np.linalg.eigvalsh(x) > 0)),
    "correlation": lambda x: bool(np.all(x == x.T) and np.all(np.linalg.eigvalsh(x) > 0)),
}


@by_text([row for row in COMPUTED if row.signature.result.domain in MEMBERS])
def test_values_lie_in_the_declared_domain(row: FunctionRow, values: dict[str, Array]) -> None:
    assert MEMBERS[row.signature.result.domain](values[row.text])


# ---- gradients


STEP = 1e-4
POINTS = STEP * np.array([0, 1, -1, 2, -2])


def along(row: FunctionRow) -> Callable[[jax.Array], jax.Array]:
    """A weighted sum of the row's results as a function of the distance moved in a random
    direction.
    """
    function, floats = of_floats(row, arguments(row))
    rng = np.random.default_rng(7)
    directions = [rng.normal(size=v.shape) for v in floats]
    if row.name == "solve_triangular":
        directions[0] = np.tril(directions[0])
    weights = rng.normal(size=jax.eval_shape(function, *floats).shape)
    return lambda t: jnp.sum(
        weights * function(*(v + t * d for v, d in zip(floats, directions, strict=True)))
    )


def check_gradients(rows: Iterable[FunctionRow]) -> None:
    functions = {row.text: jax.vmap(jax.value_and_grad(along(row))) for row in rows}
    compiled = jax.jit(
        lambda points: {text: function(points) for text, function in functions.items()}
    )
    for text, (at, slopes) in compiled(jnp.asarray(POINTS)).items():
        numeric = (8 * (at[1] - at[2]) - (at[3] - at[4])) / (12 * STEP)
        np.testing.assert_allclose(slopes[0], numeric, rtol=1e-6, atol=1e-8, err_msg=text)


def test_gradients_of_delicate_rows_are_those_of_finite_differences() -> None:
    check_gradients(DELICATE)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(OTHERS), 40))
def test_gradients_of_all_other_rows_are_those_of_finite_differences(first: int) -> None:
    check_gradients(OTHERS[first : first + 40])
