"""Functions of numbers, applied elementwise."""

from __future__ import annotations

from .rows import Function

POWERS = (
    Function("abs(x: int) -> count", "absolute value"),
    Function("abs(x: real) -> nonnegative", "absolute value"),
    Function("square(x: real) -> nonnegative", "x^2"),
    Function("sqrt(x: nonnegative) -> nonnegative", "square root"),
    Function("pow(x: real, y: real) -> real", "x^y as a function"),
    Function("exp(x: real) -> positive", "e to the power x"),
    Function("expm1(x: real) -> real", "exp(x) - 1, exact near 0"),
    Function("log(x: nonnegative) -> real", "natural logarithm"),
    Function("log1p(x: real) -> real", "log(1 + x), exact near 0"),
    Function("log1mexp(x: positive) -> real", "log(1 - exp(-x)), exact at both ends"),
    Function("log2(x: nonnegative) -> real", "logarithm to base 2"),
    Function("log10(x: nonnegative) -> real", "logarithm to base 10"),
    Function("xlogy(x: nonnegative, y: nonnegative) -> real", "x * log(y), and 0 where x is 0"),
)

ANGLES = (
    Function("sin(x: real) -> real", "sine of an angle in radians"),
    Function("cos(x: real) -> real", "cosine of an angle in radians"),
    Function("tan(x: real) -> real", "tangent of an angle in radians"),
    Function("asin(x: real) -> real", "the angle from -pi/2 to pi/2 whose sine is x"),
    Function("acos(x: real) -> nonnegative", "the angle from 0 to pi whose cosine is x"),
    Function("atan(x: real) -> real", "the angle between -pi/2 and pi/2 whose tangent is x"),
    Function("atan2(y: real, x: real) -> real", "the angle from -pi to pi of the point (x, y)"),
    Function("sinh(x: real) -> real", "hyperbolic sine"),
    Function("cosh(x: real) -> positive", "hyperbolic cosine"),
    Function("tanh(x: real) -> real", "hyperbolic tangent, between -1 and 1"),
    Function("asinh(x: real) -> real", "inverse of sinh"),
    Function("acosh(x: positive) -> nonnegative", "inverse of cosh, for x from 1 up"),
    Function("atanh(x: real) -> real", "inverse of tanh, for x between -1 and 1"),
)

SPECIAL = (
    Function("erf(x: real) -> real", "error function, between -1 and 1"),
    Function("erfc(x: real) -> nonnegative", "1 - erf(x), exact for large x"),
    Function("erfinv(x: real) -> real", "inverse of erf, for x between -1 and 1"),
    Function("Phi(x: real) -> unit", "distribution function of the standard normal"),
    Function("Phi_inverse(p: unit) -> real", "quantile of the standard normal"),
    Function("logistic(x: real) -> unit", "1 / (1 + exp(-x))"),
    Function("logit(p: unit) -> real", "log(p / (1 - p)), the inverse of logistic"),
    Function("lgamma(x: positive) -> real", "logarithm of the gamma function"),
    Function("digamma(x: positive) -> real", "derivative of lgamma"),
    Function("lbeta(a: positive, b: positive) -> real", "logarithm of the beta function"),
    Function("lchoose(n: nonnegative, k: nonnegative) -> real", "log of the number of ways to choose k from n"),
    Function("gammainc(a: positive, x: nonnegative) -> unit", "P(y < x) for y ~ Gamma(a, 1)"),
    Function("betainc(a: positive, b: positive, x: unit) -> unit", "P(y < x) for y ~ Beta(a, b)"),
)

ROUNDING = (
    Function("sign(x: real) -> int", "-1, 0 or 1", hard=True),
    Function("step(x: real) -> bool", "x >= 0, so step(0) is true", hard=True),
    Function("floor(x: real) -> int", "the largest whole number up to x", hard=True),
    Function("ceil(x: real) -> int", "the smallest whole number from x up", hard=True),
    Function("round(x: real) -> int", "the nearest whole number, halves to the even one", hard=True),
    Function("trunc(x: real) -> int", "x without its fraction", hard=True),
    Function("mod(a: num, b: num) -> num", "a - b * floor(a / b); it jumps where a / b is whole", hard=True),
)

BINARY = (
    Function("min(a: num, b: num) -> num", "the smaller of two numbers"),
    Function("max(a: num, b: num) -> num", "the larger of two numbers"),
    Function("clip(x: num, lower: num, upper: num) -> num", "x, or the end that it lies beyond"),
    Function("logsumexp(a: real, b: real) -> real", "log(exp(a) + exp(b)), without overflow"),
    Function("logdiffexp(a: real, b: real) -> real", "log(exp(a) - exp(b)), without overflow, for a above b"),
)

ACTIVATIONS = (
    Function("relu(x: real) -> nonnegative", "max(x, 0)"),
    Function("softplus(x: real) -> positive", "log(1 + exp(x)): relu smoothed by the Shannon entropy"),
    Function("sparseplus(x: real) -> nonnegative", "0 below -1, (x + 1)^2 / 4, x above 1: relu smoothed by Gini's"),
    Function("sparsesigmoid(x: real) -> unit", "0 below -1, (x + 1) / 2, 1 above 1: the derivative of sparseplus"),
    Function("gelu(x: real) -> real", "x * Phi(x)"),
    Function("silu(x: real) -> real", "x * logistic(x)"),
    Function("elu(x: real, alpha: positive = 1) -> real", "x above 0, alpha * (exp(x) - 1) below"),
    Function("leaky_relu(x: real, slope: nonnegative = 0.01) -> real", "x above 0, slope * x below"),
    Function(
        "huber(x: real, threshold: positive = 1) -> nonnegative",
        "x^2 / 2 up to the threshold t, t * (|x| - t / 2) beyond: the Moreau envelope of t * |x|",
    ),
    Function(
        "soft_threshold(x: real, threshold: nonnegative = 1) -> real",
        "x moved towards 0 by the threshold t, at most to 0: the proximal operator of t * |x|",
    ),
)

ELEMENTARY: tuple[Function, ...] = POWERS + ANGLES + SPECIAL + ROUNDING + BINARY + ACTIVATIONS
