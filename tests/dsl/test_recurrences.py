"""Recurrences as scans against the naive twin: several ranges, several axes, both directions,
awkward names.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from interpret import Interpreter

import dpc
from dpc.dsl.graph.graph import Graph, Kind

LOOSE_JAX = "NumPyro promotes types and ranks"

SIZE = 8
WRITTEN = """
## two ranges
dim T
data x[T] : real
z[0] = x[0]
z[t in T[1..3]] = 0.5*z[t-1] + x[t]
z[t in T[3..]] = z[t-1] - 0.1*z[t-2]*x[t]

## a range at the end
dim T
data x[T] : real
z[0] = x[0]
z[t in T[1..-2]] = 0.5*z[t-1] + x[t]
z[t in T[-2..]] = z[t-1]*3

## three ranges
dim T
data x[T] : real
a[0] = 1.0
a[t in T[1..3]] = a[t-1]
a[t in T[3..-2]] = a[t-3]
a[t in T[-2..]] = a[t-1]*x[t]

## a fixed place between
dim T = 9
z[0] = 1e-5
z[t in T[1..5]] = z[t-1]+1
z[5] = 2*z[4]
z[t in T[6..]] = z[t-2]

## backwards
dim T
data x[T] : real
z[-1] = 1.0
z[t in T[2..-1]] = 0.5*z[t+1] + x[t]
z[t in T[..2]] = z[t+1] - 0.1*z[t+2]

## members with other ranges
dim T = 7
a[0] = 1.0
b[0] = 2*a[0]
a[t in T[1..3]] = b[t-1]+1
a[t in T[3..]] = b[t-1]*2
b[t in T[1..4]] = a[t]-b[t-1]
b[t in T[4..]] = a[t]-b[t-2]

## a base of several places
dim T = 5
z[t in T[..2]] = 1.0*t
z[t in T[2..]] = z[t-2] + z[t-1]

## always the first
dim T = 5
z[0] = 1.5
z[t in T[1..]] = z[t-1] + z[0]

## a place of an earlier range
dim T = 8
a[0] = 1.0
a[t in T[1..4]] = a[t-1]+1
a[t in T[4..]] = a[2] + a[t-1]

## far back
dim T = 12
a[0] = 1.0
a[t in T[1..]] = b[t-1]
b[t in T[..5]] = a[t]+1
b[t in T[5..]] = a[t-5]+b[t-1]

## plates
dim N = 3
dim T = 6
z[n in N, 0] = 1.0*n
z[0, t in T[1..]] = z[0, t-1]+1
z[n in N[1..], t in T[1..3]] = z[n, t-1]*2
z[n in N[1..], t in T[3..]] = z[n, t-1]*3 + z[n-1, t-1]

## vectors
dim T = 5
dim K = 2
data x[K] : real
s[0] = x
s[t in T[1..3]] = s[t-1]+x
s[t in T[3..]] = s[t-1]*2

## a diagonal
dim N = 3
dim T = 6
z[0, t in T] = 1.0*t
z[n in N[1..], 0] = 2.0
z[n in N[1..], t in T[1..]] = z[n-1, t-1]*2

## three axes
dim A = 3
dim B = 4
dim C = 3
x[0, j in B, k in C] = 1.0
x[i in A[1..], 0, k in C] = 2.0
x[i in A[1..], j in B[1..], 0] = 0.5
x[i in A[1..], j in B[1..], k in C[1..]] = x[i-1, j, k] + 0.5 * x[i, j-1, k] - 0.3 * x[i, j, k-1]

## two axes backwards
dim A
dim B
data y[A, B] : real
x[-1, j in B] = 1.0
x[i in A[..-1], -1] = 2.0
x[i in A[..-1], j in B[..-1]] = x[i+1, j] + 0.5*x[i, j+1]*y[i, j]

## draws
dim T = 6
z[0] ~ Normal(0, 1)
z[t in T[1..3]] ~ Normal(z[t-1], 1)
z[t in T[3..]] ~ Normal(z[t-2], 2)

## draws along two axes
dim A = 3
dim B = 3
x[0, j in B] ~ Normal(0, 1)
x[i in A[1..], 0] ~ Normal(0, 1)
x[i in A[1..], j in B[1..]] ~ Normal(x[i-1, j] + x[i, j-1], 1)

## a variable like a step
dim T = 5
data z_0 : real
z[0] = 2*z_0
z[t in T[1..]] = z[t-1] + z_0

## variables like the scan's
dim T = 4
step_t = 3.0
z[0] = 2.0
z[t in T[1..]] = z[t-1] + step_t
z_rest = 2.0
z_now = 1.0
q = step_t + z_rest + z_now

## a variable like the counter
dim T = 5
data t : real
z[0] = 2*t
z[s in T[1..]] = z[s-1] + t

## an inner binder like the counter
dim T = 5
dim K = 3
z[0] = 2.0
z[s in T[1..]] = z[s-1] + sum[t in K] 1.0*t*s

## words of Python
dim T = 5
data x : real
fn f(lambda: real, jnp: real) -> real = lambda*2 + exp(jnp)
z[0] = 2.0
z[class in T[1..]] = f(z[class-1], x)

## a variable like the loop's
data s_ : real
z := loop s = 1.0 while s < 5 max 5 do s + s_^2 + 1
"""
PROGRAMS = {part.partition("\n")[0]: part.partition("\n")[2] for part in WRITTEN.split("\n## ")[1:]}


def given_arrays(found: Graph) -> dict[str, Any]:
    chance = np.random.default_rng(0)
    shapes = {
        n.name: [axis.size or SIZE for axis in n.type.shape] for n in found.of_kind(Kind.INPUT)
    }
    return {dim.name: SIZE for dim in found.dims if dim.size is None} | {
        name: chance.normal(size=shape) for name, shape in shapes.items()
    }


def verify_agreement(text: str) -> None:
    model = dpc.parse(text)
    data = given_arrays(model.graph)
    values = model.sample(jax.random.key(0), {}, data) if model.graph.of_kind(Kind.DRAW) else {}
    twin = Interpreter(model.graph, data | values)
    if values:
        np.testing.assert_allclose(model.log_prob({}, values, data), twin.log_prob(), rtol=1e-10)
    else:
        for name, value in model.evaluate({}, data).items():
            np.testing.assert_allclose(value, twin.value(name), rtol=1e-10, err_msg=name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_recurrence_agrees_with_its_twin(name: str) -> None:
    verify_agreement(PROGRAMS[name])


def test_every_draw_has_noise_of_its_own() -> None:
    """Along both axes, and in pieces that share a step: no two of the standard draws are the
    same.
    """
    text = "dim A = 3\ndim B = 4\nx[0, j in B] ~ Normal(0, 1)\nx[i in A[1..], 0] ~ Normal(0, 1)\n"
    text += "x[i in A[1..], j in B[1..]] ~ Normal(0 * (x[i-1, j] + x[i, j-1]), 1)\n"
    x = dpc.parse(text).sample(jax.random.key(0), {})["x"]
    assert len(np.unique(x)) == x.size


def test_the_program_does_not_grow_with_the_axis() -> None:
    short, long = (
        PROGRAMS["a fixed place between"].replace("T = 9", f"T = {n}") for n in (9, 9000)
    )
    program = [dpc.parse(text).program for text in (short, long)]
    assert program[0].replace("T = 9", "T = 9000") == program[1]
    assert program[0].count("lax.scan(") == 2


# ---- recurrences that nobody wrote


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A member or two, each cut into ranges, each range with lags that stay in the axis."""
    names = draw(st.sampled_from(["a", "ab"]))
    lines = ["dim T", "data x[T] : real"]
    for name in names:
        first = draw(st.integers(1, 2))
        lines += [f"{name}[{k}] = {0.5 + k}" for k in range(first)]
        cuts = sorted(draw(st.sets(st.integers(first + 1, 5), max_size=2)))
        edges = [str(first), *map(str, cuts), draw(st.sampled_from(["", "-1", "-2"]))]
        for low, high in pairwise(edges):
            lines.append(f"{name}[t in T[{low}..{high}]] = {draw(_body(names, name, int(low)))}")
        if edges[-1]:
            lines.append(
                f"{name}[t in T[{edges[-1]}..]] = {draw(_body(names, name, 2, fixed=False))}"
            )
    return "\n".join(lines) + "\n"


def _body(names: str, own: str, low: int, fixed: bool = True) -> st.SearchStrategy[str]:
    """Places counted from the start are earlier than a range only where that starts from there,
    too.
    """
    lags = st.sampled_from([f"{name}[t-{lag}]" for name in names for lag in range(1, low + 1)])
    same = st.just("a[t]") if own == "b" else lags
    places = st.sampled_from([f"{own}[{k}]" for k in range(low)] if fixed else ["x[0]"])
    return st.tuples(lags, same, places).map(lambda u: f"0.5 * {u[0]} - {u[1]} + {u[2]} + x[t]")


@settings(
    max_examples=15,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    derandomize=True,
)
@given(programs())
def test_any_recurrence_agrees_with_its_twin(text: str) -> None:
    verify_agreement(text)
