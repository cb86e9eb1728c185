"""`dpc fit --data` and `dpc predict`: numbers that are known otherwise, words for what is wrong."""

from __future__ import annotations

import json
import os
import re
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from scipy import optimize, special, stats

import dpc
from dpc.cli import main
from dpc.inference.optimise.newton import standard_errors
from dpc.learn import counts
from dpc.model.check import random_ancestors

LOOSE_JAX = "NumPyro promotes types and ranks"

Capture = pytest.CaptureFixture[str]

NETWORK = """model weather
dim Sky = clear | grey
dim YesNo = yes | no
sky  : Sky ~ Categorical(clear=0.5, grey=0.5)
rain : YesNo ~ table sky => yes, no { clear => 0.1, 0.9; grey => 0.4, 0.6 }
wet  ~ Bernoulli(if rain == yes then 0.9 else 0.2)
"""
DRY, RAINY, GREY, STILL = "clear,no,false", "clear,yes,true", "grey,yes,true", "grey,no,true"
ROWS = [row.split(",") for row in [DRY] * 5 + [RAINY] + [GREY] * 3 + [STILL]]

GLM = """
dim Obs
dim Feature
data x[Obs, Feature] : real
param bias : real = 0
param w[Feature] : real = 0
y[i in Obs] ~ Bernoulli(logits=bias + dot(x[i], w))
"""

CHAIN = """
dim T
dim F = 2
dim Tag = O | B
data x[T, F]      : real
param W[Tag, F]   : real = 0
param V[Tag, Tag] : real = 0
latent tag[T]     : Tag
factor emit[t in T]       : dot(W[tag[t]], x[t])
factor trans[t in T[1..]] : V[tag[t-1], tag[t]]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("learning")
    (path / "network.dp").write_text(NETWORK)
    (path / "glm.dp").write_text(GLM)
    (path / "chain.dp").write_text(CHAIN)
    (path / "mix.dp").write_text("dim K = 2\nparam mu[K] : ordered\nparam w[K] : simplex\n"
                                 "z ~ Categorical(w)\ny ~ Normal(mu[z], 1)\n")  # fmt: skip
    write_csv(path / "mix.csv", ["y"], [[1.0], [2.0], [-1.0]])
    (path / "list.json").write_text('[{"y": 1.5}, {"y": "low"}]')
    (path / "tags.jsonl").write_text('{"x": [[1, 2]], "tag": ["O"]}\n\n{"tag": ["O"]}\n')
    write_csv(path / "network.csv", ["sky", "rain", "wet"], ROWS)
    write_csv(path / "part.csv", ["sky", "wet"], [(row[0], row[2]) for row in ROWS])
    x, y = regression()
    rows = [(*map(float, row), str(bool(label)).lower()) for row, label in zip(x, y, strict=True)]
    write_csv(path / "glm.csv", ["x.age", "x.dose", "y"], rows)
    write_csv(
        path / "apart.csv",
        ["x.age", "x.dose", "y"],
        [(*row[:2], str(row[0] > 0).lower()) for row in rows],
    )
    write_csv(path / "new.csv", ["x.dose", "x.age"], [(1.0, 0.5), (-0.5, 2.0)])
    write_csv(path / "header.csv", ["x.age", "x.dose", "y"], [])
    write_csv(path / "unlike.csv", ["x.age", "x.height"], [(1.0, 0.5)])
    return path


def regression() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 2))
    return x, rng.random(80) < special.expit(0.5 + x @ [1, -1.5])


def write_csv(path: Path, header: list[str], rows: list[Any]) -> None:
    path.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n")


def say(capsys: Capture, *words: Any, code: int = 0) -> str:
    assert main([str(word) for word in words]) == code
    return capsys.readouterr().out


def refusal(capsys: Capture, *words: Any, code: int = 2) -> str:
    assert main([str(word) for word in words]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


# ---- tables


def test_tables_are_shown_with_their_parents(folder: Path, capsys: Capture) -> None:
    lines = say(capsys, "fit", folder / "network.dp", "--data", folder / "network.csv").splitlines()
    assert lines[0].startswith("counts: the data are complete")
    rows = {name: cells for name, *cells in (re.split("  +", line) for line in lines)}
    assert rows["sky=clear"] == ["0.6", "0.15"]
    assert rows["rain=yes | sky=clear"] == ["0.166667", "0.15"]
    assert rows["rain=no | sky=grey"] == ["0.25", "0.22"]
    by_hand = 10 * (0.6 * np.log(0.6) + 0.4 * np.log(0.4)) + np.log(1 / 6) + 5 * np.log(5 / 6)
    by_hand += 3 * np.log(0.75) + np.log(0.25) + 4 * np.log(0.9) + np.log(0.2) + 5 * np.log(0.8)
    assert f"log-likelihood {by_hand:.8g} ({by_hand / 10:.6g} for each of 10 cases)" in lines


def test_a_stream_gives_the_same_tables(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (
        "fit",
        folder / "network.dp",
        "--data",
        folder / "network.csv",
        "--smoothing",
        "bdeu:5",
        "--json",
    )
    whole = json.loads(say(capsys, *words))
    monkeypatch.setattr(counts, "PART", 3)
    parts = json.loads(say(capsys, *words, "--stream"))
    assert "a part of the file at a time" in parts.pop("why")
    whole.pop("why")
    assert parts == whole


def test_a_large_file_is_streamed(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpc.learn.run.LARGE", 10)
    said = say(capsys, "fit", folder / "network.dp", "--data", folder / "network.csv")
    assert "a part of the file at a time" in said
    words = "fit", folder / "glm.dp", "--data", folder / "glm.csv", "--method", "counts"
    assert "`counts` needs complete data and tables" in refusal(capsys, *words)


def test_a_network_with_learned_tables(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    """The written file, asked for a posterior, answers with the counts of the data."""
    out = tmp_path / "learned.dp"
    say(capsys, "fit", folder / "network.dp", "--data", folder / "network.csv", "-o", out)
    found = json.loads(say(capsys, "query", out, "--given", "rain=yes", "--ask", "sky", "--json"))
    assert found["marginals"]["sky"]["grey"] == pytest.approx(3 / 4)


# ---- regression


@pytest.fixture(scope="module")
def fitted(folder: Path) -> Path:
    with jax.enable_x64(True):
        out = folder / "fit.json"
        words = ["fit", "glm.dp", "--data", "glm.csv", "--test", "glm.csv", "-o", "fit.json"]
        before = Path.cwd()
        os.chdir(folder)
        try:
            assert main(words) == 0
        finally:
            os.chdir(before)
    return out


def glm_loss(weights: Any) -> Any:
    x, y = regression()
    eta = weights[0] + x @ weights[1:]
    return np.sum(np.logaddexp(0, eta) - y * eta)


def test_a_fit_is_the_maximum_that_scipy_finds(fitted: Path) -> None:
    found = json.loads(fitted.read_text())
    best = optimize.minimize(glm_loss, np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose([found["params"]["bias"], *found["params"]["w"]], best.x, atol=1e-6)
    assert found["log_likelihood"] == pytest.approx(-best.fun, abs=1e-9)
    assert found["test"]["log_likelihood"] == pytest.approx(-best.fun, abs=1e-9)
    assert found["dims"] == {"Feature": ["age", "dose"]}
    assert found["file"] == "glm.dp"
    assert found["converged"]


def test_predictions_know_columns_by_their_labels(
    folder: Path, fitted: Path, capsys: Capture
) -> None:
    """The columns of the new data are in another order."""
    words = "predict", folder / "glm.dp", "--fit", fitted, "--data", folder / "new.csv"
    found = json.loads(say(capsys, *words, "--json"))["draws"]["y"]
    params = json.loads(fitted.read_text())["params"]
    x = np.array([[0.5, 1.0], [2.0, -0.5]])
    p = special.expit(params["bias"] + x @ params["w"])
    np.testing.assert_allclose(np.array(found["probabilities"][0])[:, 1], p, atol=1e-12)
    assert found["best"][0] == (p > 0.5).tolist()
    lines = say(capsys, *words).splitlines()
    assert lines[0].split() == ["Obs", "y", "y=false", "y=true"]
    assert float(lines[1].split()[3]) == pytest.approx(p[0], abs=1e-5)


def test_predictions_as_csv(folder: Path, fitted: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out.csv"
    say(
        capsys,
        "predict",
        folder / "glm.dp",
        "--fit",
        fitted,
        "--data",
        folder / "new.csv",
        "-o",
        out,
    )
    lines = out.read_text().splitlines()
    assert lines[0] == "Obs,y,y=false,y=true"
    assert sum(map(float, lines[1].split(",")[2:])) == pytest.approx(1, abs=1e-12)


def test_separable_data_have_no_maximum(folder: Path, capsys: Capture) -> None:
    assert main(["fit", str(folder / "glm.dp"), "--data", str(folder / "apart.csv")]) == 4
    printed = capsys.readouterr()
    assert "w[age]" in printed.out
    assert "separable data" in printed.err


# ---- sequences


def test_tags_of_sentences_of_many_lengths(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    """The best tags and their probabilities by enumeration; JSON lists, JSON lines and rows by case
    are the same.
    """
    rng = np.random.default_rng(5)
    cases = [{"x": rng.normal(size=(length, 2)).tolist()} for length in (3, 1, 3, 2)]
    params = {"W": rng.normal(size=(2, 2)).tolist(), "V": rng.normal(size=(2, 2)).tolist()}
    fit = tmp_path / "fit.json"
    fit.write_text(json.dumps({"params": params, "dims": {}, "given": ["tag"]}))
    (tmp_path / "new.json").write_text(json.dumps(cases))
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, cases)))
    rows = [(f"s{k}", *x) for k, case in enumerate(cases) for x in case["x"]]
    write_csv(tmp_path / "new.csv", ["sentence", "x.0", "x.1"], rows)
    words = "predict", folder / "chain.dp", "--fit", fit, "--json", "--data"
    found = json.loads(say(capsys, *words, tmp_path / "new.json"))
    assert json.loads(say(capsys, *words, tmp_path / "new.jsonl")) == found
    by_rows = json.loads(say(capsys, *words, tmp_path / "new.csv", "--by", "sentence"))
    assert by_rows["cases"] == ["s0", "s1", "s2", "s3"]
    assert by_rows["draws"] == found["draws"]
    for k, case in enumerate(cases):
        best, chances = enumerate_tags(params, np.array(case["x"]))
        assert found["draws"]["tag"]["best"][k] == best
        np.testing.assert_allclose(found["draws"]["tag"]["probabilities"][k], chances, atol=1e-12)


def enumerate_tags(params: Any, x: Any) -> tuple[list[int], Any]:
    w, v = np.array(params["W"]), np.array(params["V"])
    paths = list(product((0, 1), repeat=len(x)))
    emit = [sum(w[tag] @ row for tag, row in zip(path, x, strict=True)) for path in paths]
    chances = special.softmax(
        [e + sum(v[a, b] for a, b in pairwise(path)) for e, path in zip(emit, paths, strict=True)]
    )
    on = np.array(paths)[:, :, None] == np.arange(2)
    return list(paths[int(np.argmax(chances))]), np.einsum("p,pts->ts", chances, on)


# ---- what is wrong


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["glm.dp"], 2, "there are no --data to fit"),
        (["glm.dp", "--data", "none.csv"], 3, "cannot read none.csv"),
        (
            ["glm.dp", "--data", "new.csv"],
            3,
            "no value of any draw, so there is nothing to learn from\n  help: the model draws `y`",
        ),
        (["glm.dp", "--data", "glm.csv", "--by", "person"], 3, "there is no column `person`"),
        (
            ["network.dp", "--data", "network.csv", "--test", "part.csv"],
            3,
            "the data lack `rain`, whose probability",
        ),
        (
            ["glm.dp", "--data", "glm.csv", "--smoothing", "1"],
            2,
            "`newton` counts nothing: write a prior in the file",
        ),
        (
            ["network.dp", "--data", "network.csv", "--smoothing", "K2"],
            2,
            "--smoothing is a number from 0 up, or",
        ),
        (
            ["glm.dp", "--data", "glm.csv", "--batch", "9"],
            2,
            "`batch` is for stochastic gradients, and this is `newton`",
        ),
        (["glm.dp", "--data", "glm.csv", "--method", "magic"], 2, "there is no method 'magic'"),
        (
            ["glm.dp", "--data", "glm.csv", "--set", "w=1"],
            2,
            "`w` has shape (2,), but --set gives ()",
        ),
        (
            ["mix.dp", "--data", "mix.csv", "--set", "w=[0.5, 0.6]"],
            2,
            "`w` is simplex, positive numbers that sum to one",
        ),
        (
            ["mix.dp", "--data", "mix.csv", "--set", "w=[1, 0]"],
            2,
            "`w` is simplex, positive numbers that sum to one",
        ),
        (
            ["mix.dp", "--data", "mix.csv", "--set", "mu=[2, 1]"],
            2,
            "`mu` is ordered, numbers that increase",
        ),
        (
            ["mix.dp", "--data", "mix.csv", "--method", "stochastic", "--batch", "4"],
            2,
            "cannot be drawn from 3",
        ),
        (
            ["mix.dp", "--data", "list.json"],
            3,
            "`y` is real, but has the text 'low'\n  in case 2 of list.json",
        ),
        (["chain.dp", "--data", "tags.jsonl"], 3, "the data lack `x`\n  in case 2 of tags.jsonl"),
        (
            ["glm.dp", "--data", "glm.csv", "--set", "bias=low"],
            2,
            "`bias` is a number, or an array of them",
        ),
        (
            ["network.dp", "--data", "network.csv", "--tolerance", "nan"],
            2,
            "--tolerance takes a finite number, not nan",
        ),
        (
            ["glm.dp", "--data", "glm.csv", "-o", "fit.txt"],
            2,
            "-o writes .json, or a network with learned tables",
        ),
        (["glm.dp", "--data", "glm.csv", "-o", "none/fit.json"], 2, "there is no folder none"),
        (["glm.dp", "--data", "header.csv"], 3, "header.csv has no rows below its header"),
        (
            ["glm.dp", "--data", "glm.csv", "--samples", "3"],
            2,
            "--samples is for the objective of a file",
        ),
        (["glm.dp", "--data", "glm.csv", "--stream"], 2, "streamed for tables alone"),
        (
            ["network.dp", "--data", "network.csv", "--steps", "9"],
            2,
            "`steps` has no meaning for `counts`",
        ),
        (
            ["network.dp", "--data", "network.csv", "--checkpoint", "kept"],
            2,
            "tables are counted at once",
        ),
    ],
)
def test_wrong_uses(
    words: list[str],
    code: int,
    said: str,
    folder: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    assert said in refusal(capsys, "fit", *words, code=code)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["glm.dp", "--fit", "none.json", "--data", "new.csv"], 2, "cannot read none.json"),
        (["glm.dp", "--fit", "glm.csv", "--data", "new.csv"], 2, "glm.csv is not a fit from data"),
        (["glm.dp", "--fit", "fit.json"], 2, "there are no --data to predict from"),
        (
            ["network.dp", "--fit", "fit.json", "--data", "new.csv"],
            2,
            "is nothing in the model: it is of another one",
        ),
        (
            ["glm.dp", "--fit", "fit.json", "--data", "unlike.csv"],
            3,
            "`Feature` has no label 'height'",
        ),
        (
            ["glm.dp", "--fit", "fit.json", "--data", "new.csv", "--ask", "w"],
            2,
            "the model draws nothing of that name",
        ),
        (
            ["glm.dp", "--fit", "fit.json", "--data", "new.csv", "--set", "w=1"],
            2,
            "whose value comes from --fit",
        ),
        (
            ["glm.dp", "--fit", "fit.json", "--data", "new.csv", "--log-likelihood"],
            3,
            "the data lack `y`",
        ),
    ],
)
def test_wrong_predictions(
    words: list[str],
    code: int,
    said: str,
    folder: Path,
    fitted: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    capsys.readouterr()
    assert said in refusal(capsys, "predict", *words, code=code)


def test_a_file_with_an_objective_can_be_fitted_to_data(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "both.dp"
    path.write_text("param a : real = 0\ny ~ Normal(a, 1)\nminimize (a - 5)^2\n")
    write_csv(tmp_path / "y.csv", ["y"], [(1.0,), (2.0,)])
    words = "fit", path, "--data", tmp_path / "y.csv"
    assert "--method auto` leaves that" in refusal(capsys, *words, "--by", "y")
    found = json.loads(say(capsys, *words, "--method", "auto", "--json"))
    assert found["params"]["a"] == pytest.approx(1.5)


# ---- likelihoods behind it


def test_a_hidden_draw_of_a_case_is_its_own_in_cases_of_many_lengths() -> None:
    """By hand: log sum_k w_k prod_t Normal(x_t | mu_k, 1), a case at a time."""
    draws = "k ~ Categorical(w)\nx[t in T] ~ Normal(mu[k], 1)\n"
    model = dpc.parse("dim T\ndim K = 2\nparam w[K] : simplex\nparam mu[K] : real\n" + draws)
    cases = [{"x": [0.5, -1.0]}, {"x": [0.2, 1.5, 0.9]}]
    w, mu = np.array([0.3, 0.7]), np.array([0.0, 1.0])
    each = [
        np.log(w @ np.prod(stats.norm.pdf(np.array(case["x"])[:, None], mu), axis=0))
        for case in cases
    ]
    found = -float(model.loss({"w": w, "mu": mu}, cases))
    assert found == pytest.approx(sum(each), abs=1e-12)


def test_ancestors_are_found_through_functions_that_recur() -> None:
    garch = dpc.load(Path(__file__).parents[2] / "models" / "garch.dp")
    assert "mu" in random_ancestors(garch.graph, "r")


def test_errors_are_not_known_where_the_curvature_is_no_number() -> None:
    found = standard_errors(lambda raw, data: jax.numpy.sum(jax.numpy.abs(raw) ** 1.5), np.zeros(2))
    assert np.isnan(found.errors).all()
    assert "second derivatives are no numbers" in found.reason
