"""Functions of arrays: reductions, constructors, linear algebra, lists and dictionaries."""

from __future__ import annotations

from .rows import Function

REDUCTIONS = (
    Function("sum(x: num[...]) -> num", "sum of all entries", "jnp.sum"),
    Function("prod(x: num[...]) -> num", "product of all entries", "jnp.prod"),
    Function("mean(x: real[...]) -> real", "average of all entries"),
    Function(
        "var(x: real[...]) -> nonnegative",
        "sample variance: squared deviations over one less than their number",
        "variance",
    ),
    Function(
        "sd(x: real[...]) -> nonnegative",
        "sample standard deviation: sqrt(var(x))",
        "deviation",
        kinks="x",
    ),
    Function(
        "quantile(x: real[...], p: unit) -> real",
        "the value below which a fraction p lies, interpolated",
        kinks="x p",
    ),
    Function("min(x: num[...]) -> num", "the smallest entry", "jnp.min", kinks="x"),
    Function("max(x: num[...]) -> num", "the largest entry", "jnp.max", kinks="x"),
    Function("any(x: bool[...]) -> bool", "true when an entry is", "jnp.any"),
    Function("all(x: bool[...]) -> bool", "true when every entry is", "jnp.all"),
    Function("logsumexp(x: real[...]) -> real", "log(sum(exp(x))), without overflow"),
    Function(
        "argmax(x: real[N]) -> index[N]",
        "where the largest entry is, the first of equals",
        "jnp.argmax",
        jumps="x",
    ),
    Function(
        "argmin(x: real[N]) -> index[N]",
        "where the smallest entry is, the first of equals",
        "jnp.argmin",
        jumps="x",
    ),
    Function("cumsum(x: num[N]) -> num[N]", "sums of the entries up to each", "jnp.cumsum"),
    Function("cumprod(x: num[N]) -> num[N]", "products of the entries up to each", "jnp.cumprod"),
    Function(
        "cummax(x: num[N]) -> num[N]", "the largest entry up to each", "jax.lax.cummax", kinks="x"
    ),
    Function(
        "cummin(x: num[N]) -> num[N]", "the smallest entry up to each", "jax.lax.cummin", kinks="x"
    ),
    Function("cumlogsumexp(x: real[N]) -> real[N]", "logsumexp of the entries up to each"),
    Function(
        "diff(x: real[N]) -> real[N-1]",
        "each entry but the first, less the one before",
        "differences",
    ),
    Function("sort(x: num[N]) -> num[N]", "the entries in increasing order", "jnp.sort", kinks="x"),
    Function(
        "rank(x: real[N]) -> count[N]",
        "how many entries come before each in increasing order",
        jumps="x",
    ),
    Function("reverse(x: item[N]) -> item[N]", "the entries from last to first", "jnp.flip"),
)

CONSTRUCTORS = (
    Function("zeros(*D: dim) -> real[*D]", "an array of zeros over these dims"),
    Function("ones(*D: dim) -> positive[*D]", "an array of ones over these dims"),
    Function("full(value: item, *D: dim) -> item[*D]", "an array of one value over these dims"),
    Function("eye(D: dim) -> correlation[D, D]", "the identity matrix", "jnp.eye"),
    Function(
        "linspace(D: dim, first: real, last: real) -> real[D]",
        "evenly spaced numbers, both ends included",
    ),
    Function("one_hot(i: index[N]) -> simplex[N]", "one at i, zero elsewhere", "jax.nn.one_hot"),
    Function("size(D: dim) -> count", "the number of entries of a dim"),
)

PRODUCTS = (
    Function("dot(a: real[N], b: real[N]) -> real", "inner product"),
    Function("outer(a: real[N], b: real[M]) -> real[N, M]", "the matrix of products a[i] * b[j]"),
    Function("quadratic_form(A: real[N, N], x: real[N]) -> real", "dot(x, A @ x)"),
    Function(
        "convolve(x: real[N], y: real[M]) -> real[N+M-1]", "entry k is the sum of x[i] * y[k - i]"
    ),
    Function("norm(x: real[...]) -> nonnegative", "square root of the sum of squares", kinks="x"),
    Function("norm1(x: real[...]) -> nonnegative", "sum of absolute values", kinks="x"),
    Function("distance(a: real[N], b: real[N]) -> nonnegative", "norm(a - b)", kinks="a b"),
    Function(
        "squared_distance(a: real[N], b: real[N]) -> nonnegative", "sum of squared differences"
    ),
    Function("normalize(x: real[N]) -> unit_vector[N]", "x / norm(x)"),
    Function(
        "layer_norm(x: real[N], epsilon: nonnegative = 1e-5) -> real[N]",
        "x less its mean, over its deviation",
    ),
    Function(
        "batch_norm(x: real[N, M], epsilon: nonnegative = 1e-5) -> real[N, M]",
        "layer_norm of each column",
    ),
    Function(
        "group_soft_threshold(x: real[N], threshold: nonnegative = 1) -> real[N]",
        "x shortened by the threshold t, at most to 0: the proximal operator of t * norm(x)",
        kinks="x threshold",
    ),
)

MATRICES = (
    Function("transpose(A: item[N, M]) -> item[M, N]", "rows as columns", "jnp.transpose"),
    Function(
        "diag(x: num[N]) -> num[N, N]",
        "the matrix with x on its diagonal and zeros elsewhere",
        "jnp.diag",
    ),
    Function("diagonal(A: num[N, N]) -> num[N]", "the diagonal of a matrix", "jnp.diagonal"),
    Function("trace(A: real[N, N]) -> real", "sum of the diagonal"),
    Function("det(A: real[N, N]) -> real", "determinant", "jnp.linalg.det"),
    Function("logdet(A: real[N, N]) -> real", "logarithm of the absolute value of the determinant"),
    Function(
        "inv(A: real[N, N]) -> real[N, N]",
        "inverse; to solve equations use solve",
        "jnp.linalg.inv",
    ),
    Function(
        "solve(A: real[N, N], b: real[N]) -> real[N]", "the x with A @ x = b", "jnp.linalg.solve"
    ),
    Function(
        "solve(A: real[N, N], b: real[N, M]) -> real[N, M]",
        "the X with A @ X = b",
        "jnp.linalg.solve",
    ),
    Function(
        "cholesky(A: covariance[N, N]) -> cholesky[N, N]",
        "the lower triangular L with L @ transpose(L) = A",
        "jnp.linalg.cholesky",
    ),
    Function("solve_triangular(L: cholesky[N, N], b: real[N]) -> real[N]", "the x with L @ x = b"),
    Function(
        "solve_triangular(L: cholesky[N, N], b: real[N, M]) -> real[N, M]", "the X with L @ X = b"
    ),
    Function(
        "matrix_exp(A: real[N, N]) -> real[N, N]",
        "matrix exponential, as of a rate matrix",
        "jax.scipy.linalg.expm",
    ),
)

_KERNELS = {
    "gp_exp_quad": "scale^2 * exp(-(d / length)^2 / 2)",
    "gp_exponential": "scale^2 * exp(-d / length)",
    "gp_matern32": "scale^2 * (1 + r) * exp(-r) for r = sqrt(3) * d / length",
    "gp_matern52": "scale^2 * (1 + r + r^2 / 3) * exp(-r) for r = sqrt(5) * d / length",
}


def _kernel_rows(name: str, formula: str) -> tuple[Function, ...]:
    """A Gaussian-process kernel: among the points of x, or of x against those of y."""
    rest = "scale: positive, length: positive"
    doc = f"covariance at distance d: {formula}"
    kinks = "x y" if name == "gp_exponential" else ""
    return (
        Function(f"{name}(x: real[N], {rest}) -> covariance[N, N]", doc, kinks=kinks),
        Function(f"{name}(x: real[N, K], {rest}) -> covariance[N, N]", doc, kinks=kinks),
        Function(
            f"{name}(x: real[N], y: real[M], {rest}) -> real[N, M]",
            doc,
            f"{name}_cross",
            kinks=kinks,
        ),
        Function(
            f"{name}(x: real[N, K], y: real[M, K], {rest}) -> real[N, M]",
            doc,
            f"{name}_cross",
            kinks=kinks,
        ),
    )


KERNELS = tuple(row for name, formula in _KERNELS.items() for row in _kernel_rows(name, formula))

LINEAR_ALGEBRA: tuple[Function, ...] = PRODUCTS + MATRICES + KERNELS

HARD_LISTS = (
    Function("get(l: item[N], i: index[N]) -> item", "l[i] as a function", "list_get"),
    Function(
        "set(l: item[N], i: index[N], value: item) -> item[N]",
        "the list with its entry i replaced",
        "list_set",
    ),
    Function(
        "insert(l: item[N], i: index[N+1], value: item) -> item[N+1]",
        "value at i, what was there moves right",
        "list_insert",
    ),
    Function(
        "push_left(l: item[N], value: item) -> item[N+1]", "the list with a value before its first"
    ),
    Function(
        "push_right(l: item[N], value: item) -> item[N+1]",
        "the list with a value after its last",
        "jnp.append",
    ),
    Function("pop_left(l: item[N]) -> item[N-1]", "the list without its first entry"),
    Function("pop_right(l: item[N]) -> item[N-1]", "the list without its last entry"),
    Function(
        "concat(a: item[N], b: item[M]) -> item[N+M]",
        "the entries of a, then those of b",
        "jnp.append",
    ),
)

SOFT_LISTS = (
    Function(
        "soft_get(l: real[N], p: simplex[N]) -> real",
        "the mean of l[i] when i has the probabilities p",
    ),
    Function(
        "soft_get(l: real[N, M], p: simplex[N]) -> real[M]",
        "the mean of l[i] when i has the probabilities p",
    ),
    Function(
        "soft_get(l: real[N, M], p: simplex[N], q: simplex[M]) -> real",
        "the mean of l[i, j] when i and j have the probabilities p and q",
        "soft_get_pair",
    ),
    Function(
        "soft_set(l: real[N], p: simplex[N], value: real) -> real[N]",
        "the mean of set(l, i, value)",
    ),
    Function(
        "soft_insert(l: real[N], p: simplex[N+1], value: real) -> real[N+1]",
        "the mean of insert(l, i, value)",
    ),
)

DICTIONARIES = (
    Function(
        "lookup(keys: real[N], values: item[N], key: real) -> item",
        "the value of the nearest key",
        jumps="keys key",
    ),
    Function(
        "lookup(keys: real[N, K], values: item[N], key: real[K]) -> item",
        "the value of the nearest key",
        jumps="keys key",
    ),
    Function(
        "update(keys: real[N], values: item[N], key: real, value: item) -> item[N]",
        "the values, with that of this very key replaced",
        jumps="keys key",
    ),
    Function(
        "update(keys: real[N, K], values: item[N], key: real[K], value: item) -> item[N]",
        "the values, with that of this very key replaced",
        jumps="keys key",
    ),
    Function(
        "lookup_weights(keys: real[N], key: real, scale: positive = 1) -> simplex[N]",
        "softargmax(-distance^2 / (2 * scale^2)): which key is meant",
    ),
    Function(
        "lookup_weights(keys: real[N, K], key: real[K], scale: positive = 1) -> simplex[N]",
        "softargmax(-distance^2 / (2 * scale^2)): which key is meant",
    ),
    Function(
        "soft_lookup(keys: real[N], values: real[N], key: real, scale: positive = 1) -> real",
        "the mean value under lookup_weights: Nadaraya-Watson with a Gaussian kernel",
    ),
    Function(
        "soft_lookup(keys: real[N, K], values: real[N], key: real[K], scale: positive = 1) -> real",
        "the mean value under lookup_weights: Nadaraya-Watson with a Gaussian kernel",
    ),
    Function(
        (
            "soft_lookup(keys: real[N, K], values: real[N, M], key: real[K], scale: positive = 1) -> "
            "real[M]"
        ),
        "the mean value under lookup_weights: Nadaraya-Watson with a Gaussian kernel",
    ),
    Function(
        (
            "attention(queries: real[N, K], keys: real[M, K], values: real[M, P], temperature: "
            "positive = 1) -> real[N, P]"
        ),
        "softargmax(queries @ transpose(keys) / temperature) @ values, row by row",
    ),
    Function(
        "attention(queries: real[N, K], keys: real[M, K], values: real[M, P], mask: bool[N, M], "
        "temperature: positive = 1) -> real[N, P]",
        "attention of each query to the keys that its row of the mask allows",
        "masked_attention",
    ),
)

LISTS: tuple[Function, ...] = HARD_LISTS + SOFT_LISTS + DICTIONARIES
