"""What people from other languages type first: one report, and it says what does."""

from __future__ import annotations

import pytest

from dpc.dsl.pipeline import check_source
from dpc.dsl.source import Source

REGRESSION = "dim N\ndim P\ndata X[N, P] : real\nobserved y[N] : real\nb[p in P] ~ Normal(0, 1)\n"
HABITS = {
    f"{REGRESSION}y[i in N] ~ Normal(X[i] * b, 1)": "`dot(x, b)`",
    f"{REGRESSION}y[i in N] ~ Normal(X @ b, 1)": "`(A @ b)[i]`",
    "z ~ Categorical(0.2, 0.8)": "`Categorical([0.2, 0.8])`",
    "param s : real<lower=0>": "`real(lower=0)`",
    "param s > 0": "`param s : real(lower=0)`",
    "dim A = 2\ndata T[A, A] : real\ny := sum(T[0,])": "remove it",
    "param m : real\nfactor a : normal_lpdf(1.0 | m, 1)": "`log_density(Normal(m, s), x)`",
    "param m : real\nfactor a : normal_lcdf(1.0, m, 1)": "`log_cdf(Normal(m, s), x)`",
    "param m : real\ntarget += m": "`factor name : e`",
    "dim YN = y | n\nr : YN ~ Categorical(y=0.2, n=0.8)\nwet | r : YN ~ Normal(0, 1)": "table r",
    "P(wet | rain) = 0.3": "table rain",
    "network unknown {": "dpc convert",
    "import numpy as np": "extern fn",
    "with pm.Model() as model:": "x[i in D]",
    "fn f(x: real) -> real = return x + 1": "fn f(x: real) -> real = x^2",
    "x ~ Normal(0, 1) // a comment": "start with `#`",
    "param t : real\nx ~ Normal(t, 1)\nmaximize E[x^2]": "an expectation already",
    "param t : real\nx ~ Normal(t, 1) with grad=reinforce\nminimize x": "`sfe`",
    "y := odeint(1.0, 2.0)": "extern fn",
    "dim K = 3\nparam x[K] : real\nminimize softmax(x)[0]": "`softargmax(x)`",
    "param x : real\nminimize sigmoid(x)": "`logistic(x)`",
    "z ~ Multinoulli([0.2, 0.8])": "`Categorical(p)`",
    "y ~ MixtureSameFamily(1, 2)": "`Mixture(w, [k in K] Normal(mu[k], s[k]))`",
    "x = numpyro.sample('x')": "`x ~ Normal(0, 1)`",
    "print(3)": "`:=`",
    "observe x = 3": "`observed x : real`",
    "dim N = 1:5": "`dim N = 5`",
    "y := pi": "3.14159",
}


@pytest.mark.parametrize("text", HABITS)
def test_one_report_says_what_does(text: str) -> None:
    (found,) = [d for d in check_source(Source("x.dp", text)).diagnostics if d.is_error]
    assert HABITS[text] in found.help


def test_a_line_break_after_a_function_is_none_of_its_mistakes() -> None:
    text = "fn f(x: real) -> real =\n  x + 1\ny := f(2)\n"
    assert not check_source(Source("x.dp", text)).diagnostics
