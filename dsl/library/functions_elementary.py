"""Functions of numbers, applied elementwise."""

from math import inf, pi

from .rows import FunctionRow as Row

POWERS = (
    Row("abs(x: int) -> count", "absolute value", "jnp.abs"),
    Row("abs(x: real) -> nonnegative", "absolute value", "magnitude", kinks="x"),
    Row("square(x: real) -> nonnegative", "x^2"),
    Row(
        "sqrt(x: nonnegative) -> nonnegative",
        "square root",
        "jnp.sqrt",
        rising="x",
        bends={"x": "at 0"},
    ),
    Row("pow(x: real, y: real) -> real", "x^y as a function", "power"),
    Row("exp(x: real) -> positive", "e to the power x", "jnp.exp", rising="x"),
    Row("expm1(x: real) -> real", "exp(x) - 1, exact near 0", "jnp.expm1", rising="x"),
    Row(
        "log(x: nonnegative) -> real",
        "natural logarithm",
        "jnp.log",
        rising="x",
        poles={"x": "at 0"},
    ),
    Row(
        "log1p(x: real(lower=-1)) -> real",
        "log(1 + x), exact near 0",
        "jnp.log1p",
        rising="x",
        poles={"x": "at -1"},
    ),
    Row("log1mexp(x: positive) -> real", "log(1 - exp(-x)), exact at both ends"),
    Row(
        "log2(x: nonnegative) -> real",
        "logarithm to base 2",
        "jnp.log2",
        rising="x",
        poles={"x": "at 0"},
    ),
    Row(
        "log10(x: nonnegative) -> real",
        "logarithm to base 10",
        "jnp.log10",
        rising="x",
        poles={"x": "at 0"},
    ),
    Row(
        "xlogy(x: nonnegative, y: nonnegative) -> real",
        "x * log(y), and 0 where x is 0",
        poles={"y": "at 0"},
    ),
)

ANGLES = (
    Row("sin(x: real) -> real", "sine of an angle in radians", "jnp.sin", within=(-1, 1)),
    Row("cos(x: real) -> real", "cosine of an angle in radians", "jnp.cos", within=(-1, 1)),
    Row(
        "tan(x: real) -> real",
        "tangent of an angle in radians",
        "jnp.tan",
        poles={"x": "at a right angle"},
    ),
    Row(
        "asin(x: real(lower=-1, upper=1)) -> real",
        "the angle from -pi/2 to pi/2 whose sine is x",
        "jnp.arcsin",
        rising="x",
        within=(-pi / 2, pi / 2),
        bends={"x": "outside -1 to 1"},
    ),
    Row(
        "acos(x: real(lower=-1, upper=1)) -> nonnegative",
        "the angle from 0 to pi whose cosine is x",
        "jnp.arccos",
        falling="x",
        within=(0, pi),
        bends={"x": "outside -1 to 1"},
    ),
    Row(
        "atan(x: real) -> real",
        "the angle from -pi/2 to pi/2 whose tangent is x",
        "jnp.arctan",
        rising="x",
        within=(-pi / 2, pi / 2),
    ),
    Row(
        "atan2(y: real, x: real) -> real",
        "the angle from -pi to pi of the point (x, y)",
        "jnp.arctan2",
        jumps="y x",
        within=(-pi, pi),
        poles={"y x": "where both are 0"},
    ),
    Row("sinh(x: real) -> real", "hyperbolic sine", "jnp.sinh", rising="x"),
    Row("cosh(x: real) -> positive", "hyperbolic cosine", "jnp.cosh", within=(1, inf)),
    Row(
        "tanh(x: real) -> real",
        "hyperbolic tangent, between -1 and 1",
        "jnp.tanh",
        rising="x",
        within=(-1, 1),
    ),
    Row("asinh(x: real) -> real", "inverse of sinh", "jnp.arcsinh", rising="x"),
    Row(
        "acosh(x: real(lower=1)) -> nonnegative",
        "inverse of cosh, for x from 1 up",
        "jnp.arccosh",
        bends={"x": "up to 1"},
    ),
    Row(
        "atanh(x: real(above=-1, below=1)) -> real",
        "inverse of tanh, for x between -1 and 1",
        "jnp.arctanh",
        poles={"x": "outside -1 to 1"},
    ),
)

SPECIAL = (
    Row(
        "erf(x: real) -> real",
        "error function, between -1 and 1",
        "jax.scipy.special.erf",
        rising="x",
        within=(-1, 1),
    ),
    Row(
        "erfc(x: real) -> nonnegative",
        "1 - erf(x), exact for large x",
        "jax.scipy.special.erfc",
        falling="x",
        within=(0, 2),
    ),
    Row(
        "erfinv(x: real(above=-1, below=1)) -> real",
        "inverse of erf",
        "jax.scipy.special.erfinv",
        poles={"x": "outside -1 to 1"},
    ),
    Row("Phi(x: real) -> unit", "distribution function of the standard normal", rising="x"),
    Row(
        "Phi_inverse(p: unit) -> real", "quantile of the standard normal", poles={"p": "at 0 or 1"}
    ),
    Row("logistic(x: real) -> unit", "1 / (1 + exp(-x))", rising="x"),
    Row(
        "logit(p: unit) -> real",
        "log(p / (1 - p)), logistic inverted",
        "jax.scipy.special.logit",
        poles={"p": "at 0 or 1"},
    ),
    Row("lgamma(x: positive) -> real", "log of the gamma function", "jax.scipy.special.gammaln"),
    Row("digamma(x: positive) -> real", "derivative of lgamma", "jax.scipy.special.digamma"),
    Row(
        "lbeta(a: positive, b: positive) -> real",
        "logarithm of the beta function",
        "jax.scipy.special.betaln",
    ),
    Row(
        "lchoose(n: nonnegative, k: nonnegative) -> real",
        "log of the ways to choose k from n",
        poles={"n k": "where they are equal"},
        ascending=("k", "n"),
        lenient=True,
    ),
    Row(
        "gammainc(a: positive, x: nonnegative) -> unit",
        "P(y < x) for y ~ Gamma(a, 1)",
        "jax.scipy.special.gammainc",
        bends={"x": "at 0"},
        rising="x",
        falling="a",
    ),
    Row(
        "betainc(a: positive, b: positive, x: unit) -> unit",
        "P(y < x) for y ~ Beta(a, b)",
        bends={"x": "at 0 or 1"},
        rising="b x",
        falling="a",
    ),
)

ROUNDING = (
    Row("sign(x: real) -> int", "-1, 0 or 1", jumps="x", rising="x", within=(-1, 1)),
    Row("step(x: real) -> bool", "x >= 0, so step(0) is true", jumps="x"),
    Row("floor(x: real) -> int", "the largest whole number up to x", jumps="x", rising="x"),
    Row("ceil(x: real) -> int", "the smallest whole number from x up", jumps="x", rising="x"),
    Row(
        "round(x: real) -> int",
        "nearest whole number, halves to even",
        "nearest_int",
        jumps="x",
        rising="x",
    ),
    Row("trunc(x: real) -> int", "x without its fraction", jumps="x", rising="x"),
    Row(
        "mod(a: num, b: num) -> num",
        "a - b * floor(a / b); it jumps where a / b is whole",
        "jnp.mod",
        jumps="a b",
        divisor="b",
    ),
)

BINARY = (
    Row(
        "min(a: num, b: num) -> num",
        "the smaller of two numbers",
        "jnp.minimum",
        kinks="a b",
        rising="a b",
    ),
    Row(
        "max(a: num, b: num) -> num",
        "the larger of two numbers",
        "jnp.maximum",
        kinks="a b",
        rising="a b",
    ),
    Row(
        "clip(x: num, lower: num, upper: num) -> num",
        "x, or the end that it lies beyond",
        "jnp.clip",
        ascending=("lower", "upper"),
        kinks="x lower upper",
        rising="x lower upper",
    ),
    Row("logsumexp(a: real, b: real) -> real", "log(exp(a) + exp(b)), no overflow", "logaddexp"),
    Row(
        "logdiffexp(a: real, b: real) -> real",
        "log(exp(a) - exp(b)), no overflow, for a above b",
        poles={"a b": "where they are equal"},
        ascending=("b", "a"),
    ),
)

ACTIVATIONS = (
    Row("relu(x: real) -> nonnegative", "max(x, 0)", kinks="x", rising="x"),
    Row(
        "softplus(x: real) -> positive",
        "log(1 + exp(x)): relu smoothed by the Shannon entropy",
        "jax.nn.softplus",
        rising="x",
    ),
    Row(
        "sparseplus(x: real) -> nonnegative",
        "0 below -1, (x + 1)^2 / 4, x above 1: relu smoothed by Gini's",
        "jax.nn.sparse_plus",
    ),
    Row(
        "sparsesigmoid(x: real) -> unit",
        "0 below -1, (x + 1) / 2, 1 above 1: the derivative of sparseplus",
        "jax.nn.sparse_sigmoid",
        kinks="x",
    ),
    Row("gelu(x: real) -> real", "x * Phi(x)"),
    Row("silu(x: real) -> real", "x * logistic(x)"),
    Row(
        "elu(x: real, alpha: positive = 1) -> real",
        "x above 0, alpha * (exp(x) - 1) below",
        kinks="x",
        bends={"alpha": "up to 0"},
    ),
    Row(
        "leaky_relu(x: real, slope: nonnegative = 0.01) -> real",
        "x above 0, slope * x below",
        kinks="x",
    ),
    Row(
        "huber(x: real, threshold: positive = 1) -> nonnegative",
        "x^2 / 2 up to the threshold t, t * (|x| - t / 2) beyond: the Moreau envelope of t * |x|",
        bends={"threshold": "up to 0"},
    ),
    Row(
        "soft_threshold(x: real, threshold: nonnegative = 1) -> real",
        "x moved towards 0 by the threshold t, at most to 0: the proximal operator of t * |x|",
        kinks="x threshold",
    ),
)

ELEMENTARY: tuple[Row, ...] = POWERS + ANGLES + SPECIAL + ROUNDING + BINARY + ACTIVATIONS
