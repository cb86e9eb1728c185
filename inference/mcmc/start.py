"""Where chains start: uniform in -2 to 2, unconstrained, until density and gradient are finite."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
from numpyro.infer.util import compute_log_probs

from .target import TargetDensity, Values

RADIUS = 2.0
TRIES = 100


class NoStart(ValueError):
    """No point with a finite density was found; the message names the sites that are to blame."""


class Start(NamedTuple):
    """A point of unconstrained space, the potential there, and its gradient."""

    raw: Values
    potential: Any
    slope: Values


def find_starts(target: TargetDensity, keys: Any) -> list[Start]:
    """One start for each key."""
    attempt = jax.jit(lambda key: _attempt(target, key))
    return [_find_start(target, attempt, key) for key in keys]


def _attempt(target: TargetDensity, key: Any) -> Start:
    keys = jax.random.split(key, max(1, len(target.shapes)))
    raw = {
        name: jax.random.uniform(own, shape, minval=-RADIUS, maxval=RADIUS)
        for own, (name, shape) in zip(keys, target.shapes.items(), strict=False)
    }
    value, slope = jax.value_and_grad(target.potential)(raw)
    return Start(raw, value, slope)


def _find_start(target: TargetDensity, attempt: Callable[[Any], Start], key: Any) -> Start:
    for number in range(TRIES):
        start = attempt(jax.random.fold_in(key, number))
        if np.isfinite(start.potential) and all(
            np.all(np.isfinite(part)) for part in start.slope.values()
        ):
            return start
    raise NoStart(explain(target, start.raw, start.slope))


# ---- why not


def explain(target: TargetDensity, raw: Values, slope: Values) -> str:
    """The sites whose log density is not finite here, with the first value that has it so."""
    blamed = list(_impossible_sites(target, raw))
    if not blamed:
        blamed = [
            (
                f"the density is finite, but its gradient along `{name}` is not, at "
                f"{_show(raw[name])} unconstrained"
            )
            for name, part in slope.items()
            if not np.all(np.isfinite(part))
        ]
    head = (
        f"no starting point: {TRIES} tries between -{RADIUS:g} and {RADIUS:g} in unconstrained "
        "space failed. The last:"
    )
    return "\n".join([head, *(f"  {line}" for line in blamed)])


def _impossible_sites(target: TargetDensity, raw: Values) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPyro warns of what is told below
        found, sites = compute_log_probs(
            target.model, (), {}, target.constrain(raw), sum_log_prob=False
        )
    for name, terms in found.items():
        terms = np.asarray(terms)
        bad = np.argwhere(~np.isfinite(terms))
        if len(bad):
            place = tuple(int(k) for k in bad[0])
            law = getattr(sites[name]["fn"], "base_dist", sites[name]["fn"])
            where = f"[{', '.join(map(str, place))}]" if place else ""
            value = np.asarray(sites[name]["value"])
            value = value[place] if value.ndim >= len(place) else value
            yield (
                f"`{name}{where}` = {_show(value)} has log density "
                f"{terms[place]:g}{_arguments(law, place)}"
            )


def _arguments(law: Any, place: tuple[int, ...]) -> str:
    """The parameters of a law where it failed, as far as it has any."""
    shown = []
    for word in getattr(law, "arg_constraints", {}):
        value = getattr(law, word, None)
        if value is not None and np.ndim(value) <= len(place):
            value = np.asarray(value)
            shown.append(
                f"{word}={_show(value[place[len(place) - value.ndim :]] if value.size > 1 else value.reshape(()))}"
            )
    return f" under {type(law).__name__}({', '.join(shown)})" if shown else ""


def _show(value: Any) -> str:
    array = np.asarray(value)
    if array.size > 6:
        return f"an array from {array.min():.4g} to {array.max():.4g}"
    return f"{array:.4g}" if array.ndim == 0 else np.array2string(array, precision=4)
