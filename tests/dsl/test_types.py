"""Types and bounds of expressions, before any data."""

from __future__ import annotations

import math
import operator

import pytest
from helpers import codes, graph
from hypothesis import given
from hypothesis import strategies as st

from dpc.dsl.check.operators import FUNCTION_OF_OPERATOR
from dpc.dsl.graph.ranges import OPERATORS as RANGES

HEAD = """
dim N
dim K = 3
dim Sky = sun | rain
data x[N] : real
data s[K] : real(lower=0)
data n[N] : int
data b : bool
data w[K, N] : real
data sky[N] : Sky
data k[N] : K
p ~ Dirichlet(ones(K))
"""


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("1 + 2", "int(lower=3, upper=3)"),
        ("1 / 2", "real(lower=0.5, upper=0.5)"),
        ("b + 1", "int(lower=1, upper=2)"),
        ("x", "real[N]"),
        ("2 * x", "real[N]"),
        ("x * x", "real(lower=0)[N]"),
        ("x[0]^2 + 1", "real(lower=1)"),
        ("s[1] / (1 + s[2])", "real(lower=0)"),
        ("exp(x)", "real(lower=0)[N]"),
        ("w @ x", "real[K]"),
        ("w[0] @ x", "real"),
        ("dot(w[1], x)", "real"),
        ("transpose(w)", "real[N, K]"),
        ("[i in N] x[i] > 0", "bool[N]"),
        ("[i in N[1..]] x[i] - x[i-1]", "real[?]"),
        ("[j in K[1..], i in N] w[j, i]", "real[2, N]"),
        ("sum[i in N] n[i]", "int"),
        ("mean[i in N] n[i]", "real"),
        ("argmax[i in N] x[i]", "N"),
        ("x[argmax[i in N] x[i]]", "real"),
        ("any[i in N] x[i] > 0 or b", "bool"),
        ("p", "simplex[K]"),
        ("p[0]", "real(lower=0, upper=1)"),
        ("p[k[0]]", "real(lower=0, upper=1)"),
        ("softargmax(x)", "simplex[N]"),
        ("if b then 1 else 2.5", "real(lower=1, upper=2.5)"),
        ("sky[0] == rain", "bool"),
        ("rain", "Sky"),
        ("Sky.rain", "Sky"),
        ("[1, 2.5]", "real(lower=1, upper=2.5)[2]"),
        ("[[1, 2], [3, 4], [5, 6]]", "int(lower=1, upper=6)[3, 2]"),
        ("size(N)", "int(lower=0)"),
        ("zeros(K, N)[1]", "real[N]"),
        ("eye(K)[1]", "real(lower=-1, upper=1)[K]"),
        ("loop a = 1 while a < 9 max 5 do a * 1.5", "real"),
        ("table sky[0], k[0] { sun, _ => 1; rain, 0 => 2; _, _ => 3 }", "int(lower=1, upper=3)"),
        ("push_right(s, 1)", "real(lower=0)[4]"),
    ],
)
def test_type_of_expression(expression: str, type_: str) -> None:
    assert str(graph(f"{HEAD}\ny := {expression}\n")["y"].type) == type_


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("x + s", "E0203"),
        ("x + w", "E0203"),
        ("x[k[0]]", "E0302"),
        ("x[n[0]]", "E0301"),
        ("x[1.5]", "E0301"),
        ("s[3]", "E0304"),
        ("[i in N] x[i-1]", "E0304"),
        ("[i in N] x[i+1]", "E0304"),
        ("s[0, 1]", "E0305"),
        ("sky[0] + 1", "E0206"),
        ("sky[0] == 1", "E0206"),
        ("x @ s", "E0204"),
        ("dot(x, s)", "E0203"),
        ("1 < 2 < 3", "E0205"),
        ("b and 1", "E0206"),
        ("if x then 1 else 2", "E0206"),
        ("if b then x else 1", "E0208"),
        ("K + 1", "E0207"),
        ("exp(1, 2)", "E0202"),
        ("Normal(0, 1)", "E0401"),
    ],
)
def test_what_does_not_agree_is_an_error(expression: str, code: str) -> None:
    assert codes(f"{HEAD}\ny := {expression}\n") == [code]


OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": operator.pow,
}
numbers = st.floats(-100, 100, allow_nan=False).map(lambda v: round(v, 3))
intervals = st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair)))


@given(st.sampled_from("+-*/^"), intervals, intervals, st.floats(0, 1), st.floats(0, 1))
def test_intervals_contain_what_they_stand_for(
    sign: str, a: tuple[float, float], b: tuple[float, float], at: float, bt: float
) -> None:
    x, y = a[0] + at * (a[1] - a[0]), b[0] + bt * (b[1] - b[0])
    operation = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "^": operator.pow,
    }[sign]
    try:
        value = operation(x, y)
    except (ZeroDivisionError, OverflowError):
        return
    lower, upper = RANGES[FUNCTION_OF_OPERATOR[sign]](a, b)
    if isinstance(value, float) and math.isfinite(value):
        slack = 1e-9 * max(1, abs(value))
        assert lower - slack <= value <= upper + slack
