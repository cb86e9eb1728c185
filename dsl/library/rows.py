"""The kinds of row in the tables of the library. A row holds every fact that is data.

Code for a fact lives where its mathematics lives (families in inference/, estimators in
estimators/), under the name of the row's NumPyro constructor. A fact that a row does not have is
empty, and `why_not` says why.
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from math import inf
from typing import Any, Literal

from ..record import NOTHING, Record
from .notation import Signature, parse_signature

SINGULAR = frozenset(
    {
        "at 0",
        "up to 0",
        "at -1",
        "up to 1",
        "at 0 or 1",
        "outside -1 to 1",
        "at a right angle",
        "where both are 0",
        "where they are equal",
        "where all are 0",
        "where all are equal",
        "where singular",
        "where the diagonal is 0",
    }
)
"""Where a function may be singular in an argument: what it, or what its entries, may attain."""

STEPWISE = frozenset({"int", "count", "bool", "index", "dim"})
"""The domains of arguments that have no neighbours."""


class LibraryRow(Record):
    """One form of something that can be called, as its signature is written."""

    text: str

    @property
    def name(self) -> str:
        return self.text.partition("(")[0]

    @property
    def signature(self) -> Signature:
        return parse_signature(self.text)


class FunctionRow(LibraryRow):
    """`jax` and `numpy` name its bodies: a path such as `jnp.exp`, or a helper of `bodies`, by
    default the one that has the row's name; without a body for NumPy it is that for JAX, read with
    NumPy. One that was added from outside has callables there.

    `jumps` and `kinks` name the arguments in which the value jumps, or is continuous with a
    derivative that jumps; in all its other real arguments the derivative is continuous. In those
    that `rising` and `falling` name it never falls, or never rises.

    `poles` say of an argument where the value jumps, is infinite or may be; `bends` where it is
    continuous without a derivative. The words are those of `SINGULAR`. An argument that must be
    positive and is in none of them has a pole at 0.
    """

    doc: str
    jax: str | Callable[..., Any] = ""
    numpy: str | Callable[..., Any] | None = ""
    jumps: str = ""
    kinks: str = ""
    rising: str = ""
    falling: str = ""
    poles: Mapping[str, str] = NOTHING
    bends: Mapping[str, str] = NOTHING
    within: tuple[float, float] = (-inf, inf)
    """The ends of its values, where its type does not have them."""
    ascending: tuple[str, ...] = ()
    """Arguments of which the first is below the second; for whole draws and functions not above."""
    lengths: Mapping[str, tuple[float, float]] = NOTHING
    """The least and the greatest size of an axis, or of a dim that is given."""
    divisor: str = ""
    """The argument that is not 0."""
    lenient: bool = False
    """It has a value for arguments in another order, which is a slip only if it is sure."""

    @property
    def hard(self) -> bool:
        """Its derivative misses what moves the mean: no gradient may pass."""
        return bool(self.jumps)

    @property
    def all_poles(self) -> Mapping[str, str]:
        """By argument; what must be positive is not to become 0."""
        positive = (p.name for p in self.signature.params if p.type.domain == "positive")
        unsaid = (name for name in positive if name not in self.bends)
        return {**dict.fromkeys(unsaid, "up to 0"), **self.poles}

    @property
    def body(self) -> str:
        """What a program calls it by."""
        return self.jax if isinstance(self.jax, str) and self.jax else self.name

    def smoothness(self, argument: str) -> str:
        """`smooth`, `kinked` or `jumps`; nothing for an argument that does not move by little."""
        domains = {param.name: param.type.domain for param in self.signature.params}
        if domains[argument] in STEPWISE:
            return ""
        if argument in self.jumps.split():
            return "jumps"
        return "kinked" if argument in self.kinks.split() else "smooth"


class Update(Enum):
    """The best value of one argument of a distribution, all else known: the derivative of the log
    density in it, summed over the data, is

        PROBABILITIES   c_k / p_k                     p = c / sum c
        CHANCE          a / p - b / (1 - p)           p = a / (a + b)
        RATE            s / r - w                     r = s / w
        SPREAD          q / s^3 - w / s               s = sqrt(q / w)
        MEAN            s - w m                       m = s / w

    with sums c, a, b, s, w, q that do not depend on it. All else takes steps of NEWTON's method.
    """

    PROBABILITIES = "counts"
    CHANCE = "counts of successes"
    RATE = "a ratio of sums"
    SPREAD = "a mean square"
    MEAN = "a mean"
    NEWTON = "Newton's method"


class Distribution(LibraryRow):
    """One way of giving the parameters of a distribution.

    Arguments and their domains stand in the signature, and so does the type of a draw; `numpyro` is
    the constructor, as an expression in the names of the arguments.
    """

    numpyro: str
    doc: str
    reparametrised: bool = False
    """A draw is a differentiable function of the arguments and of noise without them."""
    ascending: tuple[str, ...] = ()
    """Arguments of which the first is below the second; for whole draws and functions not above."""
    lengths: Mapping[str, tuple[float, float]] = NOTHING
    """The least and the greatest size of an axis, or of a dim that is given."""
    degrees: str = ""
    """The argument that is above the number of rows of a draw less one."""
    edges: tuple[str, ...] = ()
    """Arguments that move an end of the support: a score leaves out what happens there."""
    kinked: tuple[str, ...] = ()
    """Arguments in which the log density has a kink: a second derivative misses what is there."""
    location_scale: tuple[str, ...] = ()
    """The arguments m and s, where a draw is m + s * noise (s a matrix: chol(s) @ noise)."""
    of_logarithm: bool = False
    """That is the logarithm of a draw, not the draw."""
    symmetric: Literal["", "smooth", "kinked"] = ""
    """The density is the same on both sides of its location, and is or is not smooth."""
    on_the_line: bool = False
    """The density formula holds on the whole line and falls to 0: there is no support to check."""
    cdf: bool = False
    quantile: bool = False
    """Whether NumPyro has the distribution function, and its inverse (which implies it)."""
    tails: str = ""
    """The helper that has log P(X < x), log P(X > x) and the quantile to all digits; see bodies."""
    moments: bool = True
    """Whether NumPyro has the mean and the variance."""
    entropy: bool = False
    """Whether NumPyro has the entropy."""
    masses: bool = False
    """Some values have a probability, beside others that have a density: it must be observed."""
    highest: str = ""
    """The argument that a count never exceeds."""
    measure_split: bool = False
    """The derivative of the density is known as a difference of two densities."""
    relaxed: bool = False
    """A draw is the argmax or the sign of logits with noise."""
    family: str = ""
    """The exponential family in dpc.inference.families."""
    natural: str = ""
    """The argument that is the natural parameter of the family itself: its canonical link."""
    updates: Mapping[str, Update] = NOTHING
    """How an argument is estimated in closed form."""
    prior: Update = Update.NEWTON
    """The update that keeps its form when this is the prior: of its conjugate distributions."""
    closed_divergence: bool = False
    """KL to another distribution of the same name has a closed form."""
    helpers: tuple[str, ...] = ()
    """The names in `numpyro` that are helpers of ours."""
    added: Callable[..., Any] | None = None
    """The constructor of a distribution that was added from outside."""
    log_density: Callable[..., Any] | None = None
    """Its log density in NumPy, of a value and of the arguments by name."""
    absent: Mapping[str, str] = NOTHING
    """Why a fact is not there, where the general reason does not tell."""

    @property
    def discrete(self) -> bool:
        return self.signature.result.domain in {"bool", "int", "count", "index"}

    @property
    def finite(self) -> bool:
        """Whether its values can be listed from its type alone."""
        result = self.signature.result
        return result.domain == "bool" or (result.domain == "index" and len(result.axes) == 1)

    @property
    def coin(self) -> bool:
        return self.signature.result.domain == "bool"

    @property
    def single(self) -> bool:
        """Whether a draw is one number."""
        return not self.signature.result.axes or self.signature.result.domain == "index"

    @property
    def can_be_truncated(self) -> bool:
        """Whether it can be cut to a range, and its quantile differentiated where it is smooth."""
        return self.single and (self.quantile or bool(self.tails))

    def has(self, fact: str) -> bool:
        value = getattr(self, fact)
        return value is not Update.NEWTON and bool(value)


PRECISE = frozenset(
    [
        "StudentT",
        "MultivariateStudentT",
        "VonMises",
        "TruncatedNormal",
        "TruncatedCauchy",
        "Beta",
        "BetaProportion",
        "Gamma",
        "Chi2",
        "InverseGamma",
        "Weibull",
        "Pareto",
        "OrderedLogistic",
        "Poisson",
        "Binomial",
        "Geometric",
        "GammaPoisson",
        "NegativeBinomial2",
        "BetaBinomial",
        "ZeroInflatedDistribution",
        "ZeroInflatedPoisson",
        "ZeroInflatedNegativeBinomial2",
    ]
)
"""Constructors that bodies/densities.py has, too: its log densities keep more digits."""


def distribution(text: str, numpyro: str, doc: str, facts: str = "", **more: Any) -> Distribution:
    """A row whose plain facts are given as words: `"reparametrised quantile"`."""
    plain: Any = dict.fromkeys(facts.split(), True)
    own = tuple(name for name in re.findall(r"\w+(?=\()", numpyro) if name in PRECISE)
    return Distribution(text, numpyro, doc, helpers=own, **plain, **more)


REASONS: dict[str, str] = {
    "reparametrised": "its draws are whole numbers",
    "lengths": "its draws may have any size",
    "ascending": "no two of its arguments have to be in order",
    "degrees": "its draws are no matrices with degrees of freedom",
    "edges": "its support does not move",
    "kinked": "its log density is smooth in all arguments",
    "location_scale": "no two arguments shift and scale its draws",
    "of_logarithm": "nothing is said of its logarithm",
    "symmetric": "its density is not the same on both sides of an argument",
    "on_the_line": "its density has a support to check, or no limit at both ends",
    "cdf": "NumPyro has no distribution function of it",
    "quantile": "NumPyro has no quantile of it, or one that needs another package",
    "tails": "no better formulas are written, or they are not needed",
    "moments": "it has no mean or no variance, or NumPyro has no formula for them",
    "entropy": "NumPyro has no formula for its entropy",
    "highest": "it is not a count up to an argument",
    "measure_split": "no pair of densities is known whose difference is its derivative",
    "relaxed": "it is not the argmax of logits with noise",
    "family": "its log density is no finite sum of parameters times statistics, or is not listed",
    "natural": "none of its arguments is a natural parameter alone",
    "updates": "none of its arguments has a closed form when all else is known",
    "prior": "it is not the conjugate prior of a listed update",
    "closed_divergence": "no closed form of its divergence is listed",
    "coin": "its values are not true and false",
    "finite": "its values cannot be listed from its type",
}
"""Every fact that may be missing, and the general reason."""


def why_not(row: Distribution, fact: str) -> str:
    """Why a row does not have a fact; empty where it has it."""
    return "" if row.has(fact) else row.absent.get(fact) or REASONS[fact]
