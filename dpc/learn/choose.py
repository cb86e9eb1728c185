"""Which method suits a likelihood, and why: counts where they are all, else exact derivatives."""

from dpc.dsl.graph.graph import Kind
from dpc.dsl.library.rows import Update
from dpc.dsl.record import Record
from dpc.inference.errors import MemoryLimitError

from ..data.errors import problem
from .counts import table_uses
from .fields import FIELD_LOSSES
from .likelihood import Likelihood
from .natural import SPARSE_LOSSES, why_not_natural, why_not_sparse
from .options import FitOptions, NotApplicable
from .sweep import find_updates

FEW = 60
"""Parameters up to which the exact Hessian pays."""

METHODS = ("auto", "counts", "closed form", "em", "newton", "lbfgs", "natural", "stochastic")
LOSSES = ("likelihood", *FIELD_LOSSES, *SPARSE_LOSSES)


class MethodChoice(Record):
    """`loss` is one of LOSSES."""

    method: str
    why: str
    loss: str = "likelihood"


def choose(likelihood: Likelihood, options: FitOptions) -> MethodChoice:
    """The method that suits, or the one that was asked for if it can be used."""
    verify_draws(likelihood)
    own_loss = options.loss != "likelihood"
    if options.method == "auto":
        return choose_for_loss(options.loss, likelihood) if own_loss else choose_method(likelihood)
    verify_method(options.method, likelihood)
    loss = choose_for_loss(options.loss, likelihood).loss if own_loss else "likelihood"
    return MethodChoice(options.method, "as asked", loss)


def verify_draws(likelihood: Likelihood) -> None:
    if not likelihood.cases.given:
        draws = ", ".join(f"`{node.name}`" for node in likelihood.roles.graph.of_kind(Kind.DRAW))
        message = "the data have no value of any draw, so there is nothing to learn from"
        raise problem("", message, f"the model draws {draws or 'nothing'}")


def choose_method(likelihood: Likelihood) -> MethodChoice:
    roles = likelihood.roles
    if likelihood.is_complete and table_uses(roles):
        why = "the data are complete and all that is unknown are tables: relative frequencies"
        return MethodChoice("counts", why)
    if _all_closed(likelihood):
        why = "the data are complete and every unknown is a mean of something"
        return MethodChoice("closed form", why)
    count = likelihood.count
    few = numbers(count)
    if likelihood.is_complete and roles.is_normalised:
        if count <= FEW:
            return choose_newton(count)
        return MethodChoice("lbfgs", f"the data are complete and {few} are unknown")
    if roles.integrated:
        hidden = ", ".join(f"`{node.name}`" for node in roles.integrated[:3])
        why = f"{hidden} integrated out exactly: all laws are normal and all means affine"
        return MethodChoice("lbfgs", why)
    if roles.is_normalised:
        hidden = ", ".join(f"`{node.name}`" for node in roles.summed[:3]) or "missing entries"
        verb = "is" if len(roles.summed) == 1 else "are"
        why = f"{hidden} {verb} hidden: exact expectations, then L-BFGS on the likelihood itself"
        return MethodChoice("em", why)
    return _choose_for_field(likelihood, few)


def numbers(count: int) -> str:
    return f"{count} numbers" if count != 1 else "one number"


def choose_newton(count: int) -> MethodChoice:
    verb = "are" if count != 1 else "is"
    why = f"the data are complete and {numbers(count)} {verb} unknown: exact Hessian"
    return MethodChoice("newton", why)


def _choose_for_field(likelihood: Likelihood, few: str) -> MethodChoice:
    """Gradients alone: the Hessian of a log-partition takes longer to compile than it saves."""
    try:
        likelihood.verify_exact()
    except MemoryLimitError as error:
        if not likelihood.is_complete:
            raise
        why = (
            f"exact inference is too wide ({str(error).partition(':')[0]}): the "
            "pseudo-likelihood, which is consistent"
        )
        return MethodChoice("lbfgs", why, "pseudo")
    return MethodChoice("lbfgs", f"a random field with {few} unknown: exact log-partition")


def choose_for_loss(loss: str, likelihood: Likelihood) -> MethodChoice:
    """The method for a loss that was asked for."""
    if loss in SPARSE_LOSSES:
        if reason := why_not_sparse(likelihood):
            raise NotApplicable(f"the loss {loss!r} cannot be used: {reason}")
        return MethodChoice("lbfgs", SPARSE_LOSSES[loss][1], loss)
    if loss not in FIELD_LOSSES:
        raise NotApplicable(f"there is no loss {loss!r}: it is one of {', '.join(LOSSES)}")
    if likelihood.roles.is_normalised:
        raise NotApplicable(
            f"the loss {loss!r} is for random fields, and no factor speaks about this model's draws"
        )
    if not likelihood.is_complete:
        hidden = [*(node.name for node in likelihood.roles.summed), *sorted(likelihood.open)]
        raise NotApplicable(
            f"the loss {loss!r} needs complete data, and `{hidden[0]}` is hidden or has missing "
            "entries"
        )
    found = FIELD_LOSSES[loss]
    return MethodChoice("stochastic" if found.draws else "lbfgs", found.about, loss)


def _all_closed(likelihood: Likelihood) -> bool:
    if not (likelihood.is_complete and likelihood.roles.is_normalised):
        return False
    return Update.NEWTON not in find_updates(likelihood.roles).values()


def verify_method(method: str, likelihood: Likelihood) -> None:
    """Raises NotApplicable unless the method can find the maximum."""
    roles = likelihood.roles
    if method not in METHODS:
        raise NotApplicable(f"there is no method {method!r}: it is one of {', '.join(METHODS)}")
    if method == "counts" and not (likelihood.is_complete and table_uses(roles)):
        raise NotApplicable("`counts` needs complete data and tables as the only unknowns")
    if method == "closed form" and not _all_closed(likelihood):
        raise NotApplicable(
            "`closed form` needs complete data, a directed model and unknowns that enter laws "
            "directly"
        )
    if method == "natural" and (reason := why_not_natural(likelihood)):
        raise NotApplicable(reason)
    if method == "em" and roles.integrated:
        raise NotApplicable(
            "`em` sums over finite variables, and those hidden here are integrated out: use lbfgs"
        )
    if method == "em" and likelihood.is_complete:
        raise NotApplicable(
            "`em` is for hidden variables, and the data are complete: use newton or lbfgs"
        )
