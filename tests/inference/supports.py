"""Points and weights of each support, so that sums of weight times function are sums or integrals
over it.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np

Nodes = tuple[Any, Any]


def nodes_of(support: str, size: int) -> Nodes:
    """By the words of the support; `size` is the number of rows of a value, if it has any."""
    numbers = [int(n) for n in re.findall(r"\d+", support)]
    if support in ("0 and 1", "whole numbers from 0") or support.startswith(
        "whole numbers from 0 to"
    ):
        last = {"0 and 1": 1, "whole numbers from 0": 400}.get(support, numbers[-1])
        return np.arange(last + 1.0), np.ones(last + 1)
    if "counts that sum to" in support:
        every = [
            x
            for x in itertools.product(range(numbers[1] + 1), repeat=numbers[0])
            if sum(x) == numbers[1]
        ]
        return np.array(every, dtype=float), np.ones(len(every))
    return CONTINUOUS[re.sub(r"\d+", "n", support)](size)


def reals(_: int) -> Nodes:
    """Gauss-Legendre on panels, one of which ends where the Laplace density has its kink."""
    x, w = np.polynomial.legendre.leggauss(8)
    left = np.arange(-80, 80.4, 0.4)[:, None]
    return (left + 0.2 * (x + 1)).ravel(), np.tile(0.2 * w, len(left))


def positives(_: int) -> Nodes:
    x = np.exp(np.arange(-60, 7, 0.02))
    return x, 0.02 * x


def unit(_: int) -> Nodes:
    u = np.arange(-30, 30, 0.02)
    x = 1 / (1 + np.exp(-u))
    return x, 0.02 * x * (1 - x)


def angles(_: int) -> Nodes:
    return np.linspace(-np.pi, np.pi, 400, endpoint=False), np.full(400, np.pi / 200)


def vectors(size: int) -> Nodes:
    assert size == 2
    axis = np.arange(-11, 11, 0.15)
    return np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2), np.full(len(axis) ** 2, 0.15**2)


def simplex(size: int) -> Nodes:
    """Logits against the last entry, whose Jacobian is the product of the entries."""
    assert size == 3
    axis = np.arange(-20, 20, 0.25)
    logits = np.stack([*np.meshgrid(axis, axis), np.zeros((len(axis), len(axis)))], -1).reshape(
        -1, 3
    )
    x = np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))
    return x, 0.25**2 * x.prod(-1)


CONTINUOUS = {
    "real numbers": reals,
    "positive numbers": positives,
    "numbers between n and n": unit,
    "angles": angles,
    "vectors of n real numbers": vectors,
    "n positive numbers that sum to n": simplex,
}
