"""Learning from Python: the loss of any data, and the parameters at its minimum."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import jax
from jax.sharding import Mesh

from ..graph import Graph

if TYPE_CHECKING:
    from ..learn.cases import Cases
    from ..learn.family import FieldFamily
    from ..learn.likelihood import Likelihood
    from ..learn.predict import Predictions
    from ..learn.result import Fit

Values = dict[str, Any]


class Learning:
    """Parameters, and continuous draws without data, are estimated; finite draws without data are summed over."""

    graph: Graph
    externs: dict[str, Callable[..., Any]]

    def cases(self, *sources: Any, by: str | None = None, sizes: Mapping[str, int] | None = None) -> Cases:
        """Data to learn from: files, tables and mappings with values for any inputs and draws.

        Rows of a table are cases where the model has single values; `by` names a column whose equal values are a case;
        a list of mappings has a case each. Entries of draws may be missing.
        """
        from ..learn.read_cases import read_cases

        return read_cases(self.graph, *sources, by=by, sizes=sizes).own()

    def likelihood(self, *sources: Any, by: str | None = None) -> Likelihood:
        """What `fit` maximises, as functions of the parameters and of arrays that may be traced and sharded."""
        from ..learn.cases import is_read
        from ..learn.likelihood import Likelihood

        cases = sources[0] if is_read(sources) else self.cases(*sources, by=by)
        return Likelihood(self.graph, cases, self.externs)

    def family(self, data: Mapping[str, Any] | None = None) -> FieldFamily:
        """The model as an exponential family of its parameters, where its score is linear in them."""
        from ..learn.family import FieldFamily

        return FieldFamily(self, data)  # type: ignore[arg-type]

    def loss(self, params: Values, data: Any) -> jax.Array:
        """Minus the log-likelihood, minus the log density of the priors; `data` are as `likelihood` takes them."""
        from ..learn.likelihood import Likelihood

        return (data if isinstance(data, Likelihood) else self.likelihood(data)).loss(params)

    def fit(
        self,
        *sources: Any,
        by: str | None = None,
        start: Mapping[str, Any] | None = None,
        watch: Callable[[int, str, Any], None] | None = None,
        mesh: Mesh | None = None,
        **options: Any,
    ) -> Fit:
        """The parameters that make the data most probable, by the best method there is; the result says which and why.

        Options are those of `dpc.dsl.learn.fit.Options`: method, loss, steps, tolerance, smoothing, rate, batch, seed,
        errors. `watch` is called with the number and the name of a stage and each of its states. With a mesh, cases
        are spread over its devices.
        """
        from ..learn.begin import verify_start
        from ..learn.cases import is_read
        from ..learn.fit import fit_likelihood
        from ..learn.likelihood import Likelihood
        from ..learn.options import Options
        from ..learn.read_cases import read_cases

        cases = sources[0] if is_read(sources) else read_cases(self.graph, *sources, by=by)
        likelihood, at_once = Likelihood(self.graph, cases, self.externs), watch is None
        verify_start(likelihood, start or {})
        return fit_likelihood(likelihood, Options(**options), start, watch, mesh=mesh, at_once=at_once)

    def predict(
        self, fit: Any, *sources: Any, by: str | None = None, ask: Collection[str] | None = None
    ) -> Predictions:
        """What the data do not say, case by case: probabilities and modes of finite draws, means and sds of others.

        `fit` is what `fit` gave, a file it was saved to, or a dictionary of parameters; `ask` names draws.
        """
        from ..learn.predict import predict

        return predict(self.graph, fit, *sources, by=by, ask=ask, externs=self.externs)
