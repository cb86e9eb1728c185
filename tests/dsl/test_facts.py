"""Every row of the table of distributions is asked for every fact: it is there and true, or the
row says why not.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import integrate

from dpc.dsl.library.annotations import GRAD_METHODS
from dpc.dsl.library.bodies.source import resolve
from dpc.dsl.library.constructor import argument_names, constructor, evaluate
from dpc.dsl.library.densities import log_density, rows_with_density
from dpc.dsl.library.distributions import DISTRIBUTIONS, row_of
from dpc.dsl.library.rows import REASONS, Distribution, Update, why_not
from dpc.estimators.methods.table import METHODS
from dpc.inference.families import links
from dpc.inference.families.table import FAMILIES

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

pytestmark = pytest.mark.filterwarnings("ignore:Out-of-support values")

WORDS = {name: getattr(dist, name) for name in dir(dist) if name[0].isupper()} | {
    "exp": jnp.exp,
    "sqrt": jnp.sqrt,
    "log": jnp.log,
    "cholesky": jnp.linalg.cholesky,
}
NUMBERS = {"positive": 1.3, "nonnegative": 1.3, "unit": 0.4, "real": 0.7, "count": 5, "int": 2}
NAMED = {"upper": 3.5, "df": 6.5, "n": 5}
WHOLE = {"positive": 2, "nonnegative": 2, "real": 1}
WHOLE_NAMED = {"lower": 1, "upper": 4, "df": 7}
KEY = jax.random.key(2)
LOWER = {"int": 1, "positive": 0.2, "real": -1.0}


def example(row: Distribution) -> dict[str, Any]:
    """Arguments in their domains."""
    found: dict[str, Any] = {}
    for param in row.signature.params:
        domain, axes = param.type.domain, param.type.axes
        if domain == "dim":
            found[param.name] = 2
        elif domain == "simplex":
            found[param.name] = jnp.array([0.2, 0.3, 0.5])
        elif domain == "ordered":
            found[param.name] = jnp.array([-1.0, 0.3])
        elif domain in ("covariance", "cholesky"):
            found[param.name] = jnp.array([[1.0, 0.0 if domain == "cholesky" else 0.3], [0.3, 2.0]])
        elif axes:
            found[param.name] = jnp.full([2] * len(axes), NUMBERS[domain])
        elif param.name == "lower":
            found[param.name] = LOWER[domain]
        else:
            domain = "unit" if param.type.ends and param.type.ends.high == 1 else domain
            value = NAMED.get(param.name, NUMBERS[domain])
            found[param.name] = int(value) if domain in ("int", "count") else float(value)
    return found


def words_of(row: Distribution) -> dict[str, Any]:
    """What the names in the constructor of a row mean."""
    return WORDS | {name: resolve(name) for name in row.helpers}


def made(row: Distribution, **changes: Any) -> Any:
    return evaluate(constructor(row.text), {**words_of(row), **example(row), **changes})


def by_row(fact: str | None = None) -> Any:
    rows = [row for row in DISTRIBUTIONS if fact is None or row.has(fact)]
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.text.partition(" ->")[0])


def draws_of(row: Distribution, n: int = 40) -> np.ndarray:
    return np.asarray(made(row).sample(jax.random.key(1), (n,)), float)


@by_row()
def test_every_fact_is_there_or_the_row_says_why_not(row: Distribution) -> None:
    named = {param.name for param in row.signature.params}
    for fact in REASONS:
        assert row.has(fact) == (why_not(row, fact) == "")
    assert set(row.absent) <= set(REASONS)
    assert {*row.edges, *row.kinked, *row.location_scale, *row.updates} <= named
    assert {row.highest, row.natural} <= named | {""}
    assert row.family in {*FAMILIES, ""}
    assert not (row.quantile and row.cdf), "a quantile implies the distribution function"


def test_no_fact_is_without_a_row() -> None:
    no_facts = {"text", "numpyro", "helpers", "doc", "absent"}
    no_facts |= {"added", "log_density"}  # code from outside
    no_facts |= {"masses"}  # of those that are made of others
    assert set(Distribution.fields) - no_facts <= set(REASONS)
    assert all(any(row.has(fact) for row in DISTRIBUTIONS) for fact in REASONS)


@by_row()
def test_the_distribution_function_is_known_where_the_row_says_so(row: Distribution) -> None:
    if not (row.cdf or row.quantile):
        return
    law, many = made(row), draws_of(row, 4000)
    x = many[:5]
    u = np.asarray(law.cdf(x))
    below = np.mean(many[:, None] <= x, axis=0)
    # 4000 draws: a gap of 5 standard errors, at most 0.04, has a chance of 3e-6
    assert np.allclose(u, below, atol=0.04)
    if row.quantile and not row.discrete:
        assert np.allclose(law.icdf(u), x, rtol=1e-4)


@by_row("edges")
def test_edges_move_the_support(row: Distribution) -> None:
    own = example(row)
    for name in row.edges:
        moved = made(row, **{name: own[name] + 1})
        xs = jnp.linspace(-6.0, 6.0, 49) if not row.discrete else jnp.arange(-6, 7)
        before, after = (np.isfinite(law.log_prob(xs)) for law in (made(row), moved))
        assert (before != after).any()


@by_row()
def test_supports_that_do_not_move_do_not_move(row: Distribution) -> None:
    if row.edges or not row.single or row.discrete or row.highest:
        return
    xs = jnp.linspace(-6.0, 6.0, 49)
    own = example(row)
    before = np.isfinite(made(row).log_prob(xs))
    for name, value in own.items():
        assert (np.isfinite(made(row, **{name: value * 1.2}).log_prob(xs)) == before).all()


@by_row("location_scale")
def test_location_and_scale_shift_and_stretch(row: Distribution) -> None:
    location, scale = row.location_scale
    own = example(row)
    if row.signature.result.axes:
        shifted = made(row, **{location: own[location] + 2.0})
        x = draws_of(row, 3)
        assert np.allclose(shifted.log_prob(x + 2.0), made(row).log_prob(x))
        return
    x = draws_of(row, 5)
    z = np.log(x) if row.of_logarithm else x
    wide = made(row, **{location: 1.5, scale: 2 * own[scale]})
    there = 1.5 + 2 * (z - own[location])
    jacobian = there - z if row.of_logarithm else 0.0
    at = np.exp(there) if row.of_logarithm else there
    assert np.allclose(wide.log_prob(at) + np.log(2.0) + jacobian, made(row).log_prob(x))


@by_row("symmetric")
def test_symmetric_densities_have_a_mirror(row: Distribution) -> None:
    law, x = made(row), draws_of(row, 5)
    centre = np.asarray(law.mean if row.moments else example(row)[row.location_scale[0]])
    assert np.allclose(law.log_prob(x), law.log_prob(2 * centre - x))


@by_row("highest")
def test_counts_stop_at_their_highest(row: Distribution) -> None:
    n = example(row)[row.highest]
    total = np.exp(np.asarray(made(row).log_prob(jnp.arange(n + 1)))).sum()
    assert total == pytest.approx(1.0, abs=1e-5)


@by_row("updates")
def test_updates_have_the_derivative_of_their_kind(row: Distribution) -> None:
    """The derivative is a combination of two known functions of the argument: three points of it
    fit two coefficients.
    """
    law, own = made(row), example(row)
    x = law.sample(jax.random.key(2))
    forms = {
        Update.CHANCE: lambda p: (1 / p, -1 / (1 - p)),
        Update.RATE: lambda r: (1 / r, 1.0),
        Update.SPREAD: lambda s: (s**-3, 1 / s),
        Update.MEAN: lambda m: (1.0, m),
    }
    for name, update in row.updates.items():
        if update is Update.PROBABILITIES:
            slope = jax.grad(lambda p, n=name: made(row, **{n: p}).log_prob(x))(own[name])
            counts = np.asarray(slope * own[name])
            centred = counts - counts.min()  # NumPyro normalises: a shift along p stays
            assert np.allclose(centred, np.round(centred), atol=1e-4)
            continue
        points = np.array([0.21, 0.4, 0.77])
        slopes = [
            float(jax.grad(lambda v, n=name: made(row, **{n: v}).log_prob(x))(float(v)))
            for v in points
        ]
        basis = np.array([forms[update](v) for v in points])
        left = np.linalg.lstsq(basis, np.array(slopes), rcond=None)[0]
        assert np.allclose(basis @ left, slopes, rtol=1e-3, atol=1e-3)


@by_row("kinked")
def test_kinks_are_where_the_row_says(row: Distribution) -> None:
    for name in row.kinked:
        at = example(row)[name]
        left, right = (
            jax.grad(lambda v, n=name, at=at: made(row, **{n: v}).log_prob(at))(at + step)
            for step in (-1e-3, 1e-3)
        )
        assert abs(left - right) > 0.1


@pytest.mark.parametrize("text", rows_with_density())
def test_densities_in_numpy_are_those_of_numpyro(text: str) -> None:
    row = row_of(text)
    x = draws_of(row, 12)
    if not row.discrete:
        x = np.concatenate([x, [-7.0, 0.5]])
    own = {name: np.asarray(value) for name, value in example(row).items()}
    found = log_density(text, own, x)
    with jax.enable_x64(True):
        wanted = np.asarray(made(row).log_prob(jnp.asarray(x)))
    assert np.allclose(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("text", [t for t in rows_with_density() if not row_of(t).discrete])
def test_densities_in_numpy_integrate_to_one(text: str) -> None:
    own = {name: np.asarray(value) for name, value in example(row_of(text)).items()}
    corners = [-np.inf, -np.pi, -1.0, 0.0, 0.2, 0.7, 1.0, 3.5, np.pi, np.inf]
    total = sum(
        integrate.quad(lambda x: np.exp(log_density(text, own, np.asarray(x))), a, b, limit=200)[0]
        for a, b in pairwise(sorted(corners))
    )
    assert total == pytest.approx(1.0, abs=1e-3)


@by_row()
def test_estimators_agree_with_the_rows(row: Distribution) -> None:
    """What the language says a method is for is what the method itself accepts."""
    law = made(row)
    for method in GRAD_METHODS:
        if not row.single or method.needs in ("", "reparametrised"):
            continue
        if method.name == "enumerate" and row.discrete and not row.finite:
            continue  # listed from its type or not at all: supports set by values are not listed
        assert method.fits(row) == (METHODS[method.name].refusal(law) == ""), method.name


@pytest.mark.parametrize("name", sorted(links.LINKS))
def test_links_in_numpy_are_the_log_partitions_of_the_families(name: str) -> None:
    family = FAMILIES[name].make() if name != "Normal" else None
    eta = np.array([-1.3, 0.2, 2.1])
    link = links.LINKS[name]
    wanted = [float(family.log_partition(jnp.array([e]))) if family else e**2 / 2 for e in eta]
    mean = link.mean(eta)
    assert np.allclose(link.value(eta, mean), wanted, atol=1e-6)
    step = 1e-5
    slope = link.value(eta + step, link.mean(eta + step)) - link.value(
        eta - step, link.mean(eta - step)
    )
    assert np.allclose(slope / (2 * step), mean, atol=1e-6)
    curve = (link.mean(eta + step) - link.mean(eta - step)) / (2 * step)
    assert np.allclose(curve, link.variance(mean), atol=1e-6)


def test_constructors_name_what_numpyro_has() -> None:
    for row in DISTRIBUTIONS:
        assert all(isinstance(name, str) for name in argument_names(row))
        with pytest.raises((KeyError, ValueError)):
            evaluate(constructor(row.text), {})


@by_row()
def test_whole_numbers_are_arguments_like_others(row: Distribution) -> None:
    """The density has the same derivatives whether 2 or 2.0 is written."""
    of_numbers = [p for p in row.signature.params if p.type.domain in WHOLE and not p.type.axes]
    reals = [p for p in of_numbers if not p.type.own_ends]  # between 0 and 1 nothing is whole
    whole = {p.name: WHOLE_NAMED.get(p.name, WHOLE[p.type.domain]) for p in reals}
    value = made(row, **{name: float(given) for name, given in whole.items()}).sample(KEY)
    assert made(row, **whole).sample(KEY).dtype == value.dtype
    for moved in whole:

        def density(at: Any, others: dict[str, Any], moved: str = moved) -> Any:
            return jnp.sum(made(row, **{**others, moved: at}).log_prob(value))

        at = float(whole[moved])
        floats = {name: float(given) for name, given in whole.items()}
        found, expected = jax.grad(density)(at, whole), jax.grad(density)(at, floats)
        np.testing.assert_allclose(found, expected)
    if not row.discrete:
        jax.eval_shape(jax.grad(lambda x: jnp.sum(made(row, **whole).log_prob(x))), value)
