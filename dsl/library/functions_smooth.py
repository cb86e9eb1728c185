"""Smoothed maxima, entropies and their losses, Moreau envelopes: the softmax and sparsemax
families.

`...max` is a value, `...argmax` the probabilities that attain it. A temperature t smooths less as
it falls: the value is t * f(x / t), the probabilities are f(x / t). `prox_f(x, t)` is the u that
minimises t * f(u) + |x - u|^2 / 2, and `moreau_f(x, t)` the minimum: divided by t it is f again as
t falls.
"""

from __future__ import annotations

from .rows import Function

MAXIMA = (
    Function(
        "softmax(x: real[N], temperature: positive = 1) -> real",
        "t * log(sum(exp(x / t))), from max(x) up",
    ),
    Function(
        "softmin(x: real[N], temperature: positive = 1) -> real", "-softmax(-x), from min(x) down"
    ),
    Function(
        "softargmax(x: real[N], temperature: positive = 1) -> simplex[N]",
        "exp(x / t) / sum(exp(x / t))",
    ),
    Function("softargmin(x: real[N], temperature: positive = 1) -> simplex[N]", "softargmax(-x)"),
    Function(
        "log_softargmax(x: real[N], temperature: positive = 1) -> real[N]",
        "log(softargmax(x)), without underflow",
    ),
    Function(
        "softargmax_inverse(p: simplex[N]) -> real[N]", "log(p) less its mean: the x that sum to 0"
    ),
    Function(
        "sparsemax(x: real[N], temperature: positive = 1) -> real",
        "max over p of dot(x, p) + t * gini_entropy(p)",
    ),
    Function("sparsemin(x: real[N], temperature: positive = 1) -> real", "-sparsemax(-x)"),
    Function(
        "sparseargmax(x: real[N], temperature: positive = 1) -> simplex[N]",
        "the nearest point of the simplex to x / t: many of its entries are 0",
        kinks="x temperature",
    ),
    Function(
        "sparseargmin(x: real[N], temperature: positive = 1) -> simplex[N]",
        "sparseargmax(-x)",
        kinks="x temperature",
    ),
    Function(
        "entmax(x: real[N], alpha: positive = 1.5, temperature: positive = 1) -> real",
        (
            "max over p of dot(x, p) + t * tsallis_entropy(p, alpha): softmax at alpha 1, sparsemax "
            "at 2"
        ),
    ),
    Function(
        "entargmax(x: real[N], alpha: positive = 1.5, temperature: positive = 1) -> simplex[N]",
        "the p that attain entmax: softargmax at alpha 1, sparseargmax at 2",
        kinks="x temperature",
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
    Function(
        "logistic_loss(scores: real[N], label: index[N]) -> nonnegative",
        "softmax(scores) - scores[label]",
    ),
    Function(
        "logistic_loss(scores: real[N], target: simplex[N]) -> nonnegative",
        "kl(target, softargmax(scores)): the Fenchel-Young loss of softmax",
        "logistic_loss_target",
    ),
    Function(
        "sparsemax_loss(scores: real[N], label: index[N]) -> nonnegative",
        "sparsemax(scores) - scores[label]",
    ),
    Function(
        "sparsemax_loss(scores: real[N], target: simplex[N]) -> nonnegative",
        "sparsemax(scores) - gini_entropy(target) - dot(scores, target)",
        "sparsemax_loss_target",
    ),
    Function(
        "entmax_loss(scores: real[N], label: index[N], alpha: positive = 1.5) -> nonnegative",
        "entmax(scores, alpha) - scores[label]",
    ),
    Function(
        "entmax_loss(scores: real[N], target: simplex[N], alpha: positive = 1.5) -> nonnegative",
        "entmax(scores, alpha) - tsallis_entropy(target, alpha) - dot(scores, target)",
        "entmax_loss_target",
    ),
    Function(
        "perceptron_loss(scores: real[N], label: index[N]) -> nonnegative",
        "max(scores) - scores[label]",
        kinks="scores",
    ),
    Function(
        "perceptron_loss(scores: real[N], target: simplex[N]) -> nonnegative",
        "max(scores) - dot(scores, target)",
        "perceptron_loss_target",
        kinks="scores",
    ),
)

ENVELOPES = (
    Function(
        "prox_relu(x: real, weight: nonnegative = 1) -> real",
        "x - clip(x, 0, t): the prox of t * relu(x)",
        kinks="x weight",
    ),
    Function(
        "moreau_relu(x: real, weight: positive = 1) -> nonnegative",
        (
            "0 below 0, x^2 / 2 up to the weight t, t * (x - t / 2) beyond: the envelope of t * "
            "relu(x)"
        ),
    ),
    Function(
        "prox_barrier(x: real, weight: positive = 1) -> positive",
        "(x + sqrt(x^2 + 4 * t)) / 2: of -t * log(x)",
    ),
    Function(
        "moreau_barrier(x: real, weight: positive = 1) -> real", "the envelope of -t * log(x)"
    ),
    Function(
        "hard_threshold(x: real, threshold: nonnegative = 1) -> real",
        "x beyond the threshold t, 0 up to it: the prox of t^2 / 2 where x is not 0",
        jumps="x threshold",
    ),
    Function(
        "truncated_square(x: real, threshold: positive = 1) -> nonnegative",
        "min(x^2, t^2) / 2: the envelope of t^2 / 2 where x is not 0",
        kinks="x threshold",
    ),
    Function(
        "moreau_interval(x: real, lower: real, upper: real) -> nonnegative",
        "(x - clip(x, lower, upper))^2 / 2: the envelope of the interval, whose prox is clip",
    ),
    Function(
        "moreau_norm(x: real[N], weight: positive = 1) -> nonnegative",
        "huber(norm(x), t): the envelope of t * norm(x), whose prox is group_soft_threshold",
    ),
    Function(
        "prox_max(x: real[N], weight: positive = 1) -> real[N]",
        "x - t * sparseargmax(x, t): of t * max(x)",
        kinks="x weight",
    ),
    Function(
        "moreau_max(x: real[N], weight: positive = 1) -> real",
        "t * (sparsemax(x, t) - t / 2): the envelope of t * max(x)",
    ),
    Function(
        "prox_norm_inf(x: real[N], weight: positive = 1) -> real[N]",
        "x - project_l1_ball(x, t): of t * max(abs(x))",
        kinks="x weight",
    ),
    Function(
        "moreau_norm_inf(x: real[N], weight: positive = 1) -> nonnegative",
        "the envelope of t * max(abs(x))",
    ),
    Function(
        "project_ball(x: real[N], radius: positive = 1) -> real[N]",
        "the nearest y with norm(y) <= radius",
        kinks="x radius",
    ),
    Function(
        "moreau_ball(x: real[N], radius: positive = 1) -> nonnegative",
        "max(norm(x) - radius, 0)^2 / 2",
    ),
    Function(
        "project_l1_ball(x: real[N], radius: positive = 1) -> real[N]",
        "the nearest y with norm1(y) <= radius",
        kinks="x radius",
    ),
    Function(
        "moreau_simplex(x: real[N]) -> nonnegative",
        "norm(x - sparseargmax(x))^2 / 2: half the squared distance to the simplex",
    ),
)

BRANCHES = (
    Function(
        "branch_variance(x: real) -> nonnegative",
        "in a soft statement, for x an `if` or `v[argmax(s)]`: sum(w * (v - mean)^2) over the branches v and their "
        "weights w",
        "hard_variance",
    ),
)

SMOOTH: tuple[Function, ...] = BRANCHES + MAXIMA + ENTROPIES + LOSSES + ENVELOPES
