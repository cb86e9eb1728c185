"""The model embedded in Python: pure functions, checked inputs, errors that explain themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import dpc

LOOSE_JAX = "NumPyro promotes types and ranks"

MODELS = Path(__file__).parent.parent / "models"
KEY = 0


def test_log_prob_of_eight_schools_by_hand() -> None:
    model = dpc.load(MODELS / "eight_schools.dp")
    effect = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    data = model.bind({"effect": effect})
    values = {"mu": jnp.asarray(3.0), "tau": jnp.asarray(2.0), "theta": jnp.linspace(-1.0, 9.0, 8)}
    sd = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    expected = dist.Normal(0.0, 5.0).log_prob(3.0) + dist.HalfCauchy(5.0).log_prob(2.0)
    expected += dist.Normal(3.0, 2.0).log_prob(values["theta"]).sum()
    expected += dist.Normal(values["theta"], sd).log_prob(effect).sum()
    np.testing.assert_allclose(model.log_prob({}, values, data), expected, rtol=1e-12)


def test_functions_accept_jit_vmap_and_grad() -> None:
    model = dpc.load(MODELS / "hmm.dp")
    data = model.bind({"y": [0.3, -1.0, 2.0, 0.1]})
    chance = np.random.default_rng(KEY)
    draws = {
        "pi": jnp.asarray(chance.dirichlet(np.ones(3), 3)),
        "A": jnp.asarray(chance.dirichlet(np.ones(3), (3, 3))),
        "mu": jnp.asarray(np.sort(chance.normal(size=(3, 3)))),
        "z": jnp.asarray(chance.integers(0, 3, (3, 4))),
    }
    each = jax.vmap(lambda values: model.log_prob({}, values, data))(draws)
    one = jax.tree.map(lambda x: x[1], draws)
    np.testing.assert_allclose(each[1], jax.jit(model.log_prob)({}, one, data), rtol=1e-12)
    slope = jax.grad(lambda mu: model.log_prob({}, {**one, "mu": mu}, data))(one["mu"])
    step = 1e-6 * jnp.arange(1.0, 4.0)
    up, down = (
        model.log_prob({}, {**one, "mu": one["mu"] + sign * step}, data) for sign in (1, -1)
    )
    np.testing.assert_allclose(jnp.dot(slope, 2 * step), up - down, rtol=1e-5)


def test_functions_are_compiled_once() -> None:
    """A function of the caller's is traced when the model is loaded, and once for every shape of
    the data.
    """
    traced = []

    def double(x: jax.Array) -> jax.Array:
        traced.append(x.shape)
        return 2 * x

    model = dpc.parse(
        "dim N\ndata x[N] : real\nextern fn double(x: real) -> real\ny[i in N] := double(x[i])\n",
        double=double,
    )
    traced.clear()
    for data in (
        model.bind({"x": [1.0, 2.0]}),
        {"x": np.array([3.0, 4.0])},
        model.bind({"x": [5.0, 6.0]}),
    ):
        np.testing.assert_allclose(model.evaluate({}, data)["y"], 2 * np.asarray(data["x"]))
    assert len(traced) <= 2  # with the sizes that `bind` gives, and without
    model.evaluate({}, {"x": np.zeros(3)})
    assert len(traced) <= 3


def test_sizes_in_a_plain_dictionary_are_static() -> None:
    walk = dpc.parse("dim T\nx[0] ~ Normal(0, 1)\nx[t in T[1..]] ~ Normal(x[t-1], 1)\n")
    key = jax.random.key(KEY)
    by_hand, bound = walk.sample(key, {}, {"T": 5})["x"], walk.sample(key, {}, walk.bind(T=5))["x"]
    np.testing.assert_array_equal(by_hand, bound)
    np.testing.assert_array_equal(jax.jit(lambda k: walk.sample(k, {}, {"T": 5})["x"])(key), bound)


def test_derivatives_pass_through_compiled_functions() -> None:
    """The gradient of the density, under vmap, against the closed form (y - mu) / s^2 summed."""
    model = dpc.parse(
        "dim N\nobserved y[N] : real\nmu ~ Normal(0, 1)\ny[i in N] ~ Normal(mu, 0.5)\n"
    )
    data = model.bind({"y": [0.3, -1.0, 2.0]})
    slope = jax.vmap(jax.grad(lambda mu: model.log_prob({}, {"mu": mu}, data)))(
        jnp.array([0.0, 1.0])
    )
    np.testing.assert_allclose(slope, [1.3 / 0.25, (1.3 - 3) / 0.25 - 1])


def test_a_parameter_may_start_from_data() -> None:
    text = (
        "dim N\nparam mu : real = mean(y)\nparam s : real(lower=0) = sd(y)\nparam w[N] : real "
        "= 2 * x\n"
    )
    text += "data x[N] : real\nobserved y[N] : real\ny[i in N] ~ Normal(mu + w[i] * x[i], s)\n"
    model = dpc.parse(text)
    y = np.array([1.0, 2.0, 6.0])
    data = model.bind({"x": [0.0, 1.0, 2.0], "y": y})
    params = model.init(None, data)
    np.testing.assert_allclose([params["mu"], params["s"]], [3.0, np.std(y, ddof=1)])
    np.testing.assert_allclose(params["w"], [0, 2, 4])
    np.testing.assert_allclose(jax.jit(lambda d: model.init(None, d))(data)["mu"], 3.0)
    space: dict[str, Any] = {"__name__": "program"}
    exec(model.program, space)
    jax.tree.map(np.testing.assert_allclose, space["init"](data), params)
    with pytest.raises(ValueError, match="`mu` is computed from `y`"):
        model.init(None, model.bind({"x": [0.0, 1.0, 2.0]}, partial=True))
    with pytest.raises(ValueError, match="`s` is real\\(lower=0\\), but its starting value is 0"):
        model.init(None, model.bind({"x": [0.0, 1.0], "y": [1.0, 1.0]}))


def test_single_precision_stays_single() -> None:
    with jax.enable_x64(False):
        model = dpc.load(MODELS / "tracking.dp")
        data = model.bind({"seen": [1.0, 2.0, 3.0]})
        draws = model.sample(jax.random.key(KEY), {}, data)
        assert {value.dtype for value in draws.values()} == {jnp.dtype("float32")}
        latent = {name: value for name, value in draws.items() if name != "seen"}
        assert model.log_prob({}, latent, data).dtype == jnp.float32


def test_derivatives_of_a_deterministic_program() -> None:
    model = dpc.parse("param a : real = 2\nparam b : real = 3\nminimize a^2 * b + exp(b)\n")
    params = model.init()
    np.testing.assert_allclose(model.value(params), 12 + np.exp(3), rtol=1e-12)
    np.testing.assert_allclose(model.gradient(params)["a"], 12.0)
    np.testing.assert_allclose(model.gradient(params)["b"], 4 + np.exp(3))
    np.testing.assert_allclose(model.hessian(params)["a"]["b"], 4.0)
    direction = {"a": jnp.asarray(1.0), "b": jnp.asarray(-1.0)}
    np.testing.assert_allclose(model.hvp(params, direction)["a"], 6.0 - 4.0)
    np.testing.assert_allclose(model.jvp(params, direction)[1], 12.0 - 4 - np.exp(3))
    (pulled,) = model.vjp(params)[1](jnp.asarray(2.0))
    np.testing.assert_allclose(pulled["a"], 24.0)


def test_parameters_go_to_unconstrained_space_and_back() -> None:
    declarations = (
        "dim K = 3\nparam p : simplex[K]\nparam s : real(lower=0, upper=2)\nparam o : ordered[K]\n"
    )
    model = dpc.parse(declarations + "minimize s * sum(p * o)\n")
    params = model.init(jax.random.key(KEY))
    raw = model.unconstrain(params)
    assert raw["p"].shape == (2,)
    jax.tree.map(
        lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-10), model.constrain(raw), params
    )
    np.testing.assert_allclose(params["p"].sum(), 1.0)
    assert np.all(np.diff(params["o"]) > 0)


def test_ancestral_samples_have_the_right_law() -> None:
    """False alarm below 1e-6 for each mean: five standard errors."""
    model = dpc.parse("a ~ Bernoulli(0.3)\nb ~ Normal(if a then 2 else -1, 0.5)\nc := b^2\n")
    draws = model.sample(jax.random.key(KEY), {}, {}, n=4000)
    assert abs(draws["a"].mean() - 0.3) < 5 * np.sqrt(0.21 / 4000)
    assert abs(draws["b"].mean() + 0.1) < 5 * np.sqrt((0.25 + 0.21 * 9) / 4000)


def test_ordered_draws_are_normalised() -> None:
    """The density of two ordered draws integrates to one over the half plane."""
    model = dpc.parse("dim K = 2\nx[k in K] ~ Normal(0, 1) with ordered\n")
    grid = jnp.linspace(-6.0, 6.0, 241)
    points = jnp.stack(jnp.meshgrid(grid, grid, indexing="ij"), -1).reshape(-1, 2)
    density = jnp.exp(jax.vmap(lambda x: model.log_prob({}, {"x": x}, {}))(points))
    np.testing.assert_allclose(density.sum() * 0.05**2, 1.0, atol=0.03)
    assert np.all(np.diff(model.sample(jax.random.key(KEY), {}, {}, n=50)["x"], axis=1) > 0)


def test_given_values_upstream_are_used_and_others_inferred_from() -> None:
    """Frequencies of 2,000 draws: |z| < 5, a false alarm in a million runs."""
    model = dpc.load(MODELS / "asia.dp")
    draws = model.sample(jax.random.key(KEY), {}, {}, n=500, given={"smoke": jnp.asarray(0)})
    assert "smoke" not in draws
    assert abs((draws["bronc"] == 0).mean() - 0.6) < 5 * np.sqrt(0.24 / 500)
    exact = model.marginals(given={"xray": 0})["lung"][0]
    drawn = model.sample(jax.random.key(KEY), n=2000, given={"xray": jnp.asarray(0)})
    assert "xray" not in drawn
    assert abs((drawn["lung"] == 0).mean() - exact) < 5 * np.sqrt(exact * (1 - exact) / 2000)
    with pytest.raises(ValueError, match="did you mean `smoke`"):
        model.sample(jax.random.key(KEY), {}, {}, given={"smok": jnp.asarray(0)})


def test_values_are_checked_by_name_and_rank() -> None:
    model = dpc.parse("a ~ Normal(0, 1)\nb ~ Normal(a, 1)\nc := b^2\n")
    with pytest.raises(ValueError, match="no value for the draw `b`"):
        model.log_prob({}, {"a": 1.0})
    with pytest.raises(ValueError, match="no draw `bb`; did you mean `b`"):
        model.log_prob({}, {"a": 1.0, "b": 1.0, "bb": 2.0})
    with pytest.raises(ValueError, match=r"shape \(2,\); use jax.vmap"):
        model.log_prob({}, {"a": jnp.zeros(2), "b": 1.0})


def test_extern_functions_are_checked_when_they_are_bound() -> None:
    def dec(z: jax.Array) -> jax.Array:
        return jnp.zeros(64) + z.sum()

    def enc(x: jax.Array) -> jax.Array:
        return jnp.zeros(20) + x.sum()

    assert "vae" in repr(dpc.load(MODELS / "vae.dp", dec=dec, enc=enc))
    with pytest.raises(TypeError, match=r"shape \(64,\), but gives \(20,\)"):
        dpc.load(MODELS / "vae.dp", dec=lambda z: z, enc=enc)
    with pytest.raises(TypeError, match="needs the Python function `enc`"):
        dpc.load(MODELS / "vae.dp", dec=dec)
    with pytest.raises(TypeError, match="did you mean `dec`"):
        dpc.load(MODELS / "vae.dp", dec=dec, enc=enc, decc=dec)


def test_errors_carry_diagnostics() -> None:
    with pytest.raises(dpc.DpError) as caught:
        dpc.parse("x ~ Normal(0, -1)\n")
    assert [d.code for d in caught.value.diagnostics] == ["E0403"]
    with pytest.raises(dpc.DataError, match="did you mean `effect`"):
        dpc.load(MODELS / "eight_schools.dp").bind({"effects": [1.0] * 8})


def test_the_cell_magic(capsys: pytest.CaptureFixture[str]) -> None:
    class Shell:
        def __init__(self) -> None:
            self.user_ns: dict[str, Any] = {"twice": lambda x: 2 * x}
            self.magics: dict[str, Any] = {}

        def register_magic_function(self, function: Any, kind: str, name: str) -> None:
            self.magics[kind, name] = function

    shell = Shell()
    dpc.load_ipython_extension(shell)
    shell.magics["cell", "dp"]("m twice", "extern fn twice(x: real) -> real\ny := twice(3.0)\n")
    assert float(shell.user_ns["m"].evaluate({})["y"]) == 6.0
    assert shell.magics["cell", "dp"]("broken", "y := zz\n") is None
    assert "E0104" in capsys.readouterr().err
    assert "broken" not in shell.user_ns


def test_a_notebook_shows_the_text_and_the_graph() -> None:
    page = dpc.parse("x ~ Normal(0, 1)\ny := x < 2\n")._repr_html_()
    assert "<svg" in page
    assert "x &lt; 2" in page
