"""The same optimum as the libraries people come from, on the same data and from the same start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpc
from dpc.data import BoundData
from dpc.finite.convert import network_of
from dpc.finite.discrete import discrete_model

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "each program runs once, and compiling takes most of the time"

ALARM = Path(__file__).resolve().parents[2] / "models" / "networks" / "alarm.dp"
ROWS = 5000
BDEU = {"prior_type": "BDeu", "equivalent_sample_size": 7}

GLM = """
dim Obs
dim F
data x[Obs, F]  : real
observed y[Obs] : {type}
param b         : real = 0
param w[F]      : real = 0
{more}
eta[i in Obs] = b + dot(x[i], w)
y[i in Obs] ~ {law}
"""
LAWS = {
    "logistic": ("bool", "Bernoulli(logits=eta[i])", ""),
    "Poisson": ("int(lower=0)", "Poisson(log_rate=eta[i])", ""),
    "linear": ("real", "Normal(eta[i], s)", "param s : real(lower=0) = 1"),
    "Gamma": ("real(lower=0)", "Gamma(k, k * exp(-eta[i]))", "param k : real(lower=0) = 1"),
}

SWITCHING = """
dim T
dim K = 2
observed y[T]    : {type}
param start[K]   : simplex
param step[K, K] : simplex
{params}
z[0]           ~ Categorical(start)
z[t in T[1..]] ~ Categorical(step[z[t-1]])
y[t in T]      ~ {law}
"""
GAUSSIAN = SWITCHING.format(
    type="real",
    params="param mu[K] : real\nparam sd[K] : real(lower=0)",
    law="Normal(mu[z[t]], sd[z[t]])",
)
SYMBOLS = SWITCHING.format(
    type="S", params="dim S = 3\nparam e[K, S] : simplex", law="Categorical(e[z[t]])"
)
START = {"start": np.array([0.6, 0.4]), "step": np.array([[0.7, 0.3], [0.4, 0.6]])}
GAUSSIAN_START = {"mu": np.array([-0.5, 1.0]), "sd": np.array([1.0, 1.5])}
SYMBOLS_START = {"e": np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])}
LENGTHS = (7, 30, 30, 12, 50)

TAGGER = """
dim T
dim Tag = 3
dim Word = 8
dim Shape = 2
data word[T]        : Word
data shape[T]       : Shape
param W[Tag, Word]  : real = 0
param S[Tag, Shape] : real = 0
param V[Tag, Tag]   : real = 0
latent tag[T]       : Tag
factor emit[t in T]       : W[tag[t], word[t]] + S[tag[t], shape[t]]
factor trans[t in T[1..]] : V[tag[t-1], tag[t]]
factor ridge : -0.3 * (sum[a in Tag, k in Word] W[a, k]^2
                       + sum[a in Tag, k in Shape] S[a, k]^2 + sum[a in Tag, b in Tag] V[a, b]^2)
"""


# ---- generalised linear models


def regression(law: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 3))
    eta = 0.3 + x @ np.array([0.5, -0.7, 0.2])
    if law == "logistic":
        return x, rng.random(400) < 1 / (1 + np.exp(-eta))
    if law == "Poisson":
        return x, rng.poisson(np.exp(eta))
    return x, eta + rng.normal(size=400) if law == "linear" else rng.gamma(2.0, np.exp(eta) / 2.0)


@pytest.mark.parametrize("law", LAWS)
def test_coefficients_and_standard_errors_of_statsmodels(law: str) -> None:
    sm = pytest.importorskip("statsmodels.api")
    families = {
        "logistic": sm.families.Binomial(),
        "Poisson": sm.families.Poisson(),
        "linear": sm.families.Gaussian(),
        "Gamma": sm.families.Gamma(sm.families.links.Log()),
    }
    x, y = regression(law)
    type_, body, more = LAWS[law]
    fit = dpc.parse(GLM.format(type=type_, law=body, more=more)).fit(
        {"x": x, "y": y}, tolerance=1e-12
    )
    peer = sm.GLM(y.astype(float), sm.add_constant(x), family=families[law]).fit(tol=1e-14)
    assert fit.converged
    np.testing.assert_allclose(
        np.append(fit.params["b"], fit.params["w"]), peer.params, rtol=0, atol=1e-6
    )
    if law in (
        "logistic",
        "Poisson",
    ):  # elsewhere statsmodels estimates the dispersion by moments, not likelihood
        np.testing.assert_allclose(np.append(fit.errors["b"], fit.errors["w"]), peer.bse, rtol=1e-6)
        assert fit.value == pytest.approx(peer.llf, rel=1e-10)


# ---- hidden Markov models


def chain_of_symbols(length: int, rng: Any) -> Any:
    z = np.zeros(length, int)
    for t in range(1, length):
        z[t] = z[t - 1] if rng.random() < 0.85 else 1 - z[t - 1]
    return z


@pytest.mark.slow
def test_at_least_the_likelihood_of_hmmlearn_on_sequences_of_many_lengths() -> None:
    hmm, pandas = pytest.importorskip("hmmlearn.hmm"), pytest.importorskip("pandas")
    rng = np.random.default_rng(6)
    z = np.concatenate([chain_of_symbols(length, rng) for length in LENGTHS])
    y = np.array([-1.0, 2.0])[z] + np.array([0.7, 1.2])[z] * rng.normal(size=len(z))
    frame = pandas.DataFrame({"y": y, "sequence": np.repeat(np.arange(len(LENGTHS)), LENGTHS)})
    model = dpc.parse(GAUSSIAN)
    fit = model.fit(
        frame, by="sequence", start=START | GAUSSIAN_START, errors=False, tolerance=1e-11
    )
    peer = hmm.GaussianHMM(
        2, "diag", init_params="", covars_prior=0, covars_weight=0, n_iter=2000, tol=1e-9
    )
    peer.startprob_, peer.transmat_ = START["start"], START["step"]
    peer.means_, peer.covars_ = GAUSSIAN_START["mu"][:, None], GAUSSIAN_START["sd"][:, None] ** 2
    peer.fit(y[:, None], LENGTHS)
    theirs = peer.score(y[:, None], LENGTHS)
    assert fit.converged
    assert fit.value >= theirs - 1e-9
    same = {"start": peer.startprob_, "step": peer.transmat_}
    same |= {"mu": peer.means_[:, 0], "sd": np.sqrt(peer.covars_[:, 0, 0])}
    ours_at_theirs = model.likelihood(frame, by="sequence").log_likelihood(same)
    assert float(ours_at_theirs) == pytest.approx(theirs, abs=1e-8)
    np.testing.assert_allclose(fit.params["mu"], same["mu"], atol=1e-5)


def test_at_least_the_likelihood_of_hmmlearn_on_one_sequence_of_symbols() -> None:
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(7)
    z = chain_of_symbols(400, rng)
    y = np.where(rng.random(400) < 0.75, 2 * z, 1)
    fit = dpc.parse(SYMBOLS).fit(
        {"y": y}, start=START | SYMBOLS_START, errors=False, tolerance=1e-11
    )
    peer = hmm.CategoricalHMM(2, init_params="", n_iter=5000, tol=1e-9, n_features=3)
    peer.startprob_, peer.transmat_, peer.emissionprob_ = (
        START["start"],
        START["step"],
        SYMBOLS_START["e"],
    )
    peer.fit(y[:, None])
    assert fit.value >= peer.score(y[:, None]) - 1e-9


# ---- conditional random fields


def sentences() -> list[dict[str, Any]]:
    rng = np.random.default_rng(8)
    cases = []
    for length in (5, 9, 9, 3, 6, 5, 12, 9):
        tag = np.cumsum(rng.integers(0, 2, length)) % 3
        word = (2 * tag + rng.integers(0, 4, length)) % 8
        cases.append({"word": word, "shape": (tag == 0) ^ (rng.random(length) < 0.2), "tag": tag})
    return [{name: np.asarray(value, int) for name, value in case.items()} for case in cases]


def test_the_regularised_optimum_of_crfsuite(tmp_path: Path) -> None:
    """crfsuite minimises the negative log-likelihood plus c2 times the squares of the weights; here
    c2 is 0.3.
    """
    crfsuite = pytest.importorskip("pycrfsuite")
    cases, model = sentences(), dpc.parse(TAGGER)
    trainer = crfsuite.Trainer("lbfgs", verbose=False)
    trainer.set_params(
        {"c1": 0.0, "c2": 0.3, "epsilon": 1e-9, "delta": 1e-12, "max_iterations": 1000}
    )
    trainer.set_params({"feature.possible_states": True, "feature.possible_transitions": True})
    for case in cases:
        tokens = [[f"w{w}", f"s{s}"] for w, s in zip(case["word"], case["shape"], strict=True)]
        trainer.append(tokens, [str(k) for k in case["tag"]])
    trainer.train(str(tmp_path / "crf"))
    fit = model.fit(cases, errors=False)
    weights = crfsuite_weights(crfsuite, tmp_path / "crf")
    ours, theirs = (float(model.loss(params, cases)) for params in (fit.params, weights))
    assert fit.converged
    assert ours <= theirs * (1 + 1e-9)
    assert theirs == pytest.approx(ours, rel=1e-4)
    for name, weight in weights.items():
        np.testing.assert_allclose(fit.params[name], weight, atol=2e-3)


def crfsuite_weights(crfsuite: Any, path: Path) -> dict[str, Any]:
    tagger = crfsuite.Tagger()
    tagger.open(str(path))
    found = {"W": np.zeros((3, 8)), "S": np.zeros((3, 2)), "V": np.zeros((3, 3))}
    for (attribute, label), weight in tagger.info().state_features.items():
        found["W" if attribute[0] == "w" else "S"][int(label), int(attribute[1:])] = weight
    for (before, after), weight in tagger.info().transitions.items():
        found["V"][int(before), int(after)] = weight
    return found


# ---- Bayesian networks


class Alarm:
    """The network, rows of it by ancestral sampling in NumPy, and the same rows with labels."""

    def __init__(self) -> None:
        self.model = dpc.load(str(ALARM))
        discrete = discrete_model(self.model.graph, BoundData({}, {}, {}))
        self.network = network_of(discrete, self.model.graph.source)
        self.tables = {table.child: table for table in self.network.tables}
        rng = np.random.default_rng(9)
        self.rows: dict[str, Any] = {}
        for name in self.tables:
            self.draw(name, rng)
        self.labels = {
            name: np.array(self.network.by_name[name].states)[rows]
            for name, rows in self.rows.items()
        }

    def draw(self, name: str, rng: Any) -> None:
        table = self.tables[name]
        for parent in table.parents:
            if parent not in self.rows:
                self.draw(parent, rng)
        if name not in self.rows:
            chances = table.values[tuple(self.rows[parent] for parent in table.parents)]
            limits = np.cumsum(np.broadcast_to(chances, (ROWS, table.values.shape[-1])), axis=-1)
            self.rows[name] = np.minimum(
                (limits < rng.random((ROWS, 1))).sum(-1), table.values.shape[-1] - 1
            )


@pytest.fixture(scope="module")
def alarm() -> Alarm:
    return Alarm()


@pytest.mark.parametrize(
    ("smoothing", "prior", "weight"),
    [(0.5, "useSmoothingPrior", 0.5), ("bdeu:7", "useBDeuPrior", 7.0)],
)
def test_the_smoothed_tables_of_pyagrum(
    alarm: Alarm, smoothing: float | str, prior: str, weight: float
) -> None:
    gum, pandas = pytest.importorskip("pyagrum"), pytest.importorskip("pandas")
    bare = gum.BayesNet()
    for variable in alarm.network.variables:
        bare.add(gum.LabelizedVariable(variable.name, variable.name, list(variable.states)))
    for table in alarm.network.tables:
        for parent in table.parents:
            bare.addArc(parent, table.child)
    learner = gum.BNLearner(pandas.DataFrame(alarm.labels), bare)
    getattr(learner, prior)(weight)
    peer = learner.learnParameters(bare.dag())
    params = alarm.model.fit(alarm.rows, smoothing=smoothing).params
    for name, table in alarm.tables.items():
        found = peer.cpt(name)
        order = [found.names.index(v) for v in table.scope]
        theirs = np.transpose(found.toarray(), [len(order) - 1 - k for k in order])
        np.testing.assert_allclose(params[f"{name}.p"], theirs, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    ("smoothing", "prior"), [(0.0, {}), (1.0, {"prior_type": "K2"}), ("bdeu:7", BDEU)]
)
@pytest.mark.filterwarnings("ignore")
def test_the_tables_of_pgmpy(alarm: Alarm, smoothing: float | str, prior: dict[str, Any]) -> None:
    pytest.importorskip("pgmpy")
    pandas = pytest.importorskip("pandas")
    from pgmpy.estimators import BayesianEstimator, MaximumLikelihoodEstimator
    from pgmpy.models import DiscreteBayesianNetwork

    bare = DiscreteBayesianNetwork([(p, t.child) for t in alarm.network.tables for p in t.parents])
    frame = pandas.DataFrame(alarm.labels)
    states = {variable.name: list(variable.states) for variable in alarm.network.variables}
    estimator = (BayesianEstimator if prior else MaximumLikelihoodEstimator)(
        bare, frame, state_names=states
    )
    params = alarm.model.fit(alarm.rows, smoothing=smoothing).params
    for name, table in alarm.tables.items():
        found = estimator.estimate_cpd(name, **prior)
        theirs = np.transpose(found.values, [found.variables.index(v) for v in table.scope])
        places = [[found.state_names[v].index(state) for state in states[v]] for v in table.scope]
        np.testing.assert_allclose(
            params[f"{name}.p"], theirs[np.ix_(*places)], rtol=0, atol=1e-12, err_msg=name
        )
