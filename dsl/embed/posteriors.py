"""Posteriors: a model for NumPyro, draws from the posterior, and the finite variables that were summed over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..graph import Graph
from ..posterior.decentre import decentre
from .bound import Data
from .compiled import Sizes, split_data

if TYPE_CHECKING:
    from dpc.inference.posterior.diagnose import Advice
    from dpc.inference.posterior.run import Plan, Run

    from .numpyro_model import NumpyroModel

Values = dict[str, Any]


class Posteriors:
    """What a `Model` is for those who have data."""

    graph: Graph
    externs: dict[str, Callable[..., Any]]
    _dims: frozenset[str]
    _sizes: Callable[[Mapping[str, Any]], Sizes]
    bind: Callable[..., Data]
    notes: tuple[str, ...] = ()
    """What was done with missing data."""

    # ---- NumPyro

    def to_numpyro(self, data: Mapping[str, Any] | None = None) -> Callable[..., None]:
        """The model as a NumPyro model function, for these data or those it is called with.

        Every draw is a site under its own name, its dims are plates; a `param` is a site with a flat prior. A draw that
        is `noncentered` is computed from one called NAME_decentered. Finite draws that are not observed are summed
        over: the sum is in the density of what depends on them. What the data lack is drawn.
        """
        bound = self._with_sizes(data or {})

        def model(data: Mapping[str, Any] | None = None) -> None:
            self._decentred.run(bound if data is None else self._with_sizes(data))

        return model

    def _with_sizes(self, data: Mapping[str, Any]) -> Values:
        arrays, _ = split_data(data, self._dims)
        return {**arrays, **dict(self._sizes(data))}

    @cached_property
    def _decentred(self) -> NumpyroModel:
        """The model with standard noise in place of draws that are `noncentered`: what is sampled."""
        from .numpyro_model import NumpyroModel

        graph = decentre(self.graph)
        return NumpyroModel(type(self)(graph, "", self.externs)) if graph != self.graph else self._as_written  # type: ignore[call-arg]

    @cached_property
    def _as_written(self) -> NumpyroModel:
        from .numpyro_model import NumpyroModel

        return NumpyroModel(self)

    # ---- the posterior

    def posterior(
        self,
        data: Any = None,
        method: str = "nuts",
        *,
        draws: int = 1000,
        warmup: int = 1000,
        chains: int = 4,
        seed: int = 0,
        target_accept: float = 0.8,
        max_tree_depth: int = 10,
        dense_mass: bool = False,
        steps: int = 10_000,
        prior: int | bool = True,
        predictive: bool = True,
    ) -> Any:
        """Draws from the posterior as an ArviZ InferenceData (a DataTree under ArviZ 1.x).

        `method` is nuts, svi, laplace or importance. `warmup`, `chains`, `target_accept`, `max_tree_depth` and
        `dense_mass` are for nuts, `steps` for svi. Finite variables are among the draws. `predictive` and
        `prior` say whether predictions and draws from the prior are wanted, or how many of the latter.
        """
        from dpc.inference.posterior.run import Plan

        from .methods import METHODS, Request

        if method not in METHODS:
            raise ValueError(f"there is no method {method!r}: {', '.join(METHODS)}")
        plan = Plan(warmup, chains, seed, target_accept, max_tree_depth, dense_mass)
        model, bound = self._opened(data)
        found = METHODS[method](Request(model, bound, plan, draws, steps))
        return model.inference_data(
            found.values,
            bound,
            seed=seed,
            stats=found.stats,
            prior=prior,
            predictive=predictive,
            **found.attributes,
        )

    def posterior_run(self, data: Any, plan: Plan) -> Run:
        """NUTS in stretches: `start()` gives a state, `advance(state, n)` the next one and draws."""
        from dpc.inference.posterior.run import Run

        from .methods import verify_continuous

        model, bound = self._opened(data)
        verify_continuous(model._decentred)
        return Run(model.to_numpyro(bound), plan)

    def inference_data(
        self,
        values: Values,
        data: Any,
        *,
        seed: int = 0,
        stats: Values | None = None,
        prior: int | bool = True,
        predictive: bool = True,
        likelihood: bool = True,
        **attributes: Any,
    ) -> Any:
        """Draws [chain, draw, ...] in ArviZ's layout, with likelihoods, predictions and the prior."""
        from .groups import Wanted, all_groups

        wanted = Wanted(prior, predictive, likelihood)
        model, bound = self._opened(data)
        about = {**attributes, "notes": "; ".join(model.notes)} if model.notes else attributes
        return all_groups(model, values, bound, seed, stats or {}, about, wanted)

    def recover(self, found: Any, data: Any, question: str = "marginals", seed: int = 0) -> Values:
        """Of every posterior draw, the finite variables given the rest: their marginals, mode, or a joint sample.

        `found` is what `posterior` gave, or a dictionary of draws [chain, draw, ...].
        """
        from .groups import posterior_values, recover

        model, bound = self._opened(data)
        return recover(model, posterior_values(found), bound, question, seed)

    def diagnose(self, found: Any, max_tree_depth: int = 10) -> list[Advice]:
        """What speaks against these draws, where, and what to try."""
        from dpc.inference.posterior.diagnose import diagnose

        from ..posterior.labels import centred_draws

        return diagnose(found, centred_draws(self.graph), max_tree_depth)

    def with_missing(self, *sources: Any, **sizes: int) -> tuple[Any, Data]:
        """A model that takes these data although entries of observed draws are missing, and the data for it.

        Missing entries are left out where nothing depends on them, summed over where they are finite, and else drawn:
        `x.missing`. With complete data it is the model itself. `model.notes` say what was done.
        """
        from ..data import bind_data
        from ..posterior.missing import open_missing

        bound = bind_data(self.graph, *sources, sizes=sizes, missing=True).own()
        if not bound.missing:
            return self, Data(bound.arrays, bound.sizes, bound.labels)
        opened = open_missing(self.graph, bound.arrays, bound.missing)
        model = type(self)(opened.graph, "", self.externs)  # type: ignore[call-arg]
        model.notes = opened.notes
        return model, Data(opened.arrays, {**bound.sizes, **opened.sizes}, {**bound.labels, **opened.labels})

    def _opened(self, data: Any) -> tuple[Any, Data]:
        """Data that were bound have nothing missing."""
        if isinstance(data, Data):
            return self, data
        return self.with_missing() if data is None else self.with_missing(data)
