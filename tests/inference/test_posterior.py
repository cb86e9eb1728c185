"""Posteriors of NumPyro models written by hand: closed forms, stretches, starts, approximations,
words.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from marks import some_fast

from dpc.inference.mcmc.container import (
    Coordinates,
    container,
    dataset,
    diagnose,
    group,
    has_group,
    smooth_weights,
)
from dpc.inference.mcmc.run import Draws, NutsPlan, NutsRun, NutsState, join, key_for, over_draws
from dpc.inference.mcmc.target import (
    NoMode,
    NoStart,
    TargetDensity,
    draw_gaussian,
    find_starts,
    fit_laplace,
    fit_svi,
    flatten,
)

LOOSE_JAX = "NumPyro promotes types and ranks"

Y = np.array([1.2, 0.7, 2.9, 1.8])
PRECISION = 1 / 4 + len(Y) / 0.25
MEAN, SD = Y.sum() / 0.25 / PRECISION, PRECISION**-0.5
KEYS = np.zeros((1, 2), np.uint32)
IS_OLD_ARVIZ = az.__version__.startswith("0.")


def normal() -> None:
    """mu ~ N(0, 2), y ~ N(mu, 1/2), so mu given y is N(MEAN, SD)."""
    mu = numpyro.sample("mu", dist.Normal(0, 2))
    numpyro.deterministic("twice", 2 * mu)
    numpyro.sample("y", dist.Normal(mu, 0.5), obs=Y)


# ---- NUTS in stretches


@pytest.fixture(scope="module")
def run() -> NutsRun:
    return NutsRun(normal, NutsPlan(warmup=200, chains=2, seed=3))


@pytest.fixture(scope="module")
def unbroken(run: NutsRun) -> Iterator[tuple[NutsState, Draws]]:
    with jax.enable_x64(True):
        yield run.advance(run.start(), 200 + 1000)


def test_draws_have_the_moments_of_the_closed_form(unbroken: tuple[NutsState, Draws]) -> None:
    """Mean within 4.5 Monte Carlo errors, variance too: false alarm 1 in 70,000."""
    mu = unbroken[1].values["mu"]
    assert mu.shape == (2, 1000)
    error = SD / np.sqrt(float(az.ess(mu)))
    assert abs(mu.mean() - MEAN) < 4.5 * error
    squares = (mu - MEAN) ** 2
    assert abs(squares.mean() - SD**2) < 4.5 * np.sqrt(2 / float(az.ess(squares))) * SD**2
    np.testing.assert_array_equal(unbroken[1].values["twice"], 2 * mu)
    assert not unbroken[1].stats["diverging"].any()


def test_a_run_in_pieces_is_the_unbroken_run_bit_for_bit(
    run: NutsRun, unbroken: tuple[NutsState, Draws]
) -> None:
    state, parts = run.start(), []
    for count in (30, 170, 1, 99, 400, 500):
        saved = [np.array(leaf) for leaf in jax.tree.leaves(state.kernel)]
        kernel = jax.tree.unflatten(jax.tree.structure(state.kernel), saved)
        state, draws = run.advance(NutsState(state.step, kernel), count)
        parts.append(draws)
    assert [part.length for part in parts] == [0, 0, 1, 99, 400, 500]
    assert state.step == unbroken[0].step
    whole = join(parts)
    for name, values in unbroken[1].values.items():
        np.testing.assert_array_equal(whole.values[name], values)
    for name, stats in unbroken[1].stats.items():
        np.testing.assert_array_equal(whole.stats[name], stats)


def test_chains_and_seeds_differ(unbroken: tuple[NutsState, Draws]) -> None:
    first, second = unbroken[1].values["mu"]
    assert not np.any(first == second)
    starts = [
        find_starts(TargetDensity(normal), key_for("run", seed)[None])[0].raw["mu"]
        for seed in (3, 4)
    ]
    assert starts[0] != starts[1]


# ---- starts


def test_an_impossible_observation_is_named() -> None:
    def model() -> None:
        scale = numpyro.sample("scale", dist.HalfNormal(1))
        with numpyro.plate("N", 3):
            numpyro.sample("wait", dist.Exponential(1 / scale), obs=jnp.array([1.0, -2.0, 3.0]))

    with pytest.raises(
        NoStart, match=r"`wait\[1\]` = -2 has log density -inf under Exponential\(rate="
    ):
        find_starts(TargetDensity(model), KEYS)


def test_a_factor_that_is_never_finite_is_named() -> None:
    def model() -> None:
        x = numpyro.sample("x", dist.Normal(0, 1))
        numpyro.factor("wall", jnp.log(-(x**2) - 1))

    with pytest.raises(NoStart, match=r"`wall`.* has log density nan"):
        find_starts(TargetDensity(model), KEYS)


def test_a_gradient_that_is_not_finite_is_named() -> None:
    def model() -> None:
        x = numpyro.sample("x", dist.Normal(0, 1))
        numpyro.factor("root", 0 * jnp.sqrt(jnp.maximum(x, 0) * 0))

    with pytest.raises(NoStart, match="gradient along `x` is not"):
        find_starts(TargetDensity(model), KEYS)


# ---- Gaussians


def test_laplace_and_svi_of_a_gaussian_are_exact() -> None:
    flat = flatten(TargetDensity(normal), jax.random.PRNGKey(0))
    found = fit_laplace(flat)
    np.testing.assert_allclose(found.mean, [MEAN], rtol=1e-6)
    np.testing.assert_allclose(found.factor, [[SD]], rtol=1e-6)
    drawn = draw_gaussian(flat, found, jax.random.PRNGKey(1), 1000)
    np.testing.assert_allclose(drawn.log_ratios, drawn.log_ratios[0], atol=1e-6)
    near, losses = fit_svi(flat, jax.random.PRNGKey(2), 2000)
    np.testing.assert_allclose(near.mean, [MEAN], atol=0.05 * SD)
    np.testing.assert_allclose(near.factor, [[SD]], rtol=0.05)
    assert len(losses) == 2000


def unknown(name: str) -> Any:
    return numpyro.sample(name, dist.ImproperUniform(dist.constraints.real, (), ()))


def ridge() -> None:
    """Only the sum is told; rounding may bend the rest a little."""
    a, b = unknown("a"), unknown("b")
    numpyro.sample("y", dist.Normal(0.1 * a + 0.3 * b, 0.7), obs=Y)


def plateau() -> None:
    """Slope and curvature vanish alike: Newton's method soon promises nothing."""
    numpyro.factor("score", -jnp.exp(-unknown("x")))


@pytest.mark.parametrize(
    "model", [lambda: unknown("x"), ridge, plateau], ids=["flat", "ridge", "plateau"]
)
def test_a_density_without_a_mode_is_refused(model: Any) -> None:
    with pytest.raises(NoMode, match="flat"):
        fit_laplace(flatten(TargetDensity(model), jax.random.PRNGKey(0)))


# ---- weights


@pytest.mark.parametrize("k", [0.2, 0.9])
def test_pareto_shape_is_found(k: float) -> None:
    """Weights u^-k have a Pareto tail of shape k: of 100,000 the tail is 949 long, and the standard
    error of k is (1 + k) / sqrt(949): 4.5 of them, and the shrinkage of 10 points.
    """
    logs = -k * np.log(np.random.default_rng(0).uniform(size=100_000))
    assert abs(smooth_weights(logs).k - k) < 4.5 * (1 + k) / np.sqrt(949) + 10 * 0.8 / 949


def test_weights_without_a_tail_are_told_apart() -> None:
    assert smooth_weights(np.zeros(100)).k == -np.inf
    assert smooth_weights(np.full(100, -np.inf)).k == np.inf
    some = np.where(np.arange(900) % 2, -np.inf, np.random.default_rng(1).normal(size=900))
    found = smooth_weights(some)
    assert np.exp(found.log_weights).sum() == pytest.approx(1)
    assert np.all(found.log_weights[1::2] == -np.inf)
    assert np.isfinite(found.k)


def smoothed_by_arviz(log_ratios: np.ndarray) -> Any:
    """Log weights and k. Version 1 takes log likelihoods, whose inverses are the ratios of
    leave-one-out.
    """
    if IS_OLD_ARVIZ:
        return az.psislw(log_ratios)
    return import_module("arviz_stats.base").array_stats.psislw(-log_ratios)


def test_smoothed_weights_are_those_of_arviz() -> None:
    """Of 900 weights the tail is 90 long: the versions round other lengths differently."""
    logs = np.random.default_rng(1).standard_t(3, size=900)
    expected, k = smoothed_by_arviz(logs)
    found = smooth_weights(logs)
    np.testing.assert_allclose(found.log_weights, expected, atol=1e-10)
    np.testing.assert_allclose(found.k, k, rtol=1e-10)
    assert 1 < found.effective < 900


# ---- containers and words


def made(found: dict[str, Any], stats: dict[str, Any], **attributes: Any) -> Any:
    labels = Coordinates({"theta": ("School",)}, {"School": ["a", "b"]})
    return container(
        {"posterior": dataset(found, labels), "sample_stats": dataset(stats, labels)}, **attributes
    )


def well(chains: int = 4, draws: int = 500) -> tuple[dict[str, Any], dict[str, Any]]:
    chance = np.random.default_rng(0)
    values = {
        "mu": chance.normal(size=(chains, draws)),
        "theta": chance.normal(size=(chains, draws, 2)),
    }
    stats = {
        "diverging": np.zeros((chains, draws), bool),
        "energy": chance.normal(size=(chains, draws)),
        "tree_depth": np.full((chains, draws), 3),
    }
    return values, stats


def test_nothing_is_said_when_all_is_well() -> None:
    assert diagnose(made(*well()), centred=["theta"]) == []


def test_what_is_wrong_is_said_with_what_to_try() -> None:
    values, stats = well()
    values["mu"][0] += 3
    stats["diverging"][:, :5] = True
    stats["energy"] = np.cumsum(stats["energy"], axis=1)
    stats["tree_depth"][:, :100] = 10
    values["theta"][..., 1] = np.cumsum(values["theta"][..., 1], axis=1)
    said = [
        str(advice) for advice in diagnose(made(values, stats, pareto_k=1.2), centred=["theta"])
    ]
    for words in (
        ("20 of 2000 draws diverged"),
        "write `with noncentered` after the draw of `theta`",
        "R-hat up to",
        "few effective draws of the bulk",
        "BFMI",
        "deepest tree",
        "Pareto k 1.20",
    ):
        assert any(words in line for line in said), words


@pytest.mark.parametrize(
    ("asked", "told"),
    [(0.8, "`target_accept=0.95`"), (0.95, "`target_accept=0.99`"), (0.99, "other")],
)
def test_steps_that_diverge_are_to_be_smaller_than_they_were(asked: float, told: str) -> None:
    values, stats = well()
    stats["diverging"][:, :5] = True
    (advice,) = diagnose(made(values, stats, target_accept=asked))
    assert told in advice.remedy


def test_containers_are_those_of_the_arviz_that_is_installed(tmp_path: Path) -> None:
    """Its own reader gives back every number, dim, label and attribute."""
    values, stats = well(2, 50)
    found = made(values, stats, warmup=7)
    assert type(found).__name__ == ("InferenceData" if IS_OLD_ARVIZ else "DataTree")
    found.to_netcdf(str(tmp_path / "post.nc"))
    read = az.from_netcdf(str(tmp_path / "post.nc"))
    assert type(read) is type(found)
    for own in (found, read):
        assert has_group(own, "posterior")
        assert not has_group(own, "prior")
        posterior = group(own, "posterior")
        assert posterior["theta"].dims == ("chain", "draw", "School")
        assert list(posterior.coords["School"].values) == ["a", "b"]
        assert posterior.attrs == {"inference_library": "dpc", "warmup": 7}
        np.testing.assert_array_equal(posterior["theta"], values["theta"])
        np.testing.assert_array_equal(group(own, "sample_stats")["diverging"], stats["diverging"])
    assert list(az.summary(found, var_names=["theta"]).index) == ["theta[a]", "theta[b]"]


@pytest.mark.parametrize(
    "first", some_fast(["dpc.model.model", "dpc.estimators", "dpc.inference.mcmc.run"], 1)
)
def test_arviz_may_be_imported_before(first: str) -> None:
    """Version 1 leaves a NumPyro behind that loads on first use, and whose submodules would lack
    names.
    """
    code = f"import arviz, {first}, numpyro; numpyro.distributions.distribution.Unit"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_functions_run_over_all_draws() -> None:
    values = {"x": np.arange(6.0).reshape(2, 3), "y": np.ones((2, 3, 4))}
    found = over_draws(lambda v: v["x"] + jnp.sum(v["y"]), values)
    np.testing.assert_array_equal(found, values["x"] + 4)
