"""The density that is sampled, a NumPyro model over unconstrained space, and where chains start."""

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import jax
import numpy as np
from numpyro.distributions import biject_to
from numpyro.handlers import seed, substitute, trace
from numpyro.infer import init_to_uniform
from numpyro.infer.util import (
    compute_log_probs,
    constrain_fn,
    helpful_support_errors,
    potential_energy,
)

Values = dict[str, Any]
Shapes = dict[str, tuple[int, ...]]


class TargetDensity:
    """`model` is called without arguments; its latent sites must be continuous."""

    def __init__(self, model: Callable[[], None]):
        self.model = model

    def potential(self, raw: Values) -> Any:
        """Minus the log density in unconstrained space, volume of the bijections included."""
        return potential_energy(self.model, (), {}, raw)

    def constrain(self, raw: Values) -> Values:
        """The values of all latent and deterministic sites."""
        found: Values = constrain_fn(self.model, (), {}, raw, return_deterministic=True)
        return found

    @cached_property
    def shapes(self) -> Shapes:
        """The shape of every latent site in unconstrained space; nothing is computed."""
        found: Shapes = {}

        def run(key: Any) -> None:
            started = substitute(seed(self.model, key), substitute_fn=init_to_uniform())
            for name, site in trace(started).get_trace().items():
                if site["type"] == "sample" and not site["is_observed"]:
                    found[name] = _unconstrained_shape(site)

        jax.eval_shape(run, jax.random.PRNGKey(0))
        return found


def _unconstrained_shape(site: Any) -> tuple[int, ...]:
    with helpful_support_errors(site):
        shape: tuple[int, ...] = biject_to(site["fn"].support).inverse_shape(
            tuple(site["fn"].shape())
        )
    return shape


RADIUS = 2.0
TRIES = 100


class NoStart(ValueError):
    """No point with a finite density was found; the message names the sites that are to blame."""


class Start(NamedTuple):
    """A point of unconstrained space, the potential there, and its gradient."""

    raw: Values
    potential: Any
    gradient: Values


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
    value, gradient = jax.value_and_grad(target.potential)(raw)
    return Start(raw, value, gradient)


def _find_start(target: TargetDensity, attempt: Callable[[Any], Start], key: Any) -> Start:
    for number in range(TRIES):
        start = attempt(jax.random.fold_in(key, number))
        if np.isfinite(start.potential) and all(
            np.all(np.isfinite(part)) for part in start.gradient.values()
        ):
            return start
    raise NoStart(explain(target, start.raw, start.gradient))


# ---- why not


def explain(target: TargetDensity, raw: Values, gradient: Values) -> str:
    """The sites whose log density is not finite here, with the first value that has it so."""
    blamed = list(_impossible_sites(target, raw))
    if not blamed:
        blamed = [
            (
                f"the density is finite, but its gradient along `{name}` is not, at "
                f"{_show(raw[name])} unconstrained"
            )
            for name, part in gradient.items()
            if not np.all(np.isfinite(part))
        ]
    head = (
        f"no starting point: {TRIES} tries between -{RADIUS:g} and {RADIUS:g} in unconstrained "
        "space failed. The last:"
    )
    return "\n".join([head, *(f"  {line}" for line in blamed)])


def _impossible_sites(target: TargetDensity, raw: Values) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPyro warns of what is said below
        found, sites = compute_log_probs(
            target.model, (), {}, target.constrain(raw), sum_log_prob=False
        )
    for name, terms in found.items():
        terms = np.asarray(terms)
        bad = np.argwhere(~np.isfinite(terms))
        if len(bad):
            index = tuple(int(k) for k in bad[0])
            dist = getattr(sites[name]["fn"], "base_dist", sites[name]["fn"])
            where = f"[{', '.join(map(str, index))}]" if index else ""
            value = np.asarray(sites[name]["value"])
            value = value[index] if value.ndim >= len(index) else value
            yield (
                f"`{name}{where}` = {_show(value)} has log density "
                f"{terms[index]:g}{_arguments(dist, index)}"
            )


def _arguments(dist: Any, index: tuple[int, ...]) -> str:
    """The parameters of a distribution where it failed, as far as it has any."""
    shown = []
    for word in getattr(dist, "arg_constraints", {}):
        value = getattr(dist, word, None)
        if value is not None and np.ndim(value) <= len(index):
            array = np.asarray(value)
            here = array[index[len(index) - array.ndim :]] if array.size > 1 else array.reshape(())
            shown.append(f"{word}={_show(here)}")
    return f" under {type(dist).__name__}({', '.join(shown)})" if shown else ""


def _show(value: Any) -> str:
    array = np.asarray(value)
    if array.size > 6:
        return f"an array from {array.min():.4g} to {array.max():.4g}"
    return f"{array:.4g}" if array.ndim == 0 else np.array2string(array, precision=4)
