"""Draws in ArviZ's layout, an InferenceData (ArviZ 0.x) or a DataTree (1.x), and what it measures.

Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao, Gabry 2024): the largest of S
weights follow a generalised Pareto distribution with shape k; they are replaced by its quantiles,
and k says how far the estimates can be trusted: below 0.7 they can.
"""

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple, cast

import numpy as np
import xarray as xr

with warnings.catch_warnings():
    # ArviZ 0.x announces 1.x once a day, and both are served here
    warnings.simplefilter("ignore", FutureWarning)
    import arviz

az: Any = arviz  # of either version, which have different functions
SAMPLE = ("chain", "draw")
Array = np.ndarray[Any, Any]
TRUSTED = 0.7
EQUAL = 1e-6
RHAT = 1.01
ESS_PER_CHAIN = 100
LEAST_ESS = 100
"""Below it, quantiles and the measures themselves are noise, however few draws were asked for."""
FEWEST_DRAWS = 100
DRAWS_THAT_TELL = 1000
LEAST_PER_CHAIN = 4  # what ArviZ measures at all
BFMI = 0.3
ACCEPT = (0.95, 0.99)  # what to ask for where draws diverge, one after the other


class Coordinates(NamedTuple):
    """The dims of every variable, and the coordinates of every dim."""

    dims: Mapping[str, tuple[str, ...]]
    coords: Mapping[str, Any]


def dataset(
    arrays: Mapping[str, Any], labels: Coordinates, sample: tuple[str, ...] = SAMPLE
) -> xr.Dataset:
    """`sample` are the dims that come before those of the variable."""
    variables = {}
    for name, array in arrays.items():
        array = np.asarray(array)
        own = (*sample, *labels.dims.get(name, ()))
        own += tuple(f"{name}_dim_{k}" for k in range(array.ndim - len(own)))
        variables[name] = xr.DataArray(array, dims=own[: array.ndim])
    used = {dim: size for variable in variables.values() for dim, size in variable.sizes.items()}
    coords = {str(dim): labels.coords.get(str(dim), np.arange(size)) for dim, size in used.items()}
    return xr.Dataset(variables, coords)


def container(groups: Mapping[str, xr.Dataset], **attributes: Any) -> Any:
    """Empty groups are left out; the attributes are those of the posterior."""
    full = {name: group for name, group in groups.items() if len(group.data_vars)}
    full["posterior"].attrs.update({"inference_library": "dpc", **attributes})
    if "InferenceData" in vars(az):  # ArviZ 1.x answers to the name, with a warning, but has none
        return az.InferenceData(**full)
    return xr.DataTree.from_dict(full)


def group(found: Any, name: str) -> xr.Dataset:
    """One group of either kind of container."""
    part = found[name]
    whole: xr.Dataset = part.to_dataset() if hasattr(part, "to_dataset") else part
    return whole


def has_group(found: Any, name: str) -> bool:
    return name in (
        found.groups() if callable(found.groups) else [path.strip("/") for path in found.groups]
    )


# ---- what ArviZ measures of chains


Measure = Callable[[xr.Dataset], xr.Dataset]


def rhat(draws: xr.Dataset) -> xr.Dataset:
    """Between chains; of a single chain, between its halves."""
    if draws.sizes["chain"] > 1:
        return cast(xr.Dataset, az.rhat(draws))
    half = draws.sizes["draw"] // 2
    parts = [draws.isel(draw=slice(start, start + half)) for start in (0, half)]
    parts = [part.assign_coords(chain=[k], draw=range(half)) for k, part in enumerate(parts)]
    return cast(xr.Dataset, az.rhat(xr.concat(parts, dim="chain")))


mcse: Measure = az.mcse  # the standard error of the mean


def ess(draws: xr.Dataset, kind: str) -> xr.Dataset:
    """Effective draws of the bulk or the tail."""
    found: xr.Dataset = az.ess(draws, method=kind)
    return found


class SmoothedWeights(NamedTuple):
    """`log_weights` add up to one."""

    log_weights: Array
    k: float

    @property
    def effective(self) -> float:
        """1 / sum of squared weights."""
        return float(1 / np.sum(np.exp(2 * self.log_weights)))


def smooth_weights(log_ratios: Array) -> SmoothedWeights:
    """Equal weights have no tail; where no weight is above zero, none can be trusted."""
    level = np.full(len(log_ratios), -np.log(len(log_ratios)))
    if not np.isfinite(np.max(log_ratios)):
        return SmoothedWeights(level, np.inf)
    logs = np.asarray(log_ratios, float) - np.max(log_ratios)
    if np.min(logs) > -EQUAL:
        return SmoothedWeights(level, -np.inf)
    with np.errstate(over="ignore"):  # a shape whose weight is 1 / infinity has none
        if az.__version__.startswith("0."):
            weights, k = az.psislw(logs)
        else:
            # Version 1 takes log likelihoods, whose inverses are the ratios of leave-one-out.
            weights, k = import_module("arviz_stats.base").array_stats.psislw(-logs)
    return SmoothedWeights(np.asarray(weights), float(k))


# ---- Whether a posterior can be trusted, in words: what is wrong, where, and what to try


class Advice(NamedTuple):
    what: str
    where: tuple[str, ...]
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}: {self.remedy}"


class RunFacts(NamedTuple):
    """`centred` are draws whose scale is itself drawn, and that are not `noncentered`."""

    posterior: xr.Dataset
    stats: xr.Dataset | None
    centred: tuple[str, ...]
    max_tree_depth: int


def diagnose(found: Any, centred: Collection[str] = (), max_tree_depth: int = 10) -> list[Advice]:
    """All that the numbers of a run speak against; nothing when all is well."""
    stats = group(found, "sample_stats") if has_group(found, "sample_stats") else None
    posterior = group(found, "posterior")
    # finite variables are drawn afresh given the others: they mix as those do
    real = [name for name, array in posterior.data_vars.items() if array.dtype.kind == "f"]
    facts = RunFacts(posterior[real], stats, tuple(centred), max_tree_depth)
    return [advice for check in CHECKS for advice in check(facts)]


def _divergences(facts: RunFacts) -> Iterator[Advice]:
    if facts.stats is None or "diverging" not in facts.stats:
        return
    count = int(np.sum(facts.stats["diverging"].values))
    if not count:
        return
    what = f"{count} of {_draws(facts)} draws diverged, so parts of the posterior may be missing"
    if facts.centred:
        names = " and ".join(f"`{name}`" for name in facts.centred)
        yield Advice(what, facts.centred, f"write `with noncentered` after the draw of {names}")
    else:
        asked = facts.posterior.attrs.get("target_accept", 0.0)
        remedy = "write the model in other parameters"
        if higher := [accept for accept in ACCEPT if accept > asked]:
            remedy = f"take smaller steps (`target_accept={higher[0]}`)"
        yield Advice(what, (), f"{remedy}, or give scales priors that avoid zero")


def _few_draws(facts: RunFacts) -> Iterator[Advice]:
    if facts.stats is None or "tree_depth" not in facts.stats:
        return
    if _draws(facts) < FEWEST_DRAWS:
        what = f"{_draws(facts)} draws are too few to say whether they can be trusted"
        yield Advice(what, (), f"draw more (`draws={DRAWS_THAT_TELL}`)")


def _mixing(facts: RunFacts) -> Iterator[Advice]:
    chains, draws = facts.posterior.sizes["chain"], facts.posterior.sizes["draw"]
    is_walk = facts.stats is not None and "tree_depth" in facts.stats
    # Independent draws have no halves that could disagree but by chance.
    if draws < 2 * LEAST_PER_CHAIN or (chains < 2 and not is_walk):
        return
    worst = _by_element(rhat(facts.posterior))
    bad = {name: value for name, value in worst.items() if value > RHAT}
    if bad:
        names = sorted(bad, key=lambda name: -bad[name])
        found = f"R-hat up to {max(bad.values()):.3f}, above {RHAT}"
        longer = f"`draws={2 * facts.posterior.sizes['draw']}`"
        if warmup := facts.posterior.attrs.get("warmup"):
            longer = f"`warmup={2 * warmup}`, {longer}"
        modes = "if chains sit in different modes, order or anchor what can be swapped"
        remedy = f"run longer ({longer}); {modes} (`with ordered`)"
        who = "chains disagree" if chains > 1 else "the halves of the chain disagree"
        yield Advice(f"{who} about {_list(names)} ({found})", tuple(names), remedy)


def _effective(facts: RunFacts) -> Iterator[Advice]:
    if facts.stats is None or "tree_depth" not in facts.stats:
        return
    wanted = min(ESS_PER_CHAIN * facts.posterior.sizes["chain"], _draws(facts) // 10)
    least = max(wanted, LEAST_ESS)
    if _draws(facts) < FEWEST_DRAWS:
        return  # said by _few_draws
    for kind in ("bulk", "tail"):
        found = _by_element(ess(facts.posterior, kind), least=True)
        bad = {name: value for name, value in found.items() if value < least}
        if bad:
            names = sorted(bad, key=lambda name: bad[name])
            few = f"({min(bad.values()):.0f}, less than {least:.0f})"
            what = f"few effective draws of the {kind} of {_list(names)} {few}"
            more = f"draw more (`draws={2 * facts.posterior.sizes['draw']}`)"
            less = "rescale and centre predictors so that parameters are less correlated"
            yield Advice(what, tuple(names), f"{more}, or {less}")


def _energy(facts: RunFacts) -> Iterator[Advice]:
    if facts.stats is None or "energy" not in facts.stats or facts.stats.sizes["draw"] < 10:
        return
    energy = facts.stats["energy"].values
    variance = np.var(energy, axis=1, ddof=1)
    low = np.mean(np.diff(energy, axis=1) ** 2, axis=1) / np.where(variance > 0, variance, np.inf)
    bad = [int(chain) for chain in np.flatnonzero(low < BFMI)]
    if bad:
        seen = f"BFMI {min(low):.2f} in chain {', '.join(map(str, bad))}"
        what = f"the energy moves little from draw to draw ({seen})"
        remedy = "lighter priors on scales, or `with noncentered`, help most"
        yield Advice(what, (), f"tails are explored slowly: {remedy}")


def _depth(facts: RunFacts) -> Iterator[Advice]:
    if facts.stats is None or "tree_depth" not in facts.stats:
        return
    count = int(np.sum(facts.stats["tree_depth"].values >= facts.max_tree_depth))
    if count > 0.01 * _draws(facts):
        used = f"{count} of {_draws(facts)} draws used the deepest tree"
        what = f"{used} ({facts.max_tree_depth}), so each is costly"
        remedy = "standardise predictors, or adapt to correlations (`dense_mass=True`)"
        yield Advice(what, (), f"parameters differ in scale or are correlated: {remedy}")


def _tail(facts: RunFacts) -> Iterator[Advice]:
    k = facts.posterior.attrs.get("pareto_k")
    if k is not None and not k < TRUSTED:
        seen = f"Pareto k {float(k):.2f}, above {TRUSTED}"
        what = f"the approximation is not close to the posterior ({seen})"
        yield Advice(what, (), "use `method='nuts'`")


CHECKS = _divergences, _few_draws, _mixing, _effective, _energy, _depth, _tail


def _draws(facts: RunFacts) -> int:
    return int(facts.posterior.sizes["chain"] * facts.posterior.sizes["draw"])


def _by_element(found: Any, least: bool = False) -> dict[str, float]:
    """The worst value of every variable; constant ones have none."""
    pick = np.nanmin if least else np.nanmax
    worst = {}
    for name, array in found.data_vars.items():
        values = np.asarray(array.values, float)
        if np.any(np.isfinite(values)):
            worst[str(name)] = float(pick(values))
    return worst


def _list(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
