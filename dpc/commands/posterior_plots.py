"""Pictures of a posterior: trace, ranks, pairs, forest, predictions, energy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpc.commands.posterior_summary import entries_of
from dpc.dsl.draw.chart import PALE, write_chart
from dpc.dsl.draw.paint import FAINT, INK
from dpc.dsl.draw.panels import Chart, Dots, Grid, Line, Mark, colour, panel_page, row_height
from dpc.dsl.draw.scene import Scene
from dpc.inference.posterior.container import group, has_group

RED = "#b5473a"
MOST = 12
MOST_PAIRED = 5
MOST_ROWS = 60
MOST_DOTS = 600
MOST_STEPS = 400
MOST_PREDICTED = 40
BINS = 20
GRID_POINTS = 120

Array = np.ndarray[Any, Any]


class Picture(NamedTuple):
    """Entries [chain, draw] by name; `diverging` has the same shape."""

    name: str
    entries: dict[str, Array]
    diverging: Array | None
    found: Any

    @property
    def chains(self) -> str:
        return f"a colour for each of {len(next(iter(self.entries.values())))} chains"

    def first(self, most: int) -> tuple[dict[str, Array], str]:
        chosen = dict(list(self.entries.items())[:most])
        return chosen, f"; {len(chosen)} of {len(self.entries)} shown" if len(chosen) < len(self.entries) else ""


def write_plots(model: Any, data: Any, found: Any, folder: Path, ending: str) -> None:
    """Those that the draws have something for: ranks and energy need chains, predictions need observations."""
    folder.mkdir(parents=True, exist_ok=True)
    posterior = group(found, "posterior")
    stats = group(found, "sample_stats") if has_group(found, "sample_stats") else {}
    diverging = stats["diverging"].values if "diverging" in stats else None
    name = model.graph.name or Path(model.graph.source.path).stem
    picture = Picture(name, dict(_entries(model, data, posterior)), diverging, found)
    for title, draw in PICTURES.items():
        scene = draw(picture) if picture.entries else None
        if scene is not None:
            write_chart(scene, folder / f"{title}.{ending}")


def _entries(model: Any, data: Any, posterior: Any) -> Iterator[tuple[str, Array]]:
    for name, array in posterior.data_vars.items():
        if array.dtype.kind == "f":
            flat = array.values.reshape(*array.shape[:2], -1)
            for k, entry in enumerate(entries_of(model, data, str(name), array.shape[2:])):
                yield entry, flat[:, :, k]


# ---- chains


def _trace(picture: Picture) -> Scene | None:
    if picture.diverging is None:
        return None
    chosen, more = picture.first(MOST)
    charts = [chart for name, draws in chosen.items() for chart in (_densities(name, draws), _steps(name, draws))]
    note = f"densities and draws in order; {picture.chains}{more}"
    return panel_page(f"{picture.name}: trace", note, charts, Grid(2, 360, 100))


def _densities(name: str, draws: Array) -> Chart:
    return Chart(name, tuple(Line(density(own), colour(k)) for k, own in enumerate(draws)))


def _steps(name: str, draws: Array) -> Chart:
    every = -(-draws.shape[1] // MOST_STEPS)
    places = np.arange(0, draws.shape[1], every)
    lines = tuple(Line(_zip(places, own[places]), colour(k), 0.6) for k, own in enumerate(draws))
    return Chart(name, lines, across="draw", upright=True)


def _rank(picture: Picture) -> Scene | None:
    """Chains that agree have the same share of low and of high ranks."""
    if picture.diverging is None or len(picture.diverging) < 2:
        return None
    chosen, more = picture.first(MOST)
    charts = [Chart(name, tuple(_rank_marks(draws))) for name, draws in chosen.items()]
    note = f"how often draws have each rank among all; level is good; {picture.chains}{more}"
    return panel_page(f"{picture.name}: ranks", note, charts, Grid(3, 250, 100))


def _rank_marks(draws: Array) -> Iterator[Mark]:
    ranks = draws.ravel().argsort().argsort().reshape(draws.shape)
    ends = np.linspace(0, draws.size, BINS + 1)
    level = draws.shape[1] / BINS
    yield Line(((0.0, 0.0), (0.0, 0.0)), FAINT)
    yield Line(((0.0, level), (float(draws.size), level)), FAINT, dashed=True)
    for k, own in enumerate(ranks):
        counts, _ = np.histogram(own, ends)
        yield Line(_zip(np.repeat(ends, 2)[1:-1], np.repeat(counts, 2)), colour(k))


def _energy(picture: Picture) -> Scene | None:
    """Where steps of the energy are much narrower than the energy, tails are explored slowly."""
    if picture.diverging is None:
        return None
    energy = group(picture.found, "sample_stats")["energy"].values
    centred = energy - energy.mean()
    steps = np.diff(energy, axis=1)
    marks = (Line(density(centred), colour(0), 1.8), Line(density(steps), RED, 1.8))
    note = "energy less its mean (blue) and its steps from draw to draw (red); alike is good"
    return panel_page(f"{picture.name}: energy", note, [Chart("energy", marks)], Grid(1, 560, 220))


# ---- draws


def _pair(picture: Picture) -> Scene | None:
    """Below the diagonal, each against each; divergences on top."""
    chosen, more = picture.first(MOST_PAIRED)
    if len(chosen) < 2:
        return None
    names = list(chosen)
    charts: list[Chart | None] = []
    for row, column in product(range(len(names)), repeat=2):
        down, across = names[row], names[column]
        if column < row:
            dots = tuple(_dots(chosen[across], chosen[down], picture.diverging))
            charts.append(Chart(f"{down} over {across}", dots, upright=True))
        else:
            charts.append(Chart(down, (Line(density(chosen[down]), colour(0)),)) if row == column else None)
    diverged = " (red: divergences)" if picture.diverging is not None else ""
    return panel_page(f"{picture.name}: pairs", f"draws{diverged}{more}", charts, Grid(len(names), 180, 140))


def _dots(across: Array, down: Array, diverging: Array | None) -> Iterator[Mark]:
    x, y = across.ravel(), down.ravel()
    some = np.arange(0, len(x), -(-len(x) // MOST_DOTS))
    yield Dots(_zip(x[some], y[some]), colour(0), 0.9)
    if diverging is not None:
        bad = np.flatnonzero(diverging.ravel())[:MOST_DOTS]
        yield Dots(_zip(x[bad], y[bad]), RED, 1.6)


def _forest(picture: Picture) -> Scene | None:
    chosen, more = picture.first(MOST_ROWS)
    marks: list[Mark] = []
    for row, draws in enumerate(chosen.values()):
        low, first, middle, third, high = np.quantile(draws, [0.05, 0.25, 0.5, 0.75, 0.95])
        marks.append(Line(((low, row), (high, row)), colour(0), 1.2))
        marks.append(Line(((first, row), (third, row)), colour(0), 3.6))
        marks.append(Dots(((middle, row),), INK, 2.6))
    chart = Chart("", tuple(marks), tuple(chosen))
    note = f"medians, with intervals that hold half and nine tenths of the draws{more}"
    return panel_page(f"{picture.name}: forest", note, [chart], Grid(1, 620, row_height(len(chosen))))


def _predictive(picture: Picture) -> Scene | None:
    if not has_group(picture.found, "posterior_predictive"):
        return None
    predicted = group(picture.found, "posterior_predictive")
    observed = group(picture.found, "observed_data")
    charts = [_predictions(str(name), predicted[name].values, observed[name].values) for name in predicted.data_vars]
    note = "data (dark) among data that the posterior predicts (pale)"
    return panel_page(f"{picture.name}: predictions", note, charts, Grid(2, 420, 200))


def _predictions(name: str, predicted: Array, observed: Array) -> Chart:
    """Entries that are missing are shown on neither side."""
    seen = np.isfinite(observed).ravel()
    flat, observed = predicted.reshape(len(predicted) * predicted.shape[1], -1)[:, seen], observed.ravel()[seen]
    some = flat[:: -(-len(flat) // MOST_PREDICTED)]
    shape = smooth_density if predicted.dtype.kind == "f" else frequencies
    if observed.size < 5:
        return Chart(name, (Line(density(flat), PALE), *(Line(((v, 0.0), (v, 0.05)), INK) for v in observed.ravel())))
    lines = [Line(shape(own), PALE, 0.8) for own in some]
    return Chart(name, (*lines, Line(shape(observed), INK, 2.0)))


PICTURES: dict[str, Callable[[Picture], Scene | None]] = {
    "trace": _trace,
    "rank": _rank,
    "pair": _pair,
    "forest": _forest,
    "predictive": _predictive,
    "energy": _energy,
}


# ---- shapes of numbers


def density(draws: Array) -> tuple[tuple[float, float], ...]:
    """Where the draws are: what is positive is not shown below zero."""
    return smooth_density(draws, draws.min(), draws.max())


def smooth_density(draws: Array, least: float = -np.inf, most: float = np.inf) -> tuple[tuple[float, float], ...]:
    """A kernel estimate, with Silverman's width."""
    draws = draws[np.isfinite(draws)].astype(float).ravel()
    low, high = np.quantile(draws, [0.001, 0.999])
    quartiles = np.quantile(draws, [0.25, 0.75])
    spread = min(draws.std(), (quartiles[1] - quartiles[0]) / 1.349) or draws.std()
    width = 0.9 * spread * len(draws) ** -0.2
    if not width > 0:
        return _zip([low - 0.5, low, low + 0.5], [0.0, 1.0, 0.0])
    grid = np.linspace(max(low - 3 * width, least), min(high + 3 * width, most), GRID_POINTS)
    counts, ends = np.histogram(draws, bins=1000)
    centres = (ends[1:] + ends[:-1]) / 2
    kernel = np.exp(-0.5 * ((grid[:, None] - centres) / width) ** 2)
    return _zip(grid, kernel @ counts / (len(draws) * width * np.sqrt(2 * np.pi)))


def frequencies(draws: Array) -> tuple[tuple[float, float], ...]:
    values, counts = np.unique(draws.astype(int), return_counts=True)
    return _zip(values, counts / draws.size)


def _zip(across: Any, up: Any) -> tuple[tuple[float, float], ...]:
    return tuple((float(a), float(b)) for a, b in zip(across, up, strict=True))
