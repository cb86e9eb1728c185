"""What draws say of every variable: moments of real ones, the likeliest state of finite ones."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dpc.dsl.graph.types import Bool, Dim, IndexOf
from dpc.dsl.record import Record
from dpc.inference.mcmc.container import (
    LEAST_PER_CHAIN,
    az,
    container,
    ess,
    group,
    has_group,
    mcse,
    rhat,
)

from ..show.answer import Answer, AnswerTable, columns, entry_names

MOST_ROWS = 40
FEWEST = 3
LOW, HIGH = 0.05, 0.95
TITLES = {
    "variable": "variable",
    "mean": "mean",
    "sd": "sd",
    "q05": "5%",
    "median": "median",
    "q95": "95%",
    "mcse": "MCSE",
    "ess_bulk": "ESS bulk",
    "ess_tail": "ESS tail",
    "r_hat": "R-hat",
}
FORMATS = {
    **dict.fromkeys(TITLES.values(), ".4g"),
    "MCSE": ".2g",
    "ESS bulk": ".0f",
    "ESS tail": ".0f",
    "R-hat": ".3f",
    "probability": ".3f",
}

Row = dict[str, Any]


def summarise(model: Any, data: Any, found: Any, max_tree_depth: int) -> dict[str, Any]:
    """Everything, as JSON can hold it; what is not finite is null."""
    posterior = group(found, "posterior")
    stats = group(found, "sample_stats") if has_group(found, "sample_stats") else {}
    real = [name for name, array in posterior.data_vars.items() if array.dtype.kind == "f"]
    finite: list[Row] = []
    for name, array in posterior.data_vars.items():
        if name not in real:
            finite += finite_rows(model, data, array)
    said = {k: v for k, v in posterior.attrs.items() if k not in ("inference_library", "notes")}
    return {
        **{key: _plain(value) for key, value in said.items()},
        "chains": int(posterior.sizes["chain"]),
        "draws": int(posterior.sizes["draw"]),
        "divergences": int(stats["diverging"].sum()) if "diverging" in stats else None,
        "variables": list(real_rows(model, data, posterior[real])),
        "finite": finite,
        "notes": list(model.notes),
        "advice": [str(advice) for advice in model.diagnose(found, max_tree_depth)],
    }


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def real_rows(model: Any, data: Any, real: Any) -> Iterator[Row]:
    """Effective draws and R-hat compare parts of chains: independent draws have none."""
    measures = {}
    if real.attrs.get("method") == "nuts" and real.data_vars:
        measures = {"mcse": mcse(real)} | {f"ess_{k}": ess(real, k) for k in ("bulk", "tail")}
        measures |= {"r_hat": rhat(real)} if real.sizes["draw"] >= 2 * LEAST_PER_CHAIN else {}
    for name, array in real.data_vars.items():
        draws = array.values.reshape(-1, *array.shape[2:])
        low, middle, high = np.quantile(draws, [LOW, 0.5, HIGH], axis=0)
        found = {"mean": draws.mean(0), "sd": draws.std(0, ddof=1)}
        found |= {"q05": low, "median": middle, "q95": high}
        found |= {key: measure[name].values for key, measure in measures.items()}
        for k, entry in enumerate(entries_of(model, data, str(name), draws.shape[1:])):
            numbers = {key: _plain(np.ravel(value)[k]) for key, value in found.items()}
            yield {"variable": entry, **numbers}


def finite_rows(model: Any, data: Any, array: Any) -> Iterator[Row]:
    name = str(array.name)
    draws = array.values.reshape(-1, *array.shape[2:])
    flat = draws.reshape(len(draws), -1)
    for k, entry in enumerate(entries_of(model, data, name, draws.shape[1:])):
        states, counts = np.unique(flat[:, k], return_counts=True)
        best = int(np.argmax(counts))
        state = _state_name(model.graph[name].type.domain, data, states[best])
        yield {"variable": entry, "state": state, "probability": float(counts[best] / len(flat))}


def _state_name(domain: Any, data: Any, value: Any) -> str:
    if isinstance(domain, Bool):
        return str(bool(value)).lower()
    dim = domain.dim if isinstance(domain, IndexOf) else None
    labels = (isinstance(dim, Dim) and dim.labels) or data.labels.get(str(dim), ())
    return labels[int(value)] if labels else str(int(value))


def entries_of(model: Any, data: Any, name: str, shape: tuple[int, ...]) -> list[str]:
    return entry_names(name, model.graph[name].type, shape, data.labels)


class PosteriorSummary(Answer, Record):
    """What draws say of every variable; `content` is what `summarise` gave."""

    content: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.content[key]

    @property
    def converged(self) -> bool:
        return not self.content["advice"]

    def to_dict(self) -> dict[str, Any]:
        return self.content

    def before(self) -> list[str]:
        summary = self.content
        method, draws = summary["method"], summary["draws"]
        if method == "nuts":
            count = summary["divergences"]
            diverged = f"{count} divergence{'s' * (count != 1)}"
            chains = f"{summary['chains']} chain{'s' * (summary['chains'] != 1)}"
            shown = f"{chains} of {draws} draws after {summary['warmup']} of warm-up"
            return [f"nuts: {shown}, {diverged}"]
        notes = [f"{draws} draws"]
        if summary.get("elbo") is not None:
            notes.append(f"ELBO {summary['elbo']:.6g}")
        if summary.get("effective_draws") is not None:
            notes.append(f"of {summary['effective_draws']:.0f} effective proposals")
        if summary.get("pareto_k") is not None:
            notes.append(f"Pareto k {summary['pareto_k']:.2f}")
        return [f"{method}: {', '.join(notes)}"]

    def tables(self) -> list[AnswerTable]:
        real, finite = self.content["variables"], self.content["finite"]
        tables: list[AnswerTable] = []
        if real:
            keys = [key for key in TITLES if key in real[0]]
            rows = [tuple(row[key] for key in keys) for row in real]
            tables.append(EntryTable(tuple(map(TITLES.__getitem__, keys)), rows, FORMATS))
        if finite:
            rows = [(row["variable"], row["state"], row["probability"]) for row in finite]
            tables.append(EntryTable(("variable", "most probable", "probability"), rows, FORMATS))
        return tables

    def after(self) -> list[str]:
        advice = [f"warning: {text}" for text in self.content["advice"]]
        notes = [f"note: {text}" for text in self.content["notes"]]
        return [*(advice or ["nothing speaks against these draws"]), *notes]


class EntryTable(AnswerTable):
    """Every variable has some rows, however many entries another has; no number is a dash."""

    def lines(self) -> list[str]:
        owners = [row[0].partition("[")[0] for row in self.rows]
        counts = Counter(owners)
        most = FEWEST
        while most < MOST_ROWS and sum(min(n, most + 1) for n in counts.values()) <= MOST_ROWS:
            most += 1
        seen: Counter[str] = Counter()
        shown = []
        for owner, row in zip(owners, self.rows, strict=True):
            seen[owner] += 1
            if seen[owner] <= most:
                shown.append(row)
        left = [f"{count - most} of {name}" for name, count in counts.items() if count > most]
        more = [f"... and more ({', '.join(left)}): --json and -o have them all"] if left else []
        return [*columns([self.head, *self.text_rows(shown)]), *more]

    def text_rows(self, rows: Sequence[tuple[Any, ...]]) -> list[tuple[str, ...]]:
        return [tuple(cell or "-" for cell in row) for row in super().text_rows(rows)]


MOST = 12
MOST_PAIRED = 5
MOST_VARIABLES = 60
MOST_PREDICTED = 40
# Text stays text in SVG, and the same draws give the same file.
STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "dpc"}
IS_OLD_ARVIZ = az.__version__.startswith("0.")

Drawing = Callable[[], Any]


def write_plots(model: Any, data: Any, found: Any, path: str, ending: str) -> None:
    """Those with something to show: ranks and energy need chains, predictions data."""
    import matplotlib.pyplot as plt

    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(), plt.rc_context(STYLE):
        warnings.simplefilter("ignore")  # of constant variables and tight layouts
        for title, draw in _drawings(model, data, found):
            drawn, file = draw(), folder / f"{title}.{ending}"
            # ArviZ 1.x gives a collection that saves itself, 0.x the axes of a figure.
            if hasattr(drawn, "savefig"):
                drawn.savefig(file)
            else:
                figure = np.ravel(drawn)[0].get_figure()
                figure.savefig(file, bbox_inches="tight")
                plt.close(figure)


def _drawings(model: Any, data: Any, found: Any) -> Iterator[tuple[str, Drawing]]:
    entries = {}
    for name, array in group(found, "posterior").data_vars.items():
        if array.dtype.kind == "f":
            flat = array.values.reshape(*array.shape[:2], -1)
            for k, entry in enumerate(entries_of(model, data, str(name), array.shape[2:])):
                entries[entry] = (("chain", "draw"), flat[:, :, k])
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
    yield "forest", lambda: az.plot_forest(first(MOST_VARIABLES), combined=True)
    if has_group(found, "posterior_predictive"):
        yield "predictive", lambda: _predictions(found)


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
    chains, draws = flat.shape[:2]
    count = min(MOST_PREDICTED, int(chains * draws))  # no more predictions than there are draws
    if IS_OLD_ARVIZ:
        return az.plot_ppc(container(parts), num_pp_samples=count, random_seed=0)
    return az.plot_ppc_dist(container(parts), num_samples=count)
