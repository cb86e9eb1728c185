"""dpc posterior: closed forms, runs that are killed and go on bit for bit, and kind words for what
cannot be done.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import arviz as az
import jax
import numpy as np
import pytest
from killing import kill_when

import dpc
from dpc.cli import main
from dpc.commands.inputs import as_options
from dpc.inference.mcmc.container import group
from dpc.inference.mcmc.run import join
from dpc.model import keeper
from dpc.posterior.posteriors import load_draws
from dpc.posterior.summary import EntryTable, PosteriorSummary
from dpc.show.progress import ChainProgress

LOOSE_JAX = "NumPyro promotes types and ranks"

PAIR = """
dim Place = here | there
dim Obs
data place[Obs] : Place
observed y[Obs] : real
a[p in Place] ~ Normal(0, 2)
y[i in Obs]   ~ Normal(a[place[i]], 1)
"""
ROWS = "place,y\nhere,1.0\nhere,2.5\nthere,-1.0\nhere,0.4\nthere,0.3\n"
MEANS = {"a[here]": 3.9 / 3.25, "a[there]": -0.7 / 2.25}
SDS = {"a[here]": 3.25**-0.5, "a[there]": 2.25**-0.5}
LONG = ["--chains", "2", "--warmup", "2000", "--draws", "3000", "--seed", "3"]
FUNNEL = "dim K = 4\ntau ~ HalfCauchy(5)\nx[k in K] ~ Normal(0, tau)\n"
SAVE_ALL = (
    "import sys; from dpc.model import keeper; from dpc.cli import main; "
    "keeper.SAVE_SECONDS = 0; main(sys.argv[1:])"
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("pair")
    (folder / "pair.dp").write_text(PAIR)
    (folder / "pair.csv").write_text(ROWS)
    return ["posterior", str(folder / "pair.dp"), "--data", str(folder / "pair.csv")]


def write(folder: Path, text: str) -> str:
    path = folder / "model.dp"
    path.write_text(text)
    return str(path)


def summary(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    assert main([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


# ---- what comes out


@pytest.fixture(scope="module")
def whole(pair: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a run that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole")
    with jax.enable_x64(True):
        assert main([*pair, *LONG, "--checkpoint", str(folder)]) == 0
    return folder


def test_moments_by_nuts_are_those_of_the_closed_form(
    pair: list[str], whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each mean is off by 4.5 MCSE once in 150,000 runs, each sd by a tenth more seldom still."""
    found = summary(capsys, *pair, *LONG, "--checkpoint", str(whole), "--resume")
    assert [row["variable"] for row in found["variables"]] == list(MEANS)
    for row in found["variables"]:
        assert abs(row["mean"] - MEANS[row["variable"]]) < 4.5 * row["mcse"]
        assert row["sd"] == pytest.approx(SDS[row["variable"]], rel=0.1)
        assert row["ess_bulk"] > 400
    assert found["advice"] == []
    assert found["divergences"] == 0


@pytest.mark.parametrize(
    "method", ["laplace", "svi", pytest.param("importance", marks=pytest.mark.slow)]
)
def test_gaussians_are_right_where_the_posterior_is_one(
    pair: list[str], method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """4000 draws: a mean is off by 5 sd / sqrt(4000) once in a million; SVI may stop 0.03 sd short
    of the mode.
    """
    steps = ["--steps", "2000"] if method == "svi" else []
    found = summary(capsys, *pair, "--method", method, "--draws", "4000", *steps)
    for row in found["variables"]:
        sd = SDS[row["variable"]]
        assert (
            abs(row["mean"] - MEANS[row["variable"]])
            < (5 / 4000**0.5 + 0.03 * (method == "svi")) * sd
        )
        assert row["sd"] == pytest.approx(sd, rel=0.1)
        assert "r_hat" not in row


def test_the_file_has_all_groups_with_labels(pair: list[str], tmp_path: Path) -> None:
    out = tmp_path / "post.nc"
    assert (
        main([*pair, "--method", "laplace", "--draws", "500", "--prior", "300", "-o", str(out)])
        == 0
    )
    found = az.from_netcdf(str(out))
    assert list(group(found, "posterior")["a"].coords["Place"].values) == ["here", "there"]
    assert group(found, "prior")["a"].shape == (1, 300, 2)
    assert group(found, "posterior_predictive")["y"].shape == (1, 500, 5)
    assert group(found, "log_likelihood")["y"].shape == (1, 500, 5)
    assert list(tmp_path.iterdir()) == [out]
    draws = group(found, "posterior")["a"].values[0]
    y, place = np.array([1.0, 2.5, -1.0, 0.4, 0.3]), np.array([0, 0, 1, 0, 1])
    expected = -0.5 * (y - draws[:, place]) ** 2 - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(group(found, "log_likelihood")["y"].values[0], expected)


def test_python_says_the_same_words(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`m.posterior` writes what -o and --plots write, `m.summarise` shows what the shell prints."""
    model, out, plots = dpc.load(pair[1]), tmp_path / "post.nc", tmp_path / "plots"
    files = {"out": str(out), "plots": str(plots), "format": "png", "prior": 50}
    found = model.posterior(pair[-1], "laplace", draws=100, **files)
    assert group(az.from_netcdf(str(out)), "prior")["a"].shape == (1, 50, 2)
    assert {path.suffix for path in plots.iterdir()} == {".png"}
    assert main([*pair, "--method", "laplace", "--draws", "100"]) == 0
    shown = model.summarise(found, pair[-1])
    assert str(shown) == capsys.readouterr().out.rstrip("\n")
    assert list(shown.to_frame()["variable"]) == list(MEANS)
    assert "<td>a[here]</td>" in shown._repr_html_()
    assert [row["variable"] for row in shown.to_dict()["variables"]] == list(MEANS)


def test_finite_variables_have_their_most_probable_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the centre all but known, P(hit | y) is Bayes' rule; 2000 draws are off by 5 standard
    errors never.
    """
    path = write(
        tmp_path,
        "dim Kind = miss | hit\ndim Obs\nobserved y[Obs] : real\nc ~ Normal(2, 0.001)\n"
        "kind[i in Obs] : Kind ~ Categorical(miss=0.7, hit=0.3)\n"
        "y[i in Obs] ~ Normal(if kind[i] == hit then c else 0.0, 1)\n",
    )
    words = ["posterior", path, "--set", "y=[2.5, 0.0]", "--method", "laplace", "--draws", "2000"]
    found = summary(capsys, *words)
    rows = found["finite"]
    hit = 0.3 / (0.3 + 0.7 * np.exp(-0.5 * (2.5**2 - 0.5**2)))
    miss = 0.7 / (0.7 + 0.3 * np.exp(-0.5 * 2.0**2))
    assert [(row["variable"], row["state"]) for row in rows] == [
        ("kind[0]", "hit"),
        ("kind[1]", "miss"),
    ]
    for row, p in zip(rows, (hit, miss), strict=True):
        assert abs(row["probability"] - p) < 5 * (p * (1 - p) / 2000) ** 0.5 + 0.002
    assert any(
        line.split()[:2] == ["kind[0]", "hit"] for line in str(PosteriorSummary(found)).splitlines()
    )


def test_no_variable_hides_another() -> None:
    """Forty rows: of 100 entries as many as fit beside the 8 and the 1."""
    names = [*(f"theta[{k}]" for k in range(100)), *(f"beta[{k}]" for k in range(8)), "tau"]
    lines = EntryTable(("variable", "mean"), [(name, "0") for name in names]).lines()
    shown = [line.split()[0] for line in lines[1:-1]]
    assert shown == [*names[:31], *names[100:]]
    assert lines[-1] == "... and more (69 of theta): --json and -o have them all"


def test_poor_draws_are_told_drawn_and_strict_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ["--checkpoint", str(tmp_path / "kept")]
    words = [
        "posterior",
        write(tmp_path, FUNNEL),
        "--chains",
        "2",
        "--warmup",
        "100",
        "--draws",
        "100",
        *kept,
    ]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "write `with noncentered` after the draw of `x`" in printed
    plots = tmp_path / "plots"
    assert main([*words, "--resume", "--strict", "--plots", str(plots)]) == 4
    assert capsys.readouterr().out == printed
    assert {path.stem for path in plots.iterdir()} == {"trace", "rank", "pair", "forest", "energy"}
    for path in plots.iterdir():
        ElementTree.parse(path)
    rows = [
        text.text
        for text in ElementTree.parse(plots / "forest.svg").iter("{http://www.w3.org/2000/svg}text")
    ]
    assert {"tau", "x[0]", "x[3]"} <= set(rows)


def test_advice_names_options_here_and_keywords_in_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A Gaussian misses the tails of a Cauchy law."""
    text = "x ~ Cauchy(0, 1)\n"
    found = summary(
        capsys, "posterior", write(tmp_path, text), "--method", "laplace", "--draws", "2000"
    )
    assert [line.split(": ")[-1] for line in found["advice"]] == ["use `--method nuts`"]
    model = dpc.parse(text)
    advice = model.diagnose(model.posterior(method="laplace", draws=2000, predictive=False))
    assert [own.remedy for own in advice] == ["use `method='nuts'`"]
    spelled = as_options(
        "`target_accept=0.95`, `dense_mass=True`, `draws=50`; `x=3` stays",
        ("target_accept", "dense_mass", "draws"),
    )
    assert spelled == "`--target-accept 0.95`, `--dense-mass`, `--draws 50`; `x=3` stays"


def test_predictions_are_drawn_beside_the_data(pair: list[str], tmp_path: Path) -> None:
    """Laplace has no chains, so no trace, ranks or energy."""
    words = ["--method", "laplace", "--draws", "100", "--plots", str(tmp_path), "--format", "png"]
    assert main([*pair, *words]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "pair.png",
        "forest.png",
        "predictive.png",
    }
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.iterdir())


# ---- runs that are stopped


def all_draws(folder: Path) -> Any:
    return join([load_draws(path) for path in sorted(folder.glob("draws-*.npz"))])


def steps_kept(folder: Path) -> int:
    try:
        with np.load(folder / keeper.FILE) as arrays:
            return int(arrays["leaf 0"])
    except FileNotFoundError:
        return 0


def kill_between(words: list[str], folder: Path, low: int, high: int) -> None:
    """Starts a run that keeps every stretch, and kills it when it has kept more than `low`
    steps.
    """
    kill_when(lambda: steps_kept(folder) > low, ["-c", SAVE_ALL, *words])
    assert low < steps_kept(folder) < high


def interrupt(self: ChainProgress, chain: int, draws: Any) -> None:
    self.steps[chain] += len(draws.stats["diverging"])
    if self.steps[chain] > 4500:
        raise KeyboardInterrupt


def test_a_run_that_is_killed_and_stopped_continues_bit_for_bit(
    pair: list[str],
    whole: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """kill -9 in the warm-up, then among the draws, then Ctrl-C; at last all is as in a run that
    nobody stopped.
    """
    folder = tmp_path / "broken"
    words = [*pair, *LONG, "--checkpoint", str(folder)]
    kill_between(words, folder, 0, 2000)
    kill_between([*words, "--resume"], folder, 2000, 4000)
    kept = {path.name: path.read_bytes() for path in folder.glob("draws-*.npz")}
    with monkeypatch.context() as patch:
        patch.setattr(ChainProgress, "see", interrupt)
        assert main([*words, "--resume", "--draws", "2900"]) == 130
    count = steps_kept(folder) - 2000
    assert 2000 < count < 2900
    assert f"{count} draws of every chain are in {folder}" in capsys.readouterr().err
    assert main([*words, "--resume"]) == 0
    found, expected = all_draws(folder), all_draws(whole)
    assert expected.length == 3000
    jax.tree.map(np.testing.assert_array_equal, found, expected)
    last = max(kept)
    assert all(
        (folder / name).read_bytes() == content for name, content in kept.items() if name != last
    )


def test_a_finished_run_can_be_asked_for_less(
    pair: list[str], whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = summary(capsys, *pair, *LONG, "--checkpoint", str(whole), "--resume", "--draws", "60")
    first = all_draws(whole).values["a"][:, :60]
    assert [row["mean"] for row in found["variables"]] == pytest.approx(
        list(first.mean((0, 1))), rel=1e-12
    )


def test_checkpoints_of_other_runs_are_refused(
    pair: list[str], whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(whole, folder)
    words = [*pair, *LONG, "--checkpoint", str(folder)]
    assert main(words) == 2
    assert "is there already" in capsys.readouterr().err
    assert main([*words, "--resume", "--target-accept", "0.9"]) == 2
    assert "is of another run" in capsys.readouterr().err
    min(folder.glob("draws-*.npz")).unlink()
    assert main([*words, "--resume"]) == 2
    assert "cannot be read" in capsys.readouterr().err


# ---- what cannot be done


def test_where_no_chain_can_start_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "observed y : real\nscale ~ Uniform(1, 2)\ny ~ Uniform(0, scale)\n")
    assert main(["posterior", path, "--set", "y=3", "--method", "laplace"]) == 4
    told = capsys.readouterr().err
    assert "no starting point" in told
    assert "`y` = 3 has log density -inf" in told


def test_a_density_without_a_mode_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["posterior", write(tmp_path, FUNNEL), "--method", "laplace"]) == 4
    assert "no mode was found" in capsys.readouterr().err


def test_data_that_do_not_fit_are_told(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("place,y\nnowhere,1\n")
    assert main([*pair[:2], "--data", str(path)]) == 3
    assert "nowhere" in capsys.readouterr().err


REFUSED = [
    ("--method laplace --warmup 10", "--warmup is for `--method nuts`"),
    ("--method svi --chains 2", "--chains is for `--method nuts`"),
    ("--method importance --target-accept 0.9", "--target-accept is for `--method nuts`"),
    ("--method laplace --dense-mass", "--dense-mass is for `--method nuts`"),
    ("--method laplace --checkpoint x", "--checkpoint is for `--method nuts`"),
    ("--steps 10", "--steps is for `--method svi`"),
    ("--prior 10", "--prior needs -o"),
    ("--no-predictive", "--no-predictive needs -o or --plots"),
    ("--format png", "--format needs the --plots"),
    ("--resume", "--resume needs the --checkpoint"),
    ("-o post.csv", "--out writes netCDF: call it post.nc"),
    ("--draws 3", "--draws takes a number from 4 up, not 3"),
    ("--chains 0", "--chains takes a whole number from 1 up, not 0"),
    ("--target-accept 1", "--target-accept takes a number between 0 and 1"),
]


@pytest.mark.parametrize(("words", "told"), REFUSED, ids=[words for words, _ in REFUSED])
def test_options_that_do_not_apply_are_refused(
    pair: list[str], words: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*pair, *words.split()]) == 2
    assert told in capsys.readouterr().err


def test_models_without_anything_to_draw_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["posterior", write(tmp_path, "b ~ Bernoulli(0.5)\n")]) == 2
    assert "nothing in this model is continuous and unknown" in capsys.readouterr().err
    assert (
        main(["posterior", write(tmp_path, "param p : real\nx ~ Normal(p, 1)\n"), "--set", "p=1"])
        == 2
    )
    assert "would fix what is unknown" in capsys.readouterr().err
