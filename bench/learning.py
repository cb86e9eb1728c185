"""Fits against the libraries people come from, where they are installed: time to the same
objective.

Run with `python bench/learning.py [glm] [hmm] [crf] [network]`. `first` is everything from text and
arrays to the fit: parsing, binding, tracing, compiling, steps, certificate; `again` is the same fit
with its programs compiled. Standard errors are left out, as most peers have none. Objectives are
compared: what is printed is how much lower than ours the peer's log-likelihood is, relative to it
(negative where the peer's is higher).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import numpy as np

import dpc
from dpc.learn.fit import fit_likelihood
from dpc.learn.result import FitOptions

GLM = """
dim Obs
dim F
data x[Obs, F]  : real
observed y[Obs] : bool
param b         : real = 0
param w[F]      : real = 0
y[i in Obs] ~ Bernoulli(logits=b + dot(x[i], w))
"""
HMM = """
dim T
dim K = 3
observed y[T]    : real
param start[K]   : simplex
param step[K, K] : simplex
param mu[K]      : real
param sd[K]      : real(lower=0)
z[0]           ~ Categorical(start)
z[t in T[1..]] ~ Categorical(step[z[t-1]])
y[t in T]      ~ Normal(mu[z[t]], sd[z[t]])
"""
HMM_START = {
    "start": np.ones(3) / 3,
    "step": np.full((3, 3), 0.2) + 0.4 * np.eye(3),
    "mu": np.array([-1.0, 0.5, 2.0]),
    "sd": np.full(3, 1.5),
}
CRF = """
dim T
dim Tag = 5
dim Word = 200
data word[T]       : Word
param W[Tag, Word] : real = 0
param V[Tag, Tag]  : real = 0
latent tag[T]      : Tag
factor emit[t in T]       : W[tag[t], word[t]]
factor trans[t in T[1..]] : V[tag[t-1], tag[t]]
factor ridge              : -0.1 * (sum[a in Tag, k in Word] W[a, k]^2 + sum[a in Tag, b in Tag] V[a, b]^2)
"""
ALARM = Path(__file__).resolve().parents[1] / "models" / "networks" / "alarm.dp"
ROWS = {
    "glm": (10**3, 10**5, 10**6),
    "hmm": (10**3, 10**5),
    "crf": (10**3, 10**5),
    "network": (10**3, 10**5, 10**6),
}

Peer = tuple[str, Callable[[], Callable[[], float]]]
"""A name, and a fit that gives how to score it: scores are not timed."""


class Contest:
    """One set of data: our model and its data, and the peers' fits."""

    def __init__(
        self, text: str, data: Any, peers: list[Peer], by: str | None = None, start: Any = None
    ):
        self.text, self.data, self.peers, self.by, self.start = text, data, peers, by, start

    def first(self) -> Any:
        jax.clear_caches()
        model = dpc.parse(self.text)
        return model.fit(self.data, by=self.by, start=self.start, errors=False)

    def again(self) -> Callable[[], Any]:
        likelihood = dpc.parse(self.text).likelihood(self.data, by=self.by)
        return lambda: fit_likelihood(likelihood, FitOptions(errors=False), self.start)


def seconds(function: Callable[[], Any], turns: int = 1) -> tuple[float, Any]:
    """Of the fastest turn, and what the last one gave."""
    least, found = np.inf, None
    for _ in range(turns):
        began = time.perf_counter()
        found = function()
        least = min(least, time.perf_counter() - began)
    return least, found


# ---- regression


def glm(rows: int) -> Contest:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(rows, 10))
    y = generator.random(rows) < 1 / (1 + np.exp(-(0.3 + x @ generator.normal(size=10) / 3)))
    return Contest(GLM, {"x": x, "y": y}, list(glm_peers(x, y)))


def glm_peers(x: Any, y: Any) -> Iterator[Peer]:
    if find_spec("statsmodels"):
        import statsmodels.api as sm

        def statsmodels() -> Callable[[], float]:
            fit = sm.GLM(y.astype(float), sm.add_constant(x), family=sm.families.Binomial()).fit()
            return lambda: float(fit.llf)

        yield "statsmodels", statsmodels
    if find_spec("sklearn"):
        from sklearn.linear_model import LogisticRegression

        def sklearn() -> Callable[[], float]:
            fit = LogisticRegression(penalty=None, tol=1e-8).fit(x, y)
            return lambda: (
                -float(np.sum(np.logaddexp(0, -np.where(y, 1, -1) * fit.decision_function(x))))
            )

        yield "scikit-learn", sklearn


# ---- hidden Markov models: sequences of 50 to 149 steps


def hmm(rows: int) -> Contest:
    generator = np.random.default_rng(0)
    lengths = [50 + k % 100 for k in range(rows)]
    lengths = lengths[: int(np.searchsorted(np.cumsum(lengths), rows)) + 1]
    states = chain(
        generator, np.array([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]]), sum(lengths)
    )
    y = np.array([-2.0, 0.0, 3.0])[states] + np.array([1.0, 0.5, 1.5])[states] * generator.normal(
        size=len(states)
    )
    ends = np.cumsum(lengths)[:-1]
    return Contest(
        HMM, [{"y": own} for own in np.split(y, ends)], list(hmm_peers(y, lengths)), start=HMM_START
    )


def chain(generator: Any, step: Any, length: int) -> Any:
    limits, uniforms, states = (
        np.cumsum(step, axis=1),
        generator.random(length),
        np.zeros(length, int),
    )
    for t in range(1, length):
        states[t] = min(int(np.searchsorted(limits[states[t - 1]], uniforms[t])), len(step) - 1)
    return states


def hmm_peers(y: Any, lengths: list[int]) -> Iterator[Peer]:
    if find_spec("hmmlearn"):
        from hmmlearn.hmm import GaussianHMM

        def hmmlearn() -> Callable[[], float]:
            fit = GaussianHMM(
                3, "diag", init_params="", tol=1e-4, n_iter=1000, covars_prior=0, covars_weight=0
            )
            fit.startprob_, fit.transmat_ = HMM_START["start"], HMM_START["step"]
            fit.means_, fit.covars_ = HMM_START["mu"][:, None], HMM_START["sd"][:, None] ** 2
            fit.fit(y[:, None], lengths)
            return lambda: float(fit.score(y[:, None], lengths))

        yield "hmmlearn", hmmlearn


# ---- conditional random fields: sentences of 5 to 34 words


def crf(rows: int) -> Contest:
    generator = np.random.default_rng(0)
    lengths = [5 + k % 30 for k in range(rows)]
    lengths = lengths[: int(np.searchsorted(np.cumsum(lengths), rows)) + 1]
    tags = chain(generator, np.full((5, 5), 0.1) + 0.5 * np.eye(5), sum(lengths))
    words = (40 * tags + generator.geometric(0.02, len(tags))) % 200
    ends = np.cumsum(lengths)[:-1]
    cases = [
        {"word": w, "tag": t}
        for w, t in zip(np.split(words, ends), np.split(tags, ends), strict=True)
    ]
    return Contest(CRF, cases, list(crf_peers(cases)))


def crf_peers(cases: list[dict[str, Any]]) -> Iterator[Peer]:
    if find_spec("pycrfsuite"):
        import pycrfsuite

        sentences = [
            ([[str(w)] for w in case["word"]], [str(t) for t in case["tag"]]) for case in cases
        ]

        def crfsuite() -> Callable[[], float]:
            trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
            trainer.set_params({"c1": 0.0, "c2": 0.1, "feature.possible_states": True})
            trainer.set_params(
                {"feature.possible_transitions": True, "epsilon": 1e-6, "delta": 1e-9}
            )
            for words, tags in sentences:
                trainer.append(words, tags)
            with TemporaryDirectory() as folder:
                path = str(Path(folder) / "crf")
                trainer.train(path)
                tagger = pycrfsuite.Tagger()
                tagger.open(path)
            return lambda: crf_score(tagger.info(), cases)

        yield "python-crfsuite", crfsuite


def crf_score(info: Any, cases: list[dict[str, Any]]) -> float:
    """The objective, penalty included, at the weights of a tagger of crfsuite."""
    params = {"W": np.zeros((5, 200)), "V": np.zeros((5, 5))}
    for (word, tag), weight in info.state_features.items():
        params["W"][int(tag), int(word)] = weight
    for (before, after), weight in info.transitions.items():
        params["V"][int(before), int(after)] = weight
    return -float(dpc.parse(CRF).loss(params, cases))


# ---- Bayesian networks


def network(rows: int) -> Contest:
    model = dpc.load(str(ALARM))
    drawn = {
        name: np.asarray(column) for name, column in model.sample(jax.random.key(0), n=rows).items()
    }
    return Contest(ALARM.read_text(), drawn, list(network_peers(model, drawn)))


def network_peers(model: Any, drawn: dict[str, Any]) -> Iterator[Peer]:
    graph = model.graph
    arcs = [(parent, node.name) for node in graph.nodes for parent in node.parents]
    labels = {name: graph[name].type.domain.dim.labels for name in drawn}
    if find_spec("pandas"):
        import pandas

        frame = pandas.DataFrame(
            {name: np.array(labels[name])[column] for name, column in drawn.items()}
        )
    if find_spec("pyagrum"):
        import pyagrum

        bare = pyagrum.BayesNet()
        for name, own in labels.items():
            bare.add(pyagrum.LabelizedVariable(name, name, list(own)))
        for parent, child in arcs:
            bare.addArc(parent, child)

        def agrum() -> Callable[[], float]:
            learner = pyagrum.BNLearner(frame, bare)
            learner.useSmoothingPrior(1e-12)
            learner.learnParameters(bare.dag())
            return lambda: np.nan

        yield "pyAgrum", agrum
    if find_spec("pgmpy"):
        from pgmpy.estimators import MaximumLikelihoodEstimator
        from pgmpy.models import DiscreteBayesianNetwork

        def pgmpy() -> Callable[[], float]:
            MaximumLikelihoodEstimator(DiscreteBayesianNetwork(arcs), frame).get_parameters(
                n_jobs=1
            )
            return lambda: np.nan

        yield "pgmpy", pgmpy


CONTESTS: dict[str, Callable[[int], Contest]] = {
    "glm": glm,
    "hmm": hmm,
    "crf": crf,
    "network": network,
}


def print_contest(name: str, rows: int) -> None:
    contest = CONTESTS[name](rows)
    first, fit = seconds(contest.first)
    ours = contest.again()
    ours()
    again, _ = seconds(ours, 2)
    print(f"{name:<9}{rows:>9}  {fit.method:<8}{first:>9.2f}{again:>9.3f}", end="", flush=True)
    for peer, run in contest.peers:
        taken, score = seconds(run, 2)
        worse = (fit.value + fit.log_prior - score()) / max(1.0, abs(fit.value))
        print(
            (
                f"   {peer} {taken:.3f} s, / first {taken / first:.2f}, / again {taken / again:.2f}, "
                f"{worse:.0e}"
            ),
            end="",
        )
    print(flush=True)


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")
    print(f"{'':<9}{'rows':>9}  {'method':<8}{'first s':>9}{'again s':>9}")
    for name in sys.argv[1:] or CONTESTS:
        for rows in ROWS[name]:
            print_contest(name, rows)


if __name__ == "__main__":
    main()
