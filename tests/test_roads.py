"""The shell and Python take one road: what one says of a question, the other says too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpc
from dpc.cli import main

LOOSE_JAX = "NumPyro promotes types and ranks"

SWITCH = """model switch
param p : real(lower=0, upper=1) = 0.3
observed y : real
z ~ Bernoulli(p)
tau ~ HalfNormal(1)
y ~ Normal(if z then 1 else 0, tau)
"""
CANCER = Path(__file__).parents[1] / "models" / "cancer.dp"


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def written(folder: Path, text: str, name: str = "m.dp") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_values_of_continuous_draws_are_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """P(z | y = 1, tau = 1) by Bayes' rule."""
    path = written(tmp_path, SWITCH)
    found = said(capsys, "query", path, "--set", "y=1", "--given", "tau=1", "--ask", "z")
    weights = np.array([0.7 * np.exp(-0.5), 0.3])
    expected = weights[1] / weights.sum()
    np.testing.assert_allclose(found["marginals"]["z"]["true"], expected, rtol=1e-9)
    asked = dpc.load(path).query("z", given={"tau": 1}, data={"y": 1})
    np.testing.assert_allclose(asked.to_dict()["marginals"]["z"]["true"], expected, rtol=1e-9)
    assert main(["query", path, "--set", "y=1", "--given", "tau=a"]) == 2
    assert "`tau` takes a number" in capsys.readouterr().err


def test_vectors_are_given_to_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "dim K = 2\nm[k in K] ~ Normal(0, 1)\nx ~ Normal(m[1], 1e-9)\n")
    found = said(capsys, "sample", path, "--given", "m=[3,7]", "-n", "1")
    np.testing.assert_allclose(np.ravel(found["x"]), 7, atol=1e-6)
    drawn = dpc.load(path).draws(1, given={"m": [3, 7]}).to_dict()
    np.testing.assert_allclose(np.ravel(drawn["x"]), 7, atol=1e-6)


def test_names_are_those_of_one_joint() -> None:
    m = dpc.load(str(CANCER))
    names, text = m.query(joint=["cancer", "smoker"]), m.query(joint="cancer, smoker")
    assert names.to_dict() == text.to_dict()
    assert len(names.tables()[0].rows) == 4


def test_parameters_of_imported_files_are_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, "param rate : real = 2\n", "lib.dp")
    path = written(tmp_path, 'import "lib.dp" as lib\ny := lib.rate + 1\n')
    assert main(["run", path, "--set", "lib.rate=5"]) == 0
    assert "6" in capsys.readouterr().out


def test_answers_keep_the_names_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "`samples=9` ~ Bernoulli(0.3)\n")
    found = said(capsys, "query", path)
    assert list(found["marginals"]) == ["samples=9"]


def test_a_file_without_draws_has_nothing_to_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "data x : real = 2\nr := x + 1\n")
    assert main(["sample", path]) == 2
    assert "nothing in this model is random" in capsys.readouterr().err


def test_where_draws_go_is_checked_before_they_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "x ~ Normal(0, 1)\n")
    assert main(["posterior", path, "-o", str(tmp_path / "no" / "x.nc")]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_an_answer_is_saved_as_json_or_csv(tmp_path: Path) -> None:
    answer = dpc.load(str(CANCER)).query("cancer")
    answer.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text()) == answer.to_dict()
    answer.save(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().startswith("variable,state,probability")
    with pytest.raises(ValueError, match=r"saved as .json or .csv"):
        answer.save(tmp_path / "a.txt")
