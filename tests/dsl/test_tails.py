"""What lies in a range far out: log P(low < x < high) and its derivatives in every argument.

The truths are those of mpmath with 60 digits, the derivatives its central differences.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_facts import WORDS

from dpc.dsl.library.bodies.source import resolve
from dpc.dsl.library.bodies.truncated import Truncated
from dpc.dsl.library.constructor import constructor, evaluate
from dpc.dsl.library.distributions import DISTRIBUTIONS, distributions_by_name

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "each program runs once"

TRUTHS = """
Normal(0.5, 1) | 40 | inf | -784.72087910432 39.525284107408 1561.2487222426
Normal(0.5, 1) | 3000 | inf | -4498509.0501395 2999.5003333888 8997001.2499998
Normal(0.5, 1) | 100000 | inf | -4999950012.5569 99999.50001 9999900001.25
Normal(0.5, 1) | 300 | 300.01 | -44856.797391557 299.50281215418 89700.934493866
Normal(0.5, 2) | -inf | -90 | -1028.5128789941 -22.636038956966 1024.2807628027
StudentT(10, 0.5, 1) | 40 | inf | -27.374554164249 -2.0785894331755 0.25168654273268 9.9416184379409
StudentT(10, 0.5, 1) | 100 | inf | -36.588468079351 -2.9973376179556 0.10040954981146 9.9907502062403
StudentT(5, 0.5, 1) | 300 | inf | -26.26043529418 -4.4876322341889 0.016693693228765 4.9997611220152
StudentT(7, 0.5, 1) | -inf | -4000 | -53.176027490207 -6.8875965944175 -0.0017497805970402 6.9999972784594
StudentT(3, 0, 1) | 1000000 | inf | -41.348808234852 -12.906390566406 2.9999999999928e-6 2.9999999999928
StudentT(5, 0, 1) | 1000000 | inf | -66.827296554019 -12.600977754525 4.9999999999786e-6 4.9999999999786
StudentT(2.5, 0.5, 2) | 200 | 300 | -12.286032238394 -3.5766227512857 0.01490378991297 1.2496786442184
StudentT(200, 0.5, 2) | 1000 | inf | -716.63885696989 -3.0682413599626 0.1999407306302 99.920380132442
StudentT(0.3, 0.5, 2) | 1e100 | inf | -69.920858283196 -230.17535991246 0.0 0.15
Cauchy(0.5, 2) | 1e9 | inf | -21.174848541736 1.0000000005e-9 0.5
Cauchy(0.5, 2) | -1e9 | -1e8 | -18.9776239704 -1.09999999495e-8 0.5
Laplace(0.5, 1) | 800 | inf | -800.19314718056 1.0 799.5
Laplace(0.5, 2) | -inf | -3000 | -1500.9431471806 -0.5 750.125
AsymmetricLaplace(0.5, 1, 1.5) | 800 | 900 | -1200.4286549963 1.5 1199.25 -800.42307692308
AsymmetricLaplace(0.5, 1, 1.5) | -inf | -2000 | -1334.0343914468 -0.66666666666667 1333.6666666667 889.52136752137
Logistic(0.5, 1) | 800 | inf | -799.5 1.0 799.5
Logistic(0.5, 2) | -4001 | -4000 | -2001.1827521296 -0.5 999.73962647937
Gumbel(0.5, 1) | -inf | -10 | -36315.502674247 -36315.502674247 381312.77807959
Gumbel(0.5, 1) | 900 | inf | -899.5 1.0 899.5
Levy(0, 2) | -inf | 0.0001 | -10005.177585123 -100004999.50012 -5000.2499750062
Levy(0, 2) | 1e12 | inf | -13.694728320329 4.9999999999967e-13 0.24999999999983
LogUniform(0.5, 5) | 4.9999999 | inf | -18.561565995836 0.8685889638065 9999999.785098
Uniform(0.5, 5) | 4.9999999 | inf | -17.62217304493 0.22222222222222 9999999.7497346
Beta(2, 200) | 0.95 | inf | -593.89418128275 4.8319746264065 -2.9907584515645
Beta(2, 200) | 0.99 | 0.999 | -915.74073237289 4.873005990415 -4.6001953116162
Beta(30, 4) | -inf | 1e-100 | -6899.1508077826 -230.16469820459 2.2554648924062
Beta(0.3, 0.2) | -inf | 1e-9 | -7.0605038208975 -22.517584973628 3.32552987034
Kumaraswamy(2, 200) | 0.999 | inf | -1243.0216446928 99.899983333337 -6.2151082234639
Kumaraswamy(3, 2) | -inf | 1e-150 | -1035.4701446668 -345.38776394911 0.5
RelaxedBernoulli(0.3, 0.7) | 0.999999 | inf | -10.518181591624 4.7617759984915 -13.81513598218
HalfNormal(2) | 100 | inf | -1254.1382139589 1250.4996007976
HalfNormal(2) | -inf | 1e-9 | -21.642204370151 -0.5
HalfCauchy(2) | 1e9 | inf | -20.481701361676 0.5
HalfStudentT(5, 2) | 1e5 | inf | -51.155488009964 -9.6052454827829 2.4999999957143
HalfStudentT(5, 2) | -inf | 1e-9 | -21.691885426001 0.009813847226612 -0.5
LogNormal(0.1, 0.5) | 1e20 | inf | -4228.5576025988 183.82856426914 16894.470757251
LogNormal(0.1, 0.5) | -inf | 1e-20 | -4265.403306015 -184.62847002949 17041.836207294
Exponential(1) | 800 | inf | -800.0 -800.0
Exponential(2) | 10000 | 10001 | -20000.145413458 -9999.8434823573
Exponential(2) | -inf | 1e-20 | -45.358554679321 0.5
Gamma(2, 1) | 2000 | inf | -1992.3985976654 7.1786181243188 -1999.0004997501
Gamma(0.1, 1) | 3000 | 3001 | -3009.9172439987 18.430261827116 -3000.3179994993
Gamma(30, 2) | -inf | 1e-9 | -675.56179604236 -23.447890122407 14.999999999032
Gamma(500, 2) | 600 | inf | -266.63095040067 0.87789071470424 -350.85419784909
InverseGamma(2, 1) | -inf | 0.001 | -993.09124522068 6.4859709428867 -999.000999001
InverseGamma(3, 1) | 1e9 | inf | -63.961556980817 -21.979383505441 2.99999999925
ChiSquared(3) | 5000 | inf | -2495.9669948169 3.8939779784469
Weibull(1.5, 1) | 200 | inf | -2828.4271247462 -14985.904555058 4242.6406871193
Weibull(1.5, 1) | -inf | 1e-250 | -863.46940987277 -575.64627324851 -1.5
Rayleigh(2) | 200 | inf | -5000.0 5000.0
Gompertz(0.4, 0.9) | 10 | inf | -3240.8335710302 -8102.0839275754 -32412.335710302
Pareto(0.5, 3) | 1e90 | inf | -623.77741665007 6.0 -207.92580555002
"""
"""A distribution, the ends of the range, the log of its mass, the derivatives of that."""


def parsed(line: str) -> tuple[str, list[float], list[float], list[float]]:
    law, low, high, numbers = line.split(" | ")
    name, _, arguments = law.rstrip(")").partition("(")
    given = [float(number) for number in arguments.split(", ")]
    return name, given, [float(low), float(high)], [float(n) for n in numbers.split()]


CASES = {
    name: list(own)
    for name, own in groupby(map(parsed, TRUTHS.strip().splitlines()), lambda c: c[0])
}
laws = pytest.mark.parametrize("name", CASES)


def maker(name: str) -> Callable[[Any, Any], Truncated]:
    """Of the arguments and of the two ends."""
    row = distributions_by_name()[name][0]
    words = [param.name for param in row.signature.params]

    def make(given: Any, ends: Any) -> Truncated:
        base = evaluate(constructor(row.text), {**WORDS, **dict(zip(words, given, strict=True))})
        return Truncated(base, ends[0], ends[1], resolve(row.tails))

    return make


def test_every_row_that_can_be_cut_is_here() -> None:
    rows = {row.name for row in DISTRIBUTIONS if row.can_be_truncated and not row.discrete}
    # Other spellings of Gamma and InverseGamma, and what is a range already.
    others = {"InverseChiSquared", "ScaledInverseChiSquared", "TruncatedNormal", "TruncatedCauchy"}
    assert rows == {*CASES, *others}


@laws
def test_masses_and_their_derivatives(name: str) -> None:
    make = maker(name)
    _, given, ends, wanted = zip(*CASES[name], strict=True)
    log_mass = jax.value_and_grad(lambda own, ends: make(own, ends).log_mass())
    found, slopes = jax.jit(jax.vmap(log_mass))(jnp.array(given), jnp.array(ends))
    rows = np.column_stack([found, slopes])
    np.testing.assert_allclose(rows, np.array(wanted), rtol=1e-6, atol=1e-20)


@laws
def test_quantiles_and_levels_of_a_range(name: str) -> None:
    """The cdf of the quantile is the level, and both stay within the range."""
    make = maker(name)
    _, given, ends, _ = zip(*CASES[name], strict=True)
    shares = jnp.array([1e-4, 0.3, 0.5, 0.9])

    def there_and_back(own: Any, ends: Any) -> Any:
        law = make(own, ends)
        places = law.icdf(shares)
        return places, law.cdf(places)

    found, levels = jax.jit(jax.vmap(there_and_back))(jnp.array(given), jnp.array(ends))
    low, high = np.array(ends).T[..., None]
    assert np.all((found >= low) & (found <= high))
    # A place far out is known to a part of its own size, of which the range may be a small part.
    width = found[:, 2] - found[:, 1]
    digits = 1e-9 + 1e-14 * np.abs(found[:, 1]) / width
    assert np.all(np.abs(levels - shares) < digits[:, None])
