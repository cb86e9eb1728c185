"""Functions of numbers, applied elementwise."""

from __future__ import annotations

from .rows import Function

POWERS = (
    Function("abs(x: int) -> count", "absolute value", "jnp.abs"),
    Function("abs(x: real) -> nonnegative", "absolute value", "magnitude", kinks="x"),
    Function("square(x: real) -> nonnegative", "x^2"),
    Function("sqrt(x: nonnegative) -> nonnegative", "square root", "jnp.sqrt"),
    Function("pow(x: real, y: real) -> real", "x^y as a function", "power"),
    Function("exp(x: real) -> positive", "e to the power x", "jnp.exp"),
    Function("expm1(x: real) -> real", "exp(x) - 1, exact near 0", "jnp.expm1"),
    Function("log(x: nonnegative) -> real", "natural logarithm", "jnp.log"),
    Function("log1p(x: real) -> real", "log(1 + x), exact near 0", "jnp.log1p"),
    Function("log1mexp(x: positive) -> real", "log(1 - exp(-x)), exact at both ends"),
    Function("log2(x: nonnegative) -> real", "logarithm to base 2", "jnp.log2"),
    Function("log10(x: nonnegative) -> real", "logarithm to base 10", "jnp.log10"),
    Function("xlogy(x: nonnegative, y: nonnegative) -> real", "x * log(y), and 0 where x is 0"),
)

ANGLES = (
    Function("sin(x: real) -> real", "sine of an angle in radians", "jnp.sin"),
    Function("cos(x: real) -> real", "cosine of an angle in radians", "jnp.cos"),
    Function("tan(x: real) -> real", "tangent of an angle in radians", "jnp.tan"),
    Function("asin(x: real) -> real", "the angle from -pi/2 to pi/2 whose sine is x", "jnp.arcsin"),
    Function(
        "acos(x: real) -> nonnegative", "the angle from 0 to pi whose cosine is x", "jnp.arccos"
    ),
    Function(
        "atan(x: real) -> real", "the angle between -pi/2 and pi/2 whose tangent is x", "jnp.arctan"
    ),
    Function(
        "atan2(y: real, x: real) -> real",
        "the angle from -pi to pi of the point (x, y)",
        "jnp.arctan2",
        jumps="y",
    ),
    Function("sinh(x: real) -> real", "hyperbolic sine", "jnp.sinh"),
    Function("cosh(x: real) -> positive", "hyperbolic cosine", "jnp.cosh"),
    Function("tanh(x: real) -> real", "hyperbolic tangent, between -1 and 1", "jnp.tanh"),
    Function("asinh(x: real) -> real", "inverse of sinh", "jnp.arcsinh"),
    Function(
        "acosh(x: positive) -> nonnegative", "inverse of cosh, for x from 1 up", "jnp.arccosh"
    ),
    Function("atanh(x: real) -> real", "inverse of tanh, for x between -1 and 1", "jnp.arctanh"),
)

SPECIAL = (
    Function("erf(x: real) -> real", "error function, between -1 and 1", "jax.scipy.special.erf"),
    Function(
        "erfc(x: real) -> nonnegative", "1 - erf(x), exact for large x", "jax.scipy.special.erfc"
    ),
    Function(
        "erfinv(x: real) -> real",
        "inverse of erf, for x between -1 and 1",
        "jax.scipy.special.erfinv",
    ),
    Function("Phi(x: real) -> unit", "distribution function of the standard normal"),
    Function("Phi_inverse(p: unit) -> real", "quantile of the standard normal"),
    Function("logistic(x: real) -> unit", "1 / (1 + exp(-x))"),
    Function(
        "logit(p: unit) -> real",
        "log(p / (1 - p)), the inverse of logistic",
        "jax.scipy.special.logit",
    ),
    Function(
        "lgamma(x: positive) -> real",
        "logarithm of the gamma function",
        "jax.scipy.special.gammaln",
    ),
    Function("digamma(x: positive) -> real", "derivative of lgamma", "jax.scipy.special.digamma"),
    Function(
        "lbeta(a: positive, b: positive) -> real",
        "logarithm of the beta function",
        "jax.scipy.special.betaln",
    ),
    Function(
        "lchoose(n: nonnegative, k: nonnegative) -> real",
        "log of the number of ways to choose k from n",
    ),
    Function(
        "gammainc(a: positive, x: nonnegative) -> unit",
        "P(y < x) for y ~ Gamma(a, 1)",
        "jax.scipy.special.gammainc",
    ),
    Function("betainc(a: positive, b: positive, x: unit) -> unit", "P(y < x) for y ~ Beta(a, b)"),
)

ROUNDING = (
    Function("sign(x: real) -> int", "-1, 0 or 1", jumps="x"),
    Function("step(x: real) -> bool", "x >= 0, so step(0) is true", jumps="x"),
    Function("floor(x: real) -> int", "the largest whole number up to x", jumps="x"),
    Function("ceil(x: real) -> int", "the smallest whole number from x up", jumps="x"),
    Function(
        "round(x: real) -> int",
        "the nearest whole number, halves to the even one",
        "nearest_int",
        jumps="x",
    ),
    Function("trunc(x: real) -> int", "x without its fraction", jumps="x"),
    Function(
        "mod(a: num, b: num) -> num",
        "a - b * floor(a / b); it jumps where a / b is whole",
        "jnp.mod",
        jumps="a b",
    ),
)

BINARY = (
    Function(
        "min(a: num, b: num) -> num", "the smaller of two numbers", "jnp.minimum", kinks="a b"
    ),
    Function("max(a: num, b: num) -> num", "the larger of two numbers", "jnp.maximum", kinks="a b"),
    Function(
        "clip(x: num, lower: num, upper: num) -> num",
        "x, or the end that it lies beyond",
        "jnp.clip",
        kinks="x lower upper",
    ),
    Function(
        "logsumexp(a: real, b: real) -> real", "log(exp(a) + exp(b)), without overflow", "logaddexp"
    ),
    Function(
        "logdiffexp(a: real, b: real) -> real",
        "log(exp(a) - exp(b)), without overflow, for a above b",
    ),
)

ACTIVATIONS = (
    Function("relu(x: real) -> nonnegative", "max(x, 0)", kinks="x"),
    Function(
        "softplus(x: real) -> positive",
        "log(1 + exp(x)): relu smoothed by the Shannon entropy",
        "jax.nn.softplus",
    ),
    Function(
        "sparseplus(x: real) -> nonnegative",
        "0 below -1, (x + 1)^2 / 4, x above 1: relu smoothed by Gini's",
        "jax.nn.sparse_plus",
    ),
    Function(
        "sparsesigmoid(x: real) -> unit",
        "0 below -1, (x + 1) / 2, 1 above 1: the derivative of sparseplus",
        "jax.nn.sparse_sigmoid",
        kinks="x",
    ),
    Function("gelu(x: real) -> real", "x * Phi(x)"),
    Function("silu(x: real) -> real", "x * logistic(x)"),
    Function(
        "elu(x: real, alpha: positive = 1) -> real",
        "x above 0, alpha * (exp(x) - 1) below",
        kinks="x",
    ),
    Function(
        "leaky_relu(x: real, slope: nonnegative = 0.01) -> real",
        "x above 0, slope * x below",
        kinks="x",
    ),
    Function(
        "huber(x: real, threshold: positive = 1) -> nonnegative",
        "x^2 / 2 up to the threshold t, t * (|x| - t / 2) beyond: the Moreau envelope of t * |x|",
    ),
    Function(
        "soft_threshold(x: real, threshold: nonnegative = 1) -> real",
        "x moved towards 0 by the threshold t, at most to 0: the proximal operator of t * |x|",
        kinks="x threshold",
    ),
)

ELEMENTARY: tuple[Function, ...] = POWERS + ANGLES + SPECIAL + ROUNDING + BINARY + ACTIVATIONS
