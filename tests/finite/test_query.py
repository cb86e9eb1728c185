"""dpc query, plan and convert: the answers of others, in every form, and kind words for what cannot
be answered.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from networks import same_network

from dpc.cli import main
from dpc.model.load import read_network

QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "models"
SHIPPED = sorted(path.stem for path in (MODELS / "networks").glob("*.dp"))
CANCER = str(MODELS / "cancer.dp")
ALARM = str(MODELS / "networks" / "alarm.dp")


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["query", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    assert main([*words]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


# ---- the answers of others


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_networks_against_their_references(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The references were computed by pyAgrum in double precision."""
    reference = json.loads((ROOT / "tests/references" / f"{name}.json").read_text())
    given = ",".join(f"{variable}={label}" for variable, label in reference["evidence"].items())
    found = ask(
        capsys,
        str(MODELS / "networks" / f"{name}.dp"),
        "--given",
        given,
        "--logz",
        "--ask",
        "1 > 0",
    )
    assert found["logz"] == pytest.approx(reference["log_evidence"], abs=1e-9)
    assert found["probability"] == pytest.approx(1)
    marginals = ask(capsys, str(MODELS / "networks" / f"{name}.dp"), "--given", given)["marginals"]
    for variable, expected in reference["marginals"].items():
        np.testing.assert_allclose(list(marginals[variable].values()), expected, atol=1e-9)


# ---- every question on a network of four variables, by hand

TABLES = {
    "pollution": {"low": 0.9, "high": 0.1},
    "smoker": {"yes": 0.3, "no": 0.7},
    "cancer": {
        ("low", "yes"): 0.03,
        ("high", "yes"): 0.05,
        ("low", "no"): 0.001,
        ("high", "no"): 0.02,
    },
    "xray": {"yes": 0.9, "no": 0.2},
}


def joint() -> dict[tuple[str, ...], float]:
    found = {}
    for pollution, smoker, cancer, xray in product(
        ("low", "high"), ("yes", "no"), ("yes", "no"), ("yes", "no")
    ):
        c = TABLES["cancer"][pollution, smoker]
        x = TABLES["xray"][cancer]
        p = TABLES["pollution"][pollution] * TABLES["smoker"][smoker]
        found[pollution, smoker, cancer, xray] = (
            p * (c if cancer == "yes" else 1 - c) * (x if xray == "yes" else 1 - x)
        )
    return found


def test_modes_and_k_best_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    best = sorted(joint().items(), key=lambda item: -item[1])
    found = ask(capsys, CANCER, "--map", "--kbest", "5")
    assert tuple(found["map"]["states"].values()) == best[0][0]
    assert [tuple(c["states"].values()) for c in found["kbest"]] == [
        states for states, _ in best[:5]
    ]
    assert [c["probability"] for c in found["kbest"]] == pytest.approx([p for _, p in best[:5]])


def test_marginal_mode_sums_the_others_out(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, CANCER, "--given", "xray=yes", "--map", "cancer,smoker")
    table: dict[tuple[str, str], float] = {}
    for (_, smoker, cancer, xray), p in joint().items():
        if xray == "yes":
            table[cancer, smoker] = table.get((cancer, smoker), 0) + p
    best = max(table, key=lambda key: table[key])
    assert found["map"]["states"] == {"cancer": best[0], "smoker": best[1]}
    assert found["map"]["probability"] == pytest.approx(table[best] / sum(table.values()))


def test_joints_entropies_and_expressions(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(
        capsys,
        CANCER,
        "--joint",
        "xray,cancer",
        "--entropy",
        "--ask",
        "cancer == yes or xray == yes",
    )
    expected = [[sum(p for (_, _, c, x), p in joint().items() if (x, c) == key) for key in product([a], ["yes", "no"])]
                for a in ("yes", "no")]  # fmt: skip
    np.testing.assert_allclose(found["joint"]["probabilities"], expected)
    assert found["entropy"] == pytest.approx(-sum(p * np.log(p) for p in joint().values()))
    assert found["probability"] == pytest.approx(
        sum(p for (_, _, *cx), p in joint().items() if "yes" in cx)
    )


def test_an_expression_of_an_open_continuous_draw_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.dp"
    path.write_text("b ~ Bernoulli(0.3)\nx ~ Normal(b, 1)\n")
    said = refusal(capsys, 2, "query", str(path), "--ask", "x^2 > 1")
    assert "`x` is not finite, and only comparisons of it alone" in said


def test_the_divergence_to_another_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "one.dp", tmp_path / "two.dp"
    one.write_text("x ~ Bernoulli(0.2)\ny ~ Bernoulli(if x then 0.7 else 0.1)\n")
    two.write_text("y ~ Bernoulli(0.5)\nx ~ Bernoulli(if y then 0.4 else 0.3)\n")
    assert "not the same variables" in refusal(capsys, 2, "query", str(one), "--kl", CANCER)
    two.write_text("x ~ Bernoulli(0.4)\ny ~ Bernoulli(if x then 0.6 else 0.3)\n")
    p = {
        (x, y): (0.2 if x else 0.8) * abs(1 - y - (0.7 if x else 0.1))
        for x in (0, 1)
        for y in (0, 1)
    }
    q = {
        (x, y): (0.4 if x else 0.6) * abs(1 - y - (0.6 if x else 0.3))
        for x in (0, 1)
        for y in (0, 1)
    }
    expected = sum(p[key] * np.log(p[key] / q[key]) for key in p)
    assert ask(capsys, str(one), "--kl", str(two))["kl"] == pytest.approx(expected, rel=1e-10)


def test_sets_of_states_and_likelihoods(capsys: pytest.CaptureFixture[str]) -> None:
    free = ask(capsys, CANCER)["marginals"]
    either = ask(capsys, CANCER, "--given", "cancer=yes|no")["marginals"]
    assert either["smoker"] == pytest.approx(free["smoker"])
    weighted = ask(capsys, CANCER, "--given", "cancer=[0.9,0.2],smoker=yes", "--ask", "cancer")[
        "marginals"
    ]["cancer"]
    yes = sum(p for (_, s, c, _), p in joint().items() if s == "yes" and c == "yes") * 0.9
    no = sum(p for (_, s, c, _), p in joint().items() if s == "yes" and c == "no") * 0.2
    assert weighted["yes"] == pytest.approx(yes / (yes + no))


def test_samples_follow_the_joint(capsys: pytest.CaptureFixture[str]) -> None:
    """Each of eight configurations is counted in 4,000 draws: |z| < 5, a false alarm in a million
    runs.
    """
    rows = ask(capsys, CANCER, "--given", "xray=yes", "--samples", "4000", "--seed", "1")["samples"]
    given = {key: p for key, p in joint().items() if key[3] == "yes"}
    total = sum(given.values())
    for key, p in given.items():
        expected = p / total
        count = sum(tuple(row.values()) == key for row in rows)
        assert abs(count - 4000 * expected) < 5 * np.sqrt(4000 * expected * (1 - expected)) + 1


def test_the_mean_of_a_field_by_brute_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "field.dp"
    path.write_text(
        "dim N = 3\nparam J : real = 0.7\nlatent s[N] : bool\nfactor f[i in N[1..]] : J * s[i-1] "
        "* s[i]\n"
    )
    weights = {s: np.exp(0.7 * (s[0] * s[1] + s[1] * s[2])) for s in product((0, 1), repeat=3)}
    z = sum(weights.values())
    mean = sum(w * sum(s) for s, w in weights.items()) / z
    square = sum(w * sum(s) ** 2 for s, w in weights.items()) / z
    found = ask(capsys, str(path), "--logz", "--ask", "sum[i in N] (if s[i] then 1 else 0)")
    assert found["logz"] == pytest.approx(np.log(z))
    assert found["expectation"]["mean"] == pytest.approx(mean)
    assert found["expectation"]["sd"] == pytest.approx(np.sqrt(square - mean**2))
    stronger = ask(capsys, str(path), "--logz", "--set", "J=2.0", "--given", "s[1]=true")
    assert stronger["logz"] == pytest.approx(2 * np.log(1 + np.exp(2.0)))


def test_cases_of_a_file_are_those_asked_one_by_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = tmp_path / "cases.csv"
    cases.write_text("smoker,xray\nyes,no\n,yes\nno,\nyes,no\n")
    found = ask(capsys, CANCER, "--evidence", str(cases), "--ask", "cancer")["cases"]
    for k, given in enumerate(
        ["smoker=yes,xray=no", "xray=yes", "smoker=no", "smoker=yes,xray=no"]
    ):
        one = ask(capsys, CANCER, "--given", given, "--logz", "--ask", "cancer")
        assert found["log_evidence"][k] == pytest.approx(one["logz"], rel=1e-12)
        assert found["marginals"]["cancer"][k] == pytest.approx(
            list(one["marginals"]["cancer"].values()), rel=1e-12
        )
    assert main(["query", CANCER, "--evidence", str(cases), "--ask", "cancer", "--csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == ["case", "log p", "cancer=yes", "cancer=no"]
    assert len(rows) == 5
    cases.write_text("smoker,xray\nyes,maybe\n")
    message = refusal(capsys, 3, "query", CANCER, "--evidence", str(cases))
    assert "case 1: `xray` is one of yes, no, not `maybe`" in message
    cases.write_text("smoker,xray\nyes\n")
    assert "cases.csv:2: this line has not as many cells" in refusal(
        capsys, 2, "query", CANCER, "--evidence", str(cases)
    )
    cases.write_text("smokes\nyes\n")
    assert "did you mean `smoker`?" in refusal(capsys, 3, "query", CANCER, "--evidence", str(cases))


def test_a_picture_of_the_marginals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "cancer.svg"
    assert main(["query", CANCER, "--given", "smoker=yes", "--plot", str(picture)]) == 0
    capsys.readouterr()
    text = picture.read_text()
    assert "0.222" in text
    assert "smoker: observed draw, yes 1.000, no 0.000" in text
    message = refusal(capsys, 2, "query", CANCER, "--plot", str(tmp_path / "x.txt"))
    assert "--plot writes .svg or .png" in message


# ---- what a person sees


def test_a_table_with_bars(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", CANCER, "--given", "smoker=yes", "--ask", "smoker,xray"]) == 0
    assert capsys.readouterr().out == (
        "variable        state  probability\n"
        "smoker (given)  yes    1.000000     ████████████████████████\n"
        "                no     0.000000\n"
        "xray            yes    0.222400     █████▍\n"
        "                no     0.777600     ██████████████████▋\n"
    )


def test_csv_for_spreadsheets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", CANCER, "--joint", "cancer,xray", "--csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0][:3] == ["cancer", "xray", "probability"]
    assert sum(float(row[2]) for row in rows[1:]) == pytest.approx(1, abs=1e-5)


def test_a_plan_names_its_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(MODELS / "ising.dp")]) == 0
    printed = capsys.readouterr().out
    assert "largest clique" in printed
    assert main(["plan", str(MODELS / "ising.dp"), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["largest_clique"]["entries"] == 2 ** len(plan["largest_clique"]["variables"])
    assert len(plan["order"]) == 64


def test_what_is_not_exact_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Belief propagation on a small field with weak ties is close, and never passed off as
    exact.
    """
    weak = (str(MODELS / "ising.dp"), "--set", "J=0.1", "--ask", "s[0, 0]")
    exact = ask(capsys, *weak)
    assert exact["methods"] == {"marginals": "exact"}
    assert main(["query", *weak, "--json", "--memory", "1KB"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["methods"] == {"marginals": "bp"}
    assert "exact inference needs" in printed.err
    assert found["marginals"]["s[0, 0]"] == pytest.approx(exact["marginals"]["s[0, 0]"], abs=1e-3)
    best = ask(capsys, str(MODELS / "ising.dp"), "--map", "--method", "cut")
    assert best["map"]["states"] == ask(capsys, str(MODELS / "ising.dp"), "--map")["map"]["states"]


TRIANGLE = """dim N = 3
latent s[N] : bool
factor tie[i in N, j in N where i < j] : if s[i] == s[j] then 0.3 else 0
factor own[i in N] : if s[i] then 0.2 * i else 0
"""


def triangle() -> dict[tuple[int, ...], float]:
    weights = {
        s: np.exp(
            sum(0.3 * (s[i] == s[j]) for i in range(3) for j in range(i))
            + sum(0.2 * i * s[i] for i in range(3))
        )
        for s in product((0, 1), repeat=3)
    }
    total = sum(weights.values())
    return {s: w / total for s, w in weights.items()}


def test_sampled_answers_have_their_errors_beside_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Gibbs sampling where it was asked for and, by auto, where exact does not fit; |z| < 5, one
    alarm in 100,000.
    """
    path = tmp_path / "triangle.dp"
    path.write_text(TRIANGLE)
    p = triangle()
    asked = ("--joint", "s[0],s[2]", "--ask", "s[0] == s[2]", "--ask", "s[1]", "--seed", "5")
    found = ask(capsys, str(path), *asked, "--method", "gibbs")
    assert set(found["methods"].values()) == {"gibbs"}
    errors = found["standard_errors"]
    joint = np.array(
        [[sum(v for s, v in p.items() if (s[0], s[2]) == (a, b)) for b in (0, 1)] for a in (0, 1)]
    )
    assert (
        np.abs(np.array(found["joint"]["probabilities"]) - joint) < 5 * np.array(errors["joint"])
    ).all()
    agree = sum(v for s, v in p.items() if s[0] == s[2])
    assert abs(found["probability"] - agree) < 5 * errors["probability"] < 0.1
    second = sum(v for s, v in p.items() if s[1])
    assert (
        abs(found["marginals"]["s[1]"]["true"] - second) < 5 * errors["marginals"]["s[1]"]["true"]
    )
    number = "sum[i in N] (if s[i] then 1 else 0)"
    assert (
        main(["query", str(path), "--ask", number, "--samples", "40", "--memory", "10B", "--json"])
        == 0
    )
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["methods"] == {"samples": "gibbs", "expectation": "gibbs"}
    assert len(found["samples"]) == 40
    assert printed.err.count("exact inference needs") == 2
    assert "40 independent ones" in printed.err
    mean = sum(v * sum(s) for s, v in p.items())
    assert abs(found["expectation"]["mean"] - mean) < 5 * found["standard_errors"]["expectation"]
    assert main(["query", str(path), "--joint", "s[0],s[2]", "--method", "gibbs"]) == 0
    assert "probability  standard error" in capsys.readouterr().out


def test_entropies_and_perturbed_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "triangle.dp"
    path.write_text(TRIANGLE)
    exact = -sum(v * np.log(v) for v in triangle().values())
    for method in ("bp", "bp_residual", "mean_field"):
        assert main(["query", str(path), "--entropy", "--method", method, "--json"]) == 0
        printed = capsys.readouterr()
        assert json.loads(printed.out)["entropy"] == pytest.approx(exact, abs=0.1)
        assert "approximate" in printed.err
    assert (
        main(["query", str(path), "--samples", "7", "--logz", "--method", "perturb", "--json"]) == 0
    )
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert len(found["samples"]) == 7
    assert found["methods"] == {"logz": "perturb", "samples": "perturb"}
    assert "not exact draws" in printed.err
    assert "upper bound" in printed.err


def test_a_method_that_does_not_answer_is_told_with_those_that_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    refused = {
        (
            "--entropy",
            "gibbs",
        ): "does not give the entropy: use auto, exact, bp, bp_residual or mean_field",
        ("--logz", "gibbs"): "does not give the log-partition",
        ("--map", "gibbs"): "does not give a mode: use auto, exact, cut, bp or bp_residual",
        ("--map=cancer", "bp"): "with the others summed out: use auto or exact",
        ("--kbest=2", "bp"): "does not give the k best",
        ("--kl=" + CANCER, "bp"): "does not give divergences",
        ("--samples=2", "bp"): "does not give samples: use auto, exact, gibbs or perturb",
        (
            "--joint=xray,cancer",
            "mean_field",
        ): "does not give joint distributions: use auto, exact or gibbs",
        ("--ask=cancer == yes", "bp"): "does not give probabilities and means of expressions",
        ("--ask=cancer", "cut"): "does not give marginals",
        ("--evidence=cases.csv", "bp"): "does not give answers to files of cases",
    }
    for (question, method), message in refused.items():
        assert message in refusal(capsys, 2, "query", CANCER, question, "--method", method)


# ---- files that appear whole or not at all


KILLED = (
    "import os, signal, sys; from dpc.cli import main; "
    "os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL); main(sys.argv[1:])"
)
"""It dies when all is written but the file has not taken its name."""


@pytest.mark.parametrize(
    ("command", "output"),
    [(("query", CANCER, "--plot"), "out.svg"), (("convert", ALARM, "-o"), "out.xmlbif")],
)
def test_a_command_killed_while_it_writes_leaves_the_old_file(
    command: tuple[str, ...], output: str, tmp_path: Path
) -> None:
    target = tmp_path / output
    target.write_text("what was there before")
    words = [sys.executable, "-c", KILLED, *command, str(target)]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    assert target.read_text() == "what was there before"
    (beside,) = (path for path in tmp_path.iterdir() if path.name != output)
    assert beside.name.endswith(".tmp")


def test_a_question_over_its_memory_limit_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(MODELS / "ising.dp")
    words = (
        "query",
        model,
        "--memory",
        "1KB",
        "--method",
        "exact",
        "--plot",
        str(tmp_path / "out.svg"),
    )
    assert "largest clique" in refusal(capsys, 2, *words)
    assert list(tmp_path.iterdir()) == []


# ---- what cannot be answered


def test_refusals_say_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = ("query", CANCER)
    assert "did you mean `cancer`?" in refusal(capsys, 3, *query, "--given", "canser=yes")
    assert "`cancer` is one of yes, no, not `ja`" in refusal(
        capsys, 3, *query, "--given", "cancer=ja"
    )
    assert "--given takes NAME=VALUE" in refusal(capsys, 2, *query, "--given", "cancer")
    assert "twice" in refusal(capsys, 2, *query, "--given", "cancer=yes,cancer=no")
    assert "did you mean `cancer`?" in refusal(capsys, 2, *query, "--ask", "canser")
    assert "did you mean `xray`?" in refusal(capsys, 2, *query, "--joint", "xrays,cancer")
    assert "--memory takes a size" in refusal(capsys, 2, *query, "--memory", "much")
    narrow = ("query", str(MODELS / "ising.dp"), "--memory", "1KB", "--method", "exact")
    assert "largest clique" in refusal(capsys, 2, *narrow)
    model = tmp_path / "sure.dp"
    model.write_text(
        "dim S = a | b\nx : S ~ Categorical(a=1, b=0)\ny : S ~ table x => a, b { a => 1, 0; b => "
        "0, 1 }\n"
    )
    assert "the evidence is impossible" in refusal(capsys, 3, "query", str(model), "--given", "y=b")
    model.write_text("param w : real\nb ~ Bernoulli(logistic(w))\n")
    assert "--set w=..." in refusal(capsys, 2, "query", str(model))
    model.write_text("mu ~ Normal(0, 1)\nb ~ Bernoulli(logistic(mu))\n")
    assert "`mu` is not finite and not given" in refusal(capsys, 2, "query", str(model))
    assert ask(capsys, str(model), "--set", "mu=0")["marginals"]["b"]["true"] == pytest.approx(0.5)


# ---- convert


@pytest.mark.parametrize("ending", [".bif", ".xmlbif", ".dp"])
def test_a_round_trip_loses_nothing(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = """network "a name" { property author = someone; }
    variable "blood pressure" { type discrete [ 3 ] { "<90", 90-140, ">140" }; property unit = mmHg; }
    variable while { type discrete [ 2 ] { true, if }; }
    probability ( "blood pressure" ) { table 0.1, 0.7, 0.2; }
    probability ( while | "blood pressure" ) {
      ("<90") 0.1, 0.9; (90-140) 0, 1; (">140") 0.3333333333333333, 0.6666666666666667; }
    """
    first, between, last = tmp_path / "a.bif", tmp_path / f"b{ending}", tmp_path / "c.bif"
    first.write_text(odd)
    assert main(["convert", str(first), "-o", str(between)]) == 0
    assert main(["convert", str(between), "-o", str(last)]) == 0
    assert same_network(read_network(str(last)), read_network(str(first)), 1e-15)
    capsys.readouterr()


def test_a_random_field_through_uai(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(MODELS / "ising.dp"), "-o", str(tmp_path / "ising.uai")]) == 0
    assert main(["convert", str(tmp_path / "ising.uai"), "-o", str(tmp_path / "ising.dp")]) == 0
    capsys.readouterr()
    expected = ask(capsys, str(MODELS / "ising.dp"), "--logz")["logz"]
    assert ask(capsys, str(tmp_path / "ising.uai"), "--logz")["logz"] == pytest.approx(
        expected, rel=1e-12
    )
    assert ask(capsys, str(tmp_path / "ising.dp"), "--logz")["logz"] == pytest.approx(
        expected, rel=1e-12
    )
    message = refusal(
        capsys, 2, "convert", str(MODELS / "ising.dp"), "-o", str(tmp_path / "ising.bif")
    )
    assert "Markov network: write .uai or .dp" in message


def test_tables_too_long_for_a_text_go_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    states = ", ".join(f"s{i}" for i in range(60))
    rows = "".join(
        f"(s{i}, s{j}) {', '.join(['0.016666666666666666'] * 60)};\n"
        for i in range(60)
        for j in range(4)
    )
    head = "".join(f"variable {v} {{ type discrete [ {n} ] {{ {s} }}; }}\n" for v, n, s in (
        ("a", 60, states), ("b", 4, "s0, s1, s2, s3"), ("c", 60, states)))  # fmt: skip
    uniform = f"probability ( a ) {{ table {', '.join(['0.016666666666666666'] * 60)}; }}\n"
    text = (
        f"{head}{uniform}probability ( b ) {{ table 0.1, 0.2, 0.3, 0.4; }}\nprobability ( c | "
        f"a, b ) {{ {rows} }}\n"
    )
    with gzip.open(tmp_path / "wide.bif.gz", "wt") as file:
        file.write(text)
    assert main(["convert", str(tmp_path / "wide.bif.gz"), "-o", str(tmp_path / "wide.dp")]) == 0
    assert "wide.npz" in capsys.readouterr().out
    found = ask(
        capsys, str(tmp_path / "wide.dp"), "--data", str(tmp_path / "wide.npz"), "--ask", "b,c"
    )
    assert found["marginals"]["b"]["s3"] == pytest.approx(0.4)
    assert found["marginals"]["c"]["s59"] == pytest.approx(1 / 60)


def test_broken_network_files_are_refused_with_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.bif").write_text(
        "network n {}\nvariable a { type discrete [ 2 ] { yes }; }\n"
    )
    assert "broken.bif:2:" in refusal(capsys, 2, "query", str(tmp_path / "broken.bif"))
    assert "cannot read" in refusal(capsys, 2, "query", str(tmp_path / "absent.bif"))
    message = refusal(capsys, 2, "convert", CANCER, "-o", str(tmp_path / "x.json"))
    assert "none of .dp, .bif" in message
