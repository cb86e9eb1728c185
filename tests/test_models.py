"""The models that people learn from: each is right, formatted, drawn, and says in two lines what it
is.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from dpc.dsl.graph.build import build_graph
from dpc.dsl.graph.classify import classify
from dpc.dsl.source import Source
from dpc.dsl.text.format import format_source
from dpc.model.check import check_model
from dpc.show.draw.picture import picture_of
from dpc.show.draw.write import render_picture

MODELS = sorted((Path(__file__).parent.parent / "models").rglob("*.dp"))
CLASSES = {
    "asia": "Bayesian network",
    "attention": "computation graph",
    "bandit": "stochastic computation graph",
    "boltzmann": "Markov random field",
    "bubble": "computation graph",
    "cancer": "Bayesian network",
    "control": "stochastic computation graph",
    "digits": "stochastic computation graph",
    "evolution": "stochastic computation graph",
    "forward_reverse": "computation graph",
    "gate": "stochastic computation graph",
    "gate_function": "computation graph",
    "hierarchical": "Bayesian network",
    "hmm": "Bayesian network",
    "ising": "Markov random field",
    "logistic_loss": "computation graph",
    "nested": "stochastic computation graph",
    "newton": "computation graph",
    "pathwise": "stochastic computation graph",
    "perceptron": "computation graph",
    "potts": "conditional random field",
    "prefix_sum": "computation graph",
    "rnn": "computation graph",
    "root": "computation graph",
    "score": "stochastic computation graph",
    "score_chain": "stochastic computation graph",
    "soft_threshold": "computation graph",
    "tagger": "conditional random field",
    "unrolled": "computation graph",
    "vae": "stochastic computation graph",
    "window": "stochastic computation graph",
}


def source(path: Path) -> Source:
    return Source(path.name, path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_model(path: Path) -> None:
    result = check_model(source(path))
    assert result.diagnostics == ()
    assert result.typed
    graph = build_graph(result.typed)
    assert classify(graph).name == CLASSES.get(path.stem, "Bayesian network")
    svg = render_picture(picture_of(graph), "svg", "builtin")
    texts = {element.text for element in ElementTree.fromstring(svg).iter() if element.text}
    assert {node.name for node in graph.nodes} <= texts


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_a_model_is_formatted_and_introduced(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    first, second, third = text.splitlines()[:3]
    assert first.startswith("# ")
    assert second.startswith("# ")
    assert third.startswith("model ")
    assert format_source(source(path)) == text
