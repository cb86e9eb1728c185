"""Rows added from Python: a distribution, a function and an estimator that every command takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import integrate, optimize

import dpc
from dpc import extend
from dpc.cli import main
from dpc.estimators.methods.measure import Side
from dpc.estimators.methods.method import Method, Points
from dpc.estimators.methods.score import ScoreFunction
from dpc.inference.families.table import find_family

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

HALF_PI = np.pi / 2

# ---- made-up rows


class Sech(dist.Distribution):
    """The hyperbolic secant: density sech(pi z / 2) / (2 width), z = (x - centre) / width."""

    arg_constraints = {"centre": constraints.real, "width": constraints.positive}  # noqa: RUF012
    support = constraints.real
    reparametrized_params = ["centre", "width"]  # noqa: RUF012

    def __init__(self, centre: Any, width: Any, *, validate_args: Any = None):
        self.centre, self.width = jnp.broadcast_arrays(*map(jnp.asarray, (centre, width)))
        super().__init__(batch_shape=self.centre.shape, validate_args=validate_args)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        u = jax.random.uniform(key, (*sample_shape, *self.batch_shape), minval=1e-7, maxval=1.0)
        return self.centre + self.width * jnp.log(jnp.tan(HALF_PI * u)) / HALF_PI

    def log_prob(self, value: Any) -> Any:
        z = jnp.abs(value - self.centre) / self.width
        return -HALF_PI * z - jnp.log1p(jnp.exp(-2 * HALF_PI * z)) - jnp.log(self.width)

    @property
    def mean(self) -> Any:
        return self.centre

    @property
    def variance(self) -> Any:
        return self.width**2


def sech_log_density(x: Any, centre: Any, width: Any) -> Any:
    z = np.abs(x - centre) / width
    return -HALF_PI * z - np.log1p(np.exp(-2 * HALF_PI * z)) - np.log(width)


class Bell(dist.Normal):
    """A normal of scale one, by its centre alone."""

    arg_constraints = {"centre": constraints.real}  # noqa: RUF012
    reparametrized_params = ["centre"]  # noqa: RUF012

    def __init__(self, centre: Any, *, validate_args: Any = None):
        self.centre = jnp.asarray(centre)
        super().__init__(self.centre, 1.0, validate_args=validate_args)


def split_bell(key: Any, law: Any) -> Any:
    """d Normal(m, 1) / d m = (m + Rayleigh - (m - Rayleigh)) / sqrt(2 pi)."""
    centre = law.mean
    draw = centre + jax.random.normal(key, centre.shape)
    distance = jnp.sqrt(-2 * jnp.log(jax.random.uniform(key, centre.shape, minval=1e-30)))
    log_prob = jnp.log(distance) - distance**2 / 2
    size = jnp.full(centre.shape, 1 / np.sqrt(2 * np.pi))
    return draw, [
        Side(centre, size, centre + distance, log_prob),
        Side(centre, -size, centre - distance, log_prob),
    ]


class Twice(Method):
    """The score function of the mean of two draws."""

    name = "twice"
    single = False

    def points(self, key: Any, law: Any, local: tuple[int, ...]) -> Points:
        pair = [ScoreFunction().points(k, law, local) for k in jax.random.split(key)]
        values = jax.tree.map(lambda *x: jnp.concatenate(x), *(p.values for p in pair))
        shape = (2, *(law.batch_shape[axis] for axis in local))
        scores = jnp.concatenate([p.log_prob for p in pair])
        return Points(values, jnp.full(shape, 0.5), scores)

    @classmethod
    def refusal(cls, law: Any) -> str:
        return ""


def wobble(x):
    return 1 + jnp.sin(x) / 2


@pytest.fixture(autouse=True)
def added() -> Iterator[None]:
    dpc.add_distribution(
        "Sech(centre: real, width: positive) -> real",
        Sech,
        "the hyperbolic secant",
        log_density=sech_log_density,
        reparametrised=True,
        location_scale=("centre", "width"),
        symmetric="smooth",
        on_the_line=True,
        moments=True,
    )
    dpc.add_distribution(
        "Bell(centre: real) -> real",
        Bell,
        split=split_bell,
        divergence=lambda q, p: (q.centre - p.centre) ** 2 / 2,
        family=find_family("Normal of known scale", scale=1.0),
        natural="centre",
        reparametrised=True,
        moments=True,
    )
    dpc.add_function(
        "wobble(x: real) -> positive", jax=wobble, numpy=lambda x: 1 + np.sin(x) / 2, doc="a wave"
    )
    dpc.add_estimator(Twice, "two draws", along="score", weighed=True)
    yield
    for name in ("Sech", "Bell", "wobble", "twice"):
        extend.remove(name)


def gradient_of(model: dpc.Model, name: str, samples: int = 20_000) -> tuple[float, float]:
    """An entry of the estimated gradient, and its standard error."""
    found = model.grad(samples=samples).to_dict()
    return found["gradient"][name], found["standard_errors"]["gradient"][name]


def written(folder: Path, text: str) -> str:
    file = folder / "m.dp"
    file.write_text(text)
    return str(file)


# ---- a distribution

MODEL = """model m
param c : real = 0.3
param w : real(lower=0) = 1.2
x ~ Sech(c, w) with grad={}
minimize x^2
"""


def test_check_explain_and_sample_know_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "model m\nx ~ Sech(1, 2)\n")
    assert main(["check", path]) == 0
    assert main(["explain", "Sech"]) == 0
    assert "the hyperbolic secant" in capsys.readouterr().out
    assert main(["sample", path]) == 0
    assert main(["info", path]) == 0
    wrong = written(tmp_path, "model m\nx ~ Sech(1, -2)\n")
    assert main(["check", wrong]) == 1
    assert "above 0" in capsys.readouterr().err


def test_its_density_is_that_of_the_class() -> None:
    m = dpc.parse("model m\ndim N = 3\nx[i in N] ~ Sech(1, 2)\n")
    values = np.array([-3.0, 1.0, 2.5])
    found = m.log_prob({}, {"x": values}, {})
    expected = np.log(1 / (2 * 2) / np.cosh(HALF_PI * (values - 1) / 2)).sum()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("method", ["pathwise", "antithetic", "sfe", "rloo", "es", "twice"])
def test_gradients_by_every_method_that_fits(method: str) -> None:
    """E[x^2] = c^2 + w^2. A right estimate is outside of 5 errors once in a million."""
    model = dpc.parse(MODEL.format(method))
    for name, expected in {"c": 0.6, "w": 2.4}.items():
        value, error = gradient_of(model, name)
        assert abs(value - expected) < 5 * error + 1e-4


def test_a_method_that_does_not_fit_is_refused() -> None:
    with pytest.raises(dpc.DpError, match="`mvd` is not for draws of `Sech`"):
        dpc.parse(MODEL.format("mvd"))


def test_questions_are_answered_by_numpy() -> None:
    """P(z | x) by Bayes' rule; `jax` compiles nothing."""
    text = "model m\nobserved x : real\nz ~ Bernoulli(0.3)\nx ~ Sech(if z then 2 else -1, 1)\n"
    m = dpc.parse(text)
    found = m.query("z", data={"x": 0.7}).to_dict()["marginals"]["z"]
    weights = [
        0.7 * np.exp(sech_log_density(0.7, -1, 1)),
        0.3 * np.exp(sech_log_density(0.7, 2, 1)),
    ]
    np.testing.assert_allclose(found["true"], weights[1] / sum(weights), rtol=1e-9)


def test_it_is_fitted() -> None:
    x = np.random.default_rng(0).normal(2, 1.5, 200)
    text = "model m\ndim N\nparam c : real = 0\nparam w : real(lower=0) = 1\n"
    m = dpc.parse(text + "observed x[N] : real\nx[i in N] ~ Sech(c, w)\n")
    with jax.enable_x64(True):
        fit = m.fit({"x": x})
    best = optimize.minimize(
        lambda p: -sech_log_density(x, p[0], np.exp(p[1])).sum(), [1.0, 0.0], tol=1e-12
    )
    np.testing.assert_allclose(fit.params["c"], best.x[0], rtol=1e-4)
    np.testing.assert_allclose(fit.params["w"], np.exp(best.x[1]), rtol=1e-4)


@pytest.mark.parametrize("how", ["", " with noncentered"])
def test_its_posterior_is_that_of_quadrature(how: str) -> None:
    """1,000 draws: an error of 5 standard ones, with sizes worth 300, is once in a million."""
    text = f"model m\nobserved y : real\nx ~ Sech(1, 2){how}\ny ~ Normal(x, 1)\n"
    with jax.enable_x64(True):
        found = dpc.parse(text).posterior({"y": 2.0}, draws=500, warmup=300, chains=2)

    def weight(x: float) -> float:
        return float(np.exp(sech_log_density(x, 1, 2) - (x - 2) ** 2 / 2))

    total = integrate.quad(weight, -20, 20)[0]
    mean = integrate.quad(lambda x: x * weight(x), -20, 20)[0] / total
    sd = np.sqrt(integrate.quad(lambda x: (x - mean) ** 2 * weight(x), -20, 20)[0] / total)
    draws = np.asarray(found.posterior["x"])
    assert abs(draws.mean() - mean) < 5 * sd / np.sqrt(300)


def test_the_printed_program_imports_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", written(tmp_path, "model m\nx ~ Sech(1, 2)\n")]) == 0
    assert f"from {__name__} import Sech as Sech" in capsys.readouterr().out


# ---- what needs code of its own


def test_a_split_gives_the_derivative_of_a_jump() -> None:
    """d P(x > 0.2) / d c is the density at 0.2; 5 errors: once in a million."""
    text = "model m\nparam c : real = 0.5\nx ~ Bell(c) with grad=mvd\n"
    m = dpc.parse(text + "minimize (if x > 0.2 then 1 else 0)\n")
    value, error = gradient_of(m, "c")
    expected = np.exp(-(0.3**2) / 2) / np.sqrt(2 * np.pi)
    assert abs(value - expected) < 5 * error + 1e-4


def test_a_divergence_makes_a_bound_exact() -> None:
    """elbo() of a guide that draws from the prior's family: -KL has no noise."""
    text = "model m\nparam c : real = 0.5\nx ~ Bell(0)\nguide { x ~ Bell(c) }\nmaximize elbo()\n"
    found = dpc.parse(text).grad(samples=10).to_dict()
    np.testing.assert_allclose(found["gradient"]["c"], -0.5, rtol=1e-5)
    assert found["exact"]


def test_a_family_has_natural_gradients() -> None:
    text = "model m\ndim N\nparam c : real = 0\nobserved x[N] : real\nx[i in N] ~ Bell(c)\n"
    x = np.random.default_rng(1).normal(3, 1, 50)
    with jax.enable_x64(True):
        fit = dpc.parse(text).fit({"x": x}, method="natural")
    np.testing.assert_allclose(fit.params["c"], x.mean(), rtol=1e-6)


# ---- a function


WAVE = """model m
param t : real = 0.7
b ~ Bernoulli(wobble(t) / 2)
x ~ Normal(wobble(t), 1)
minimize (x - 1)^2
"""


def test_every_command_takes_a_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, WAVE)
    assert main(["check", path]) == 0
    assert main(["explain", "wobble"]) == 0
    assert "a wave" in capsys.readouterr().out
    assert main(["query", path, "--ask", "b", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["marginals"]["b"]["true"]
    np.testing.assert_allclose(found, (1 + np.sin(0.7) / 2) / 2)
    for command in ("sample", "run", "grad", "plan"):
        assert main([command, path]) == 0
    assert main(["fit", path, "--steps", "3"]) in (0, 4)
    capsys.readouterr()
    assert main(["build", path]) == 0
    assert f"from {__name__} import wobble as wobble" in capsys.readouterr().out


def test_the_gradient_of_a_function_is_right() -> None:
    m = dpc.parse("model m\nparam t : real = 0.7\nminimize wobble(t)^2\n")
    gradient = m.gradient({"t": jnp.asarray(0.7)})
    expected = 2 * (1 + np.sin(0.7) / 2) * np.cos(0.7) / 2
    np.testing.assert_allclose(gradient["t"], expected, rtol=1e-5)


# ---- an estimator


def test_an_estimator_of_coins_is_right() -> None:
    """d E[(b - 0.499)^2] / d theta = p (1 - p) (0.501^2 - 0.499^2); once in a million."""
    text = "model m\nparam t : real = 0.3\nb ~ Bernoulli(logistic(t)) with grad=twice(samples=8)\n"
    m = dpc.parse(text + "minimize (b - 0.499)^2\n")
    value, error = gradient_of(m, "t")
    p = 1 / (1 + np.exp(-0.3))
    assert abs(value - p * (1 - p) * (0.501**2 - 0.499**2)) < 5 * error + 1e-5


def test_it_is_compared_planned_and_refused_like_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "model m\nparam t : real = 0.3\nb ~ Bernoulli(logistic(t)) with grad=twice\n"
    path = written(tmp_path, text + "minimize b\n")
    assert main(["plan", path]) == 0
    assert "twice" in capsys.readouterr().out
    assert main(["grad", path, "--compare", "all", "--samples", "100"]) == 0
    assert "twice" in capsys.readouterr().out
    moving = "model m\nparam t : real = 0.3\nu ~ Uniform(0, exp(t)) with grad=twice\nminimize u\n"
    with pytest.raises(dpc.DpError, match="would leave out what happens at an edge"):
        dpc.parse(moving).grad()


# ---- what is refused


def test_names_are_taken_once() -> None:
    with pytest.raises(ValueError, match="already"):
        dpc.add_function("exp(x: real) -> real", jax=jnp.exp)
    with pytest.raises(ValueError, match="already"):
        dpc.add_distribution("Normal(centre: real) -> real", Bell)
    with pytest.raises(ValueError, match="already"):
        dpc.add_estimator(Twice)


@pytest.mark.parametrize(
    ("signature", "constructor", "facts", "why"),
    [
        ("New(centre: real) -> real", Bell, {"reparametrized": True}, "`reparametrised`"),
        ("New(centre: real) -> real", Bell, {}, "its class says otherwise"),
        ("New(middle: real) -> real", Bell, {"reparametrised": True}, "no argument `middle`"),
        ("New(centre: real) -> real", Bell, {"edges": ("low",)}, "names the argument `low`"),
        ("New(centre: real) -> real", Bell, {"symmetric": "smooth"}, "needs `location_scale`"),
        ("New(centre: real) -> real", jnp.sin, {}, "a class of numpyro"),
        ("class(centre: real) -> real", Bell, {}, "choose another name"),
    ],
)
def test_wrong_rows_are_refused(signature: str, constructor: Any, facts: Any, why: str) -> None:
    with pytest.raises((ValueError, TypeError), match=why):
        dpc.add_distribution(signature, constructor, **facts)
    with pytest.raises(ValueError, match="nothing called `New`"):
        extend.remove("New")


@pytest.mark.parametrize(
    ("signature", "more", "why"),
    [
        ("jnp(x: real) -> real", {}, "has a meaning"),
        ("params(x: real) -> real", {}, "has a meaning"),
        ("table(x: real) -> real", {}, "has a meaning"),
        ("Normal(x: real) -> real", {}, "already"),
        ("new(x: real) -> real", {"jumps": ("x",)}, "a text with the names"),
        ("new(x: real) -> real", {"kinks": "y"}, "names the argument `y`"),
        ("new(x: real) -> real", {"jax": 3}, "is a function"),
        ("new(x: real) -> real", {"jax": lambda x: jnp.stack([x, x])}, "gives the shape"),
        ("new(x: real, y: real) -> real", {}, "does not take 2 arguments"),
    ],
)
def test_wrong_functions_are_refused(signature: str, more: Any, why: str) -> None:
    with pytest.raises((ValueError, TypeError), match=why):
        dpc.add_function(signature, **{"jax": lambda x: x, **more})


# ---- distributions of whole numbers


class Coin(dist.Distribution):
    """A Bernoulli of our own."""

    arg_constraints = {"p": constraints.unit_interval}  # noqa: RUF012
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, p: Any, *, validate_args: Any = None):
        self.p = jnp.asarray(p)
        super().__init__(batch_shape=self.p.shape, validate_args=validate_args)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        shape = (*sample_shape, *self.batch_shape)
        return jnp.asarray(jax.random.uniform(key, shape) < self.p, int)

    def log_prob(self, value: Any) -> Any:
        return jnp.log(jnp.where(value > 0, self.p, 1 - self.p))

    def enumerate_support(self, expand: bool = True) -> Any:
        values = jnp.arange(2).reshape(2, *(1,) * len(self.batch_shape))
        return jnp.broadcast_to(values, (2, *self.batch_shape)) if expand else values


class Unlisted(Coin):
    has_enumerate_support = False


@pytest.fixture
def counts() -> Iterator[None]:
    dpc.add_distribution("Counts(rate: positive) -> count", dist.Poisson, moments=True)
    dpc.add_distribution("Coin(p: unit) -> bool", Coin)
    yield
    extend.remove("Counts")
    extend.remove("Coin")


def test_values_that_can_be_listed_are_listed() -> None:
    with pytest.raises(ValueError, match="has_enumerate_support"):
        dpc.add_distribution("Odd(p: unit) -> bool", Unlisted)


@pytest.mark.usefixtures("counts")
def test_a_coin_is_summed_asked_and_fitted() -> None:
    text = "model m\nparam t : real = 0.3\nb ~ Coin(logistic(t))\nminimize (b - 0.2)^2\n"
    p = 1 / (1 + np.exp(-0.3))
    found = dpc.parse(text).grad().to_dict()
    np.testing.assert_allclose(found["gradient"]["t"], p * (1 - p) * (0.64 - 0.04), rtol=1e-5)
    asked = dpc.parse("model m\nb ~ Coin(0.3)\nc ~ Bernoulli(if b then 0.9 else 0.2)\n")
    answer = asked.query("b", given={"c": True}).to_dict()["marginals"]["b"]["true"]
    np.testing.assert_allclose(answer, 0.27 / (0.27 + 0.14))


@pytest.mark.usefixtures("counts")
def test_counts_have_gradients_and_predictions() -> None:
    """d E[x] / d t = exp(t); 5 errors: once in a million."""
    m = dpc.parse("model m\nparam t : real = 0.3\nx ~ Counts(exp(t))\nminimize x\n")
    value, error = gradient_of(m, "t")
    assert abs(value - np.exp(0.3)) < 5 * error
    predicted = dpc.parse("model m\ndata u : real\nparam r : real = 1\nx ~ Counts(exp(r * u))\n")
    found = predicted.predict({"r": 2.0}, [{"u": 0.5}, {"u": -1.0}])["x"]
    np.testing.assert_allclose(np.ravel(found.best), np.exp([1.0, -2.0]), rtol=1e-5)


def test_what_was_taken_away_is_named() -> None:
    dpc.add_distribution("Gone(rate: positive) -> count", dist.Poisson)
    m = dpc.parse("model m\nx ~ Gone(1)\n")
    extend.remove("Gone")
    with pytest.raises(LookupError, match="was taken away"):
        m.log_prob({}, {"x": 1}, {})


def test_what_numpyro_has_itself_is_there_again_when_a_row_is_taken_away() -> None:
    from dpc.estimators.methods.measure import SPLITS

    before = dict(SPLITS)
    dpc.add_distribution(
        "Events(rate: positive) -> count", dist.Poisson, doc="counts", split=lambda *_: None
    )
    extend.remove("Events")
    assert before == SPLITS
