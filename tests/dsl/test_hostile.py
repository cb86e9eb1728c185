"""Whatever is thrown at the compiler, it answers with diagnostics or a graph, soon, and never with
a traceback.
"""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpc.dsl.graph.build import build_graph
from dpc.dsl.report import diagnostic_as_json, format_diagnostics
from dpc.dsl.source import Source
from dpc.model.check import check_model

SEEDS = [
    "model m\ndim T\ndim K = 3\nobserved y[T] : real\npi ~ Dirichlet(ones(K))\nA[j in K] ~ Dirichlet(ones(K))\n"
    "mu[k in K] ~ Normal(0, 10) with ordered\nz[0] ~ Categorical(pi)\nz[t in T[1..]] ~ Categorical(A[z[t-1]])\n"
    "y[t in T] ~ Normal(mu[z[t]], 1.0)\n",
    "dim YesNo = yes | no\na : YesNo ~ Categorical(yes=0.3, no=0.7)\n"
    "b : YesNo ~ table a => yes, no { yes => 0.9, 0.1; no => 0.2, 0.8 }\nfactor f : if a == b then 1 else -1\n",
    "data x : real = 2\nparam tol : real(lower=0) = 0.01\n"
    "r = loop s = 1.0 while 0.5 * (s^2 - x)^2 > tol max 5 do 0.5 * (s + x / s) with soft(logistic, scale=0.1)\n"
    "minimize r^2\n",
    "dim N = 4\nfn f(v[N]: real, i: N) -> real = v[i] + sum[j in N where j != i] v[j]\nparam w[N] : real = 0\n"
    "for i in N {\n  a[i] = f(w, i)\n  z[i] ~ Normal(a[i], 1) with grad=pathwise\n}\n"
    "guide { z[i in N] ~ Normal(w[i], 1) }\nmaximize elbo()\n",
]  # fmt: skip
TOKENS = sorted(
    {word for seed in SEEDS for word in seed.replace("\n", " \n ").split(" ")}
    | set('()[]{}=~:^@|;,."`#')
)


def answer(text: str) -> None:
    """Checks, builds and prints; raises on any crash."""
    source = Source("input.dp", text)
    result = check_model(source)
    format_diagnostics(result.diagnostics)
    for diagnostic in result.diagnostics:
        diagnostic_as_json(diagnostic)
    assert (result.typed is None) == any(d.is_error for d in result.diagnostics)
    if result.typed:
        build_graph(result.typed)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SEEDS), st.randoms(use_true_random=False))
def test_mutated_programs(seed: str, chance: random.Random) -> None:
    words = seed.replace("\n", " \n ").split(" ")
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(words))
        change = chance.choice(["drop", "double", "swap", "insert", "replace"])
        if change == "drop":
            del words[place : place + chance.randint(1, 3)]
        elif change == "double":
            words.insert(place, words[place])
        elif change == "swap":
            other = chance.randrange(len(words))
            words[place], words[other] = words[other], words[place]
        elif change == "insert":
            words.insert(place, chance.choice(TOKENS))
        else:
            words[place] = chance.choice(TOKENS)
        if not words:
            break
    answer(" ".join(words))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    answer(text)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=60))
def test_any_tokens(tokens: list[str]) -> None:
    answer(" ".join(tokens))


HOSTILE = {
    "deep parentheses": "x = " + "(" * 10_000 + "1" + ")" * 10_000,
    "deep brackets, unclosed": "x = " + "[" * 10_000,
    "deep negation": "x = " + "-" * 10_000 + "1",
    "deep if": "x = " + "if true then " * 10_000 + "1",
    "long sum": "x = " + " + ".join(["1"] * 10_000),
    "deep index": "x = " + "a[" * 10_000 + "0" + "]" * 10_000,
    "deep blocks": "dim D\n" + "for i in D {" * 10_000 + "}" * 10_000,
    "five megabytes": "x = 1\n" * 900_000,
    "junk": "".join(chr(random.Random(0).randrange(1, 0x3000)) for _ in range(100_000)),
    "control characters": "\x00\x01\x02\x1b[31m\x7f" * 100,
    "huge dim": "dim D = 1000000000000\nx[i in D] ~ Normal(0, 1)\n",
    "huge number": "dim D = " + "9" * 5_000 + "\n",
    "huge exponent": "x := 1e999999999\ny := 9^9^9^9^9\n",
    "unterminated string": 'import "lib\n',
    "unterminated backquote": "`x ~ Normal(0, 1)\n",
    "table of 2^40 rows": "dim B = a | b\n"
    + "".join(f"x{i} : B ~ Categorical(a=0.5, b=0.5)\n" for i in range(40))
    + (
        f"y : B ~ table {', '.join(f'x{i}' for i in range(40))} => a, b {{ {', '.join('_' * 40)} => "
        "0.5, 0.5 }\n"
    ),
    "many pieces": "dim D = 1000000\ndim E = 1000000\n"
    + "".join(f"x[{i}, {i}] = 1\n" for i in range(400))
    + "x[i in D, j in E] = 1\n",
    "many errors": "x y z\n" * 20_000,
    "many unknown names": "".join(f"x{i} := y{i}\n" for i in range(3_000)),
    "long line": "x = " + "a" * 200_000 + "\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input_gets_an_answer_soon(name: str) -> None:
    answer("x := 1\n")
    start = time.process_time()
    answer(HOSTILE[name])
    # A guard against blow-up, far above what is measured in bench/ (a second at most): not a
    # benchmark.
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    "text",
    [
        "o : real(lower=0) = [15, 10]\ny := sum(o)\n",
        "dim N = 2\ndata x[N] : real = 0\no : real = x\n",
        "dim N = 2\no[n in N] : real ~ Dirichlet([1.0, 1.0])\n",
    ],
)
def test_a_written_type_of_another_shape_is_said(text: str) -> None:
    """Found by bench/hunt_inputs.py: it was a bug of ours."""
    found = check_model(Source("x.dp", text)).diagnostics
    assert any(each.is_error for each in found)
