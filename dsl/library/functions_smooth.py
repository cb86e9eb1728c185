"""Smoothed maxima, entropies and their losses, Moreau envelopes: the softmax and sparsemax
families.

`...max` is a value, `...argmax` the probabilities that attain it. A temperature t smooths less as
it falls: the value is t * f(x / t), the probabilities are f(x / t). `prox_f(x, t)` is the u that
minimises t * f(u) + |x - u|^2 / 2, and `moreau_f(x, t)` the minimum: divided by t it is f again as
t falls.
"""

from .rows import FunctionRow as Row

MAXIMA = (
    Row(
        "softmax(x: real[N], temperature: positive = 1) -> real",
        "t * log(sum(exp(x / t))), from max(x) up",
    ),
    Row("softmin(x: real[N], temperature: positive = 1) -> real", "-softmax(-x), from min(x) down"),
    Row(
        "softargmax(x: real[N], temperature: positive = 1) -> simplex[N]",
        "exp(x / t) / sum(exp(x / t))",
    ),
    Row("softargmin(x: real[N], temperature: positive = 1) -> simplex[N]", "softargmax(-x)"),
    Row(
        "log_softargmax(x: real[N], temperature: positive = 1) -> real[N]",
        "log(softargmax(x)), without underflow",
    ),
    Row(
        "softargmax_inverse(p: simplex[N]) -> real[N]",
        "log(p) less its mean: x that sum to 0",
        poles={"p": "at 0"},
    ),
    Row(
        "sparsemax(x: real[N], temperature: positive = 1) -> real",
        "max over p of dot(x, p) + t * gini_entropy(p)",
    ),
    Row("sparsemin(x: real[N], temperature: positive = 1) -> real", "-sparsemax(-x)"),
    Row(
        "sparseargmax(x: real[N], temperature: positive = 1) -> simplex[N]",
        "the nearest point of the simplex to x / t: many of its entries are 0",
        kinks="x temperature",
    ),
    Row(
        "sparseargmin(x: real[N], temperature: positive = 1) -> simplex[N]",
        "sparseargmax(-x)",
        kinks="x temperature",
    ),
    Row(
        "entmax(x: real[N], alpha: positive = 1.5, temperature: positive = 1) -> real",
        "max over p of dot(x, p) + t * tsallis_entropy(p, alpha): softmax at 1, sparsemax at 2",
    ),
    Row(
        "entargmax(x: real[N], alpha: positive = 1.5, temperature: positive = 1) -> simplex[N]",
        "the p that attain entmax: softargmax at alpha 1, sparseargmax at 2",
        kinks="x temperature",
    ),
)

ENTROPIES = (
    Row(
        "entropy(p: simplex[N]) -> nonnegative",
        "Shannon's: -sum(p * log(p)), in nats",
        bends={"p": "at 0"},
    ),
    Row("gini_entropy(p: simplex[N]) -> nonnegative", "sum(p * (1 - p)) / 2"),
    Row(
        "tsallis_entropy(p: simplex[N], alpha: positive = 1.5) -> nonnegative",
        "sum(p - p^alpha) / (alpha * (alpha - 1)): Shannon's at alpha 1, Gini's at 2",
        bends={"p": "at 0"},
    ),
    Row(
        "kl(p: nonnegative[N], q: nonnegative[N]) -> nonnegative",
        "sum(p * log(p / q) - p + q): the Kullback-Leibler divergence when both sum to one",
        poles={"q": "at 0"},
        bends={"p": "at 0"},
    ),
)

LOSSES = (
    Row(
        "logistic_loss(scores: real[N], label: index[N]) -> nonnegative",
        "softmax(scores) - scores[label]",
    ),
    Row(
        "logistic_loss(scores: real[N], target: simplex[N]) -> nonnegative",
        "kl(target, softargmax(scores)): the Fenchel-Young loss of softmax",
        "logistic_loss_target",
        bends={"target": "at 0"},
    ),
    Row(
        "sparsemax_loss(scores: real[N], label: index[N]) -> nonnegative",
        "sparsemax(scores) - scores[label]",
    ),
    Row(
        "sparsemax_loss(scores: real[N], target: simplex[N]) -> nonnegative",
        "sparsemax(scores) - gini_entropy(target) - dot(scores, target)",
        "sparsemax_loss_target",
    ),
    Row(
        "entmax_loss(scores: real[N], label: index[N], alpha: positive = 1.5) -> nonnegative",
        "entmax(scores, alpha) - scores[label]",
    ),
    Row(
        "entmax_loss(scores: real[N], target: simplex[N], alpha: positive = 1.5) -> nonnegative",
        "entmax(scores, alpha) - tsallis_entropy(target, alpha) - dot(scores, target)",
        "entmax_loss_target",
        bends={"target": "at 0"},
    ),
    Row(
        "perceptron_loss(scores: real[N], label: index[N]) -> nonnegative",
        "max(scores) - scores[label]",
        kinks="scores",
    ),
    Row(
        "perceptron_loss(scores: real[N], target: simplex[N]) -> nonnegative",
        "max(scores) - dot(scores, target)",
        "perceptron_loss_target",
        kinks="scores",
    ),
)

ENVELOPES = (
    Row(
        "prox_relu(x: real, weight: nonnegative = 1) -> real",
        "x - clip(x, 0, t): the prox of t * relu(x)",
        kinks="x weight",
    ),
    Row(
        "moreau_relu(x: real, weight: positive = 1) -> nonnegative",
        (
            "0 below 0, x^2 / 2 up to the weight t, t * (x - t / 2) beyond: the envelope of t * "
            "relu(x)"
        ),
    ),
    Row(
        "prox_barrier(x: real, weight: positive = 1) -> positive",
        "(x + sqrt(x^2 + 4 * t)) / 2: of -t * log(x)",
    ),
    Row("moreau_barrier(x: real, weight: positive = 1) -> real", "the envelope of -t * log(x)"),
    Row(
        "hard_threshold(x: real, threshold: nonnegative = 1) -> real",
        "x beyond the threshold t, 0 up to it: the prox of t^2 / 2 where x is not 0",
        jumps="x threshold",
    ),
    Row(
        "truncated_square(x: real, threshold: positive = 1) -> nonnegative",
        "min(x^2, t^2) / 2: the envelope of t^2 / 2 where x is not 0",
        kinks="x threshold",
    ),
    Row(
        "moreau_interval(x: real, lower: real, upper: real) -> nonnegative",
        "(x - clip(x, lower, upper))^2 / 2: the envelope of the interval, whose prox is clip",
        ascending=("lower", "upper"),
    ),
    Row(
        "moreau_norm(x: real[N], weight: positive = 1) -> nonnegative",
        "huber(norm(x), t): the envelope of t * norm(x), whose prox is group_soft_threshold",
    ),
    Row(
        "prox_max(x: real[N], weight: positive = 1) -> real[N]",
        "x - t * sparseargmax(x, t): of t * max(x)",
        kinks="x weight",
    ),
    Row(
        "moreau_max(x: real[N], weight: positive = 1) -> real",
        "t * (sparsemax(x, t) - t / 2): the envelope of t * max(x)",
    ),
    Row(
        "prox_norm_inf(x: real[N], weight: positive = 1) -> real[N]",
        "x - project_l1_ball(x, t): of t * max(abs(x))",
        kinks="x weight",
    ),
    Row(
        "moreau_norm_inf(x: real[N], weight: positive = 1) -> nonnegative",
        "the envelope of t * max(abs(x))",
    ),
    Row(
        "project_ball(x: real[N], radius: positive = 1) -> real[N]",
        "the nearest y with norm(y) <= radius",
        kinks="x radius",
    ),
    Row(
        "moreau_ball(x: real[N], radius: positive = 1) -> nonnegative",
        "max(norm(x) - radius, 0)^2 / 2",
    ),
    Row(
        "project_l1_ball(x: real[N], radius: positive = 1) -> real[N]",
        "the nearest y with norm1(y) <= radius",
        kinks="x radius",
    ),
    Row(
        "moreau_simplex(x: real[N]) -> nonnegative",
        "norm(x - sparseargmax(x))^2 / 2: half the squared distance to the simplex",
    ),
)

BRANCHES = (
    Row(
        "branch_variance(x: real) -> nonnegative",
        "in a soft statement, for x an `if` or `v[argmax(s)]`: "
        "sum(w * (v - mean)^2) over the branches v and their weights w",
        "hard_variance",
    ),
)

SMOOTH: tuple[Row, ...] = BRANCHES + MAXIMA + ENTROPIES + LOSSES + ENVELOPES
