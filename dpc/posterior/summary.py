"""What draws say of every variable, as rows: moments, or the most probable state."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpc.dsl.graph.types import Bool, Dim, IndexOf
from dpc.inference.mcmc.container import ess, group, has_group, mcse, rhat

from ..show.entries import entry_names
from ..show.table import columns

MOST_ROWS = 40
FEWEST = 3
LOW, HIGH = 0.05, 0.95
HEADER = ("variable", "mean", "sd", "5%", "median", "95%", "MCSE", "ESS bulk", "ESS tail", "R-hat")
KEYS = ("mean", "sd", "q05", "median", "q95", "mcse", "ess_bulk", "ess_tail", "r_hat")

Row = dict[str, Any]


def summarise(model: Any, data: Any, found: Any, max_tree_depth: int) -> dict[str, Any]:
    """Everything, as JSON can hold it; what is not finite is null."""
    posterior = group(found, "posterior")
    names = {name: array.dtype.kind for name, array in posterior.data_vars.items()}
    stats = group(found, "sample_stats") if has_group(found, "sample_stats") else {}
    real = posterior[[name for name, kind in names.items() if kind == "f"]]
    return {
        **{
            key: _plain(value)
            for key, value in posterior.attrs.items()
            if key not in ("inference_library", "notes")
        },
        "chains": int(posterior.sizes["chain"]),
        "draws": int(posterior.sizes["draw"]),
        "divergences": int(stats["diverging"].sum()) if "diverging" in stats else None,
        "variables": list(real_rows(model, data, real)),
        "finite": [
            r
            for name, kind in names.items()
            if kind != "f"
            for r in finite_rows(model, data, posterior[name])
        ],
        "notes": list(model.notes),
        "advice": [str(advice) for advice in model.diagnose(found, max_tree_depth)],
    }


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def real_rows(model: Any, data: Any, real: Any) -> Iterator[Row]:
    """Effective draws and R-hat compare chains: independent draws have none."""
    is_chain = real.attrs.get("method") == "nuts"
    measures = _chain_measures(real) if is_chain else {}
    for name, array in real.data_vars.items():
        draws = array.values.reshape(-1, *array.shape[2:])
        low, middle, high = np.quantile(draws, [LOW, 0.5, HIGH], axis=0)
        found = {
            "mean": draws.mean(0),
            "sd": draws.std(0, ddof=1),
            "q05": low,
            "median": middle,
            "q95": high,
        }
        found |= {key: measure[name].values for key, measure in measures.items()}
        for k, entry in enumerate(entries_of(model, data, str(name), draws.shape[1:])):
            yield {
                "variable": entry,
                **{key: _plain(np.ravel(value)[k]) for key, value in found.items()},
            }


def _chain_measures(real: Any) -> dict[str, Any]:
    if not real.data_vars:
        return {}
    found = {"mcse": mcse(real), "ess_bulk": ess(real, "bulk"), "ess_tail": ess(real, "tail")}
    return {**found, "r_hat": rhat(real)} if real.sizes["chain"] > 1 else found


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
    labels: tuple[str, ...] = ()
    if isinstance(domain, IndexOf):
        labels = (domain.dim.labels if isinstance(domain.dim, Dim) else ()) or data.labels.get(
            str(domain.dim), ()
        )
    return labels[int(value)] if labels else str(int(value))


def entries_of(model: Any, data: Any, name: str, shape: tuple[int, ...]) -> list[str]:
    return entry_names(name, model.graph[name].type, shape, data.labels)


# ---- for people


def summary_lines(summary: dict[str, Any]) -> list[str]:
    lines = [_headline(summary)]
    if summary["variables"]:
        lines += [
            "",
            *_table(
                [_real_cells(row) for row in summary["variables"]], _header(summary["variables"][0])
            ),
        ]
    if summary["finite"]:
        cells = [
            (row["variable"], row["state"], f"{row['probability']:.3f}")
            for row in summary["finite"]
        ]
        lines += ["", *_table(cells, ("variable", "most probable", "probability"))]
    advice = summary["advice"] or ["nothing speaks against these draws"]
    notes = [f"note: {text}" for text in summary["notes"]]
    return [
        *lines,
        "",
        *(advice if not summary["advice"] else [f"warning: {text}" for text in advice]),
        *notes,
    ]


def _headline(summary: dict[str, Any]) -> str:
    method, draws = summary["method"], summary["draws"]
    if method == "nuts":
        count = summary["divergences"]
        diverged = f"{count} divergence{'s' * (count != 1)}"
        chains = f"{summary['chains']} chain{'s' * (summary['chains'] != 1)}"
        return f"nuts: {chains} of {draws} draws after {summary['warmup']} of warm-up, {diverged}"
    notes = [f"{draws} draws"]
    if summary.get("elbo") is not None:
        notes.append(f"ELBO {summary['elbo']:.6g}")
    if summary.get("effective_draws") is not None:
        notes.append(f"of {summary['effective_draws']:.0f} effective proposals")
    if summary.get("pareto_k") is not None:
        notes.append(f"Pareto k {summary['pareto_k']:.2f}")
    return f"{method}: {', '.join(notes)}"


def _header(row: Row) -> tuple[str, ...]:
    return (HEADER[0], *(title for key, title in zip(KEYS, HEADER[1:], strict=True) if key in row))


def _real_cells(row: Row) -> tuple[str, ...]:
    return (row["variable"], *(_cell(key, row[key]) for key in KEYS if key in row))


def _cell(key: str, value: float | None) -> str:
    if value is None:
        return "-"
    if key in ("ess_bulk", "ess_tail"):
        return f"{value:.0f}"
    return f"{value:.3f}" if key == "r_hat" else f"{value:.2g}" if key == "mcse" else f"{value:.4g}"


def _table(cells: Sequence[tuple[str, ...]], header: tuple[str, ...]) -> list[str]:
    """Every variable has some rows, however many entries another has."""
    counts = Counter(_owner(row) for row in cells)
    most = max(
        (n for n in range(FEWEST, MOST_ROWS + 1) if _rows(counts, n) <= MOST_ROWS), default=FEWEST
    )
    seen: Counter[str] = Counter()
    shown = []
    for row in cells:
        seen[_owner(row)] += 1
        if seen[_owner(row)] <= most:
            shown.append(row)
    more = ", ".join(f"{count - most} of {name}" for name, count in counts.items() if count > most)
    return [
        *columns([header, *shown]),
        *([f"... and more ({more}): --json and -o have them all"] if more else []),
    ]


def _rows(counts: Counter[str], most: int) -> int:
    return sum(min(count, most) for count in counts.values())


def _owner(row: tuple[str, ...]) -> str:
    return row[0].partition("[")[0]
