"""The k best configurations: sorted lists of k scores upwards, ranks looked up again downwards.

best_k(x) of a product is the k largest of left_i + right_j over the variables that go and the ranks
i, j. Going down, a configuration carries its rank at each node; the term at that rank, in a stable
order, gives the states and the ranks of the two inputs. Equal scores get different terms, so no
configuration comes twice.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...factors.factor_graph import Floats, Name
from ...factors.semirings import k_best
from ...planning.contraction import ALONE
from ...planning.plan import Plan
from .decode import States, axis_index, gone_ranks, node_ranks
from .generic import run_upward
from .program import Product, program_of


def best_configurations(
    plan: Plan, log_leaves: Sequence[Floats], k: int
) -> tuple[dict[Name, NDArray[np.intp]], Floats]:
    """States (k or fewer rows, best first) and their scores, without the impossible."""
    semiring = k_best(k)
    values = run_upward(
        plan, [semiring.lift(leaf, np) for leaf in log_leaves], lambda product: semiring, np
    )
    scores, ranks = join_roots(plan, values, k)
    states: States = {}
    for product in reversed(program_of(plan).products):
        descend(plan, values, product, states, ranks, len(scores))
    return {plan.names[v]: s for v, s in states.items()}, scores


def join_roots(
    plan: Plan, values: Sequence[Floats], k: int
) -> tuple[Floats, dict[int, NDArray[np.intp]]]:
    """The k best sums of one score from each root, and the rank of each root in them."""
    scores = np.zeros(1)
    ranks: dict[int, NDArray[np.intp]] = {}
    for root in plan.tree.roots:
        sums = scores[:, None] + values[root][None, :]
        order = np.argsort(-sums, axis=None, kind="stable")[:k]
        before, here = np.unravel_index(order, sums.shape)
        scores = sums[before, here]
        ranks = {node: r[before] for node, r in ranks.items()} | {root: here}
    alive = scores > -np.inf
    return scores[alive], {node: r[alive] for node, r in ranks.items()}


def descend(
    plan: Plan,
    values: Sequence[Floats],
    product: Product,
    states: States,
    ranks: dict[int, NDArray[np.intp]],
    count: int,
) -> None:
    gone = gone_ranks(plan, product)
    sizes = [plan.sizes[v] for v in gone]
    left = gather_lists(plan, values, product.left, states, gone)[..., :, None]
    right = np.zeros(1)
    if product.right != ALONE:
        right = gather_lists(plan, values, product.right, states, gone)[..., None, :]
    terms = left + right
    terms = np.broadcast_to(terms, (count, *sizes, *terms.shape[-2:]))
    order = np.argsort(-terms.reshape(count, -1), axis=-1, kind="stable")
    picked = np.take_along_axis(order, ranks.pop(product.out)[:, None], axis=-1)[:, 0]
    *chosen, left_rank, right_rank = np.unravel_index(picked, terms.shape[1:])
    states.update(zip(gone, chosen, strict=True))
    ranks[product.left] = left_rank
    if product.right != ALONE:
        ranks[product.right] = right_rank


def gather_lists(
    plan: Plan, values: Sequence[Floats], node: int, states: States, gone: tuple[int, ...]
) -> Floats:
    """The sorted lists of a node at the chosen states: rows, gone variables, rank."""
    index = [axis_index(plan, v, states, gone) for v in node_ranks(plan, node)]
    found = values[node][tuple(index)] if index else values[node]
    return found.reshape((1,) * (2 + len(gone) - found.ndim) + found.shape)
