"""Values and evidence at the door of every method: read by one rule, refused in words."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dpc
from dpc.inference.errors import ImpossibleEvidenceError, MemoryLimitError

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"
KEY = jax.random.key(0)

LINE = """
dim Obs
data x[Obs] : real
data n : int = 3
observed y[Obs] : real
param p : real(lower=0, upper=1) = 0.5
param w[Obs] : real = 0
s ~ Normal(0, 1)
y[i in Obs] ~ Normal(s * x[i] + p + w[i], 1)
"""
DATA: dict[str, Any] = {"x": [1.0, 2.0], "y": [1.0, 2.0]}
PARAMS: dict[str, Any] = {"p": 0.5, "w": [0.0, 0.0]}

KINDS = """
dim K = a | b | c
x[k in K] ~ Normal(0, 1)
z : K ~ Categorical(a=0.2, b=0.3, c=0.5)
q ~ Beta(2, 2)
u ~ Bernoulli(0.3)
d ~ DiscreteUniform(3, 6)
"""
VALUES: dict[str, Any] = {"x": np.zeros(3), "z": 1, "q": 0.5, "u": True, "d": 4}


@pytest.fixture(scope="module")
def line() -> dpc.Model:
    return dpc.parse(LINE)


@pytest.fixture(scope="module")
def kinds() -> dpc.Model:
    return dpc.parse(KINDS)


# ---- one value


WRONG = [
    ({"x": 0.0}, "`x` is real[K], but its value has shape ()"),
    ({"x": np.zeros(7)}, "has 7 for `K`, which has 3 by the model"),
    ({"x": np.zeros((2, 3))}, "use jax.vmap for many"),
    ({"x": np.full(3, np.nan)}, "`x` is real[K]: it cannot be nan"),
    ({"z": 7}, "`z` is an index of `K`, from 0 to 2: it cannot be 7"),
    ({"z": -1}, "it cannot be -1"),
    ({"z": 1.7}, "its values are whole, not 1.7"),
    ({"z": True}, "a label or a position, no truth"),
    ({"z": "e"}, "has the label 'e', which is not in `K`"),
    ({"q": 2.0}, "`q` is real(lower=0, upper=1): it cannot be 2.0"),
    ({"u": 2}, "it is true or false, 1 or 0"),
    ({"d": 7}, "it cannot be 7"),
    ({"xx": 1}, "the model has no draw `xx`; did you mean `x`?"),
]


@pytest.mark.parametrize(("change", "words"), WRONG, ids=lambda case: str(case)[:30])
def test_a_value_that_cannot_be_is_refused(
    kinds: dpc.Model, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        kinds.log_prob({}, {**VALUES, **change})


def test_values_are_said_in_many_ways(kinds: dpc.Model) -> None:
    usual = kinds.log_prob({}, VALUES)
    other = {"x": [0, 0, 0], "z": "b", "q": np.float32(0.5), "u": 1, "d": 4.0}
    np.testing.assert_allclose(kinds.log_prob({}, other), usual, rtol=1e-12)
    logs = [3 * stats.norm.logpdf(0), np.log(0.3 * 1.5 * 0.3 / 4)]
    np.testing.assert_allclose(usual, sum(logs), rtol=1e-12)


@pytest.mark.parametrize("outside", [{"z": 7}, {"z": -1}, {"q": 2.0}, {"u": 3}, {"d": 7}])
def test_what_is_traced_has_no_density_outside(kinds: dpc.Model, outside: dict[str, Any]) -> None:
    traced = jax.jit(lambda own: kinds.log_prob({}, {**VALUES, **own}))
    assert traced(outside) == -np.inf


def test_a_traced_value_of_the_wrong_kind_is_refused(kinds: dpc.Model) -> None:
    with pytest.raises(ValueError, match="give whole numbers"):
        jax.jit(lambda z: kinds.log_prob({}, {**VALUES, "z": z}))(1.7)


def test_parameters_and_data_are_looked_at(line: dpc.Model) -> None:
    def refused(words: str, params: Any = PARAMS, own: Any = None, **data: Any) -> None:
        known = {k: v for k, v in {**DATA, **data}.items() if v is not None}
        with pytest.raises(ValueError, match=re.escape(words)):
            line.log_prob(params, own or {"s": 0.0}, known)

    refused("the data lack `y`", y=None)
    refused("`y` is real[Obs], but its value has 3 for `Obs`, which has 2 by `x`", y=[1, 2, 3])
    refused("`p` has shape [3]", params={**PARAMS, "p": [0.5, 0.5, 0.5]})
    refused("`w` is real[Obs], but its value has shape ()", params={**PARAMS, "w": 0.0})
    refused("it cannot be 1.5", params={**PARAMS, "p": 1.5})
    refused("no value for the parameter `w`", params={"p": 0.5})
    refused("no parameter `pp`", params={**PARAMS, "pp": 0.5})
    refused("no data called `z`", z=1)
    refused("`y` has a value in the data and another one", own={"s": 0.0, "y": [1.0, 2.0]})
    with_y = line.log_prob(PARAMS, {"s": 0.0, "y": [1.0, 2.0]}, {"x": [1.0, 2.0]})
    np.testing.assert_allclose(with_y, line.log_prob(PARAMS, {"s": 0.0}, DATA))
    assert jax.jit(lambda p: line.log_prob({**PARAMS, "p": p}, {"s": 0.0}, DATA))(1.5) == -np.inf


def test_nothing_wraps_in_32_bits(line: dpc.Model) -> None:
    with jax.enable_x64(False):
        with pytest.raises(dpc.DataError, match="do not fit in 32 bits, such as 3000000000"):
            line.bind({**DATA, "n": 3_000_000_000})
        with pytest.raises(ValueError, match="do not fit in 32 bits"):
            line.log_prob(PARAMS, {"s": 0.0}, {**DATA, "n": 3_000_000_000})
        with pytest.raises(dpc.DataError, match="such as 1e\\+300"):
            line.bind({**DATA, "x": [1e300, 1.0]})
        with pytest.warns(UserWarning, match="32 bits round in densities"):
            line.bind({**DATA, "n": 20_000_000})


def test_objectives_read_parameters_by_the_same_rule() -> None:
    model = dpc.parse(
        "param a : real = 1\nparam b : real(lower=0) = 2\nx ~ Normal(a, b)\nminimize x^2\n"
    )
    for params, words in [
        ({"a": 1.0, "b": -1.0}, "it cannot be -1"),
        ({"a": 1.0}, "no value for the parameter `b`"),
        ({"a": [1.0, 2.0], "b": 1.0}, "`a` has shape"),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            model.value_and_grad(KEY, params)
    traced = jax.jit(lambda b: model.value_and_grad(KEY, {"a": 1.0, "b": b})[0])
    assert np.isnan(traced(-1.0))


# ---- evidence


@pytest.fixture(scope="module")
def die() -> dpc.Model:
    return dpc.parse("a ~ DiscreteUniform(3, 6)\nb ~ Bernoulli(a / 10)\n")


WEIGHTS = np.array([3, 4, 5, 6]) / 18
"""Of a given b, by Bayes' rule."""


def test_numbers_come_back_as_they_are(die: dpc.Model) -> None:
    drawn = np.asarray(die.sample(KEY, n=4000, given={"b": 1})["a"])
    shares = [(drawn == value).mean() for value in (3, 4, 5, 6)]
    # A right program fails once in about 10,000 seeds: four shares, four standard errors each.
    assert np.all(np.abs(shares - WEIGHTS) < 4 * np.sqrt(WEIGHTS * (1 - WEIGHTS) / 4000))
    assert die.mode(given={"b": True})["a"] == 6
    assert die.mode(given={"a": 3})["b"].dtype == bool
    best, scores = die.kbest(2, given={"b": True})
    np.testing.assert_array_equal(best["a"], [6, 5])
    np.testing.assert_allclose(scores, np.log([0.6 / 4, 0.5 / 4]))
    np.testing.assert_allclose(die.marginals(given={"b": 1})["a"], WEIGHTS, rtol=1e-6)
    np.testing.assert_allclose(die.marginals(given={"a": 5})["b"], [0.5, 0.5], rtol=1e-6)
    traced = jax.jit(lambda a: die.marginals(given={"a": a})["b"])
    np.testing.assert_allclose(traced(5), [0.5, 0.5], rtol=1e-6)
    assert np.isnan(traced(2)).all()
    answer = die.query(given={"a": 5}, samples=3)
    assert {row["a"] for row in answer["samples"]} == {"5"}


METHODS: list[Callable[[dpc.Model, Any], Any]] = [
    lambda model, given: model.marginals(given=given),
    lambda model, given: model.log_partition(given=given),
    lambda model, given: model.mode(given=given),
    lambda model, given: model.entropy(given=given),
    lambda model, given: model.kbest(1, given=given),
    lambda model, given: model.sample(KEY, given=given),
    lambda model, given: model.query(given=given),
    lambda model, given: model.query(map=True, given=given),
]


@pytest.fixture(scope="module")
def net() -> dpc.Model:
    return dpc.parse(
        "dim K = a | b | c\nz : K ~ Categorical(a=0.2, b=0.3, c=0.5)\n"
        "w ~ Bernoulli(if z == a then 0.9 else 0.2)\n"
    )


@pytest.mark.parametrize("number", range(len(METHODS)))
def test_wrong_evidence_is_refused_by_all_methods(net: dpc.Model, number: int) -> None:
    for wrong in (-1, 7, 1.7, "d", ["a", "b"], [0.2, 0.3], set(), [0.0, 0.0, 0.0]):
        with pytest.raises(ValueError, match="`z`"):
            METHODS[number](net, {"z": wrong, "w": True})


def test_evidence_of_every_kind_is_taken_by_all_methods(net: dpc.Model) -> None:
    prior, likely = np.array([0.2, 0.3, 0.5]), np.array([0.9, 0.2, 0.2])
    for given, weights in [
        ("b", [0, 1, 0]),
        (1, [0, 1, 0]),
        (np.int32(1), [0, 1, 0]),
        ({"a", "c"}, [1, 0, 1]),
        ([0.2, 0.3, 0.1], [0.2, 0.3, 0.1]),
        (None, [1, 1, 1]),
        (dpc.OPEN, [1, 1, 1]),
    ]:
        wanted = prior * likely * weights
        known = {"z": given, "w": True}
        found = net.marginals(given=known)["z"]
        np.testing.assert_allclose(found, wanted / wanted.sum(), rtol=1e-6)
        np.testing.assert_allclose(net.log_partition(given=known), np.log(wanted.sum()), rtol=1e-6)
        assert net.mode(given=known)["z"] == np.argmax(wanted)
        answer = net.query("z", given=known)["marginals"]["z"]
        np.testing.assert_allclose([*answer.values()], wanted / wanted.sum(), rtol=1e-6)
        drawn = net.sample(KEY, n=50, given=known)
        assert ("z" in drawn) == (np.count_nonzero(weights) > 1)
        if "z" in drawn:
            assert np.all(wanted[np.asarray(drawn["z"])] > 0)


def test_impossible_evidence_raises_and_is_no_number_when_traced() -> None:
    model = dpc.parse("a ~ Bernoulli(0)\nb ~ Bernoulli(if a then 0.5 else 1)\n")
    for method in METHODS:
        if method is METHODS[1]:
            continue  # log 0 is an answer
        with pytest.raises(ImpossibleEvidenceError, match="probability zero: b="):
            method(model, {"b": False})
    assert model.log_partition(given={"b": False}) == -np.inf
    with pytest.raises(ImpossibleEvidenceError):
        model.query(kbest=2, given={"b": "false"})
    traced = jax.jit(lambda b: (model.marginals(given={"b": b}), model.entropy(given={"b": b})))
    assert all(np.isnan(leaf).all() for leaf in jax.tree.leaves(traced(0)))


def test_a_label_that_is_a_number_is_never_mistaken_for_a_position() -> None:
    model = dpc.parse("dim N = `1` | `2` | `3`\nz : N ~ Categorical(`1`=0.2, `2`=0.3, `3`=0.5)\n")
    with pytest.raises(ValueError, match="give the label as text"):
        model.marginals(given={"z": 1})
    np.testing.assert_allclose(model.marginals(given={"z": "1"})["z"], [1, 0, 0])


def test_the_k_best_of_a_chain_are_traced() -> None:
    model = dpc.parse(
        "dim T = 4\nparam J : real = 0.7\nlatent s[T] : bool\n"
        "factor tie[t in T[1..]] : J * (if s[t-1] == s[t] then 1 else 0)\n"
        "factor tilt[t in T] : 0.1 * t * (if s[t] then 1 else 0)\n"
    )
    traced, scores = jax.jit(lambda j: model.kbest(3, {"J": j}))(0.7)
    eager, others = model.kbest(3, {"J": 0.7})
    np.testing.assert_allclose(scores, others, rtol=1e-6)
    np.testing.assert_array_equal(traced["s"], eager["s"])


# ---- where draws are from


def test_sample_says_where_its_draws_are_from() -> None:
    model = dpc.parse(
        "dim T = 3\nobserved y[T] : real\nz[0] ~ Bernoulli(0.5)\n"
        "z[t in T[1..]] ~ Bernoulli(if z[t-1] then 0.9 else 0.1)\n"
        "y[t in T] ~ Normal(if z[t] then 3 else -3, 1)\n"
    )
    data = model.bind({"y": [3.0, 3.0, 3.0]})
    prior = model.sample(KEY, {}, data, n=400)
    assert prior["y"].shape == (400, 3)
    assert 0.4 < prior["z"].mean() < 0.6  # four standard errors around 0.5
    known = model.sample(KEY, {}, data, n=400, given_data=True)
    assert known["z"].mean() > 0.95
    assert "y" not in known
    # Evidence downstream: z is drawn exactly, what is below it after it, whatever was observed.
    late = model.sample(KEY, {}, data, n=400, given={"z[2]": True})
    assert late["y"].shape == (400, 3)
    assert late["z"][:, 2].all()
    assert 0.7 < late["z"][:, 0].mean() < 0.94  # truth 0.82
    means = np.where(late["z"], 3, -3)
    assert abs((late["y"] - means).mean()) < 4 / np.sqrt(1200)


# ---- derivatives where a probability is 0 or 1


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_derivatives_have_their_limits_at_the_ends(p: float) -> None:
    model = dpc.parse(
        "param p : real(lower=0, upper=1) = 0.5\nb ~ Bernoulli(p)\n"
        "y ~ Bernoulli(if b then 0.9 else 0.2)\nc := if b then 3 else 1\n"
    )
    seen = {"y": True}
    z = 0.2 + 0.7 * p

    def slope(answer: Callable[[Any], Any]) -> Any:
        return jax.grad(lambda p: answer({"p": p}))(p)

    found = slope(lambda own: model.log_partition(own, given=seen))
    np.testing.assert_allclose(found, 0.7 / z, rtol=1e-9)
    found = slope(lambda own: model.marginals(own, given=seen)["b"][1])
    np.testing.assert_allclose(found, 0.18 / z**2, rtol=1e-9)
    found = slope(lambda own: model.moments("c", own, given=seen).mean)
    np.testing.assert_allclose(found, 0.36 / z**2, rtol=1e-9)


# ---- models that were used


def test_a_used_model_is_pickled_and_copied(net: dpc.Model) -> None:
    usual = net.marginals(given={"w": True})["z"]
    for other in (pickle.loads(pickle.dumps(net)), copy.copy(net), copy.deepcopy(net)):
        np.testing.assert_allclose(other.marginals(given={"w": True})["z"], usual)


def test_programs_for_many_indices_are_not_kept_for_ever() -> None:
    model = dpc.parse(
        "dim N = 3\ndim K = 2\ndata at[N] : K\nz[k in K] ~ Bernoulli(0.4)\n"
        "observed y[N] : bool\ny[i in N] ~ Bernoulli(if z[at[i]] then 0.9 else 0.2)\n"
    )
    for number in range(2**3 + 4):
        at = [number % 2, number // 2 % 2, number // 4 % 2]
        model.finite({}, model.bind({"at": at, "y": [True, False, True]}))
    kept = [len(found) for found in model.questions._finites.found.values()]
    assert max(kept) <= 8


def test_an_exported_program_takes_what_the_method_takes(line: dpc.Model) -> None:
    from jax import export

    data = line.bind(DATA)
    params = {"p": jnp.asarray(0.5), "w": jnp.zeros(2)}
    program = export.deserialize(bytearray(line.build("stablehlo", "log_prob", data=DATA)))
    values = {"s": jnp.asarray(0.3)}
    np.testing.assert_allclose(
        program.call(params, values, data.arrays), line.log_prob(params, values, data), rtol=1e-12
    )
    program = export.deserialize(bytearray(line.build("stablehlo", "sample", data=DATA)))
    drawn = program.call(jax.random.key_data(KEY), params, data.arrays)
    np.testing.assert_allclose(drawn["s"], line.sample(KEY, params, data)["s"])


def test_sizes_are_looked_at_before_arrays_are_made() -> None:
    text = "dim N\ndata x[N] : real\nparam t : real = 1\n"
    model = dpc.parse(f"{text}minimize sum[i in N, j in N] x[i] * x[j] * t\n")
    assert float(model.value({"t": 1.0}, {"x": np.ones(3)})) == 9
    with pytest.raises(MemoryLimitError, match="has an array over N of 10,000,000"):
        model.value({"t": 1.0}, {"x": np.ones(10_000_000)})
