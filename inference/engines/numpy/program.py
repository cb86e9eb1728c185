"""A plan made ready to run, in real numbers or any semiring: index strings, kept with it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from math import log
from string import ascii_letters
from typing import NamedTuple

from ...errors import MemoryLimitError
from ...factors.semirings import Array, Namespace, Semiring
from ...planning.orders import Mask, bits
from ...planning.plan import ALONE, ContractionTree, Plan
from .kernels import LARGE, Kernel, choose_kernel


class Product(NamedTuple):
    """values[out] = values[left] * values[right] summed over exp(log_terms) terms; on the way down
    gradient[out] = gradient[left] * values[right], or gradient[left] where right is ALONE.
    """

    left: int
    right: int
    out: int
    expression: str
    kernel: Kernel | None
    log_terms: float


class PlanProgram(NamedTuple):
    """`letters` per variable, those never summed are `kept`; `subscripts` per node; products."""

    letters: list[str]
    kept: str
    subscripts: list[str]
    products: list[Product]


class Descent(NamedTuple):
    """Moves from the roots down; `varies` are the axes along which gradients are not constant."""

    moves: list[Product]
    varies: list[str]


def program_of(plan: Plan) -> PlanProgram:
    program: PlanProgram | None = plan.cache.get("program")
    if program is None:
        program = plan.cache["program"] = compile_program(plan)
    return program


def compile_program(plan: Plan) -> PlanProgram:
    tree = plan.tree
    taken = [0] * len(plan.names)
    kept = plan.kept
    take_letters(taken, kept, 0)
    for step in reversed(plan.tree.steps):
        gone = plan.tree.union(step) & ~step.scope
        if gone:
            take_letters(taken, gone, step.scope | kept)
    letters = [ascii_letters[letter] for letter in taken]
    rank = {name: i for i, name in enumerate(plan.names)}
    subscripts = ["".join([letters[rank[name]] for name in scope]) for scope in plan.scopes]
    products = []
    out = tree.leaf_count
    for step, work in zip(tree.steps, tree.work, strict=True):
        left = subscripts[step.left]
        right = subscripts[step.right] if step.right != ALONE else ""
        result = "".join([letters[v] for v in bits(step.scope)])
        kernel = None
        if work >= LARGE and right:
            sizes = letter_sizes(plan, letters, tree.union(step))
            kernel = choose_kernel(left, right, result, sizes)
            result = kernel.subscripts if kernel else result
        subscripts.append(result)
        expression = f"{left},{right}->{result}" if step.right != ALONE else f"{left}->{result}"
        terms = log(work // tree.entries[out])
        products.append(Product(step.left, step.right, out, expression, kernel, terms))
        out += 1
    never_summed = "".join([letters[v] for v in bits(plan.kept)])
    return PlanProgram(letters, never_summed, subscripts, products)


def letter_sizes(plan: Plan, letters: list[str], scope: Mask) -> Mapping[str, int]:
    return {letters[v]: plan.sizes[v] for v in bits(scope)}


def take_letters(taken: list[int], new: Mask, present: Mask) -> None:
    """The lowest letters that nobody present has, for the new ones."""
    used = 0
    for v in bits(present):
        used |= 1 << taken[v]
    for v in bits(new):
        free = ~used & (used + 1)
        used |= free
        taken[v] = free.bit_length() - 1
    if used >> len(ascii_letters):
        raise MemoryLimitError(
            "a clique has more than 52 variables of two states or more; use an approximate method"
        )


def smallest_holders(tree: ContractionTree, ranks: Mask) -> dict[int, int]:
    """For each variable the node with the fewest entries that holds it."""
    holders = {}
    entries = tree.entries
    for node in sorted(range(len(entries)), key=entries.__getitem__):
        found = tree.scopes[node] & ranks
        if found:
            ranks &= ~found
            for v in bits(found):
                holders[v] = node
            if not ranks:
                break
    return holders


def descent_of(plan: Plan, wanted: Iterable[int]) -> Descent:
    nodes = frozenset(wanted)
    descent: Descent | None = plan.cache.get(nodes)
    if descent is None:
        descent = plan.cache[nodes] = compile_descent(plan, program_of(plan), nodes)
    return descent


def compile_descent(plan: Plan, program: PlanProgram, wanted: Iterable[int]) -> Descent:
    """The gradient of the root in a node is its parent's gradient times its sibling's value."""
    tree = plan.tree
    needed = set(wanted)
    for product in program.products:
        if product.left in needed or product.right in needed:
            needed.add(product.out)
    varies = [""] * len(tree.scopes)
    moves = []
    for product in reversed(program.products):
        if product.out not in needed:
            continue
        if product.right == ALONE:
            varies[product.left] = varies[product.out]
            moves.append(Product(product.out, ALONE, product.left, "", None, 0.0))
            continue
        for node, other in ((product.left, product.right), (product.right, product.left)):
            if node in needed:
                moves.append(compile_move(plan, program, varies, product, node, other))
    return Descent(moves, varies)


def compile_move(
    plan: Plan, program: PlanProgram, varies: list[str], product: Product, node: int, other: int
) -> Product:
    """A gradient has the axes of its node along which it varies, and those that are kept."""
    tree = plan.tree
    above, beside, here = varies[product.out], program.subscripts[other], program.subscripts[node]
    carried = [x for x in program.kept if (x in above or x in beside) and x not in here]
    out = "".join([x for x in here if x in above or x in beside] + carried)
    work = tree.work[product.out - tree.leaf_count]
    kernel = None
    if work >= LARGE or carried:
        scope = tree.scopes[node] | tree.scopes[other] | plan.kept
        sizes = letter_sizes(plan, program.letters, scope)
        kernel = choose_kernel(above, beside, out, sizes)
        out = kernel.subscripts if kernel else out
    varies[node] = out
    expression, terms = f"{above},{beside}->{out}", log(work // tree.entries[node])
    return Product(product.out, other, node, expression, kernel, terms)


class Alignment(NamedTuple):
    """For each operand the transpose into output order and its axes; which axes are summed."""

    orders: tuple[tuple[int, ...], ...]
    places: tuple[tuple[int, ...], ...]
    rank: int
    gone: tuple[int, ...]


@lru_cache(maxsize=1 << 14)
def alignment_of(expression: str, event: int) -> Alignment:
    inputs, out = expression.split("->")
    terms = inputs.split(",")
    axes = out + "".join([x for x in dict.fromkeys("".join(terms)) if x not in out])
    orders = [[term.index(x) for x in axes if x in term] for term in terms]
    events = [list(range(len(term), len(term) + event)) for term in terms]
    places = [tuple([i for i, x in enumerate(axes) if x in term]) for term in terms]
    whole = tuple([tuple(order + tail) for order, tail in zip(orders, events, strict=True)])
    return Alignment(whole, tuple(places), len(axes), tuple(range(len(out), len(axes))))


def contract(semiring: Semiring, expression: str, inputs: Sequence[Array], xp: Namespace) -> Array:
    """einsum in a semiring: `ab,bc->ac` adds over b the products of the inputs."""
    aligned = alignment_of(expression, semiring.event)
    product = None
    for operand, order, places in zip(inputs, aligned.orders, aligned.places, strict=True):
        shape = [1] * aligned.rank
        turned = operand.transpose(order)
        for place, size in zip(places, turned.shape, strict=False):
            shape[place] = size
        wide = turned.reshape((*shape, *turned.shape[len(places) :]))
        product = wide if product is None else semiring.mul(product, wide, xp)
    return semiring.reduce(product, aligned.gone, xp) if aligned.gone else product


def run_upward(
    plan: Plan, leaves: Sequence[Array], semiring_of: Callable[[Product], Semiring], xp: Namespace
) -> list[Array]:
    """The value of every node, each product in the semiring chosen for it."""
    values = list(leaves)
    for product in program_of(plan).products:
        if product.right == ALONE:
            inputs = [values[product.left]]
        else:
            inputs = [values[product.left], values[product.right]]
        values.append(contract(semiring_of(product), product.expression, inputs, xp))
    return values


def total_of(plan: Plan, values: Sequence[Array], semiring: Semiring, xp: Namespace) -> Array:
    """The product of the roots: the answer when nothing is kept."""
    roots = [values[root] for root in plan.tree.roots]
    return reduce(lambda a, b: semiring.mul(a, b, xp), roots) if roots else xp.asarray(semiring.one)
