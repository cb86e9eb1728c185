"""Split R-hat and effective sample size of many quantities at once, in NumPy."""

from typing import NamedTuple

import numpy as np

from ...factors.factor_graph import Floats

SMALLEST = 1e-300


class Diagnosis(NamedTuple):
    """One entry per quantity."""

    mean: Floats
    standard_error: Floats
    effective_size: Floats
    r_hat: Floats


def diagnose(draws: Floats) -> Diagnosis:
    """`draws[draw, chain, quantity]`; se = sd / sqrt(ess), zero of a quantity that never moves;
    R-hat = sqrt(((n - 1) / n W + B / n) / W), infinite for constant halves of chains that differ.
    """
    half = draws.shape[0] // 2
    split = np.concatenate([draws[:half], draws[draws.shape[0] - half :]], axis=1)
    count = draws.shape[0] * draws.shape[1]
    size = effective_size(split)
    variance = draws.reshape(count, -1).var(axis=0)
    n = split.shape[0]
    within = split.var(axis=0, ddof=1).mean(axis=0)
    between = split.mean(axis=0).var(axis=0, ddof=1)
    pooled = (n - 1) / n * within + between
    ratio = np.sqrt(pooled / np.maximum(within, SMALLEST))
    r_hat = np.where(pooled <= SMALLEST, 1.0, np.where(within <= SMALLEST, np.inf, ratio))
    return Diagnosis(draws.mean(axis=(0, 1)), np.sqrt(variance / size), size, r_hat)


def effective_size(split: Floats) -> Floats:
    """n m / (1 + 2 sum_t rho_t), summed while sums of neighbours are positive and fall (Geyer)."""
    n, m = split.shape[:2]
    covariance = autocovariance(split).mean(axis=1)
    within = covariance[0] * n / (n - 1)
    pooled = covariance[0] + split.mean(axis=0).var(axis=0, ddof=1)
    rho = 1 - (within[None] - covariance) / np.maximum(pooled, SMALLEST)[None]
    rho[0] = 1.0
    pairs = rho[: n // 2 * 2].reshape(n // 2, 2, -1).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    falling = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    time = np.maximum(2 * falling.sum(axis=0) - 1, 1 / np.log10(n * m + 10))
    size: Floats = np.where(pooled <= SMALLEST, n * m, n * m / time)
    return size


def autocovariance(split: Floats) -> Floats:
    """c_t = 1/n sum_i (x_i - mean)(x_i+t - mean), along the first axis, by Fourier transform."""
    n = split.shape[0]
    centred = split - split.mean(axis=0)[None]
    spectrum = np.fft.rfft(centred, 2 * n, axis=0)
    covariance: Floats = np.fft.irfft(np.abs(spectrum) ** 2, 2 * n, axis=0)[:n] / n
    return covariance
