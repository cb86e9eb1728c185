"""Smoothed maxima, entropies and their losses: the softmax and sparsemax families.

`...max` is a value, `...argmax` the probabilities that attain it. A temperature t smooths less as it falls:
the value is t * f(x / t), the probabilities are f(x / t).
"""

from __future__ import annotations

from .rows import Function

MAXIMA = (
    Function("softmax(x: real[N], temperature: positive = 1) -> real", "t * log(sum(exp(x / t))), from max(x) up"),
    Function("softmin(x: real[N], temperature: positive = 1) -> real", "-softmax(-x), from min(x) down"),
    Function("softargmax(x: real[N], temperature: positive = 1) -> simplex[N]", "exp(x / t) / sum(exp(x / t))"),
    Function("softargmin(x: real[N], temperature: positive = 1) -> simplex[N]", "softargmax(-x)"),
    Function(
        "log_softargmax(x: real[N], temperature: positive = 1) -> real[N]",
        "log(softargmax(x)), without underflow",
    ),
    Function("softargmax_inverse(p: simplex[N]) -> real[N]", "log(p) less its mean: the x that sum to 0"),
    Function(
        "sparsemax(x: real[N], temperature: positive = 1) -> real",
        "max over p of dot(x, p) + t * gini_entropy(p)",
    ),
    Function("sparsemin(x: real[N], temperature: positive = 1) -> real", "-sparsemax(-x)"),
    Function(
        "sparseargmax(x: real[N], temperature: positive = 1) -> simplex[N]",
        "the nearest point of the simplex to x / t: many of its entries are 0",
    ),
    Function("sparseargmin(x: real[N], temperature: positive = 1) -> simplex[N]", "sparseargmax(-x)"),
    Function(
        "entmax(x: real[N], alpha: positive = 1.5, temperature: positive = 1) -> real",
        "max over p of dot(x, p) + t * tsallis_entropy(p, alpha): softmax at alpha 1, sparsemax at 2",
    ),
    Function(
        "entargmax(x: real[N], alpha: positive = 1.5, temperature: positive = 1) -> simplex[N]",
        "the p that attain entmax: softargmax at alpha 1, sparseargmax at 2",
    ),
)

ENTROPIES = (
    Function("entropy(p: simplex[N]) -> nonnegative", "Shannon's: -sum(p * log(p)), in nats"),
    Function("gini_entropy(p: simplex[N]) -> nonnegative", "sum(p * (1 - p)) / 2"),
    Function(
        "tsallis_entropy(p: simplex[N], alpha: positive = 1.5) -> nonnegative",
        "sum(p - p^alpha) / (alpha * (alpha - 1)): Shannon's at alpha 1, Gini's at 2",
    ),
    Function(
        "kl(p: nonnegative[N], q: nonnegative[N]) -> nonnegative",
        "sum(p * log(p / q) - p + q): the Kullback-Leibler divergence when both sum to one",
    ),
)

LOSSES = (
    Function("logistic_loss(scores: real[N], label: index[N]) -> nonnegative", "softmax(scores) - scores[label]"),
    Function(
        "logistic_loss(scores: real[N], target: simplex[N]) -> nonnegative",
        "kl(target, softargmax(scores)): the Fenchel-Young loss of softmax",
    ),
    Function("sparsemax_loss(scores: real[N], label: index[N]) -> nonnegative", "sparsemax(scores) - scores[label]"),
    Function(
        "sparsemax_loss(scores: real[N], target: simplex[N]) -> nonnegative",
        "sparsemax(scores) - gini_entropy(target) - dot(scores, target)",
    ),
    Function(
        "entmax_loss(scores: real[N], label: index[N], alpha: positive = 1.5) -> nonnegative",
        "entmax(scores, alpha) - scores[label]",
    ),
    Function(
        "entmax_loss(scores: real[N], target: simplex[N], alpha: positive = 1.5) -> nonnegative",
        "entmax(scores, alpha) - tsallis_entropy(target, alpha) - dot(scores, target)",
    ),
    Function("perceptron_loss(scores: real[N], label: index[N]) -> nonnegative", "max(scores) - scores[label]"),
    Function(
        "perceptron_loss(scores: real[N], target: simplex[N]) -> nonnegative",
        "max(scores) - dot(scores, target)",
    ),
)

SMOOTH: tuple[Function, ...] = MAXIMA + ENTROPIES + LOSSES
