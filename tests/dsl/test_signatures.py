"""The signature tables: their notation, and what every row claims, held against NumPyro and
SciPy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from zlib import crc32

import jax
import numpy as np
import numpyro
import numpyro.distributions as nd
import pytest
import scipy.special as sp
import scipy.stats as st
from envelopes import ENVELOPES

from dpc.dsl.library.bodies.source import resolve
from dpc.dsl.library.distributions import DISTRIBUTIONS, distributions_by_name
from dpc.dsl.library.functions import FUNCTIONS, FunctionRow, functions_by_name
from dpc.dsl.library.notation import DOMAIN_WORDS, ParamSpec, Signature, TypeSpec
from dpc.dsl.library.rows import Distribution
from dpc.estimators.methods.pathwise import Pathwise

LOOSE_JAX = "NumPyro promotes types and ranks"

Values = dict[str, np.ndarray | int]
Row = FunctionRow | Distribution
ROWS: tuple[Row, ...] = (*FUNCTIONS, *DISTRIBUTIONS)
ELEMENTWISE = [row for row in FUNCTIONS if row.signature.elementwise]
CONTINUOUS = [row for row in DISTRIBUTIONS if not row.discrete]
WHOLE = {"int", "count", "bool", "index"}
VECTORS = {"simplex", "ordered", "positive_ordered", "unit_vector"}
MATRICES = {"cholesky", "corr_cholesky", "covariance", "correlation"}
SIZES = {"N": 3, "M": 2, "K": 2, "D": 3}


def by_text(
    rows: Iterable[Row], slow: Callable[[Row], bool] = lambda row: False
) -> pytest.MarkDecorator:
    marks = {True: [pytest.mark.slow], False: []}
    return pytest.mark.parametrize(
        "row", [pytest.param(r, marks=marks[slow(r)], id=r.text) for r in rows]
    )


def call_form(row: Row) -> str:
    return f"{row.name}({', '.join(p.name for p in row.signature.params)})"


# ---- the notation


def all_types(signature: Signature) -> list[TypeSpec]:
    return [p.type for p in signature.params] + [signature.result]


def test_words_have_the_axes_they_need() -> None:
    for row in ROWS:
        for type_ in all_types(row.signature):
            if type_.domain in MATRICES:
                assert len(type_.axes) == 2, row.text
                assert len(set(type_.axes)) == 1, row.text
            elif type_.domain in VECTORS | {"index"}:
                assert len(type_.axes) == 1, row.text
            elif type_.domain == "dim":
                assert not type_.axes, row.text


def test_the_axes_of_a_result_are_those_of_its_parameters() -> None:
    for row in ROWS:
        params = row.signature.params
        known = {axis for p in params for axis in p.type.axes}
        known |= {("*" if p.variadic else "") + p.name for p in params if p.type.domain == "dim"}
        for axis in row.signature.result.axes:
            assert axis in known or set(re.findall(r"[A-Z]", axis)) <= known, row.text


def test_num_and_item_in_a_result_are_those_of_a_parameter() -> None:
    for row in ROWS:
        word = row.signature.result.domain
        assert word != "dim", row.text
        assert word not in {"num", "item"} or word in {
            p.type.domain for p in row.signature.params
        }, row.text


def test_optional_parameters_come_last_with_values_of_their_domain() -> None:
    for row in ROWS:
        params = row.signature.params
        assert [p.optional for p in params] == sorted(p.optional for p in params), row.text
        assert not any(p.variadic for p in params[:-1]), row.text
        assert all(is_member(p.type, np.float64(p.default)) for p in params if p.optional), row.text


def test_docs_are_one_line() -> None:
    assert all(re.fullmatch(r".*[^.]", row.doc) for row in ROWS)


def test_a_name_is_a_function_or_a_distribution() -> None:
    assert not functions_by_name().keys() & distributions_by_name().keys()
    assert all(name[0].isupper() for name in distributions_by_name())


def test_every_domain_word_but_those_of_declarations_is_used() -> None:
    used = {type_.domain for row in ROWS for type_ in all_types(row.signature)}
    assert used == DOMAIN_WORDS.keys() - {"positive_ordered"}


def told_apart_by(signature: Signature) -> tuple[object, ...]:
    return tuple(
        (p.type.domain in WHOLE, p.type.axes == ("...",) or len(p.type.axes))
        for p in signature.params
    )


def test_rows_of_one_function_are_told_apart_without_bounds() -> None:
    for rows in functions_by_name().values():
        assert len({told_apart_by(row.signature) for row in rows}) == len(rows)


def test_rows_of_one_distribution_are_told_apart_by_name() -> None:
    """A row is chosen by the names given, so a later row has a name that no earlier one has."""
    for rows in distributions_by_name().values():
        names = [{p.name for p in row.signature.params} for row in rows]
        assert not any(later <= first for i, first in enumerate(names) for later in names[i + 1 :])


# ---- numbers of a domain


def size(axis: str) -> int:
    return sum(
        (-1 if sign == "-" else 1) * (SIZES.get(part) or int(part))
        for sign, part in re.findall(r"([+-]?)(\w+)", axis)
    )


def shape(type_: TypeSpec) -> tuple[int, ...]:
    return () if type_.domain == "index" else tuple(map(size, type_.axes))


def is_square_root(a: np.ndarray) -> bool:
    return bool(np.all(np.triu(a, 1) == 0) and np.all(np.diagonal(a) > 0))


def is_symmetric_positive(a: np.ndarray) -> bool:
    return bool(np.allclose(a, a.T) and np.all(np.linalg.eigvalsh(a) > 0))


MEMBERS: dict[str, Callable[[np.ndarray], bool]] = {
    "real": lambda x: bool(np.all(np.isfinite(x))),
    "positive": lambda x: bool(np.all(x > 0)),
    "nonnegative": lambda x: bool(np.all(x >= 0)),
    "unit": lambda x: bool(np.all((x >= 0) & (x <= 1))),
    "int": lambda x: bool(np.all(x == np.round(x))),
    "count": lambda x: bool(np.all((x == np.round(x)) & (x >= 0))),
    "bool": lambda x: bool(np.all((x == 0) | (x == 1))),
    "simplex": lambda x: bool(np.all(x >= 0)) and abs(x.sum() - 1) < 1e-6,
    "unit_vector": lambda x: abs((x**2).sum() - 1) < 1e-6,
    "cholesky": is_square_root,
    "corr_cholesky": lambda x: is_square_root(x) and np.allclose((x**2).sum(-1), 1),
    "covariance": is_symmetric_positive,
    "correlation": lambda x: is_symmetric_positive(x) and np.allclose(np.diagonal(x), 1),
}


def is_member(type_: TypeSpec, x: np.ndarray) -> bool:
    if type_.domain == "index":
        return MEMBERS["count"](x) and bool(np.all(x < size(type_.axes[0])))
    return MEMBERS[type_.domain](x)


def draw_matrix(rng: np.random.Generator, n: int) -> np.ndarray:
    a = rng.normal(size=(n, n))
    return a @ a.T + np.eye(n)


def draw_value(param: ParamSpec, rng: np.random.Generator) -> np.ndarray | int:
    word, dims = param.type.domain, shape(param.type)
    if word == "dim":
        return SIZES[param.name]
    if word in WHOLE:
        return {"lower": -2, "upper": 3}.get(param.name, 7)
    ends = {"df": (5, 7), "lower": (0.2, 0.6), "upper": (1.5, 2.5), "shape": (1.5, 3)}.get(
        param.name
    )
    if param.type.ends and param.type.ends.high == 1:
        return rng.uniform(0.2, 0.8, dims)
    if ends or word in {"positive", "nonnegative"}:
        return rng.uniform(*(ends or (0.5, 2)), dims)
    if word in MATRICES:
        a = draw_matrix(rng, dims[-1])
        return np.linalg.cholesky(a) if word == "cholesky" else a
    if word == "simplex":
        return rng.dirichlet(np.ones(dims[-1]))
    x = rng.normal(size=dims)
    return np.sort(x) if word == "ordered" else x


def draw_arguments(row: Row) -> Values:
    rng = np.random.default_rng(crc32(row.text.encode()))
    return {p.name: draw_value(p, rng) for p in row.signature.params}


# ---- functions of numbers


def log1mexp(x: np.ndarray) -> np.ndarray:
    return np.log(-np.expm1(-x))


ARCS = ("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh")
NUMPY_NAMES = {name: getattr(np, "arc" + name[1:]) for name in ARCS} | {
    "min": np.minimum,
    "max": np.maximum,
}
SCIPY_NAMES = {
    "Phi": sp.ndtr,
    "Phi_inverse": sp.ndtri,
    "logistic": sp.expit,
    "lgamma": sp.gammaln,
    "lbeta": sp.betaln,
}
FORMULAS: dict[str, Callable[..., np.ndarray]] = {
    "log1mexp": log1mexp,
    "lchoose": lambda n, k: sp.gammaln(n + 1) - sp.gammaln(k + 1) - sp.gammaln(n - k + 1),
    "step": lambda x: x >= 0,
    "logsumexp": np.logaddexp,
    "logdiffexp": lambda a, b: np.maximum(a, b) + log1mexp(np.abs(a - b)),
    "relu": lambda x: np.maximum(x, 0),
    "softplus": lambda x: np.logaddexp(x, 0),
    "sparseplus": lambda x: np.where(x > 1, x, np.clip(x + 1, 0, 2) ** 2 / 4),
    "sparsesigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "gelu": lambda x: x * sp.ndtr(x),
    "silu": lambda x: x * sp.expit(x),
    "elu": lambda x, a: np.where(x > 0, x, a * np.expm1(x)),
    "leaky_relu": lambda x, a: np.where(x > 0, x, a * x),
    "huber": lambda x, t: np.where(abs(x) <= t, x**2 / 2, t * (abs(x) - t / 2)),
    "soft_threshold": lambda x, t: np.sign(x) * np.maximum(abs(x) - t, 0),
}
REFERENCES: dict[str, Callable[..., np.ndarray]] = FORMULAS | NUMPY_NAMES | SCIPY_NAMES | ENVELOPES
ABOVE_ONE, WITHIN_ONE = {"acosh", "lchoose"}, {"asin", "acos", "atanh", "erfinv", "log1p"}


def reference(row: FunctionRow) -> Callable[..., np.ndarray]:
    return REFERENCES.get(row.name) or getattr(np, row.name, None) or getattr(sp, row.name)


def sample_points(row: FunctionRow, param: ParamSpec, rng: np.random.Generator) -> np.ndarray:
    low, high = {"unit": (0.05, 0.95), "positive": (0.05, 3.0), "nonnegative": (0.05, 3.0)}.get(
        param.type.domain, (-3.0, 3.0)
    )
    if row.name in WITHIN_ONE:
        low, high = -0.95, 0.95
    if row.name in ABOVE_ONE:
        low, high = (1.05, 2.0) if param.name == "k" else (2.05, 4.0)
    points = rng.uniform(low, high, 101)
    return np.round(points) if param.type.domain in WHOLE else points


@by_text(ELEMENTWISE)
def test_values_lie_in_the_stated_domain(row: FunctionRow) -> None:
    rng = np.random.default_rng(crc32(row.text.encode()))
    points = [sample_points(row, p, rng) for p in row.signature.params]
    if row.name == "pow":
        points[0] = abs(points[0])
    result = np.asarray(reference(row)(*points))
    assert row.signature.result.domain == "num" or MEMBERS[row.signature.result.domain](result)


@by_text([row for row in ELEMENTWISE if row.signature.params[0].type.domain != "int"])
def test_hard_functions_are_those_whose_derivative_misses_a_jump(row: FunctionRow) -> None:
    """The mean slope over an interval is the mean derivative, unless there are jumps."""
    grid = np.linspace(-2.7, 2.9, 20_001)
    first = row.signature.params[0].type
    if first.ends or row.name in WITHIN_ONE:
        grid = np.linspace(0.05, 0.9, 20_001) + (1.3 if row.name in ABOVE_ONE else 0)
    others = {
        "pow": [2.0],
        "atan2": [-0.5],
        "clip": [-1.0, 1.0],
        "mod": [1.0],
        "lchoose": [0.5],
        "logdiffexp": [-5.0],
    }
    rest = others.get(row.name, [0.5] * (len(row.signature.params) - 1))
    if row.name == "tan":
        grid = grid / 2
    steps = np.diff(np.asarray(reference(row)(grid, *rest), float))
    jumps = np.abs(steps) > 100 * np.median(np.abs(steps)) + 0.2
    assert bool(jumps.any()) == row.hard


# ---- distributions


def construct(row: Distribution, values: Values) -> nd.Distribution:
    functions = {
        "exp": jax.numpy.exp,
        "sqrt": jax.numpy.sqrt,
        "cholesky": jax.numpy.linalg.cholesky,
    }
    own = {name: resolve(name) for name in row.helpers}
    return eval(row.numpyro, vars(nd) | functions | own, dict(values))


def draw(row: Distribution, values: Values) -> jax.Array:
    return construct(row, values).sample(jax.random.key(crc32(row.text.encode())))


def zero_inflated(p_zero: float, law: object, x: float) -> float:
    return np.log(p_zero * (x == 0) + (1 - p_zero) * law.pmf(x))


def pick(p: np.ndarray, x: int) -> float:
    return np.log(p[int(x)])


def levels(predictor: float, cutpoints: np.ndarray) -> np.ndarray:
    return -np.diff(np.concatenate([[1], sp.expit(predictor - cutpoints), [0]]))


def truncated(law: object, lower: float, upper: float, x: float) -> float:
    return law.logpdf(x) - np.log(law.cdf(upper) - law.cdf(lower))


def concrete(logits: float, temperature: float, x: float) -> float:
    return st.logistic(logits / temperature, 1 / temperature).logpdf(sp.logit(x)) - np.log(
        x * (1 - x)
    )


def quantile_laplace(location: float, scale: float, q: float, x: float) -> float:
    return np.log(q * (1 - q) / scale) - (x - location) / scale * (q - (x < location))


inf = np.inf
LOG_DENSITIES: dict[str, Callable[..., float]] = {
    "Normal(mean, sd)": lambda x, m, s: st.norm(m, s).logpdf(x),
    "StudentT(df, location, scale)": lambda x, df, m, s: st.t(df, m, s).logpdf(x),
    "Cauchy(location, scale)": lambda x, m, s: st.cauchy(m, s).logpdf(x),
    "Laplace(location, scale)": lambda x, m, s: st.laplace(m, s).logpdf(x),
    "AsymmetricLaplace(location, scale, asymmetry)": lambda x, m, s, k: st.laplace_asymmetric(
        k, m, s
    ).logpdf(x),
    "AsymmetricLaplace(location, scale, quantile)": lambda x, m, s, q: quantile_laplace(m, s, q, x),
    "Logistic(location, scale)": lambda x, m, s: st.logistic(m, s).logpdf(x),
    "Gumbel(location, scale)": lambda x, m, s: st.gumbel_r(m, s).logpdf(x),
    "Levy(location, scale)": lambda x, m, s: st.levy(m, s).logpdf(x),
    "VonMises(location, concentration)": lambda x, m, k: st.vonmises(k, m).logpdf(x),
    "Uniform(lower, upper)": lambda x, a, b: st.uniform(a, b - a).logpdf(x),
    "LogUniform(lower, upper)": lambda x, a, b: st.loguniform(a, b).logpdf(x),
    "TruncatedNormal(location, scale, lower)": lambda x, m, s, a: truncated(
        st.norm(m, s), a, inf, x
    ),
    "TruncatedNormal(location, scale, upper)": lambda x, m, s, b: truncated(
        st.norm(m, s), -inf, b, x
    ),
    "TruncatedNormal(location, scale, lower, upper)": lambda x, m, s, a, b: truncated(
        st.norm(m, s), a, b, x
    ),
    "TruncatedCauchy(location, scale, lower)": lambda x, m, s, a: truncated(
        st.cauchy(m, s), a, inf, x
    ),
    "TruncatedCauchy(location, scale, upper)": lambda x, m, s, b: truncated(
        st.cauchy(m, s), -inf, b, x
    ),
    "TruncatedCauchy(location, scale, lower, upper)": lambda x, m, s, a, b: truncated(
        st.cauchy(m, s), a, b, x
    ),
    "Beta(a, b)": lambda x, a, b: st.beta(a, b).logpdf(x),
    "Beta(mean, concentration)": lambda x, m, k: st.beta(m * k, (1 - m) * k).logpdf(x),
    "Kumaraswamy(a, b)": lambda x, a, b: (
        np.log(a * b) + (a - 1) * np.log(x) + (b - 1) * np.log1p(-(x**a))
    ),
    "RelaxedBernoulli(p, temperature)": lambda x, p, t: concrete(sp.logit(p), t, x),
    "RelaxedBernoulli(logits, temperature)": lambda x, logits, t: concrete(logits, t, x),
    "HalfNormal(scale)": lambda x, s: st.halfnorm(scale=s).logpdf(x),
    "HalfCauchy(scale)": lambda x, s: st.halfcauchy(scale=s).logpdf(x),
    "HalfStudentT(df, scale)": lambda x, df, s: np.log(2) + st.t(df, 0, s).logpdf(x),
    "LogNormal(location, scale)": lambda x, m, s: st.lognorm(s, scale=np.exp(m)).logpdf(x),
    "Exponential(rate)": lambda x, r: st.expon(scale=1 / r).logpdf(x),
    "Gamma(shape, rate)": lambda x, a, r: st.gamma(a, scale=1 / r).logpdf(x),
    "Gamma(shape, scale)": lambda x, a, s: st.gamma(a, scale=s).logpdf(x),
    "Gamma(mean, sd)": lambda x, m, s: st.gamma((m / s) ** 2, scale=s**2 / m).logpdf(x),
    "InverseGamma(shape, scale)": lambda x, a, s: st.invgamma(a, scale=s).logpdf(x),
    "ChiSquared(df)": lambda x, df: st.chi2(df).logpdf(x),
    "InverseChiSquared(df)": lambda x, df: st.chi2(df).logpdf(1 / x) - 2 * np.log(x),
    "ScaledInverseChiSquared(df, scale)": lambda x, df, s: (
        st.chi2(df).logpdf(df * s**2 / x) + np.log(df * s**2 / x**2)
    ),
    "Weibull(shape, scale)": lambda x, a, s: st.weibull_min(a, scale=s).logpdf(x),
    "Rayleigh(scale)": lambda x, s: st.rayleigh(scale=s).logpdf(x),
    "Gompertz(shape, rate)": lambda x, a, r: st.gompertz(a, scale=1 / r).logpdf(x),
    "Pareto(lower, shape)": lambda x, a, k: st.pareto(k, scale=a).logpdf(x),
    "MultivariateNormal(mean, cov)": lambda x, m, c: st.multivariate_normal(m, c).logpdf(x),
    "MultivariateNormal(mean, chol)": lambda x, m, c: st.multivariate_normal(m, c @ c.T).logpdf(x),
    "MultivariateNormal(mean, precision)": lambda x, m, c: st.multivariate_normal(
        m, np.linalg.inv(c)
    ).logpdf(x),
    "LowRankMultivariateNormal(mean, factor, diagonal)": lambda x, m, f, d: st.multivariate_normal(
        m, f @ f.T + np.diag(d)
    ).logpdf(x),
    "MultivariateStudentT(df, location, scale)": lambda x, df, m, c: st.multivariate_t(
        m, c, df
    ).logpdf(x),
    "MultivariateStudentT(df, location, chol)": lambda x, df, m, c: st.multivariate_t(
        m, c @ c.T, df
    ).logpdf(x),
    "Dirichlet(concentration)": lambda x, a: st.dirichlet(a).logpdf(x / x.sum()),
    "MatrixNormal(mean, chol_row, chol_column)": lambda x, m, r, c: st.matrix_normal(
        m, r @ r.T, c @ c.T
    ).logpdf(x),
    "Wishart(df, scale)": lambda x, df, c: st.wishart(float(df), c).logpdf(x),
    "InverseWishart(df, scale)": lambda x, df, c: st.invwishart(float(df), c).logpdf(x),
    "Bernoulli(p)": lambda x, p: st.bernoulli(p).logpmf(x),
    "Bernoulli(logits)": lambda x, t: st.bernoulli(sp.expit(t)).logpmf(x),
    "Categorical(p)": lambda x, p: pick(p, x),
    "Categorical(logits)": lambda x, t: pick(sp.softmax(t), x),
    "OrderedLogistic(predictor, cutpoints)": lambda x, t, cuts: pick(levels(t, cuts), x),
    "Binomial(n, p)": lambda x, n, p: st.binom(n, p).logpmf(x),
    "Binomial(n, logits)": lambda x, n, t: st.binom(n, sp.expit(t)).logpmf(x),
    "BetaBinomial(n, a, b)": lambda x, n, a, b: st.betabinom(n, a, b).logpmf(x),
    "BetaBinomial(n, p, concentration)": lambda x, n, p, k: st.betabinom(
        n, p * k, (1 - p) * k
    ).logpmf(x),
    "Poisson(rate)": lambda x, r: st.poisson(r).logpmf(x),
    "Poisson(log_rate)": lambda x, r: st.poisson(np.exp(r)).logpmf(x),
    "Geometric(p)": lambda x, p: st.nbinom(1, p).logpmf(x),
    "Geometric(logits)": lambda x, t: st.nbinom(1, sp.expit(t)).logpmf(x),
    "NegativeBinomial(mean, concentration)": lambda x, m, k: st.nbinom(k, k / (k + m)).logpmf(x),
    "NegativeBinomial(log_mean, concentration)": lambda x, m, k: st.nbinom(
        k, k / (k + np.exp(m))
    ).logpmf(x),
    "NegativeBinomial(shape, rate)": lambda x, a, r: st.nbinom(a, r / (1 + r)).logpmf(x),
    "NegativeBinomial(n, p)": lambda x, n, p: st.nbinom(n, p).logpmf(x),
    "ZeroInflatedPoisson(p_zero, rate)": lambda x, g, r: zero_inflated(g, st.poisson(r), x),
    "ZeroInflatedNegativeBinomial(p_zero, rate, concentration)": lambda x, g, m, k: zero_inflated(
        g, st.nbinom(k, k / (k + m)), x
    ),
    "ZeroInflatedBinomial(p_zero, n, p)": lambda x, g, n, p: zero_inflated(g, st.binom(n, p), x),
    "DiscreteUniform(lower, upper)": lambda x, a, b: st.randint(a, b + 1).logpmf(x),
    "Multinomial(n, p)": lambda x, n, p: st.multinomial(n, p).logpmf(x),
    "Multinomial(n, logits)": lambda x, n, t: st.multinomial(n, sp.softmax(t)).logpmf(x),
    "DirichletMultinomial(n, concentration)": lambda x, n, a: st.dirichlet_multinomial(a, n).logpmf(
        x
    ),
}
WITHOUT_PEER = {
    "ZeroSumNormal",
    "ProjectedNormal",
    "LKJ",
    "LKJCholesky",
    "WishartCholesky",
    "InverseWishartCholesky",
}


def compiles_long(row: Row) -> bool:
    """Linear algebra takes seconds to compile."""
    return row.signature.result.domain != "index" and bool(row.signature.result.axes)


def differentiates_long(row: Row) -> bool:
    """So does the derivative of a draw that goes through a Gamma."""
    return compiles_long(row) or bool(re.search("Gamma|StudentT|Chi|Beta", row.name))


@by_text(DISTRIBUTIONS, slow=compiles_long)
def test_a_draw_has_the_shape_domain_and_density_of_its_row(row: Distribution) -> None:
    values = draw_arguments(row)
    with numpyro.validation_enabled():
        law = construct(row, values)
    x = np.asarray(draw(row, values))
    assert (law.batch_shape, law.event_shape) == ((), shape(row.signature.result))
    assert np.all(law.support(x))
    assert is_member(row.signature.result, x)
    assert law.support.is_discrete == row.discrete
    if row.name not in WITHOUT_PEER:
        expected = LOG_DENSITIES[call_form(row)](x, *values.values())
        np.testing.assert_allclose(law.log_prob(x), expected, rtol=1e-6)


@by_text([row for row in DISTRIBUTIONS if {"mean", "sd"} & {p.name for p in row.signature.params}])
def test_mean_and_sd_are_those_of_the_draw(row: Distribution) -> None:
    values = draw_arguments(row)
    law = construct(row, values)
    if "mean" in values:
        np.testing.assert_allclose(law.mean, values["mean"])
    if "sd" in values:
        np.testing.assert_allclose(law.variance, values["sd"] ** 2)


def passes_gradient(row: Distribution, values: Values, name: str) -> bool:
    """The derivative of a draw by one parameter, with the noise held fixed, is finite and not
    zero.
    """
    at = jax.numpy.asarray(values[name])
    _, tangent = jax.jvp(
        lambda v: draw(row, {**values, name: v}), (at,), (jax.numpy.ones_like(at),)
    )
    return bool(np.all(np.isfinite(tangent)) and np.any(tangent != 0))


@by_text([row for row in CONTINUOUS if row.reparametrised], slow=differentiates_long)
def test_a_reparametrised_draw_moves_with_each_parameter(row: Distribution) -> None:
    values = draw_arguments(row)
    for param in row.signature.params:
        assert param.type.domain == "dim" or passes_gradient(row, values, param.name)


MOVES, SHIFT = 4000, 0.02


def shifted(value: np.ndarray, shift: jax.Array | float) -> jax.Array:
    """Numbers all move alike; a matrix of any kind stays one when it is multiplied."""
    return value * (1 + shift) if np.ndim(value) > 1 else value + shift


def mean_and_error(values: jax.Array) -> tuple[np.ndarray, np.ndarray]:
    return np.mean(values, 0), np.std(values, 0) / np.sqrt(len(values))


@by_text([row for row in CONTINUOUS if row.reparametrised], slow=differentiates_long)
def test_the_path_of_a_reparametrised_draw_moves_as_its_mean_does(row: Distribution) -> None:
    """Against a difference with common noise, of a bounded function: not all have a mean."""
    values = draw_arguments(row)
    weights = np.cos(np.arange(1, 1 + np.prod(shape(row.signature.result), dtype=int)))
    keys = jax.random.split(jax.random.key(1), MOVES)
    for param in row.signature.params:
        if param.type.domain == "dim":
            continue

        def value(shift: jax.Array | float, key: jax.Array, name: str = param.name) -> jax.Array:
            law = construct(row, {**values, name: shifted(values[name], shift)})
            (path,) = Pathwise().points(key, law, ()).values
            return jax.numpy.tanh(jax.numpy.ravel(path) @ weights)

        def both(key: jax.Array, value: Callable[..., jax.Array] = value) -> tuple[jax.Array, ...]:
            difference = (value(SHIFT, key) - value(-SHIFT, key)) / (2 * SHIFT)
            return jax.jvp(lambda s: value(s, key), (0.0,), (1.0,))[1], difference

        assert not Pathwise.refusal(construct(row, values))
        path, difference = jax.jit(jax.vmap(both))(keys)
        off, error = mean_and_error(path - difference)
        assert abs(off) < 5 * error + 0.01, param.name


def test_what_is_not_reparametrised_is_discrete_or_drawn_by_rejection() -> None:
    assert not any(row.reparametrised for row in DISTRIBUTIONS if row.discrete)
    assert {row.name for row in CONTINUOUS if not row.reparametrised} == {"VonMises"}
    assert "concentration" not in nd.VonMises.reparametrized_params


@pytest.mark.slow
def test_lkj_is_a_power_of_the_determinant() -> None:
    laws = nd.LKJ(3, 1.0), nd.LKJ(3, 2.5)
    x, y = (np.asarray(laws[0].sample(jax.random.key(seed))) for seed in (1, 2))
    change = [law.log_prob(x) - law.log_prob(y) for law in laws]
    expected = 1.5 * (np.linalg.slogdet(x)[1] - np.linalg.slogdet(y)[1])
    np.testing.assert_allclose(change, [0, expected], atol=1e-9)
