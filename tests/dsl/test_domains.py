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
numbers = st.floats(-20, 20, allow_subnormal=False)  # which JAX takes for 0


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


@pytest.mark.parametrize("law", ["Bernoulli(1)", "NegativeBinomial(n=2, p=1)", "Binomial(3, 0)"])
def test_a_probability_may_be_written_as_a_whole_number(law: str) -> None:
    with jax.numpy_dtype_promotion("standard"):  # which NumPyro needs to draw
        drawn = dpc.parse(f"x ~ {law}\n").sample(jax.random.key(0), {}, {}, n=3)["x"]
    assert np.all(np.asarray(drawn, int) == (1 if law.startswith("Bernoulli") else 0))


# ---- supports that are empty, zeros, what is undefined, constants

DRAWN = "g ~ Normal(0, 1)\nh ~ Normal(0, 1)\nzb ~ Bernoulli(0.5)\nzp ~ Poisson(2.0)\nx ~ "
WRONG = [
    "Uniform(1,0)",
    "Uniform(1,1)",
    "LogUniform(3,1)",
    "DiscreteUniform(3,1)",
    "TruncatedNormal(0,1,lower=2,upper=1)",
    "Dirichlet([0.0,1.0])",
    "Normal(0, 0)",
    "Dirichlet([1.0,-1.0])",
    "OrderedLogistic(0,[2.0,1.0])",
    "MultivariateNormal([0.0,0.0],[[1,2],[2,1]])",
    "Wishart(0.5, eye(K))",
]
DOUBTFUL = [
    "Uniform(g,h)",
    "Uniform(g,1)",
    "Normal(0, sqrt(g))",
    "Normal(0, max(g,0))",
    "Normal(0, zb)",
    "Gamma(zp,1)",
    "Normal(0, sin(b))",
    "Normal(0, cos(b))",
    "Normal(0, b^0.5)",
    "Normal(0, relu(b))",
    "Normal(0, zb * s)",
    "Normal(0, if g > 0 then 0 else 1)",
    "Normal(0, floor(s))",
    "Bernoulli(sqrt(b) / (1 + sqrt(b)))",
]
SOUND = [
    "Uniform(0,1)",
    "Uniform(g, g + s)",
    "Uniform(-s, s)",
    "Uniform(g, g + 1)",
    "Uniform(s, s + exp(g))",
    "DiscreteUniform(1,1)",
    "Normal(0, if b > 0 then b else 1)",
    "Normal(0, if b > 0 and g > 0 then b * g else 1)",
    "Normal(0, if not (b <= 0) then sqrt(b) else 1)",
    "Normal(0, if b >= s then b else 1)",
    "Normal(0, if zp > 0 then zp else 1)",
    "Normal(0, 2 + sin(b))",
    "Normal(0, cosh(b))",
    "Normal(0, s)",
    "Normal(0, exp(b))",
    "Normal(0, b^2 + 1)",
    "Normal(0, zb + 1)",
    "Normal(0, abs(b))",
    "Gamma(s, p)",
    "MultivariateNormal([0.0,0.0],[[2,1],[1,2]])",
    "OrderedLogistic(b, [0, 1, 2.5])",
    "Normal(0, max(b, s))",
    "Normal(0, sqrt(s))",
    "Normal(0, sqrt(sum(w)))",
    "Normal(0, zb * 2 + s)",
    "TruncatedNormal(0,1,lower=b,upper=b+1)",
]


@pytest.mark.parametrize("law", WRONG)
def test_what_is_surely_outside_is_an_error(law: str) -> None:
    assert [code for code, _ in found(DRAWN + law)] == ["E0403"]


@pytest.mark.parametrize("law", DOUBTFUL)
def test_what_may_be_outside_is_warned_of_with_a_mend(law: str) -> None:
    ((code, help),) = found(DRAWN + law)
    assert code == "W0401"
    assert help


@pytest.mark.parametrize("law", SOUND)
def test_branches_orders_and_bounded_functions_are_proved(law: str) -> None:
    assert found(DRAWN + law) == []


def test_a_mistake_in_a_type_is_said_once() -> None:
    assert [code for code, _ in found("x : real(lower=b) ~ Normal(0, 1)")] == ["E0108"]
    assert [code for code, _ in found("x : real(lower=0, upper=0) ~ Normal(0, 1)")] == ["E0215"]


def test_a_count_may_be_cut_to_one_number() -> None:
    assert found("x : int(upper=0) ~ Poisson(2.5)") == []


@pytest.mark.parametrize("row", [row for row in FUNCTIONS if row.within[0] > -np.inf])
def test_bounded_functions_keep_to_their_ends(row: FunctionRow) -> None:
    low, high = row.within
    count = len(row.signature.params)
    at = np.random.default_rng(0).uniform(-3, 3, (count, 500))
    value = np.asarray(resolve(row.body)(*jnp.asarray(at)))
    value = value[np.isfinite(value)]
    assert low - 1e-6 <= value.min()
    assert value.max() <= high + 1e-6
