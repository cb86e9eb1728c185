"""A hunt for answers about finite variables that are wrong without a word.

    python bench/hunt_finite.py --count 300 --seed 0

Every model is written twice: as a .dp file, and as a table over all configurations that NumPy adds
up. Evidence is of every kind: labels, numbers, sets, likelihoods, nothing, impossible values. The
answers come by three roads: the shell's question, the pure functions, and these under jax.jit.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

import dpc
from dpc.inference.errors import ImpossibleEvidenceError

CLOSE = 1e-7
KEPT = 25
"""Models between two clearings of the caches of JAX."""
SHOWN = 50


class Variable(NamedTuple):
    name: str
    kind: str
    values: tuple[Any, ...]
    """As they are said: labels, numbers or truth values."""

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(str(value).lower() for value in self.values)

    def inside(self, position: int) -> Any:
        """What stands in an array: a position for a label."""
        return position if self.kind == "label" else self.values[position]


class Program(NamedTuple):
    text: str
    variables: list[Variable]
    log_joint: np.ndarray[Any, Any]
    """[states of the first, ...]"""
    directed: bool


def program_of(seed: int) -> Program:
    """A network of a few variables, each a table of some before it, perhaps with factors."""
    chance = np.random.default_rng(seed)
    lines = ["dim L = u | v | w"]
    variables: list[Variable] = []
    count = int(chance.integers(2, 6))
    parts: list[tuple[tuple[int, ...], np.ndarray[Any, Any]]] = []
    for number in range(count):
        variable = variable_of(number, chance)
        above = chance.permutation(number)[: int(chance.integers(0, min(number, 2) + 1))].tolist()
        shape = tuple(len(variables[k].values) for k in above)
        table = probabilities(chance, (*shape, len(variable.values)), variable.kind != "int")
        variables.append(variable)
        lines += statement(variable, [variables[k] for k in above], table)
        least = 1e-3 if variable.kind == "int" else 1e-300
        parts.append(((*above, number), np.log(np.maximum(table, least))))
    directed = chance.random() < 0.7
    if not directed:
        one, two = chance.choice(count, 2, replace=False).tolist()
        shape = len(variables[one].values), len(variables[two].values)
        weights = np.round(chance.normal(size=shape), 3)
        lines.append(f"factor tie : {lookup([variables[one], variables[two]], weights)}")
        parts.append(((one, two), weights))
    sizes = [len(variable.values) for variable in variables]
    total = np.zeros(sizes)
    for scope, table in parts:
        order = np.argsort(scope)
        axes = [sizes[k] if k in scope else 1 for k in range(count)]
        total = total + table.transpose(order).reshape(axes)
    log_joint = np.where(total < -200, -np.inf, total)
    return Program("\n".join(lines) + "\n", variables, log_joint, directed)


def variable_of(number: int, chance: np.random.Generator) -> Variable:
    name, kind = f"x{number}", str(chance.choice(["bool", "label", "int"]))
    if kind == "bool":
        return Variable(name, kind, (False, True))
    if kind == "label":
        return Variable(name, kind, ("u", "v", "w"))
    low = int(chance.integers(-3, 5))
    return Variable(name, kind, tuple(range(low, low + int(chance.integers(2, 4)))))


def probabilities(
    chance: np.random.Generator, shape: tuple[int, ...], zeros: bool
) -> np.ndarray[Any, Any]:
    """Rows of three digits whose sum is one, some with zeros."""
    weights = chance.gamma(1.0, size=shape) + 0.05
    weights[(chance.random(shape) < 0.12) & zeros] = 0.0
    weights[..., 0] += weights.sum(-1) == 0
    table = np.round(weights / weights.sum(-1, keepdims=True), 3)
    best = table.argmax(-1)[..., None]
    rest = 1 - (table.sum(-1, keepdims=True) - np.take_along_axis(table, best, -1))
    np.put_along_axis(table, best, np.round(rest, 3), -1)
    return table


def lookup(above: list[Variable], table: np.ndarray[Any, Any]) -> str:
    """Nested `if`s: the entry for the values of the variables."""
    if not above:
        return repr(float(table))
    first, *rest = above
    cases = [lookup(rest, own) for own in table]
    text = cases[-1]
    for value, case in reversed(list(zip(first.values[:-1], cases[:-1], strict=True))):
        text = f"(if {first.name} == {str(value).lower()} then {case} else {text})"
    return text


def statement(variable: Variable, above: list[Variable], table: np.ndarray[Any, Any]) -> list[str]:
    entries = [lookup(above, table[..., k]) for k in range(len(variable.values))]
    if variable.kind == "bool":
        return [f"{variable.name} ~ Bernoulli({entries[1]})"]
    if variable.kind == "label":
        pairs = zip(variable.values, entries, strict=True)
        return [f"{variable.name} : L ~ Categorical({', '.join(f'{a}={b}' for a, b in pairs)})"]
    # A uniform number, weighted by a factor that is its probability.
    low, high = variable.values[0], variable.values[-1]
    density = np.log(np.maximum(table, 1e-3) * len(variable.values))
    by_value = [lookup(above, own) for own in np.moveaxis(density, -1, 0)]
    text = by_value[-1]
    for value, case in reversed(list(zip(variable.values[:-1], by_value[:-1], strict=True))):
        text = f"(if {variable.name} == {value} then {case} else {text})"
    return [
        f"{variable.name} ~ DiscreteUniform({low}, {high})",
        f"factor of_{variable.name} : {text}",
    ]


class Evidence(NamedTuple):
    """`given` as a person says it, `weights` by position."""

    given: dict[str, Any]
    weights: dict[str, np.ndarray[Any, Any]]
    hard: dict[str, int]
    """Where all of it is single states: by position."""


def evidence_of(program: Program, chance: np.random.Generator) -> Evidence:
    given: dict[str, Any] = {}
    weights: dict[str, np.ndarray[Any, Any]] = {}
    hard: dict[str, int] = {}
    for variable in program.variables:
        if chance.random() < 0.55:
            continue
        count, place = len(variable.values), int(chance.integers(len(variable.values)))
        kind = str(chance.choice(["value", "text", "set", "likelihood", "open"]))
        own = np.zeros(count)
        own[place] = 1.0
        given[variable.name] = variable.inside(place)
        if kind == "text":
            given[variable.name] = variable.states[place]
        elif kind == "set":
            chosen = chance.random(count) < 0.6
            chosen[place] = True
            own = chosen.astype(float)
            given[variable.name] = {s for s, c in zip(variable.states, chosen, strict=True) if c}
        elif kind == "likelihood":
            own = np.round(chance.random(count) + 0.01, 3)
            given[variable.name] = own.tolist()
        elif kind == "open":
            own = np.ones(count)
            given[variable.name] = None
        weights[variable.name] = own
        if kind in ("value", "text"):
            hard[variable.name] = place
    return Evidence(given, weights, hard)


class Truth(NamedTuple):
    log_z: float
    marginals: dict[str, np.ndarray[Any, Any]]
    entropy: float
    best: float
    log_weights: np.ndarray[Any, Any]


def truth_of(program: Program, evidence: Evidence) -> Truth | None:
    """By adding up all configurations; None where nothing is possible."""
    logs = program.log_joint
    for axis, variable in enumerate(program.variables):
        if variable.name in evidence.weights:
            with np.errstate(divide="ignore"):
                own = np.log(evidence.weights[variable.name])
            logs = logs + own.reshape([-1 if k == axis else 1 for k in range(logs.ndim)])
    if not np.isfinite(logs).any():
        return None
    log_z = float(np.logaddexp.reduce(logs.reshape(-1)))
    p = np.exp(logs - log_z)
    marginals = {}
    for axis, variable in enumerate(program.variables):
        marginals[variable.name] = p.sum(tuple(k for k in range(p.ndim) if k != axis))
    positive = p[p > 0]
    return Truth(log_z, marginals, float(-positive @ np.log(positive)), float(logs.max()), logs)


def score_of(program: Program, truth: Truth, values: dict[str, Any], places: bool) -> float:
    """The log weight of one configuration, by positions of labels or by what people say."""
    index = []
    for variable in program.variables:
        own = values[variable.name]
        if isinstance(own, str):
            index.append(variable.states.index(own))
        elif variable.kind == "label" and places:
            index.append(int(own))
        else:
            index.append(variable.values.index(type(variable.values[0])(own)))
    return float(truth.log_weights[tuple(index)])


def differ(name: str, found: Any, wanted: Any) -> str:
    found, wanted = np.asarray(found, float), np.asarray(wanted, float)
    if found.shape == wanted.shape and np.all(np.abs(found - wanted) < CLOSE):
        return ""
    return f"{name}: {found} for {wanted}"


def by_shell(model: dpc.Model, program: Program, evidence: Evidence, truth: Truth) -> Iterator[str]:
    """The questions that `dpc query` asks."""
    answers = model.query(
        given=evidence.given, ask=[v.name for v in program.variables], logz=True, entropy=True,
        map=True, kbest=3, samples=5,
    )  # fmt: skip
    for name, wanted in truth.marginals.items():
        yield differ(f"query {name}", list(answers["marginals"][name].values()), wanted)
    yield differ("query logz", answers["logz"], truth.log_z)
    yield differ("query entropy", answers["entropy"], truth.entropy)
    best = answers["map"]
    yield differ("query map", score_of(program, truth, best["states"], False), truth.best)
    scores = np.sort(truth.log_weights.reshape(-1))[::-1][:3]
    wanted = scores[np.isfinite(scores)]
    yield differ("query kbest", [one["log_score"] for one in answers["kbest"]], wanted)
    for row in answers["samples"]:
        if score_of(program, truth, row, False) == -np.inf:
            yield f"query sample of probability zero: {row}"


def by_functions(
    model: dpc.Model, program: Program, evidence: Evidence, truth: Truth
) -> Iterator[str]:
    given = evidence.given
    for name, wanted in truth.marginals.items():
        yield differ(f"marginals {name}", model.marginals(given=given)[name], wanted)
    yield differ("log_partition", model.log_partition(given=given), truth.log_z)
    yield differ("entropy", model.entropy(given=given), truth.entropy)
    yield differ("mode", score_of(program, truth, model.mode(given=given), True), truth.best)
    values, scores = model.kbest(2, given=given)
    first = {name: own[0] for name, own in values.items()}
    yield differ("kbest", score_of(program, truth, first, True), truth.best)
    yield differ("kbest score", scores[0], truth.best)
    drawn = model.sample(jax.random.key(0), given=given, n=4)
    known = {v.name: v.inside(evidence.hard[v.name]) for v in program.variables
             if v.name in evidence.hard}  # fmt: skip
    for k in range(4):
        one = {**known, **{name: own[k] for name, own in drawn.items()}}
        if score_of(program, truth, one, True) == -np.inf:
            yield f"a draw of probability zero: {one}"


def by_jit(model: dpc.Model, program: Program, evidence: Evidence, truth: Truth) -> Iterator[str]:
    """Evidence as arrays that are traced."""
    traced: dict[str, Any] = {}
    for variable in program.variables:
        if variable.name in evidence.hard:
            traced[variable.name] = np.asarray(variable.inside(evidence.hard[variable.name]))
        elif variable.name in evidence.weights:
            traced[variable.name] = evidence.weights[variable.name]
    found, log_z = jax.jit(
        lambda given: (model.marginals(given=given), model.log_partition(given=given))
    )(traced)
    for name, wanted in truth.marginals.items():
        yield differ(f"jit marginals {name}", found[name], wanted)
    yield differ("jit log_partition", log_z, truth.log_z)


ROADS = (by_shell, by_functions, by_jit)


def judge(seed: int) -> tuple[str, str, str]:
    """right, wrong, impossible or broken; what was found; the program."""
    program, chance = program_of(seed), np.random.default_rng([seed, 1])
    evidence = evidence_of(program, chance)
    truth = truth_of(program, evidence)
    text = f"{program.text}given {evidence.given}"
    try:
        model = dpc.parse(program.text)
        if truth is None:
            return judge_impossible(model, evidence, text)
        said = [line for road in ROADS for line in road(model, program, evidence, truth) if line]
    except Exception as error:  # a bug of ours, which the hunt is to find
        return "broken", f"{type(error).__name__}: {error}", text
    return ("wrong", said[0], text) if said else ("right", "", text)


def judge_impossible(model: dpc.Model, evidence: Evidence, text: str) -> tuple[str, str, str]:
    """Every question but log Z is refused.

    Draws below what is given are left out: they are those of the distributions that the file has,
    also where what is given has probability zero.
    """
    for ask in (
        lambda: model.query(given=evidence.given),
        lambda: model.query(given=evidence.given, kbest=2),
        lambda: model.marginals(given=evidence.given),
        lambda: model.mode(given=evidence.given),
        lambda: model.kbest(1, given=evidence.given),
        lambda: model.entropy(given=evidence.given),
    ):
        try:
            found = ask()
        except ImpossibleEvidenceError:
            continue
        return "wrong", f"impossible evidence was answered: {found}", text
    log_z = model.log_partition(given=evidence.given)
    if log_z > -200:
        return "wrong", f"log 0 is {log_z}", text
    return "impossible", "", text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", True)
    outcomes, start = Counter[str](), time.perf_counter()
    for number in range(options.count):
        outcome, said, text = judge(options.seed + number)
        outcomes[outcome] += 1
        if outcome in ("wrong", "broken"):
            print(
                f"--- seed {options.seed + number}: {outcome}, {said}", text, sep="\n", flush=True
            )
        if number % KEPT == KEPT - 1:
            jax.clear_caches()
        if number % SHOWN == SHOWN - 1 or number == options.count - 1:
            print(dict(outcomes), f"in {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
