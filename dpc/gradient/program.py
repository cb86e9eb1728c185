"""An objective ready to be estimated: its functions, draws with methods, and costs."""

from __future__ import annotations

from ast import FunctionDef
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax

from dpc.dsl.graph import core as c
from dpc.dsl.graph.graph import Graph, Kind, Node
from dpc.dsl.graph.passes.sampled import sample_sides
from dpc.dsl.library.annotations import grad_method
from dpc.dsl.lower.emit import program_text
from dpc.dsl.lower.program import LoweredProgram, ProgramWriter, lower_program
from dpc.dsl.lower.run import run_program
from dpc.estimators import Block, Compute, Cost, Draw, Estimate, Path, Score, Step, Upto, surrogate
from dpc.estimators.methods.enumeration import element_mass
from dpc.estimators.methods.method import Constant, Method
from dpc.estimators.methods.table import BASELINES, METHODS
from dpc.estimators.run import BaselineState
from dpc.estimators.surrogate import EvidenceBound, bound_surrogate, least_particles, starting_state

from ..exits import UsageError
from ..model.constraints import as_arrays
from ..model.functions import compiled
from ..model.numbers import verify_estimates
from ..model.recent import Recent
from ..model.room import entries_of, verify_room
from ..model.values import ValueReader
from .choose import EstimatorChoice, choose_methods, for_people, size_of, summed_paths, support_of
from .costs import averages_weights
from .ends import Ends, refuse_ends, scored_ends, without_slopes
from .externs import smoothness_of_externs
from .follow import Followed, Follows, Lagged, element_axes, group_of, is_chain
from .lost import missed_twice
from .prepare import prepare
from .refuse import critic_of, weighs_scores
from .steps import (
    StepWriter,
    certain_critics,
    has_steps,
    is_simple,
    outside,
    outside_all,
    random_names,
)

if TYPE_CHECKING:
    from ..model.functions import Functions

RESERVED = frozenset({"v", "values", "program", "element_mass"})


class ObjectiveProgram:
    """What a graph is to minimise or maximise, for data of these sizes.

    Its derivatives are right up to this `order`: for the second one, draws are split at kinks too.
    """

    def __init__(
        self,
        graph: Graph,
        sizes: Mapping[str, int],
        externs: Mapping[str, Callable[..., Any]],
        order: int = 1,
    ):
        self.externs, self.order = externs, order
        smoothness = smoothness_of_externs(graph.functions, externs, sizes)
        prepared = prepare(graph, order, smoothness)
        self.graph, self.terms, self.bound, self.losses, self.cuts = prepared
        choices = choose_methods(prepared, sizes, averages_weights(self.bound))
        self.choices = {choice.name: choice for choice in choices}
        self.methods = {name: make_method(choice) for name, choice in self.choices.items()}
        drawn = {name for name, choice in self.choices.items() if weighs_scores(choice.method)}
        self.graph = sample_sides(self.graph, drawn & {f"{name}.side" for name in self.cuts})
        self.sizes = sizes
        self.summed = summed_paths(self.graph, choices)

    @property
    def missed(self) -> tuple[str, ...]:
        """By the order of a derivative of the estimate, from 2 on: why it is refused, if it is."""
        twice = self.missed_twice
        if twice and self.order < 2:
            twice = f"{twice}; where they exist, `order=2` splits draws at kinks"
        return twice, self.missed_thrice

    @cached_property
    def ends(self) -> Ends:
        """The parameters at whose ends a score sees nothing."""
        return scored_ends(self.graph, self.choices.values())

    @property
    def missed_thrice(self) -> str:
        """No row says that a slope has no kinks, and no method claims more than two orders."""
        sampled = [choice.name for choice in self.choices_by_draw if not choice.exact]
        if not sampled:
            return ""
        known = "they are known to be right only where every draw is summed"
        return f"no third derivatives: {known}, and `{sampled[0]}` is not"

    @cached_property
    def missed_twice(self) -> str:
        """Why second derivatives of this estimate are not those of the mean; empty if they are."""
        for name, method in self.methods.items():
            if method.order < 2:
                what = f"grad={method.name} of `{name}` has no unbiased second derivatives"
                return f"{what}: use grad=rloo for it"
        options = dict(self.bound.arguments) if self.bound else {}
        landing = any(n == "landing" and getattr(v, "value", False) for n, v in options.items())
        rows = {name: grad_method(choice.method) for name, choice in self.choices.items()}
        found = next(missed_twice(self.graph, self.losses, rows, landing), "")
        return found and f"no second derivatives: {found}"

    @property
    def choices_by_draw(self) -> list[EstimatorChoice]:
        """As people see them: one for each draw of the file."""
        return for_people(list(self.choices.values()), self.cuts)

    @cached_property
    def _lowered(self) -> LoweredProgram:
        frozen = frozenset(name for name, c in self.choices.items() if weighs_scores(c.method))

        def parts(writer: ProgramWriter) -> list[FunctionDef]:
            return [StepWriter(writer, frozen, self.summed).write(self.terms)]

        return lower_program(self.graph, parts, RESERVED)

    @property
    def text(self) -> str:
        """The program of the steps, by which runs are told apart."""
        return program_text(self._lowered)

    @cached_property
    def _program(self) -> Callable[..., dict[str, Any]]:
        given = {"element_mass": element_mass}
        return run_program(self._lowered, self.externs, given)["program"]

    def estimate(
        self,
        params: Mapping[str, Any],
        data: Mapping[str, Any],
        key: Any,
        samples: int,
        state: BaselineState | None = None,
    ) -> Estimate:
        """One estimate of the mean objective, by this many samples, or of its bound.

        Derivatives of it that would miss something are errors.
        """
        params = without_slopes(self.graph, self.ends, params)
        steps = self.steps(refused_from_second(params, self.missed), data)
        if self.bound is None or not averages_weights(self.bound):
            return surrogate(steps, key, samples, state)
        options = {
            n: value.value for n, value in self.bound.arguments if isinstance(value, c.Const)
        }
        bound = EvidenceBound(float(options.get("alpha", 0.0)), int(options["samples"]))
        return Estimate(bound_surrogate(steps, key, bound, samples), state or {})

    @property
    def initial_state(self) -> BaselineState:
        """What baselines remember before the first estimate."""
        return starting_state({self._drawn_name(n): method for n, method in self.methods.items()})

    def _drawn_name(self, name: str) -> str:
        """Draws of single statements and summed ones have their names, others a score."""
        alone = is_simple(self.graph[name], self.graph) and group_of(name, self.graph) is None
        return name if alone or name in self.summed else f"score {name}"

    @property
    def least_samples(self) -> int:
        """How many samples an estimate needs; a bound, and some draws, bring their own."""
        if averages_weights(self.bound):
            return 1
        shared = [n for n, choice in self.choices.items() if "samples" not in dict(choice.options)]
        return least_particles([self.methods[name] for name in shared])

    def steps(self, params: Mapping[str, Any], data: Mapping[str, Any]) -> list[Step]:
        """The program for these parameters and data, parents first, costs last."""
        functions = self._program(params, data)
        followed = Followed(self.graph, self.summed)
        found: list[Step] = [
            Compute(name, (), functions[f"value {name}"]) for name in certain_critics(self.graph)
        ]
        for node in self.graph.of_kind(Kind.FUNCTION, Kind.DRAW):
            if node.random:
                found += self._node_steps(node, functions, followed)
        for number, term in enumerate(self.terms):
            name, parents = f"cost {number}", tuple(random_names(term.body, self.graph))
            follows = self._follows(followed.follows(term.binders, [term.body]))
            found.append(Cost(name, parents, functions[name], len(term.binders), follows))
        return found

    def _node_steps(self, node: Node, functions: dict[str, Any], followed: Followed) -> list[Step]:
        name, group = node.name, group_of(node.name, self.graph)
        members = group.members if group else (name,)
        if node.kind is Kind.FUNCTION:
            value = functions.get(f"value {name}")
            return [Compute(name, tuple(outside_all(members, self.graph)), value)] if value else []
        samples: Any = dict(self.choices[name].options).get("samples")
        if is_simple(node, self.graph) and group is None:
            law, method = functions[f"law {name}"], self.methods[name]
            parents, plates = tuple(outside(node, self.graph)), element_axes(node, self.graph)
            follows = self._follows(followed.known[name])
            return [Draw(name, parents, law, method, plates, follows, samples, critic_of(node))]
        if name in self.summed:
            return [self._path(node, functions, followed)]
        if f"sample {name}" in functions:
            return [self._block(name, members, samples, functions)]
        return []

    def _path(self, node: Node, functions: dict[str, Any], followed: Followed) -> Path:
        group, support = group_of(node.name, self.graph), support_of(node, self.sizes)
        assert group is not None
        assert support is not None
        return Path(
            node.name,
            tuple(outside(node, self.graph)),
            functions[f"mass {node.name}"],
            tuple(size_of(axis, self.sizes) for axis in node.type.shape),
            support,
            group.axis,
            is_chain(node, self.graph),
            self._follows(followed.known[node.name]),
        )

    def _block(
        self, name: str, members: tuple[str, ...], samples: Any, functions: dict[str, Any]
    ) -> Block:
        plates = int(has_steps(group_of(name, self.graph)))
        scores = []
        for member in members:
            if member in self.choices and weighs_scores(self.choices[member].method):
                own, method = f"score {member}", self.methods[member]
                parents = (*outside(self.graph[member], self.graph), member)
                scores.append(Score(own, parents, functions[own], method, plates))
        parents, sample = tuple(outside_all(members, self.graph)), functions[f"sample {name}"]
        return Block(f"block {name}", parents, sample, members, tuple(scores), samples)

    def _follows(self, follows: Follows) -> Follows:
        """The same by draws and scores; the elements of a recurrence are its steps."""
        found: Follows = {}
        for name, along in follows.items():
            group, drawn = group_of(name, self.graph), self._drawn_name(name)
            places = {a: Upto(p) if isinstance(p, Lagged) else p for a, p in along.items()}
            if drawn != name:
                places = {0: places[group.axis]} if group and group.axis in places else {}
            found[drawn] = places
        return found


ELSEWHERE = frozenset({"samples", "control"})
"""Not the method's own options: how often it is drawn, and what its costs are less."""


def make_method(choice: EstimatorChoice) -> Method:
    options: dict[str, Any] = {
        name: value for name, value in choice.options if name not in ELSEWHERE
    }
    word = options.pop("baseline", "none")
    constant = options.pop("constant", None)
    if constant is not None:
        options["baseline"] = Constant(constant)
    elif word != "none":
        options["baseline"] = BASELINES[word]()
    return METHODS[choice.method](**options)


# ---- compiled for data of given sizes


Values = dict[str, Any]


class Objectives:
    """Every draw is differentiated as its annotation says, or as suits it best."""

    def __init__(self, functions: Functions):
        self.functions = functions
        self._objectives = Recent[ObjectiveProgram]()
        self._compiled = Recent[Callable[..., Any]]()

    def objective(self, data: Mapping[str, Any], order: int = 1) -> ObjectiveProgram:
        """The objective for data of these sizes: its draws with their estimators, and its costs."""
        graph = self.functions.graph
        if not graph.of_kind(Kind.COST):
            raise UsageError(
                f"the model {graph.name!r} has no objective: add `minimize` or `maximize`"
            )
        sizes, externs = self.functions.sizes(data), self.functions.externs
        make = lambda: ObjectiveProgram(graph, dict(sizes), externs, order)  # noqa: E731
        return self._objectives.get((sizes, order), make)

    def surrogate(
        self, key: Any, params: Values, data: Mapping[str, Any], samples: int | None, order: int = 1
    ) -> jax.Array:
        missed = self.objective(data, order).missed_twice
        if missed and order > 1:
            raise UsageError(missed)
        found: jax.Array = self._run("surrogate", key, params, {}, data, samples, order)[0]
        verify_estimates(self.functions.graph, {"the objective": found})
        return found

    def estimate(
        self, key: Any, params: Values, state: Values, data: Mapping[str, Any], samples: int | None
    ) -> tuple[jax.Array, Values, Values]:
        (value, after), gradient = self._run("gradient", key, params, state, data, samples)
        slopes = {f"its derivative by `{name}`": slope for name, slope in gradient.items()}
        verify_estimates(self.functions.graph, {"the objective": value, **slopes})
        return value, gradient, after

    def _run(
        self,
        name: str,
        key: Any,
        params: Values,
        state: Values,
        data: Mapping[str, Any],
        samples: int | None,
        order: int = 1,
    ) -> Any:
        objective = self.objective(data, order)
        place = (name, self.functions.sizes(data), order)
        run = self._compiled.get(place, lambda: _compile(objective, name))
        reader = ValueReader(self.functions.graph, data)
        params, state = reader.parameters(params), as_arrays("state", state)
        refuse_ends(objective.graph, objective.ends, params)
        reader.require(self._inputs, {})
        count = samples if samples is not None else objective.least_samples
        verify_room(count, "samples", entries_of(objective.graph, objective.sizes))
        found = run(key, params, state, reader.arrays, sizes=reader.given_sizes, samples=count)
        return reader.or_outside(found, jax.numpy.nan)

    @cached_property
    def _inputs(self) -> list[str]:
        """What the costs are computed from."""
        graph = self.functions.graph
        above = graph.ancestors([node.name for node in graph.of_kind(Kind.COST)])
        return [node.name for node in graph.of_kind(Kind.INPUT) if node.name in above]


def refused_from_second(params: Mapping[str, Any], missed: Sequence[str]) -> Values:
    """The same values; a derivative by them of second or higher order is an error, or is right.

    `missed` has what those of each order would miss; the last of these holds for all above.
    """
    leaves, tree = jax.tree.flatten(dict(params))

    @jax.custom_jvp
    def same(*leaves: Any) -> Any:
        return leaves

    @same.defjvp
    def once(values: Any, tangents: Any) -> Any:
        factor = 1 + _nothing(missed)(*values)
        return same(*values), tuple(tangent * factor.astype(tangent.dtype) for tangent in tangents)

    kept: Values = jax.tree.unflatten(tree, same(*map(jax.numpy.asarray, leaves)))
    return kept


def _nothing(missed: Sequence[str]) -> Callable[..., Any]:
    """0, whose first derivative is 0, or the error that is the first of these; and so on."""

    @jax.custom_jvp
    def nothing(*leaves: Any) -> Any:
        return jax.numpy.zeros((), leaves[0].dtype)

    @nothing.defjvp
    def slope(values: Any, tangents: Any) -> Any:
        if missed[0]:
            raise UsageError(missed[0])
        further = _nothing(missed[1:] or missed)
        # Linear in the tangents, or it would be no part of what is transposed.
        moved = sum(jax.numpy.sum(tangent) for tangent in tangents)
        return nothing(*values), (moved * further(*values)).astype(values[0].dtype)

    return nothing


def _compile(objective: ObjectiveProgram, name: str) -> Callable[..., Any]:
    """The surrogate, or its value with its gradient; what baselines remember comes along."""

    def estimate(params: Values, key: Any, state: Values, arrays: Any, samples: int) -> Any:
        return tuple(objective.estimate(params, arrays, key, samples, state))

    whole = estimate if name == "surrogate" else jax.value_and_grad(estimate, has_aux=True)

    def run(key: Any, params: Values, state: Values, arrays: Any, samples: int) -> Any:
        return whole(params, key, state, arrays, samples)

    return compiled(run, samples=None)
