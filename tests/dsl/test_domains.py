"""Arguments outside their domain, proofs that they are inside, and declared ranges of values."""

import ast
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpc
from dpc.dsl.graph.facts import Facts
from dpc.dsl.graph.ranges import PLAIN, range_of_function
from dpc.dsl.library.bodies.source import resolve
from dpc.dsl.library.constructor import constructor, evaluate
from dpc.dsl.library.distributions import DISTRIBUTIONS
from dpc.dsl.library.functions import FUNCTIONS
from dpc.dsl.library.notation import ParamSpec
from dpc.dsl.library.rows import Distribution, FunctionRow
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


LOOPS = [
    ("1.0", "s < 10", "0.5 * (s + 2 / s)", (0.0, np.inf)),
    ("0.5", "s < 1", "s * 0.9", (0.0, 0.5)),
    ("1.0", "s > 0.1", "s - 0.3", (-0.2, 1.0)),
    ("1.0", "s < 100", "-2 * s", (-200.0, 400.0)),
    ("clip(b, 0, 1)", "s < 0.7", "s^2", (0.0, 1.0)),
]


@pytest.mark.parametrize(("start", "condition", "body", "expected"), LOOPS)
def test_the_range_of_a_loop_is_kept_by_its_body(
    start: str, condition: str, body: str, expected: tuple[float, float]
) -> None:
    """Wide enough for all runs, found by running it; narrow enough for a domain."""
    text = f"b ~ Normal(0, 1)\ny := loop s = {start} while {condition} max 9 do {body}\n"
    typed = check_source(Source("m.dp", text)).typed
    assert typed is not None
    facts = Facts(typed.definitions, typed.functions)
    low, high = facts.range_of(next(d for d in typed.definitions if d.name == "y").pieces[0].body)  # type: ignore[arg-type]
    assert expected[0] - 1e-9 <= low
    assert high <= expected[1]
    step = eval(f"lambda s: {body.replace('^', '**')}")
    goes_on = eval(f"lambda s: {condition}")
    for b in np.linspace(-2, 2, 41):
        state = eval(start, {"clip": np.clip, "b": b})
        for _ in range(9):
            state = step(state) if goes_on(state) else state
            assert low <= state <= high


@pytest.mark.parametrize(
    "line",
    [
        "y := if b > 0 then sqrt(b) else 0",
        "y : real(lower=0) := if b > 0 then b else 1",
        "y := if b > 0 then log(b) else 0",
        "y = loop r = 1.0 while r > 0.1 max 50 do r - sqrt(r) / 10",
        "x ~ Normal(0, if b > 0 then b else 1)",
    ],
)
def test_a_soft_statement_takes_all_its_branches(line: str) -> None:
    """So what is known in one keeps nothing out; a statement that is hard is right."""
    assert found(line) == []
    ((code, help),) = found(line + " with soft(logistic, scale=0.1)")
    assert code in ("W0401", "E0414")
    assert code == "E0414" or "branch" not in help or "statement of its own" in help


def test_whole_numbers_are_compared_as_they_are_in_a_soft_statement() -> None:
    soft = "y := if n > 0 then 1 / n else 0 with soft(logistic, scale=0.1)"
    codes = [code for code, _ in found("data n : int(lower=0)\n" + soft)]
    assert codes == ["W0701"]  # that nothing is smoothed, not that 1 / n may be infinite


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
    assert [code for code, _ in found("y : real(lower=b) := 2")] == ["E0108"]
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


# ---- arguments of functions

GIVEN = "a ~ Normal(0, 1)\ne ~ Normal(0, 1)\nzb ~ Bernoulli(0.5)\nzp ~ Poisson(2.0)\n"
GIVEN += "data n : int(lower=0)\ndata m : int\ndata x[K] : real\ny := "
OUTSIDE = """asin(1.5)|acosh(0.5)|atanh(2)|atanh(1)|erfinv(2)|logdiffexp(1, 2)|entropy([0.5, 0.7])
entropy([2, -1])|kl([-1, 2], [0.5, 0.5])|cholesky([[1, 2], [2, 1]])|solve([[1, 2], [2, 4]], [1, 2])
inv([[1, 1], [1, 1]])|lchoose(2, 5)|clip(1, 2, 0)|clip(b, b + 1, b)|mod(3, 0)|mod(3.5, 0)|1 / 0
0^(-1)|(-8)^(1/3)|(-1)^0.5|pow(-1, 0.5)|log(-1)|log1p(-2)|1 / (b - b)|[1, 2] / 0|3 / (2 - 2)|if a > e then sqrt(e - a) else 0"""
OUTSIDE_OR_NOT = """log(a)|sqrt(a)|asin(a)|acosh(a)|atanh(a)|erfinv(a)|lgamma(a)|logdiffexp(a, 1)
(a - 5)^0.5|(-1)^a|cholesky([[1, a], [a, 1]])|1 / zb|1 / zp|1 / n|1 / max(a, 0)|1 / relu(a)
mod(3, zp)|zb^(-1)|a / floor(a)|log(x)|entropy(v)|clip(b, a, e)|1 / (zb + zp)|[i in K] 1 / i
log(1 - a)|if a > 0 then log(e) else 0"""
INSIDE = """if a > 0 then log(a) else 0|log(max(a, 0))|a / e|1 / a|1 / s|1 / m|x[0] / sum(x)|1 / size(K)
if n != 0 then 1 / n else 0
if n == 0 then 0 else 1 / n|if a > e then sqrt(a - e) else 0|if a^2 < 1 then sqrt(1 - a^2) else 0
if abs(a) < 1 then atanh(a) else 0|sqrt(1 - p^2)|2^a|(-1)^n|if a > 5 then (a - 5)^0.5 else 0
sum[k in K where x[k] > 0] log(x[k])|[k in K] if x[k] > 0 then log(x[k]) else 0|log(0)|lchoose(n, zp)
entropy([p, 1 - p])|cholesky(C + s * eye(K))|solve(M, v)|acos(clip(a, -1, 1))|erfinv(2 * p - 1)
if max(a, 0) > 0 then 1 / max(a, 0) else 0|if a > 0 and log(a) > 1 then 1 else 0|asin(sin(a))
if floor(a) != 0 then 1 / floor(a) else 0|[i in K] if i > 0 then 1 / i else 0"""


def cases(text: str) -> list[str]:
    return text.replace("\n", "|").split("|")


@pytest.mark.parametrize("call", cases(OUTSIDE))
def test_a_function_outside_of_its_domain_is_an_error(call: str) -> None:
    assert [code for code, _ in found(GIVEN + call)] == ["E0219"]


@pytest.mark.parametrize("call", cases(OUTSIDE_OR_NOT))
def test_a_function_that_may_be_outside_is_warned_of_with_a_mend(call: str) -> None:
    ((code, help),) = found(GIVEN + call)
    assert code == "W0401"
    assert help


@pytest.mark.parametrize("call", cases(INSIDE))
def test_conditions_and_ranges_keep_arguments_inside(call: str) -> None:
    assert found(GIVEN + call) == []


@pytest.mark.parametrize(
    "value",
    cases(
        "10^400|10^10^10|1e300 * 1e300|exp(1000)|cosh(1000)|[1e308, 1] * 10\n4000000000 * 4000000000"
    ),
)
def test_a_constant_that_is_no_number_is_an_error(value: str) -> None:
    assert [code for code, _ in found(f"y := {value}")] == ["E0218"]
    assert [code for code, _ in found(f"fn f(x: real) -> real[2] = [sum({value} * [1, 2]), x]")]


def test_large_constants_are_real_numbers() -> None:
    found = dpc.parse("n = 10\ny := n^300\nz := (5 + 5)^300\nu := 10^18 * 100\n").run()
    assert [float(found[name]) for name in "yzu"] == pytest.approx([1e300, 1e300, 1e20])


def test_functions_are_looked_into_where_they_are_called() -> None:
    text = "fn f(x: real) -> real = sqrt(x - 1)\n"
    assert found(f"{text}y := f(2) + f(1 + s)") == []
    assert [code for code, _ in found(f"{text}y := f(b)")] == ["W0401"]
    assert [code for code, _ in found(f"{text}y := f(-s)")] == ["E0219"]
    assert [code for code, _ in found("fn f(x: real) -> real = x / 0")] == ["E0219"]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("x ~ Exponential(b)", "declare it `: real(lower=0)`, which"),
        ("h ~ Normal(0, 1)\nx ~ Exponential(h)", "which cuts a draw to it"),
        ("h = b / 2\nx ~ Exponential(h)", "which asks for a proof"),
    ],
)
def test_a_mend_is_for_what_is_there(line: str, wanted: str) -> None:
    ((_, help),) = found(line)
    assert (wanted in help) == (not line.startswith("x"))


def test_an_error_says_why_it_is_sure() -> None:
    checked = check_source(Source("m.dp", "a ~ Normal(0, 1)\nx ~ Uniform(a, a - 1)\n"))
    (error,) = checked.diagnostics
    assert error.message.endswith("here `upper` - `lower` is -1")


# ---- every argument of every distribution, at the ends of its domain

WORDS = {name: getattr(dist, name) for name in dir(dist) if name[0].isupper()} | {
    "exp": jnp.exp,
    "sqrt": jnp.sqrt,
    "cholesky": jnp.linalg.cholesky,
}
ORDINARY = {"real": "0.7", "positive": "1.3", "nonnegative": "1.3", "unit": "0.4", "count": "5"}
ARRAYS = {
    "simplex": "[0.2, 0.3, 0.5]",
    "ordered": "[-1, 0.3]",
    "covariance": "[[1, 0.3], [0.3, 2]]",
    "cholesky": "[[1, 0], [0.3, 2]]",
}
NAMED = {"lower": "0.5", "upper": "3.5", "df": "7"}


def ordinary(row: Distribution, param: ParamSpec) -> str:
    domain = param.type.domain
    if domain == "dim":
        return "D"
    if domain == "int":
        return {"lower": "1", "upper": "4"}[param.name]
    number = "0.4" if param.type.own_ends else NAMED.get(param.name) or ORDINARY.get(domain, "")
    written = {0: number, 1: f"[{number}, {number}]", 2: f"[[{number}], [{number}]]"}
    return ARRAYS.get(domain) or written[len(param.type.axes)]


def at_edges() -> Iterator[tuple[Distribution, str, str]]:
    for row in DISTRIBUTIONS:
        for param in row.signature.params:
            ends = param.type.ends
            if ends and not param.type.axes:
                for end in {ends.low, ends.high} - {np.inf, -np.inf}:
                    yield row, param.name, f"{end:g}"
            elif param.type.domain == "simplex":
                yield row, param.name, "[0, 1, 0]"


@pytest.mark.parametrize(("row", "name", "value"), [*at_edges()])
def test_at_an_end_a_distribution_works_or_is_refused(
    row: Distribution, name: str, value: str
) -> None:
    arguments = {p.name: ordinary(row, p) for p in row.signature.params} | {name: value}
    given = ", ".join(f"{key}={own}" for key, own in arguments.items())
    checked = check_source(Source("m.dp", f"dim D = 2\nx ~ {row.name}({given})\n"))
    if checked.typed is None:
        assert {d.code for d in checked.diagnostics} <= {"E0403", "E0404"}
        return
    numbers = {key: 2 if own == "D" else ast.literal_eval(own) for key, own in arguments.items()}
    whole = {p.name for p in row.signature.params if p.type.domain in ("count", "int", "dim")}
    as_written = {k: own if k in whole else jnp.asarray(own, float) for k, own in numbers.items()}
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        made = evaluate(constructor(row.text), WORDS | as_written)
        drawn = made.sample(jax.random.key(0), (5,))
        density = np.asarray(made.log_prob(drawn))
    assert np.all(np.isfinite(np.asarray(drawn, float)))
    assert np.all(np.isfinite(density)), density


@pytest.mark.parametrize("name", ["LKJ", "LKJCholesky"])
def test_sizes_that_a_distribution_does_not_take_are_refused(name: str) -> None:
    assert [code for code, _ in found(f"dim One = 1\nx ~ {name}(One, 2)")] == ["E0403"]
    assert [code for code, _ in found("x ~ ProjectedNormal([1, 0, 0, 0])")] == ["E0403"]
    assert found("x ~ ProjectedNormal([1, 0, 0])") == []


def codes(text: str) -> list[str]:
    found = check_source(Source("m.dp", f"{text}\n")).diagnostics
    return [d.code for d in found if d.code != "W0101"]


@pytest.mark.parametrize("divisor", ["n - 3", "1 - b", "sign(x) + 1", "floor(x) + 2", "s[2] - 1"])
def test_a_divisor_that_moves_in_steps_may_be_0(divisor: str) -> None:
    text = "n ~ Poisson(2)\nb ~ Bernoulli(0.5)\nx ~ Normal(0, 1)\ndim T = 4\n"
    text += "s[0] = n\ns[t in T[1..]] = s[t-1] + n\n"
    assert codes(f"{text}y := 1 / ({divisor})") == ["W0401"]


@pytest.mark.parametrize("divisor", ["n + 1", "x - 3", "n + x", "n + 0.5"])
def test_a_divisor_that_is_0_by_chance_0_is_sound(divisor: str) -> None:
    assert codes(f"n ~ Poisson(2)\nx ~ Normal(0, 1)\ny := 1 / ({divisor})") == []


def test_what_a_function_says_of_itself_is_kept() -> None:
    own = "fn f(x: real) -> real(lower=0) = x\nparam b : real\ny ~ Normal(0, f(b))"
    assert codes(own) == ["E0414"]
    given = "fn f(x: real(lower=0)) -> real = x\ny := f(b - 1)\nz := f(-1)"
    assert codes("param b : real\n" + given) == ["W0401", "E0219"]


def test_probabilities_of_a_table_are_looked_at() -> None:
    text = "dim S = u | v\ns : S ~ Categorical(u=0.5, v=0.5)\nparam q : real\n"
    rows = "u => q, 1 - q; v => 0.5, 0.5"
    assert codes(f"{text}y : S ~ table s => u, v {{ {rows} }}") == ["W0401"]
    assert codes(f"{text}y ~ table s => true, false {{ {rows} }}") == ["W0401"]


def test_an_extern_that_leaves_its_range_is_no_number() -> None:
    text = "extern fn f(x: real) -> real(lower=0.5)\nparam t : real = 0.3\nminimize f(t)\n"
    model = dpc.parse(text, f=lambda x: 2 * x)
    assert float(model.value({"t": 0.4})) == pytest.approx(0.8)
    assert np.isnan(model.value({"t": 0.1}))


def test_a_count_has_no_mass_between_whole_numbers() -> None:
    found = dpc.parse("y := log_density(Poisson(1), 1.5)\n").evaluate({})
    assert float(found["y"]) == -np.inf


def test_an_angle_stays_hard_in_a_soft_statement() -> None:
    assert codes("param x : real\ny := atan2(0, x) with soft(logistic, scale=0.5)") == ["W0701"]
