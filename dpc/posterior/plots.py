"""Pictures of a posterior, by ArviZ: trace, ranks, pairs, forest, predictions, energy."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dpc.inference.mcmc.container import az, container, group, has_group

from .summary import entries_of

MOST = 12
MOST_PAIRED = 5
MOST_ROWS = 60
MOST_PREDICTED = 40
# Text stays text in SVG, and the same draws give the same file.
STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "dpc"}
IS_OLD_ARVIZ = az.__version__.startswith("0.")

Drawing = Callable[[], Any]


def write_plots(model: Any, data: Any, found: Any, folder: Path, ending: str) -> None:
    """Those with something to show: ranks and energy need chains, predictions data."""
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(), plt.rc_context(STYLE):
        warnings.simplefilter("ignore")  # of constant variables and tight layouts
        for title, draw in _drawings(model, data, found):
            _save(draw(), folder / f"{title}.{ending}")


def _drawings(model: Any, data: Any, found: Any) -> Iterator[tuple[str, Drawing]]:
    entries = dict(_entries(model, data, group(found, "posterior")))
    stats = group(found, "sample_stats") if has_group(found, "sample_stats") else None
    if not entries:
        return

    def first(most: int) -> Any:
        """The first entries, each a variable of its own, so that its name is its label."""
        parts = {"posterior": xr.Dataset(dict(list(entries.items())[:most]))}
        return container(parts if stats is None else {**parts, "sample_stats": stats})

    if stats is not None:
        trace = az.plot_trace if IS_OLD_ARVIZ else az.plot_trace_dist
        yield "trace", lambda: trace(first(MOST))
        yield "energy", lambda: az.plot_energy(first(1))
    if stats is not None and stats.sizes["chain"] > 1:
        yield "rank", lambda: az.plot_rank(first(MOST))
    if len(entries) > 1:
        diverging = stats is not None and "diverging" in stats and bool(stats["diverging"].any())
        shown = {"divergences": True} if IS_OLD_ARVIZ and diverging else {}
        yield "pair", lambda: az.plot_pair(first(MOST_PAIRED), **shown)
    yield "forest", lambda: az.plot_forest(first(MOST_ROWS), combined=True)
    if has_group(found, "posterior_predictive"):
        yield "predictive", lambda: _predictions(found)


def _entries(model: Any, data: Any, posterior: Any) -> Iterator[tuple[str, Any]]:
    for name, array in posterior.data_vars.items():
        if array.dtype.kind == "f":
            flat = array.values.reshape(*array.shape[:2], -1)
            for k, entry in enumerate(entries_of(model, data, str(name), array.shape[2:])):
                yield entry, (("chain", "draw"), flat[:, :, k])


def _predictions(found: Any) -> Any:
    """Data among data that the posterior predicts. What is missing is shown on neither side."""
    predicted, observed = {}, {}
    observations = group(found, "observed_data")
    for name, array in group(found, "posterior_predictive").data_vars.items():
        values = observations[name].values.ravel()
        seen = np.isfinite(values)
        kind = float if array.dtype.kind == "f" else int
        flat = array.values.reshape(*array.shape[:2], -1)[:, :, seen]
        dim = f"{name}_entry"
        predicted[name] = (("chain", "draw", dim), flat.astype(kind))
        observed[name] = ((dim,), values[seen].astype(kind))
    parts = {
        "posterior": group(found, "posterior"),
        "posterior_predictive": xr.Dataset(predicted),
        "observed_data": xr.Dataset(observed),
    }
    if IS_OLD_ARVIZ:
        return az.plot_ppc(container(parts), num_pp_samples=_few(predicted), random_seed=0)
    return az.plot_ppc_dist(container(parts), num_samples=_few(predicted))


def _few(predicted: dict[Any, Any]) -> int:
    """No more predictions than there are draws."""
    array = next(iter(predicted.values()))[1]
    return min(MOST_PREDICTED, int(array.shape[0] * array.shape[1]))


def _save(drawn: Any, path: Path) -> None:
    """ArviZ 1.x gives a collection that saves itself, 0.x the axes of a figure."""
    if hasattr(drawn, "savefig"):
        drawn.savefig(path)
        return
    import matplotlib.pyplot as plt

    figure = np.ravel(drawn)[0].get_figure()
    figure.savefig(path, bbox_inches="tight")
    plt.close(figure)
