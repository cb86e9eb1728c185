"""Annotations from outside: they replace those of the file, and are checked by the same rules."""

from __future__ import annotations

import numpy as np
import pytest

import dpc
from dpc.cli import main

TEXT = """param theta : real = 0.3
b ~ Bernoulli(logistic(theta)) with grad=rloo(samples=16)
z ~ Normal(b * theta, 1) with grad=pathwise
r = if theta > 0.2 then 1 else 0 with soft(logistic, scale=0.1)
minimize (z - 0.499)^2 + r
"""
GUIDED = """param m : real = 0
observed y : real
z ~ Normal(0, 1)
y ~ Normal(z, 1)
guide { z ~ Normal(m, 1) with grad=pathwise }
maximize elbo()
"""


def settings_of(model: dpc.Model, name: str) -> list[str]:
    return [f"{s.name}={s.method}{dict(s.options)}" for s in model.graph[name].settings]


def test_an_annotation_replaces_that_of_the_file() -> None:
    model = dpc.parse(TEXT, settings={"b.grad": "sfe(samples=4)", "z.noncentered": True})
    assert settings_of(model, "b") == ["grad=sfe{'samples': 4}"]
    assert settings_of(model, "z") == ["grad=pathwise{}", "noncentered={}"]
    assert settings_of(dpc.parse(TEXT), "b") == ["grad=rloo{'samples': 16}"]


def test_a_flag_can_be_taken_away() -> None:
    text = "x ~ Normal(0, 1) with noncentered\n"
    assert settings_of(dpc.parse(text, settings={"x.noncentered": False}), "x") == []


@pytest.mark.parametrize(
    ("written", "scale"), [({}, 0.1), ({"r.soft": "logistic(scale=0.5)"}, 0.5)]
)
def test_another_scale_gives_other_numbers(written: dict[str, str], scale: float) -> None:
    model = dpc.parse(TEXT, settings=written)
    found = model.evaluate({"theta": 0.3}, {}, {"b": True, "z": 0.0})["r"]
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-0.1 / scale)), rtol=1e-12)


def test_every_statement_of_the_name_is_changed() -> None:
    text = "dim T = 4\nz[0] ~ Normal(0, 1)\nfor t in T[1..] { z[t] ~ Normal(z[t-1], 1) }\n"
    model = dpc.parse(text, settings={"z.grad": "pathwise"})
    assert [s.method for piece in model.graph["z"].pieces for s in piece.settings] == [
        "pathwise",
        "pathwise",
    ]


def test_a_name_of_model_and_guide_is_changed_where_it_is_annotated() -> None:
    model = dpc.parse(GUIDED, settings={"z.grad": "sfe"})
    assert model.graph.guide is not None
    assert [s.method for s in model.graph.guide["z"].settings] == ["sfe"]
    assert model.graph["z"].settings == ()


WRONG = {
    ("bb.grad", "sfe"): ("E0104", "bb", "did you mean `b`?"),
    ("theta.grad", "sfe"): ("E0104", "theta", "annotations go with b, z, r, minimize"),
    ("b.grat", "sfe"): ("E0701", "grat=sfe", "did you mean `grad`?"),
    ("r.grad", "sfe"): ("E0701", "grad=sfe", "it goes with `~`"),
    ("b", "sfe"): ("E0701", "b", "as in `b.grad=...`"),
    ("b.grad", "sfee"): ("E0702", "sfee", "did you mean `sfe`?"),
    ("b.grad", "sfe(sample=3)"): ("E0702", "sample=3", "it takes samples=, baseline="),
    ("b.grad", "sfe(samples=-3)"): ("E0702", "samples=-3", ""),
    ("b.grad", "sfe, noncentered"): ("E0702", "sfe, noncentered", "write it as after `with`"),
    ("z.noncentered", "maybe"): ("E0702", "maybe", ""),
}


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_mistakes_are_shown_where_they_were_written(key: str, value: str) -> None:
    code, place, help = WRONG[key, value]
    with pytest.raises(dpc.DpError) as caught:
        dpc.parse(TEXT, settings={"z.grad": "sfe", key: value})
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert found.source.text == f"{key}={value}"
    assert found.source.text[found.span.start : found.span.end] == place
    assert found.help.startswith(help)


def test_what_a_distribution_cannot_do_is_shown_in_the_file() -> None:
    with pytest.raises(dpc.DpError) as caught:
        dpc.parse(TEXT, settings={"b.grad": "pathwise"})
    (found,) = caught.value.diagnostics
    assert found.code == "E0703"
    assert found.source.text == TEXT


# ---- on the command line


def test_set_takes_annotations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "models/root.dp", "--json", "--set", "r.soft=logistic(scale=0.5)"]) == 0
    changed = capsys.readouterr().out
    assert main(["run", "models/root.dp", "--json"]) == 0
    assert capsys.readouterr().out != changed
    assert main(["build", "models/gate.dp", "--dump", "graph", "--set", "b.grad=sfe"]) == 0
    assert "with grad=sfe" in capsys.readouterr().out
    assert main(["run", "models/root.dp", "--set", "r.soft=logistik"]) == 1
    assert "did you mean `logistic`?" in capsys.readouterr().err
    assert main(["run", "models/root.dp", "--set", "tal=1"]) == 2
    assert "did you mean `tol`?" in capsys.readouterr().err
