"""Whether a posterior can be trusted, in words: what is wrong, where, and what to try."""

from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from .container import TRUSTED, ess, group, has_group, rhat

RHAT = 1.01
ESS_PER_CHAIN = 100
BFMI = 0.3
ACCEPT = (0.95, 0.99)
"""What to ask for where draws diverge, one after the other."""


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
    facts = RunFacts(_real_part(group(found, "posterior")), stats, tuple(centred), max_tree_depth)
    return [advice for check in CHECKS for advice in check(facts)]


def _real_part(posterior: xr.Dataset) -> xr.Dataset:
    """Finite variables are drawn afresh given the others: they mix as those do."""
    return posterior[
        [name for name, array in posterior.data_vars.items() if array.dtype.kind == "f"]
    ]


def _divergences(facts: RunFacts) -> Iterator[Advice]:
    count = _total(facts, "diverging")
    if not count:
        return
    what = f"{count} of {_draws(facts)} draws diverged, so parts of the posterior may be missing"
    if facts.centred:
        names = " and ".join(f"`{name}`" for name in facts.centred)
        yield Advice(what, facts.centred, f"write `with noncentered` after the draw of {names}")
    else:
        higher = next(
            (a for a in ACCEPT if a > facts.posterior.attrs.get("target_accept", 0.0)), None
        )
        if higher:
            remedy = f"take smaller steps (`target_accept={higher}`)"
        else:
            remedy = "write the model in other parameters"
        yield Advice(what, (), f"{remedy}, or give scales priors that avoid zero")


def _mixing(facts: RunFacts) -> Iterator[Advice]:
    if facts.posterior.sizes["chain"] < 2:
        return
    worst = _by_element(rhat(facts.posterior))
    bad = {name: value for name, value in worst.items() if value > RHAT}
    if bad:
        names = sorted(bad, key=lambda name: -bad[name])
        what = (
            f"chains disagree about {_list(names)} (R-hat up to {max(bad.values()):.3f}, above "
            f"{RHAT})"
        )
        modes = (
            "if chains sit in different modes, order or anchor what can be swapped (`with ordered`)"
        )
        remedy = f"run longer ({_longer(facts)}); {modes}"
        yield Advice(what, tuple(names), remedy)


def _effective(facts: RunFacts) -> Iterator[Advice]:
    if facts.stats is None or "tree_depth" not in facts.stats:
        return
    least = min(ESS_PER_CHAIN * facts.posterior.sizes["chain"], _draws(facts) // 10)
    for kind in ("bulk", "tail"):
        found = _by_element(ess(facts.posterior, kind), least=True)
        bad = {name: value for name, value in found.items() if value < least}
        if bad:
            names = sorted(bad, key=lambda name: bad[name])
            what = (
                f"few effective draws of the {kind} of {_list(names)} "
                f"({min(bad.values()):.0f}, less than {least:.0f})"
            )
            remedy = (
                f"draw more (`draws={2 * facts.posterior.sizes['draw']}`), or rescale and "
                "centre predictors"
            )
            yield Advice(what, tuple(names), f"{remedy} so that parameters are less correlated")


def _energy(facts: RunFacts) -> Iterator[Advice]:
    if facts.stats is None or "energy" not in facts.stats or facts.stats.sizes["draw"] < 10:
        return
    energy = facts.stats["energy"].values
    variance = np.var(energy, axis=1, ddof=1)
    low = np.mean(np.diff(energy, axis=1) ** 2, axis=1) / np.where(variance > 0, variance, np.inf)
    bad = [int(chain) for chain in np.flatnonzero(low < BFMI)]
    if bad:
        what = (
            f"the energy moves little from draw to draw (BFMI {min(low):.2f} in chain "
            f"{', '.join(map(str, bad))})"
        )
        yield Advice(
            what,
            (),
            "tails are explored slowly: lighter priors on scales, or `with noncentered`, help most",
        )


def _depth(facts: RunFacts) -> Iterator[Advice]:
    if facts.stats is None or "tree_depth" not in facts.stats:
        return
    count = int(np.sum(facts.stats["tree_depth"].values >= facts.max_tree_depth))
    if count > 0.01 * _draws(facts):
        what = (
            f"{count} of {_draws(facts)} draws used the deepest tree ({facts.max_tree_depth}), "
            "so each is costly"
        )
        remedy = "standardise predictors, or adapt to correlations (`dense_mass=True`)"
        yield Advice(what, (), f"parameters differ in scale or are correlated: {remedy}")


def _tail(facts: RunFacts) -> Iterator[Advice]:
    k = facts.posterior.attrs.get("pareto_k")
    if k is not None and not k < TRUSTED:
        what = (
            f"the approximation is not close to the posterior (Pareto k {float(k):.2f}, above "
            f"{TRUSTED})"
        )
        yield Advice(what, (), "use `method='nuts'`")


CHECKS: tuple[Callable[[RunFacts], Iterator[Advice]], ...] = (
    _divergences,
    _mixing,
    _effective,
    _energy,
    _depth,
    _tail,
)


def _total(facts: RunFacts, name: str) -> int:
    if facts.stats is None or name not in facts.stats:
        return 0
    return int(np.sum(facts.stats[name].values))


def _draws(facts: RunFacts) -> int:
    return int(facts.posterior.sizes["chain"] * facts.posterior.sizes["draw"])


def _by_element(found: Any, least: bool = False) -> dict[str, float]:
    """The worst value of every variable; constant ones have none."""
    pick = np.nanmin if least else np.nanmax
    arrays = {str(name): np.asarray(array.values, float) for name, array in found.data_vars.items()}
    return {
        name: float(pick(array)) for name, array in arrays.items() if np.any(np.isfinite(array))
    }


def _longer(facts: RunFacts) -> str:
    """Twice what was asked for."""
    warmup = facts.posterior.attrs.get("warmup")
    draws = f"`draws={2 * facts.posterior.sizes['draw']}`"
    return f"`warmup={2 * warmup}`, {draws}" if warmup else draws


def _list(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
