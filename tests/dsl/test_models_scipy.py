"""The log density of every model of models/ that has one, against the same density written with
SciPy alone.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st

import dpc
from dpc.dsl.graph.graph import Kind, Node
from dpc.dsl.graph.types import Bool, IndexOf, Int

LOOSE_JAX = "NumPyro promotes types and ranks"

MODELS = Path(__file__).parent.parent.parent / "models"
OWN = sorted(path for path in MODELS.rglob("*.dp") if path.parent.name not in ("networks", "bayes"))
"""Networks that others made have their own answers: tests/finite/test_query.py."""
SIZES = {"T": 6, "F": 4, "County": 3, "Obs": 5, "Day": 7, "Point": 5, "Feature": 3, "Document": 2, "Word": 4,
         "Token": 6, "Year": 5, "N": 2, "Input": 2, "Image": 2}  # fmt: skip
Values = dict[str, Any]

norm, halfnorm = st.norm.logpdf, st.halfnorm.logpdf
GIVEN = (Kind.INPUT, Kind.PARAMETER, Kind.DRAW)
VISIBLE = np.sin(np.arange(64.0))


# ---- the densities, by hand


def asia(v: Values) -> float:
    p = [0.01, 0.99][v["asia"]] * 0.5 * [[0.05, 0.95], [0.01, 0.99]][v["asia"]][v["tub"]]
    p *= [[0.1, 0.9], [0.01, 0.99]][v["smoke"]][v["lung"]] * [[0.6, 0.4], [0.3, 0.7]][v["smoke"]][
        v["bronc"]
    ]
    p *= v["either"] == min(v["lung"], v["tub"])
    p *= [[0.98, 0.02], [0.05, 0.95]][v["either"]][v["xray"]]
    yes = [[0.9, 0.8], [0.7, 0.1]][v["bronc"]][v["either"]]
    return np.log(p * (yes if v["dysp"] == 0 else 1 - yes))


def bandit(v: Values) -> float:
    return sp.log_softmax(v["preference"])[v["arm"]] + norm(v["reward"], v["pay"][v["arm"]], 0.1)


def boltzmann(v: Values) -> float:
    return v["a"] @ v["v"] + v["b"] @ v["h"] + v["v"] @ v["w"] @ v["h"]


def cancer(v: Values) -> float:
    yes = {(0, 0): 0.03, (1, 0): 0.05, (0, 1): 0.001, (1, 1): 0.02}[
        int(v["pollution"]), int(v["smoker"])
    ]
    p = (
        [0.9, 0.1][v["pollution"]]
        * [0.3, 0.7][v["smoker"]]
        * (yes if v["cancer"] == 0 else 1 - yes)
    )
    return np.log(p * [[0.9, 0.1], [0.2, 0.8]][v["cancer"]][v["xray"]])


def changepoint(v: Values) -> float:
    rate = np.where(np.arange(5) < v["change"], v["early"], v["late"])
    prior = st.expon.logpdf(v["early"]) + st.expon.logpdf(v["late"]) - np.log(5)
    return prior + st.poisson.logpmf(v["accidents"], rate).sum()


def digits(v: Values) -> float:
    odds = v["ground"] + v["z"] @ v["write"]
    return (
        st.bernoulli.logpmf(v["z"], 0.5).sum() + st.bernoulli.logpmf(v["x"], sp.expit(odds)).sum()
    )


def eight_schools(v: Values) -> float:
    prior = (
        norm(v["mu"], 0, 5)
        + st.halfcauchy.logpdf(v["tau"], scale=5)
        + norm(v["theta"], v["mu"], v["tau"]).sum()
    )
    return prior + norm(v["effect"], v["theta"], v["sd"]).sum()


def garch(v: Values) -> float:
    variance = [v["base"]]
    for r in v["r"][:-1]:
        variance.append(v["base"] + v["alpha"] * (r - v["mu"]) ** 2 + v["beta"] * variance[-1])
    prior = (
        norm(v["mu"])
        + halfnorm(v["base"])
        + st.beta.logpdf(v["alpha"], 2, 5)
        + st.beta.logpdf(v["beta"], 5, 2)
    )
    return prior + norm(v["r"], v["mu"], np.sqrt(variance)).sum()


def gate(v: Values) -> float:
    return st.bernoulli.logpmf(v["b"], sp.expit(v["theta"])) + norm(v["z"], v["b"] * v["theta"])


def gaussian_process(v: Values) -> float:
    apart = np.subtract.outer(v["x"], v["x"]) / v["reach"]
    cov = v["height"] ** 2 * np.exp(-(apart**2) / 2) + v["noise"] ** 2 * np.eye(5)
    prior = (
        halfnorm(v["height"]) + halfnorm(v["noise"]) + st.invgamma.logpdf(v["reach"], 5, scale=5)
    )
    return prior + st.multivariate_normal.logpdf(v["y"], np.zeros(5), cov)


def hierarchical(v: Values) -> float:
    prior = (
        norm(v["mu_a"], 0, 5) + halfnorm(v["tau"], scale=2) + norm(v["b"]) + halfnorm(v["sigma"])
    )
    prior += norm(v["a"], v["mu_a"], v["tau"]).sum()
    return prior + norm(v["y"], v["a"][v["county"]] + v["b"] * v["floor"], v["sigma"]).sum()


def hmm(v: Values) -> float:
    z = v["z"]
    prior = (
        4 * st.dirichlet.logpdf(v["pi"], np.ones(3))
        + norm(v["mu"], 0, 10).sum()
        + np.log(factorial(3))
    )
    return (
        prior
        + np.log(v["pi"][z[0]])
        + np.log(v["A"][z[:-1], z[1:]]).sum()
        + norm(v["y"], v["mu"][z]).sum()
    )


def ising(v: Values) -> float:
    s = 2 * v["s"] - 1
    return v["h"] * s.sum() + v["J"] * ((s[:, 1:] * s[:, :-1]).sum() + (s[1:] * s[:-1]).sum())


def logistic(v: Values) -> float:
    odds = v["bias"] + v["x"] @ v["w"]
    return (
        norm(v["bias"], 0, 5)
        + norm(v["w"]).sum()
        + st.bernoulli.logpmf(v["y"], sp.expit(odds)).sum()
    )


def mixture(v: Values) -> float:
    k = v["label"]
    prior = (
        st.dirichlet.logpdf(v["weight"], np.ones(3))
        + norm(v["centre"], 0, 10).sum()
        + np.log(factorial(3))
    )
    prior += halfnorm(v["spread"], scale=2).sum() + np.log(v["weight"][k]).sum()
    return prior + norm(v["x"], v["centre"][k], v["spread"][k]).sum()


def potts(v: Values) -> float:
    r = v["region"]
    own = np.take_along_axis(v["evidence"], r[..., None], 2).sum()
    return own + v["coupling"] * ((r[:, 1:] == r[:, :-1]).sum() + (r[1:] == r[:-1]).sum())


def second_order(v: Values) -> float:
    z = v["sky"]
    prior = 7 * st.dirichlet.logpdf([0.5, 0.5], np.ones(2)) + st.beta.logpdf(v["carry"], 1, 1).sum()
    chain = (
        np.log(v["start"][z[0]])
        + np.log(v["turn"][z[0], z[1]])
        + np.log(v["step"][z[:-2], z[1:-1], z[2:]]).sum()
    )
    return prior + chain + st.bernoulli.logpmf(v["umbrella"], v["carry"][z]).sum()


def sprinkler(v: Values) -> float:
    p = (
        0.5
        * [[0.8, 0.2], [0.2, 0.8]][v["cloudy"]][v["rain"]]
        * [[0.1, 0.9], [0.5, 0.5]][v["cloudy"]][v["sprinkler"]]
    )
    wet = [[0.99, 0.9], [0.9, 0]][v["sprinkler"]][v["rain"]]
    return np.log(p * (wet if v["wet_grass"] == 0 else 1 - wet))


def tagger(v: Values) -> float:
    tag = v["tag"]
    return (v["W"][tag] * v["x"]).sum() + v["V"][tag[:-1], tag[1:]].sum()


def topics(v: Values) -> float:
    prior = sum(st.dirichlet.logpdf(row, np.full(10, 0.1)) for row in v["share"])
    prior += sum(st.dirichlet.logpdf(row, np.full(4, 0.01)) for row in v["usage"])
    return (
        prior
        + np.log(v["share"][v["document"], v["topic"]] * v["usage"][v["topic"], v["word"]]).sum()
    )


def tracking(v: Values) -> float:
    prior = (
        halfnorm(v["drift"])
        + halfnorm(v["blur"])
        + norm(v["speed"][0])
        + norm(v["place"][0], 0, 10)
    )
    moves = (
        norm(np.diff(v["speed"]), 0, v["drift"]).sum()
        + norm(np.diff(v["place"]), v["speed"][:-1], 0.1).sum()
    )
    return prior + moves + norm(v["seen"], v["place"], v["blur"]).sum()


def vae(v: Values) -> float:
    chances = sp.expit(np.outer(v["z"].sum(axis=1), VISIBLE))
    return st.bernoulli.logpmf(v["z"], 0.5).sum() + st.bernoulli.logpmf(v["x"], chances).sum()


def nested(v: Values) -> float:
    return st.bernoulli.logpmf(v["coin"], sp.expit(v["theta"])) + norm(
        v["place"], v["theta"] ** 2 + v["coin"]
    )


DENSITIES: dict[str, Callable[[Values], float]] = {
    **{
        f.__name__: f
        for f in (asia, bandit, boltzmann, cancer, changepoint, digits, eight_schools, garch, gate)
    },
    **{
        f.__name__: f
        for f in (
            gaussian_process,
            hierarchical,
            hmm,
            ising,
            logistic,
            mixture,
            potts,
            second_order,
        )
    },
    **{f.__name__: f for f in (sprinkler, tagger, topics, tracking, vae, nested)},
    "control": lambda v: norm(v["gust"], 0, 0.5).sum(),
    "evolution": lambda v: norm(v["place"], v["centre"], v["spread"]).sum(),
    "pathwise": lambda v: norm(v["noise"]),
    "score": lambda v: st.bernoulli.logpmf(v["coin"], sp.expit(v["theta"])),
    "score_chain": lambda v: st.poisson.logpmf(v["count"], np.exp(v["theta"])),
    "window": lambda v: st.logistic.logpdf(v["noise"], 0, 0.5),
}
EXTERNS = {"vae": {"dec": lambda z: VISIBLE * z.sum(), "enc": lambda x: np.ones(20) * x.sum()}}
POSSIBLE: dict[str, Callable[[Values], Values]] = {
    "asia": lambda v: {"either": np.minimum(v["lung"], v["tub"])},
    "sprinkler": lambda v: {"wet_grass": np.maximum(v["sprinkler"], v["rain"])},
}


# ---- a point to compare at


def some_value(node: Node, chance: np.random.Generator) -> np.ndarray:
    """A value of the node's type, away from the ends of its range."""
    domain, shape = node.type.domain, [axis.size or SIZES[str(axis)] for axis in node.type.shape]
    if isinstance(domain, Bool):
        return chance.random(shape) < 0.5
    if isinstance(domain, IndexOf):
        return chance.integers(0, domain.dim.size or SIZES[str(domain.dim)], shape)
    if isinstance(domain, Int):
        return chance.integers(0, 4, shape)
    found = np.asarray(chance.uniform(0.1, 0.9, shape))
    if node.type.constraint == "simplex":
        return found / found.sum(axis=-1, keepdims=True)
    return np.sort(found) if any(setting.name == "ordered" for setting in node.settings) else found


def load(name: str) -> dpc.Model:
    (path,) = (path for path in OWN if path.stem == name)
    return dpc.load(path, **EXTERNS.get(name, {}))


@pytest.mark.parametrize("name", DENSITIES)
def test_log_density(name: str) -> None:
    model = load(name)
    chance = np.random.default_rng(1)
    values = {n.name: some_value(n, chance) for n in model.graph.nodes if n.kind in GIVEN}
    values |= POSSIBLE.get(name, lambda v: {})(values)
    draws = {n.name: values[n.name] for n in model.graph.of_kind(Kind.DRAW)}
    params = {n.name: values[n.name] for n in model.graph.of_kind(Kind.PARAMETER)}
    data = {n.name: values[n.name] for n in model.graph.of_kind(Kind.INPUT)}
    expected = DENSITIES[name](values)
    assert np.isfinite(expected)
    np.testing.assert_allclose(model.log_prob(params, draws, data), expected, rtol=1e-9)


def test_no_model_is_left_out() -> None:
    graphs = {path.stem: load(path.stem).graph for path in OWN}
    assert {name for name, graph in graphs.items() if graph.of_kind(Kind.DRAW, Kind.FACTOR)} == set(
        DENSITIES
    )
