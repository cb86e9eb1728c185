"""Arguments outside their domain, proofs that they are inside, and declared ranges of values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpc
from dpc.dsl.graph.facts import Facts
from dpc.dsl.graph.ranges import PLAIN, range_of_function
from dpc.dsl.library.bodies.source import resolve
from dpc.dsl.library.functions import FUNCTIONS
from dpc.dsl.library.rows import FunctionRow
from dpc.dsl.pipeline import check_source
from dpc.dsl.source import Source

HEAD = """
dim K = 3
param b : real
param v[K] : real
param w[K] : real(lower=0)
param s : real(lower=0)
param p : real(lower=0, upper=1)
param M[K, K] : real
param C[K, K] : covariance
"""


def found(line: str) -> list[tuple[str, str]]:
    checked = check_source(Source("m.dp", HEAD + line + "\n"))
    return [(d.code, d.help or "") for d in checked.diagnostics if d.code != "W0101"]


@pytest.mark.parametrize(
    "line",
    [
        "x ~ Poisson(s * p)",
        "x ~ Normal(0, s + 1)",
        "x ~ Normal(0, sqrt(b^2 + s))",
        "x ~ Normal(0, max(b, 0.1))",
        "x ~ Normal(0, log(1 + exp(b)))",
        "x ~ Normal(0, abs(b))",
        "x ~ Exponential(1 / (1 + abs(b)))",
        "x ~ Bernoulli(1 - exp(-s))",
        "x ~ Bernoulli(p^2 / (p^2 + (1 - p)^2))",
        "x ~ Bernoulli(if b > 0 then p else 1 - p)",
        "x ~ Bernoulli(w[0] / sum(w))",
        "half = s / 2\nx ~ Normal(0, half)",
        "fn f(x: real) -> real = exp(x) + 1\nx ~ Normal(0, f(b))",
        "x ~ Categorical(w / sum(w))",
        "x ~ Categorical([k in K] w[k] / sum[j in K] w[j])",
        "total = sum(w)\nq = w / total\nx ~ Categorical(q)",
        "x ~ Categorical([p, 1 - p])",
        "x ~ Categorical([p / 2, 0.5 * p, 1 - p])",
        "x ~ Categorical(softargmax(v))",
        "x ~ Categorical(ones(K) / size(K))",
        "x ~ MultivariateNormal(v, C + s * eye(K))",
        "x ~ MultivariateNormal(v, M @ transpose(M) + diag(w))",
        "x ~ OrderedLogistic(b, [0, 1, 2.5])",
        "x ~ OrderedLogistic(b, cumsum(w))",
    ],
)
def test_what_is_proved_is_not_warned_of(line: str) -> None:
    assert found(line) == []


@pytest.mark.parametrize(
    ("line", "mend"),
    [
        ("x ~ Poisson(b * s)", "log_rate"),
        ("x ~ Normal(0, b + 1)", "exp(...)"),
        ("x ~ Bernoulli(2 * p)", "logits"),
        ("x ~ Bernoulli(b)", "logits"),
        ("half = b / 2\nx ~ Normal(0, half)", "real(lower=0)"),
        ("x ~ Categorical(M @ v)", "logits"),
        ("x ~ MultivariateNormal(v, M + M)", "covariance"),
    ],
)
def test_what_may_leave_its_domain_is_warned_of_with_a_mend(line: str, mend: str) -> None:
    ((code, help),) = found(line)
    assert code == "W0401"
    assert mend in help


@pytest.mark.parametrize(
    ("line", "mend"),
    [
        ("x ~ Categorical(v)", "Categorical(logits=v)"),
        ("x ~ Categorical(M[0])", "logits"),
        ("x ~ MultivariateNormal(v, M)", "covariance[K, K]"),
        ("x ~ OrderedLogistic(b, v)", "ordered[K]"),
        ("neg = -exp(b)\nx ~ Normal(0, neg)", ""),
    ],
)
def test_what_cannot_be_right_is_an_error(line: str, mend: str) -> None:
    ((code, help),) = found(line)
    assert code == "E0403"
    assert mend in help


def test_a_declared_range_is_proved_or_refused() -> None:
    assert found("y : real(lower=0) := b - 5")[0][0] == "E0414"
    assert found("y : real(lower=0) := exp(b)") == []
    assert found("y : real(lower=0, upper=1) := p^2") == []


RISING_OR_FALLING = [row for row in FUNCTIONS if row.rising or row.falling]
MONOTONE = [row for row in RISING_OR_FALLING if row.name in PLAIN and row.signature.elementwise]
numbers = st.floats(-20, 20)


@pytest.mark.parametrize("row", MONOTONE, ids=lambda row: row.text)
@given(ends=st.lists(st.tuples(numbers, numbers, st.floats(0, 1)), min_size=3, max_size=3))
def test_a_monotone_function_stays_in_its_range(
    row: FunctionRow, ends: list[tuple[float, float, float]]
) -> None:
    """Against what programs run, at a point between the ends of each argument."""
    names = [param.name for param in row.signature.params]
    given_ = {n: (min(a, b), max(a, b)) for n, (a, b, _) in zip(names, ends, strict=False)}
    inside = [a + t * (b - a) for (a, b), (_, _, t) in zip(given_.values(), ends, strict=False)]
    value = float(resolve(row.body)(*map(jnp.asarray, inside)))
    low, high = range_of_function(row, given_, (-np.inf, np.inf))
    slack = 1e-9 * (1 + abs(value))
    assert np.isnan(value) or low - slack <= value <= high + slack


def test_the_range_of_a_value_holds_all_that_it_can_be() -> None:
    text = "x ~ Normal(0, 3)\ny := clip(x, -1, 2) + exp(-abs(x)) - max(x, 0.5)\n"
    typed = check_source(Source("m.dp", text)).typed
    assert typed is not None
    facts = Facts(typed.definitions, typed.functions)
    body = next(d for d in typed.definitions if d.name == "y").pieces[0].body
    low, high = facts.range_of(body)  # type: ignore[arg-type]
    x = np.linspace(-50, 50, 10_001)
    y = np.clip(x, -1, 2) + np.exp(-np.abs(x)) - np.maximum(x, 0.5)
    assert low <= y.min()
    assert y.max() <= high == 2.5


def test_a_latent_that_only_a_value_mentions_is_in_no_factor() -> None:
    text = "dim S = a | b\nlatent z : S\nlatent w : S\nfactor f : if z == a then 1 else 0\n"
    unweighed = check_source(Source("m.dp", text + "u := if w == a then 1.0 else 2.0\n"))
    assert [d.code for d in unweighed.diagnostics] == ["E0505"]
    weighed = check_source(
        Source("m.dp", text + "u := if w == a then 1.0 else 2.0\nfactor g : u\n")
    )
    assert [d.code for d in weighed.diagnostics] == []


@pytest.mark.parametrize("law", ["Bernoulli(1)", "Geometric(1)", "Binomial(3, 0)"])
def test_a_probability_may_be_written_as_a_whole_number(law: str) -> None:
    with jax.numpy_dtype_promotion("standard"):  # which NumPyro needs to draw
        drawn = dpc.parse(f"x ~ {law}\n").sample(jax.random.key(0), {}, {}, n=3)["x"]
    assert np.all(np.asarray(drawn, int) == (1 if law.startswith("Bernoulli") else 0))
