"""Model: a graph, and everything that can be asked of it.

The questions are answered by services, each in a room of its own: functions (the compiled program),
questions (finite variables), objectives (gradients of expectations), posteriors. They are made when
they are first needed, and so is JAX: a light command has use for the graph alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, final

from dpc.dsl.diagnostics import Diagnostic
from dpc.dsl.graph.classify import classify
from dpc.dsl.graph.graph import Graph, Kind
from dpc.dsl.printable import printable

from ..exits import UsageError
from .arguments import reads_arguments
from .check import verify_bound

if TYPE_CHECKING:
    from jax import Array
    from jax.sharding import Mesh

    from dpc.inference.factors.factor_graph import FactorGraph
    from dpc.inference.formats.network import Network
    from dpc.inference.mcmc.container import Advice
    from dpc.inference.mcmc.run import NutsPlan, NutsRun

    from ..data.bound import Data
    from ..finite.answers import Answers
    from ..finite.convert import Saved
    from ..finite.discrete import Discrete
    from ..finite.finite import Finite, MeanAndVariance, Questions
    from ..gradient.choose import EstimatorChoice
    from ..gradient.compare import Comparison
    from ..gradient.gradient import Gradient
    from ..gradient.program import ObjectiveProgram, Objectives
    from ..learn.cases import Cases
    from ..learn.family import FieldFamily
    from ..learn.likelihood import Likelihood
    from ..learn.objective import ObjectiveFit
    from ..learn.predict import CaseLikelihoods, Predictions
    from ..learn.result import Fit
    from ..posterior.posteriors import Posteriors
    from ..posterior.summary import PosteriorSummary
    from ..show.info import Computed, EliminationPlan, EstimatorPlan, Info, Samples
    from .functions import Functions

Values = dict[str, Any]
Given = Mapping[str, Any] | None


@final
@reads_arguments
class Model:
    """What `dpc.load` and `dpc.parse` give.

    Parameters, values of draws and data are plain dictionaries under the names of the file, shaped
    as declared. `warnings` are what the compiler has to say of the file, `notes` what was done with
    missing data. A model of a network file has the `network`, and its large tables as `own_data`.
    Functions that the file calls and that nobody bound are missed when one is needed.
    """

    def __init__(
        self,
        graph: Graph | None,
        introduction: str = "",
        externs: Mapping[str, Callable[..., Any]] | None = None,
        domain: Literal["auto", "scaled", "log", "checked"] = "auto",
        *,
        network: Network | None = None,
        settings: Given = None,
        warnings: Sequence[Diagnostic] = (),
        notes: tuple[str, ...] = (),
    ):
        if graph is not None:
            self.graph = graph
        self.introduction = introduction
        self.externs = dict(externs or {})
        self.network = network
        self.settings = dict(settings or {})
        self.warnings = tuple(warnings)
        self.notes = notes
        self._domain: Any = domain

    @cached_property
    def graph(self) -> Graph:
        """Of a network file it is made when something else than its tables is asked for."""
        from dpc.dsl.source import Source

        from ..finite.convert import program_of
        from .load import compile_model

        assert self.network is not None
        return compile_model(Source(self.network.name, program_of(self.network)[0])).graph

    @cached_property
    def own_data(self) -> Values:
        """The tables of a network that are too large for a text."""
        from ..finite.convert import program_of

        return program_of(self.network)[1] if self.network else {}

    @property
    def title(self) -> str:
        if self.network is not None:
            return self.network.name
        return self.graph.name or self.graph.source.path

    def __repr__(self) -> str:
        kind = classify(self.graph).name
        return f"<dpc model {printable(self.title)}: {kind} of {len(self.graph.nodes)} nodes>"

    def _repr_html_(self) -> str:
        from html import escape

        drawing = self.draw(format="svg", engine="builtin").decode()
        return f"{drawing}<pre>{escape(self.graph.source.text)}</pre>"

    def __getstate__(self) -> Values:
        """Services hold compiled programs, which stay behind when a model is copied or pickled."""
        services = ("functions", "questions", "objectives", "posteriors", "program")
        return {name: value for name, value in self.__dict__.items() if name not in services}

    # ---- services

    @cached_property
    def functions(self) -> Functions:
        from .functions import Functions

        verify_bound(self.graph, self.externs)
        return Functions(self.graph, self.externs)

    @cached_property
    def questions(self) -> Questions:
        from ..finite.finite import Questions

        verify_bound(self.graph, self.externs)
        return Questions(self.graph, self.externs, self._domain)

    @cached_property
    def objectives(self) -> Objectives:
        from ..gradient.program import Objectives

        return Objectives(self.functions)

    @cached_property
    def posteriors(self) -> Posteriors:
        from ..posterior.posteriors import Posteriors

        return Posteriors(self)

    # ---- the model itself

    @cached_property
    def program(self) -> str:
        """The model as a readable Python module."""
        from dpc.dsl.lower.emit import emit_module

        return emit_module(self.graph, self.introduction)

    def info(self) -> Info:
        """The class of the model and why, its dims, its nodes."""
        from ..show.info import Info

        return Info(self.graph)

    def draw(
        self,
        path: str | None = None,
        format: str | None = None,
        engine: Literal["auto", "builtin", "graphviz"] = "auto",
        guide: bool = False,
    ) -> bytes:
        """The graph as SVG, PNG, DOT or Mermaid, written to `path` where one is given."""
        from ..show.draw.picture import picture_of
        from ..show.draw.write import render_picture, write_picture

        if guide and not self.graph.guide:
            raise UsageError(f"{self.title} has no guide")
        picture = picture_of(self.graph.guide if guide and self.graph.guide else self.graph)
        if path is not None:
            write_picture(picture, path, format, engine)
            return b""
        return render_picture(picture, format or "mermaid", engine)

    def build(
        self,
        emit: str = "python",
        function: str = "log_prob",
        params: Given = None,
        data: Any = None,
        seed: int = 0,
    ) -> bytes:
        """The program as `python` text, or one function of it as a `jaxpr` or as `stablehlo`."""
        from .functions import build

        return build(self, emit, function, params, data, seed)

    def save(self, path: str, data: Any = None, params: Given = None, fit: Any = None) -> Saved:
        """Writes the finite part, with the tables of a `fit`, as .dp, .bif, .xmlbif or .uai."""
        from ..finite.convert import learned_network, network_of_model, write_network

        if fit is not None:
            return write_network(learned_network(self, fit, path), path)
        return write_network(network_of_model(self, data, params), path)

    def with_settings(self, settings: Mapping[str, Any]) -> Model:
        """The same file with other annotations: {"b.grad": "rloo(samples=4)"}."""
        from .load import compile_model

        return compile_model(self.graph.source, {**self.settings, **settings}, self.externs)

    # ---- data and parameters

    def bind(self, *sources: Any, partial: bool = False, **sizes: int) -> Data:
        """Data from files or Python objects, checked; raises DataError with all that is wrong."""
        from ..data import bind_data
        from ..data.bound import Data

        own = [self.own_data] if self.own_data else []
        bound = bind_data(self.graph, *own, *sources, sizes=sizes, partial=partial).own()
        return Data(bound.arrays, bound.sizes, bound.labels)

    def init(self, key: Any = None, data: Given = None) -> Values:
        """Starting parameters: those of the file, others near zero in unconstrained space."""
        from .constraints import initial_nodes

        known = data or {}
        compute = partial(self.functions.call, "init", data=known)
        return initial_nodes(self.graph.parameters, key, known, compute)

    def unconstrain(self, params: Values) -> Values:
        from .constraints import unconstrain_nodes

        return unconstrain_nodes(self.graph.parameters, params)

    def constrain(self, raw: Values) -> Values:
        from .constraints import constrain_nodes

        return constrain_nodes(self.graph.parameters, raw)

    # ---- pure functions

    def log_prob(self, params: Values, values: Values, data: Given = None) -> Array:
        """The joint log density of all draws; with factors, not normalised."""
        found: Array = self.functions.call("log_prob", params, values, data)
        return found

    def evaluate(self, params: Values, data: Given = None, values: Given = None) -> Values:
        """The values of all computed nodes, given those of the draws."""
        found: Values = self.functions.call("evaluate", params, values, data)
        return found

    def value(self, params: Values, data: Given = None, values: Given = None) -> Array:
        """The objective, given the values of the draws."""
        found: Array = self.functions.call("objective", params, values, data)
        return found

    def gradient(self, params: Values, data: Given = None, values: Given = None) -> Values:
        """The gradient of `value`. Of an expectation, `value_and_grad` estimates it."""
        found: Values = self.functions.call("gradient", params, values, data)
        return found

    def jvp(self, params: Values, direction: Values, data: Given = None) -> tuple[Array, Array]:
        """The objective and its derivative along a direction in parameter space."""
        value, slope = self.functions.call("jvp", params, None, data, direction)
        return value, slope

    def vjp(self, params: Values, data: Given = None) -> tuple[Array, Callable[..., Any]]:
        import jax

        from .constraints import as_arrays

        value, pull_back = jax.vjp(lambda p: self.value(p, data), as_arrays("params", params))
        return value, pull_back

    def hvp(self, params: Values, direction: Values, data: Given = None) -> Values:
        """The Hessian times a direction, forward over reverse (SO01)."""
        found: Values = self.functions.call("hvp", params, None, data, direction)
        return found

    def hessian(self, params: Values, data: Given = None) -> dict[str, Values]:
        found: dict[str, Values] = self.functions.call("hessian", params, None, data)
        return found

    def sample(
        self,
        key: Any,
        params: Values | None = None,
        data: Given = None,
        n: int | None = None,
        given: Given = None,
        given_data: bool = False,
    ) -> Values:
        """Draws of all random variables that are not `given`; `n` along a new first axis.

        They are from the prior, parents before children, and what was observed is drawn too; with
        `given_data` they are from what the observed data leave open. Without an order to draw in,
        or with evidence downstream, they are exact draws of the finite variables.
        """
        known = dict(given or {})
        if not given_data and self.functions.draws_in_order(known):
            return self.functions.sample(key, params, data, n, known)
        part = self.questions.known(params, data, known, given_data=given_data)
        return self.functions.sample_rest(key, part, data, n, known)

    # ---- finite variables: pure functions

    def log_partition(self, params: Given = None, data: Given = None, given: Given = None) -> Array:
        """log of the sum over open finite variables; if directed, the log-evidence (GM08)."""
        found: Array = self.questions.known(params, data, given).ask("log_partition")
        return found

    def marginals(self, params: Given = None, data: Given = None, given: Given = None) -> Values:
        """P(state | given) of every finite variable: [shape of the variable, states] (GM10)."""
        found: Values = self.questions.known(params, data, given).ask("marginals")
        return found

    def mode(self, params: Given = None, data: Given = None, given: Given = None) -> Values:
        """The most probable joint states of all finite variables (GM13); ties go to the first."""
        found: Values = self.questions.known(params, data, given).ask("mode")[0]
        return found

    def kbest(
        self, k: int, params: Given = None, data: Given = None, given: Given = None
    ) -> tuple[Values, Any]:
        """The k most probable configurations, best first, and their log-potentials; not traced."""
        return self.questions.kbest(k, params, data, given)

    def entropy(self, params: Given = None, data: Given = None, given: Given = None) -> Array:
        """The entropy of all finite variables given the rest, in nats: log Z - E[score]."""
        found: Array = self.questions.known(params, data, given).ask("entropy")
        return found

    def moments(
        self, name: str, params: Given = None, data: Given = None, given: Given = None
    ) -> MeanAndVariance:
        """E[f] and Var[f] of a computed number f over the finite variables."""
        return self.questions.moments(name, params, data, given)

    def expected_tables(
        self, params: Given = None, data: Given = None, given: Given = None
    ) -> tuple[Array, list[Array]]:
        """log Z and its gradient: how probable each entry of each table is (GM10)."""
        return self.questions.known(params, data, given).expected_tables()

    def expected_score(
        self,
        expected: list[Array],
        params: Given = None,
        data: Given = None,
        given: Given = None,
    ) -> Array:
        """E[log-potentials of these parameters] under what `expected_tables` gave."""
        return self.questions.known(params, data, given).expected_score(expected)

    def finite(self, params: Given = None, data: Given = None, given: Given = None) -> Finite:
        """The finite variables, which of them depend on each other, and the engine for that."""
        return self.questions.known(params, data, given).finite

    def tables(
        self, params: Given = None, data: Given = None, given: Given = None
    ) -> tuple[Finite, list[Array], Array]:
        """The finite part, its log-potentials and the log-likelihoods of evidence."""
        return self.questions.known(params, data, given).tables()

    def discrete(self, params: Given = None, data: Given = None, values: Given = None) -> Discrete:
        """The factors, and the labels of the states of every variable."""
        return self.questions.discrete(self.questions.known(params, data, values))

    def factor_graph(
        self, params: Given = None, data: Given = None, values: Given = None
    ) -> FactorGraph:
        """The model as factors over named variables, for `dpc.inference.queries`."""
        return self.discrete(params, data, values).factors

    # ---- questions as the shell asks them

    def query(
        self,
        ask: str | Sequence[str] = (),
        *,
        given: Given = None,
        params: Given = None,
        data: Any = None,
        joint: str | Sequence[str] = (),
        logz: bool = False,
        map: bool | str | Sequence[str] = False,
        kbest: int | None = None,
        samples: int | None = None,
        entropy: bool = False,
        kl: Any = None,
        evidence: str | None = None,
        method: str = "auto",
        memory: int | str | None = None,
        seed: int = 0,
        plot: str | None = None,
    ) -> Answers:
        """What the finite variables are, given what is known: all that `dpc query` answers.

        `ask` are variables ("a, b") or expressions ("a == yes"), one text or several; without a
        question all marginals are given. `joint` are the names of one, or texts "a, b" of
        several, `map` is True or some names, `kl` is another model or its path, `evidence` a CSV
        file of cases, `plot` a picture to write. `data` are files or mappings. The answer is exact
        where that fits, and says so where it does not.
        """
        from ..finite.answers import How
        from ..finite.query import Asked, query, read_memory

        questions = (_texts(ask), _joints(joint), logz, entropy, kl, map, kbest, samples, evidence)
        asked = Asked(*questions)
        known = {"data": self._sources(data), "params": params or {}}
        how = How(method, read_memory(memory), seed)
        return query(self, asked, given or {}, known, how, plot)

    def plan(
        self, given: Given = None, *, params: Given = None, data: Any = None
    ) -> EliminationPlan | EstimatorPlan:
        """How a question would be answered, and what it would cost.

        Of a file with an objective, the question is its gradient, unless something is `given`.
        """
        if self.network is None and self.graph.of_kind(Kind.COST) and not given:
            from ..gradient.choose import plan_estimators

            return plan_estimators(self.graph, self._sources(data))
        from ..finite.query import plan_elimination

        return plan_elimination(self, given or {}, self._sources(data), params or {})

    def draws(
        self,
        n: int = 5,
        *,
        given: Given = None,
        params: Given = None,
        data: Any = None,
        seed: int = 0,
        given_data: bool = False,
    ) -> Samples:
        """`n` draws of every random variable, labelled: what `dpc sample` prints."""
        import jax

        from ..show.info import Samples
        from .check import written_values
        from .room import SHOWN, entries_of, verify_room

        known, bound = self._known(params, data, seed, partial=True)
        verify_room(n, "draws", entries_of(self.graph, bound.sizes), SHOWN)
        evidence = written_values(self.graph, given or {})
        key = jax.random.key(seed)
        found = self.sample(key, known, bound, n=n, given=evidence, given_data=given_data)
        return Samples(self, found, bound.labels)

    def run(
        self, params: Given = None, data: Any = None, *, grad: bool = False, seed: int = 0
    ) -> Computed:
        """The values of all computed nodes, and of the objective; what is random is drawn once."""
        from ..show.info import compute

        return compute(self, *self._known(params, data, seed, partial=True), seed, grad)

    def grad(
        self,
        params: Given = None,
        data: Any = None,
        *,
        samples: int = 1000,
        seed: int = 0,
        hessian: bool = False,
    ) -> Gradient:
        """The gradient of the expected objective from so many estimates, with standard errors."""
        from ..gradient.gradient import find_gradient

        return find_gradient(self, *self._known(params, data, seed), samples, seed, hessian)

    def compare(
        self,
        methods: str = "all",
        params: Given = None,
        data: Any = None,
        *,
        samples: int = 1000,
        seed: int = 0,
    ) -> Comparison:
        """Bias, variance and time of these methods, or all, for one draw after the other."""
        from ..gradient.compare import compare

        return compare(self, *self._known(params, data, seed), methods, samples, seed)

    def _known(
        self, params: Given, data: Any, seed: int, partial: bool = False
    ) -> tuple[Values, Data]:
        """Checked data, and parameters: those given, and the others where they start."""
        from .constraints import known_inputs

        return known_inputs(self, params or {}, self._sources(data), seed, partial)

    def _sources(self, data: Any) -> list[Any]:
        """What data come from: one source or several, and the tables of the model's own."""
        from ..finite.discrete import as_sources

        return [*([self.own_data] if self.own_data else []), *as_sources(data)]

    # ---- gradients of expectations: pure functions

    def objective(self, data: Given = None) -> ObjectiveProgram:
        """The objective for data of these sizes: its draws with their estimators, its costs."""
        return self.objectives.objective(data or {})

    def estimator_choices(self, data: Given = None) -> list[EstimatorChoice]:
        """The estimator of each draw, and why."""
        return self.objective(data).choices_by_draw

    def surrogate(
        self,
        key: Any,
        params: Values,
        data: Given = None,
        samples: int | None = None,
        order: int = 1,
    ) -> Array:
        """An estimate of E[objective] whose derivatives, up to this order, estimate its own.

        For order 2 draws are split at kinks as well as at jumps. A second derivative of order 1
        that would miss something is an error, and so is a third one unless all draws are summed.
        `samples` are drawn of the whole program, besides those that single draws ask for.
        """
        return self.objectives.surrogate(key, params, data or {}, samples, order)

    def value_and_grad(
        self, key: Any, params: Values, data: Given = None, samples: int | None = None
    ) -> tuple[Array, Values]:
        """Estimates of E[objective] and of its gradient by every parameter.

        They can be differentiated once more where the second derivative would miss nothing.
        """
        return self.estimate(key, params, {}, data, samples)[:2]

    def estimate(
        self,
        key: Any,
        params: Values,
        state: Values,
        data: Given = None,
        samples: int | None = None,
    ) -> tuple[Array, Values, Values]:
        """The same with what baselines keep, `objective(data).initial_state` at first."""
        return self.objectives.estimate(key, params, state, data or {}, samples)

    # ---- learning

    def cases(
        self, *sources: Any, by: str | None = None, sizes: Mapping[str, int] | None = None
    ) -> Cases:
        """Data to learn from: files, tables and mappings with values for any inputs and draws.

        Rows of a table are cases where the model has single values; `by` names a column whose equal
        values are a case; a list of mappings has a case each. Entries of draws may be missing.
        """
        from ..learn.cases import read_cases

        return read_cases(self.graph, *sources, by=by, sizes=sizes).own()

    def likelihood(self, *sources: Any, by: str | None = None) -> Likelihood:
        """What `fit` maximises, as functions of parameters and of arrays that may be traced."""
        from ..learn.cases import is_read
        from ..learn.likelihood import Likelihood

        cases = sources[0] if is_read(sources) else self.cases(*sources, by=by)
        return Likelihood(self.graph, cases, self.externs)

    def family(self, data: Given = None) -> FieldFamily:
        """The model as an exponential family of its parameters, where its score is linear."""
        from ..learn.family import FieldFamily

        return FieldFamily(self, data)

    def loss(self, params: Values, data: Any) -> Array:
        """Minus the log-likelihood, minus the log density of the priors."""
        from ..learn.likelihood import Likelihood
        from .constraints import as_arrays

        known = as_arrays("params", params)
        return (data if isinstance(data, Likelihood) else self.likelihood(data)).loss(known)

    def fit(
        self,
        *sources: Any,
        by: str | None = None,
        start: Given = None,
        method: str | None = None,
        test: Any = None,
        stream: bool = False,
        checkpoint: str | None = None,
        resume: bool = False,
        watch: Callable[[int, str, Any], None] | None = None,
        mesh: Mesh | None = None,
        steps: int | None = None,
        rate: float | None = None,
        seed: int = 0,
        samples: int | None = None,
        optimizer: str | None = None,
        loss: str | None = None,
        smoothing: float | str | None = None,
        tolerance: float | None = None,
        batch: int | None = None,
        restarts: int | None = None,
        errors: bool | None = None,
    ) -> Fit | ObjectiveFit:
        """Parameters that make the data most probable, or that minimise or maximise the objective.

        A file with an objective is fitted by it, unless a `method` is named: `samples` and
        `optimizer` are for that, `loss`, `smoothing`, `tolerance`, `batch`, `restarts` and `errors`
        for data.
        `test` are data that are held out. `checkpoint` is a folder for the state of the run,
        `resume` goes on from it. `watch` is called with the number and the name of a stage and each
        of its states. With a mesh, cases are spread over its devices.
        """
        options = {
            "steps": steps,
            "rate": rate,
            "seed": seed,
            "samples": samples,
            "optimizer": optimizer,
            "loss": loss,
            "smoothing": smoothing,
            "tolerance": tolerance,
            "batch": batch,
            "restarts": restarts,
            "errors": errors,
        }
        from ..finite.discrete import as_sources
        from ..learn.run import FitRequest, fit

        held_out = tuple(as_sources(test))
        about_run = (stream, checkpoint, resume, watch, mesh)
        request = FitRequest(sources, by, start or {}, held_out, *about_run)
        return fit(self, method, request, options)

    def predict(
        self,
        fit: Any,
        *sources: Any,
        by: str | None = None,
        ask: Collection[str] | None = None,
        log_likelihood: bool = False,
    ) -> Predictions | CaseLikelihoods:
        """What the data do not say, case by case: probabilities and modes of finite draws, means
        and sds of others; or how probable each case is.

        `fit` is what `fit` gave, a file it was saved to, or a dictionary of parameters; `ask` names
        draws.
        """
        from ..learn import predict as own

        if not log_likelihood:
            return own.predict(self, fit, *sources, by=by, ask=ask)
        if ask:
            what = "`ask=` and `log_likelihood=True` are two questions"
            raise UsageError(f"{what}: ask one at a time")
        return own.CaseLikelihoods(*own.log_likelihoods(self, fit, *sources, by=by))

    # ---- posteriors

    def to_numpyro(self, data: Given = None) -> Callable[..., None]:
        """The model as a NumPyro model function, for these data or those it is called with.

        Every draw is a site under its own name, its dims are plates; a `param` is a site with a
        flat prior. A draw that is `noncentered` is computed from one called NAME_decentered. Finite
        draws that are not observed are summed over: the sum is in the density of what depends on
        them. What the data lack is drawn.
        """
        return self.posteriors.to_numpyro(data or {})

    def posterior(
        self,
        data: Any = None,
        method: str = "nuts",
        *,
        draws: int = 1000,
        warmup: int | None = None,
        chains: int | None = None,
        seed: int = 0,
        target_accept: float | None = None,
        max_tree_depth: int | None = None,
        dense_mass: bool | None = None,
        steps: int | None = None,
        prior: int | bool = True,
        predictive: bool = True,
        likelihood: bool = True,
        checkpoint: str | None = None,
        resume: bool = False,
        out: str | None = None,
        plots: str | None = None,
        format: str = "svg",
        progress: Any = None,
        show: Callable[[PosteriorSummary], object] | None = None,
    ) -> Any:
        """Draws from the posterior as an ArviZ InferenceData (a DataTree under ArviZ 1.x).

        `method` is nuts, svi, laplace or importance. `warmup` (1000), `chains` (4), `target_accept`
        (0.8), `max_tree_depth` (10), `dense_mass`, `checkpoint` and `resume` are for nuts, `steps`
        (10000) for svi. Finite variables are among the draws. `prior`, `predictive` and
        `likelihood` say whether draws from the prior (or how many), predictions and pointwise
        likelihoods are wanted. `out` is a netCDF file to write, `plots` a folder for pictures in
        this `format`. `progress` sees the draws as they come; `show` gets their summary before what
        takes more time.
        """
        from ..posterior.posteriors import read_options, verify_outputs

        said = {
            "warmup": warmup,
            "chains": chains,
            "target_accept": target_accept,
            "max_tree_depth": max_tree_depth,
            "dense_mass": dense_mass or None,
            "steps": steps,
            "checkpoint": checkpoint,
        }
        options = read_options(method, draws, seed, progress, resume, said)
        verify_outputs(out, format)
        model, bound = self.posteriors.opened(data)
        drawn = model.posteriors.draw(method, bound, options)
        about = {"seed": seed, "stats": drawn.stats, **drawn.attributes}
        wanted: Values = {"prior": prior, "predictive": predictive, "likelihood": likelihood}
        if show is not None:
            few: Values = dict.fromkeys(wanted, False)
            found = model.inference_data(drawn.values, bound, **about, **few)
            show(model.summarise(found, bound, options.plan.max_tree_depth))
        if show is None or any(wanted.values()):
            found = model.inference_data(drawn.values, bound, **about, **wanted)
        if out:
            from dpc.dsl.files import written_whole

            with written_whole(out) as beside:
                found.to_netcdf(beside)
        if plots:
            from ..posterior.summary import write_plots

            write_plots(model, bound, found, plots, format)
        return found

    def summarise(self, found: Any, data: Any, max_tree_depth: int = 10) -> PosteriorSummary:
        """What draws say of every variable and what speaks against them, as the shell prints it."""
        from ..posterior.summary import PosteriorSummary, summarise

        model, bound = self.posteriors.opened(data)
        return PosteriorSummary(summarise(model, bound, found, max_tree_depth))

    def posterior_run(self, data: Any, plan: NutsPlan) -> NutsRun:
        """NUTS in stretches: `start()` gives a state, `advance(state, n)` the next and draws."""
        model, bound = self.posteriors.opened(data)
        return model.posteriors.run(bound, plan)

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
        """Draws [chain, draw, ...] in ArviZ's layout, with likelihoods, predictions, the prior."""
        from ..posterior.groups import all_groups

        model, bound = self.posteriors.opened(data)
        about = {**attributes, "notes": "; ".join(model.notes)} if model.notes else attributes
        wanted = prior, predictive, likelihood
        return all_groups(model, values, bound, seed, stats or {}, about, *wanted)

    def recover(self, found: Any, data: Any, question: str = "marginals", seed: int = 0) -> Values:
        """Of every posterior draw, the marginals, mode or a joint sample of the finite variables.

        `found` is what `posterior` gave, or a dictionary of draws [chain, draw, ...].
        """
        from ..posterior.groups import posterior_values, recover

        model, bound = self.posteriors.opened(data)
        return recover(model, posterior_values(found), bound, question, seed)

    def diagnose(self, found: Any, max_tree_depth: int = 10) -> list[Advice]:
        """What speaks against these draws, where, and what to try."""
        from dpc.inference.mcmc.container import diagnose

        from ..posterior.groups import centred_draws

        return diagnose(found, centred_draws(self.graph), max_tree_depth)

    def with_missing(self, *sources: Any, **sizes: int) -> tuple[Model, Data]:
        """A model that takes these data although observed draws lack entries, and the data for it.

        Missing entries are left out where nothing depends on them, summed over where they are
        finite, and else drawn: `x.missing`. With complete data it is the model itself.
        `model.notes` say what was done.
        """
        return self.posteriors.with_missing(sources, sizes)


def _joints(joint: str | Sequence[str]) -> tuple[str, ...]:
    """Names alone are those of one joint; texts such as "a, b" are a joint each."""
    texts = _texts(joint)
    return texts if any("," in text for text in texts) else tuple(filter(None, [",".join(texts)]))


def _texts(text: str | Sequence[str]) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text)
