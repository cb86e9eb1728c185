"""What goes in at the door: kinds of arguments, values that are hidden or given twice, sizes."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import dpc
from dpc.cli import main
from dpc.commands.inputs import read_given
from dpc.data import DataError
from dpc.exits import UsageError
from dpc.finite.evidence import WrongEvidence
from dpc.inference.errors import InferenceError, MemoryLimitError
from dpc.learn.run import WrongStart

LOOSE_JAX = "NumPyro promotes types and ranks"

CHAIN = """dim S = x | y | w
a : S ~ Categorical(x=0.3, y=0.5, w=0.2)
b : S ~ Categorical(if a == x then [0.2, 0.8, 0] else [0.9, 0.05, 0.05])
"""
MIXED = """dim N
param t : real = 0.5
mu ~ Normal(t, 1)
k : int ~ DiscreteUniform(3, 6)
observed y[N] : real
y[n in N] ~ Normal(mu + k, 1)
"""
LOSS = "param t : real = 0.3\nb ~ Bernoulli(logistic(t))\nminimize (b - 0.4)^2 + t\n"
DRAWN = "param t : real = 0.3\nx ~ Normal(t, 1)\nminimize (x - 0.4)^2\n"


def masked(values: Any, mask: Any) -> Any:
    return np.ma.masked_array(values, mask)


# ---- the k best


def brute_scores(model: dpc.Model) -> list[float]:
    states = itertools.product(range(3), repeat=2)
    scores = [float(model.log_prob({}, {"a": a, "b": b})) for a, b in states]
    return sorted((score for score in scores if score > -np.inf), reverse=True)


@pytest.mark.parametrize("k", [1, 3, 8, 9, 10**7])
def test_there_are_as_many_best_as_exist(k: int) -> None:
    model = dpc.parse(CHAIN)
    values, scores = model.kbest(k)
    expected = brute_scores(model)[:k]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    assert len({*zip(values["a"].tolist(), values["b"].tolist(), strict=True)}) == len(expected)
    assert len(model.query(kbest=k)["kbest"]) == len(expected)


def test_a_thousand_best_of_many() -> None:
    lines = ["dim S = 3", "a0 : S ~ Categorical([0.21, 0.47, 0.32])"]
    for i in range(1, 7):
        row = f"if a{i - 1} == {i % 3} then [0.2{i}, 0.61, 0.1{9 - i}] else [0.53, 0.26, 0.21]"
        lines.append(f"a{i} : S ~ Categorical({row})")
    model = dpc.parse("\n".join(lines) + "\n")
    values, scores = model.kbest(1000)
    assert len(scores) == 1000
    assert len({tuple(column[i] for column in values.values()) for i in range(1000)}) == 1000
    everything = model.kbest(10**6)[1]
    assert len(everything) == 3**7
    np.testing.assert_allclose(np.exp(everything).sum(), 1, rtol=1e-5)
    np.testing.assert_allclose(scores, everything[:1000], rtol=1e-6)


def test_many_best_are_refused_by_their_size() -> None:
    lines = [f"b{i} ~ Bernoulli(0.{i % 9 + 1})" for i in range(40)]
    model = dpc.parse("\n".join(lines) + "\n")
    for question in (lambda: model.kbest(10**9), lambda: model.query(kbest=10**9)):
        with pytest.raises((MemoryLimitError, UsageError), match=r"best need|is too many"):
            question()


# ---- kinds of arguments


@pytest.mark.parametrize("k", [1.5, 0, True, -1, "3", None])
def test_a_number_of_best_is_a_whole_number(k: Any) -> None:
    with pytest.raises(UsageError, match=r"`k=` takes a whole number"):
        dpc.parse(CHAIN).kbest(k)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    (MIXED, {"sample": {"key": None}}, "`key=` takes a key"),
    (MIXED, {"sample": {"key": 1.5}}, "`key=` takes a key"),
    *[(MIXED, {"sample": {"key": 0, "n": n}}, "`n=` takes a whole") for n in (-1, 1.5, True, 0)],
    (MIXED, {"sample": {"key": 0, "given": [("d", 3)]}}, "`given=` takes a dictionary"),
    (MIXED, {"sample": {"key": 0, "given_data": "yes"}}, "`given_data=` takes True or False"),
    (MIXED, {"log_prob": {"params": [1], "values": {}}}, "`params=` takes a dictionary"),
    (MIXED, {"log_prob": {"params": {}, "values": {1: 2}}}, "`values=` has the name 1"),
    (MIXED, {"marginals": {"data": 3}}, "`data=` takes a dictionary"),
    (MIXED, {"query": {"kbest": 1.5}}, "`kbest=` takes a whole number"),
    (MIXED, {"query": {"samples": True}}, "`samples=` takes a whole number"),
    (MIXED, {"query": {"method": 3}}, "`method=` takes text"),
    (MIXED, {"query": {"memory": 0}}, "`memory=` takes a size"),
    (MIXED, {"query": {"seed": 1.5}}, "`seed=` takes a whole number"),
    (MIXED, {"draw": {"engine": "x"}}, "`engine=` takes one of auto, builtin, graphviz"),
    (MIXED, {"constrain": {"raw": {}}}, "no value for the parameter `t`"),
    (MIXED, {"unconstrain": {"params": {"t": "x"}}}, "`t` takes numbers"),
    (LOSS, {"value_and_grad": {"key": True, "params": {"t": 1.0}}}, "`key=` takes a key"),
    (LOSS, {"grad": {"samples": 0}}, "`samples=` takes a whole number"),
    (LOSS, {"fit": {"rate": "x"}}, "`rate=` takes a number"),
    (LOSS, {"fit": {"steps": 2.5}}, "`steps=` takes a whole number"),
]


@pytest.mark.parametrize(("text", "call", "words"), WRONG, ids=lambda case: str(case)[:40])
def test_wrong_kinds_are_named(text: str, call: dict[str, Any], words: str) -> None:
    ((name, arguments),) = call.items()
    with pytest.raises(UsageError, match=re.escape(words)):
        getattr(dpc.parse(text), name)(**arguments)


def test_a_seed_is_a_key() -> None:
    model = dpc.parse(CHAIN)
    by_seed, by_key = model.sample(3, n=5), model.sample(jax.random.key(3), n=5)
    assert all(np.array_equal(by_seed[name], by_key[name]) for name in by_key)


# ---- given twice, or hidden


def test_a_value_is_given_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = dpc.parse(MIXED)
    with pytest.raises(UsageError, match="`y` has a value in the data and another one"):
        model.query("k", given={"y": [3.0], "mu": 1.0}, data={"y": [1.0]})
    path = tmp_path / "m.dp"
    path.write_text(MIXED)
    for words, twice in (
        (["--set", "mu=1", "--given", "mu=2"], "`mu` has a value by --set and by --given"),
        (["--set", "k=4", "--given", "k=5"], "`k` has a value by --set and by --given"),
        (["--set", "mu=1", "--set", "mu=2"], "--set names `mu` twice"),
    ):
        for command in ("query", "plan"):
            assert main([command, str(path), *words]) == 2
            assert twice in capsys.readouterr().err


def test_what_a_mask_hides_is_no_value() -> None:
    model = dpc.parse(MIXED)
    hidden = masked([1.0, 99.0], [False, True])
    for question in (
        lambda: model.bind({"y": hidden}),
        lambda: model.bind({"y": [masked(1.0, True), 2.0]}),
        lambda: model.log_prob({"t": 0.0}, {"mu": 0.0, "k": 3}, {"y": hidden}),
        lambda: model.log_prob({"t": 0.0}, {"mu": masked(0.0, True), "k": 3}, {"y": [1.0]}),
        lambda: model.log_prob({"t": masked(0.0, True)}, {"mu": 0.0, "k": 3}, {"y": [1.0]}),
        lambda: model.unconstrain({"t": masked(0.0, True)}),
    ):
        with pytest.raises((DataError, UsageError), match=r"missing value|takes numbers"):
            question()
    with pytest.raises(WrongStart, match="`t` is a number"):
        dpc.parse("param t : real\nobserved y : real\ny ~ Normal(t, 1)\n").fit(
            {"y": [1.0, 2.0]}, start={"t": masked(0.0, True)}
        )
    assert model.cases({"y": hidden}).groups[0].missing["y"].tolist() == [False, True]


def test_a_masked_state_is_open() -> None:
    model = dpc.parse("dim S = a | b\ndim T = 3\nz[t in T] : S ~ Categorical([0.3, 0.7])\n")
    expected = [[1, 0], [0.3, 0.7], [0, 1]]
    for evidence in (masked([0, 1, 1], [0, 1, 0]), ["a", np.ma.masked, "b"]):
        np.testing.assert_allclose(model.marginals(given={"z": evidence})["z"], expected, rtol=1e-6)
        found = model.query("z", given={"z": evidence})["marginals"]
        shown = [list(own.values()) for own in found.values()]
        np.testing.assert_allclose(shown, expected, rtol=1e-6)
    with pytest.raises(WrongEvidence, match="masked in part"):
        model.marginals(given={"z[0]": masked([0.5, 0.9], [0, 1])})


# ---- the command line


@pytest.mark.parametrize("name", ["z[\N{FULLWIDTH DIGIT ONE}]", "z[00]", "z[+1]", "z[1_0]"])
def test_a_place_is_written_in_one_way(name: str) -> None:
    model = dpc.parse("dim T = 3\nz[t in T] ~ Bernoulli(0.3)\n")
    for ask in (model.marginals, model.query):
        with pytest.raises(WrongEvidence, match="there is no variable"):
            ask(given={name: True})


ODD = ["x|y", "p,q", "a=b", "[z", "it's", '"w"', " s ", "back\\slash"]


@pytest.mark.parametrize("label", ODD)
def test_any_label_can_be_given(label: str, tmp_path: Path) -> None:
    quoted = "'" + label.replace("\\", "\\\\").replace("'", "\\'") + "'"
    path = tmp_path / "m.dp"
    states = " | ".join(f"`{each}`" for each in ODD)
    path.write_text(f"dim S = {states}\n`n,m` : S ~ Categorical([{', '.join(['0.125'] * 8)}])\n")
    found = dpc.load(str(path)).query(given=read_given([f"'n,m'={quoted}"]))["marginals"]["n,m"]
    assert found == {each: float(each == label) for each in ODD}
    several = read_given([f"'n,m'={quoted}|no"])["n,m"]
    assert several == {label, "no"}


def test_empty_alternatives_are_refused() -> None:
    assert read_given(["a=don't,b=can't"]) == {"a": "don't", "b": "can't"}
    for text in ("a=|", "a=yes|", "a=x||y"):
        with pytest.raises(UsageError, match="empty value"):
            read_given([text])


@pytest.mark.parametrize(
    "words",
    [
        ["query", "--samples", "100000000000"],
        ["query", "--samples", "1000000", "--memory", "20MB"],
        ["sample", "-n", "100000000000"],
    ],
)
def test_many_draws_are_refused_by_their_bytes(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.dp"
    path.write_text(CHAIN)
    assert main([words[0], str(path), *words[1:]]) == 2
    assert re.search(r"0 (samples|draws) take .+B, and the limit is", capsys.readouterr().err)


def test_many_draws_are_refused_in_python() -> None:
    for question in (
        lambda: dpc.parse(CHAIN).sample(0, n=10**12),
        lambda: dpc.parse(CHAIN).sample(0, n=10**12, given={"b": "x"}),
        lambda: dpc.parse(DRAWN).value_and_grad(0, {"t": 0.3}, samples=10**12),
        lambda: dpc.parse(DRAWN).grad(samples=10**12),
    ):
        with pytest.raises(InferenceError, match=r"take .+B, and the limit is"):
            question()


def test_held_out_data_are_missed_before_the_fit() -> None:
    model = dpc.parse("param t : real\nobserved y : real\ny ~ Normal(t, 1)\n")
    seen: list[Any] = []
    with pytest.raises(DataError, match=r"cannot read nofile\.csv"):
        model.fit({"y": [1.0, 2.0]}, test="nofile.csv", watch=lambda *state: seen.append(state))
    assert seen == []


def test_impossible_beside_missing_is_said_in_words() -> None:
    model = dpc.parse(
        "dim N\nparam t : real = 1\nobserved y[N] : real\ny[n in N] ~ Uniform(t, t + 1)\n"
    )
    fit = model.fit({"y": [1.5, float("nan"), 20.0]})
    assert "`y[2]` = 20 has log density -inf" in " ".join(fit.warnings)
