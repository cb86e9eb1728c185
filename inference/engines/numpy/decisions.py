"""Questions answered by configurations: mode, marginal mode, the k best, exact samples."""

from collections.abc import Callable, Collection, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InferenceError
from ...factors import factor_graph
from ...factors.factor_graph import Array, FactorGraph, Floats, Given, Name
from ...factors.semirings import LOG, MAX_PLUS, choose_at_random, choose_first, k_best, ranked_pairs
from ...planning.orders import bits, mask_of
from ...planning.plan import ALONE, Memory, Plan, plan_contraction, verify_memory
from .passes import BoundGraph, bind, collect
from .program import Product, program_of, run_upward, total_of
from .sums import ready_plan

Ints = NDArray[np.intp]
States = dict[int, Ints]
Choose = Callable[[Floats], Ints]


# ---- From the roots down, a choice at each product: the mode, samples, the k best
#
# Given states of what a product keeps, the terms it added are left[...] * right[...] at those
# states: they are looked up again and one is chosen, which is cheaper than storing back-pointers
# on the way up, as only the chosen states are visited. For the k best, best_k(x) of a product is
# the k largest of left_i + right_j over the variables that go and the ranks i, j. Going down, a
# configuration carries its rank at each node; the term at that rank, in a stable order, gives the
# states and the ranks of the two inputs. Equal scores get different terms, so no configuration
# comes twice.


def decode(
    plan: Plan,
    values: Sequence[Floats],
    count: int,
    choose: Choose,
    chooses: Callable[[Product], bool],
) -> dict[Name, Ints]:
    """`count` configurations; `choose` picks a term of a row, at products where it `chooses`."""
    states: States = {}
    for product in reversed(program_of(plan).products):
        gone = gone_ranks(plan, product)
        if gone and chooses(product):
            terms = gather(plan, values, product.left, states, gone)
            if product.right != ALONE:
                terms = terms + gather(plan, values, product.right, states, gone)
            shape = tuple([plan.sizes[v] for v in gone])
            picked = choose(np.broadcast_to(terms, (count, *shape)).reshape(count, -1))
            states.update(zip(gone, np.unravel_index(picked, shape), strict=True))
    return {plan.names[v]: s for v, s in states.items()}


def gone_ranks(plan: Plan, product: Product) -> tuple[int, ...]:
    step = plan.tree.steps[product.out - plan.tree.leaf_count]
    return bits(plan.tree.union(step) & ~step.scope)


def gather(
    plan: Plan,
    values: Sequence[Floats],
    node: int,
    states: States,
    gone: tuple[int, ...],
    event: int = 0,
) -> Floats:
    """A node at the chosen states: [rows, gone variables (one where it lacks them), k best]."""
    program = program_of(plan)
    letter_of = {program.letters[v]: v for v in bits(plan.tree.scopes[node])}
    index: list[Ints] = []
    for v in [letter_of[x] for x in program.subscripts[node]]:
        if v in gone:  # all along its own axis, else at its state in each row
            after = (1,) * (len(gone) - gone.index(v) - 1)
            index.append(np.arange(plan.sizes[v]).reshape((-1, *after)))
        else:
            index.append(states[v].reshape((-1, *(1,) * len(gone))))
    found = values[node][tuple(index)] if index else values[node]
    return found.reshape((1,) * (1 + event + len(gone) - found.ndim) + found.shape)


def best_configurations(
    plan: Plan, log_leaves: Sequence[Floats], k: int
) -> tuple[dict[Name, Ints], Floats]:
    """States (k or fewer rows, best first) and their scores, without the impossible."""
    semiring = k_best(k)
    leaves = [semiring.lift(leaf, np) for leaf in log_leaves]
    values = run_upward(plan, leaves, lambda product: semiring, np)
    pairs = ranked_pairs(k)
    scores, ranks = join_roots(plan, values, pairs)
    if not len(scores):
        return {}, scores
    states: States = {}
    for product in reversed(program_of(plan).products):
        gone = gone_ranks(plan, product)
        # Configurations with the same states of what is kept choose from the same terms.
        kept = bits(plan.tree.scopes[product.out])
        places, place_of = distinct_places(states, kept, len(scores))
        terms = gather(plan, values, product.left, places, gone, event=1)
        pair_ranks = (np.arange(k), np.zeros(k, np.intp))
        if product.right != ALONE:
            pair_ranks = pairs
            right = gather(plan, values, product.right, places, gone, event=1)
            terms = terms[..., pairs[0]] + right[..., pairs[1]]
        shape = *[plan.sizes[v] for v in gone], len(pair_ranks[0])
        terms = np.broadcast_to(terms, (place_of.max() + 1, *shape)).reshape(-1, prod(shape))
        order = np.argsort(-terms, axis=-1, kind="stable")[:, :k]
        picked = order[place_of, ranks.pop(product.out)]
        *chosen, pair = np.unravel_index(picked, shape)
        states.update(zip(gone, chosen, strict=True))
        ranks[product.left] = pair_ranks[0][pair]
        if product.right != ALONE:
            ranks[product.right] = pair_ranks[1][pair]
    return {plan.names[v]: s for v, s in states.items()}, scores


def distinct_places(states: States, variables: Sequence[int], count: int) -> tuple[States, Ints]:
    """The different rows of states of these variables, and which of them each row is."""
    if not variables:
        return {}, np.zeros(count, np.intp)
    rows = np.stack([states[v] for v in variables], axis=-1)
    places, place_of = np.unique(rows, axis=0, return_inverse=True)
    return dict(zip(variables, places.T, strict=True)), place_of.reshape(-1)


def join_roots(
    plan: Plan, values: Sequence[Floats], pairs: tuple[Ints, Ints]
) -> tuple[Floats, dict[int, Ints]]:
    """The k best sums of one score from each root, and the rank of each root in them."""
    scores = np.zeros(1)
    ranks: dict[int, Ints] = {}
    for root in plan.tree.roots:
        known = pairs[0] < len(scores)
        first, second = pairs[0][known], pairs[1][known]
        sums = scores[first] + values[root][second]
        order = np.argsort(-sums, kind="stable")[: len(values[root])]
        before, here = first[order], second[order]
        scores = sums[order]
        ranks = {node: r[before] for node, r in ranks.items()} | {root: here}
    alive = scores > -np.inf
    return scores[alive], {node: r[alive] for node, r in ranks.items()}


class Configuration(NamedTuple):
    """A state for each variable, and the sum of log-potentials there, not normalised."""

    states: dict[Name, int]
    log_score: float


def infer_mode(
    graph: FactorGraph, given: Given = None, *, plan: Plan | None = None, memory: Memory = None
) -> Configuration:
    """argmax_x prod_i f_i(x): one configuration, ties broken towards first states (GM04, GM25)."""
    bound = bind(graph, given)
    plan = ready_plan(bound, plan, memory)
    states, score = maximised(plan, bound, lambda product: True)
    return Configuration(bound.completed(states), score)


def maximised(
    plan: Plan, bound: BoundGraph, maximises: Callable[[Product], bool]
) -> tuple[dict[Name, int], float]:
    """The best states and their log-score; products that do not maximise are summed."""
    leaves = bound.log_leaves()
    values = run_upward(plan, leaves, lambda p: MAX_PLUS if maximises(p) else LOG, np)
    score = float(total_of(plan, values, MAX_PLUS, np))
    if score == -np.inf:
        raise factor_graph.impossible(bound.evidence)
    found = decode(plan, values, 1, lambda terms: choose_first(terms, None), maximises)
    return {v: int(s[0]) for v, s in found.items()}, score


def infer_marginal_mode(
    graph: FactorGraph, variables: Collection[Name], given: Given = None, *, memory: Memory = None
) -> Configuration:
    """argmax_m sum_s f(m, s): the best states of the named variables, all others summed first."""
    factor_graph.verify_known(graph.sizes, variables)
    bound = bind(graph, given, variables)
    asked = [v for v in variables if v not in bound.fixed]
    plan = plan_contraction(graph.sizes, bound.scopes, last=asked)
    advice = "Maximise over fewer variables, give more evidence, or raise the memory limit."
    verify_memory(plan, memory, advice)
    late = mask_of([i for i, name in enumerate(plan.names) if name in set(asked)])

    def maximises(product: Product) -> bool:
        return any(late >> v & 1 for v in gone_ranks(plan, product))

    states, score = maximised(plan, bound, maximises)
    return Configuration(
        {v: states[v] if v in states else bound.fixed[v] for v in variables}, score
    )


def count_configurations(graph: FactorGraph, given: Given = None) -> int:
    """Of all variables that are not observed, possible or not."""
    known = factor_graph.check_evidence(graph.sizes, given).hard
    return prod(size for name, size in graph.sizes.items() if name not in known)


def infer_kbest(
    graph: FactorGraph,
    k: int,
    given: Given = None,
    *,
    plan: Plan | None = None,
    memory: Memory = None,
) -> list[Configuration]:
    """The k most probable configurations, best first; fewer where fewer are possible."""
    bound = bind(graph, given)
    if k < 1:
        raise InferenceError(f"the {k} best configurations were asked for; ask for one or more")
    k = min(k, count_configurations(graph, given))
    plan = ready_plan(bound, plan, memory, k=k)
    states, scores = best_configurations(plan, bound.log_leaves(), k)
    if not len(scores):
        raise factor_graph.impossible(bound.evidence)
    found = []
    for i, score in enumerate(scores):
        row = {v: int(s[i]) for v, s in states.items()}
        found.append(Configuration(bound.completed(row), float(score)))
    return found


def infer_samples(
    graph: FactorGraph,
    count: int,
    given: Given = None,
    *,
    seed: int | np.random.Generator = 0,
    plan: Plan | None = None,
    memory: Memory = None,
) -> dict[Name, Ints]:
    """Exact joint samples of P(x | given): `count` states of each variable."""
    bound = bind(graph, given)
    plan = ready_plan(bound, plan, memory)
    upward = collect(plan, bound)
    generator = np.random.default_rng(seed)

    def choose(terms: Floats) -> Array:
        return choose_at_random(terms, generator.random(count))

    with np.errstate(divide="ignore"):
        values = upward.values if upward.logs else [np.log(v) for v in upward.values]
    found = decode(plan, values, count, choose, lambda product: True)
    return bound.with_fixed(found, count)
