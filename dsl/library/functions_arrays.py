"""Functions of arrays: reductions, constructors, linear algebra, lists and dictionaries."""

from .rows import FunctionRow as Row

REDUCTIONS = (
    Row("sum(x: num[...]) -> num", "sum of all entries", "jnp.sum"),
    Row("prod(x: num[...]) -> num", "product of all entries", "jnp.prod"),
    Row("mean(x: real[...]) -> real", "average of all entries"),
    Row(
        "var(x: real[...]) -> nonnegative",
        "sample variance: squared deviations over one less than their number",
        "variance",
    ),
    Row(
        "sd(x: real[...]) -> nonnegative",
        "sample standard deviation: sqrt(var(x))",
        "deviation",
        kinks="x",
    ),
    Row(
        "quantile(x: real[...], p: unit) -> real",
        "the value below which a fraction p lies, interpolated",
        kinks="x p",
    ),
    Row("min(x: num[...]) -> num", "the smallest entry", "jnp.min", kinks="x", rising="x"),
    Row("max(x: num[...]) -> num", "the largest entry", "jnp.max", kinks="x", rising="x"),
    Row("any(x: bool[...]) -> bool", "true when an entry is", "jnp.any"),
    Row("all(x: bool[...]) -> bool", "true when every entry is", "jnp.all"),
    Row("logsumexp(x: real[...]) -> real", "log(sum(exp(x))), without overflow"),
    Row(
        "argmax(x: real[N]) -> index[N]",
        "where the largest entry is, the first of equals",
        "jnp.argmax",
        jumps="x",
    ),
    Row(
        "argmin(x: real[N]) -> index[N]",
        "where the smallest entry is, the first of equals",
        "jnp.argmin",
        jumps="x",
    ),
    Row("cumsum(x: num[N]) -> num[N]", "sums of the entries up to each", "jnp.cumsum"),
    Row("cumprod(x: num[N]) -> num[N]", "products of the entries up to each", "jnp.cumprod"),
    Row("cummax(x: num[N]) -> num[N]", "the largest entry up to each", "jax.lax.cummax", kinks="x"),
    Row("cummin(x: num[N]) -> num[N]", "the least entry up to each", "jax.lax.cummin", kinks="x"),
    Row("cumlogsumexp(x: real[N]) -> real[N]", "logsumexp of the entries up to each"),
    Row("diff(x: real[N]) -> real[N-1]", "each entry less the one before it", "differences"),
    Row("sort(x: num[N]) -> num[N]", "the entries in increasing order", "jnp.sort", kinks="x"),
    Row("rank(x: real[N]) -> count[N]", "how many entries sort before each", jumps="x"),
    Row("reverse(x: item[N]) -> item[N]", "the entries from last to first", "jnp.flip"),
)

CONSTRUCTORS = (
    Row("zeros(*D: dim) -> real[*D]", "an array of zeros over these dims"),
    Row("ones(*D: dim) -> positive[*D]", "an array of ones over these dims"),
    Row("full(value: item, *D: dim) -> item[*D]", "an array of one value over these dims"),
    Row("eye(D: dim) -> correlation[D, D]", "the identity matrix", "jnp.eye"),
    Row("linspace(D: dim, first: real, last: real) -> real[D]", "evenly spaced from first to last"),
    Row("one_hot(i: index[N]) -> simplex[N]", "one at i, zero elsewhere", "jax.nn.one_hot"),
    Row("size(D: dim) -> count", "the number of entries of a dim"),
)

PRODUCTS = (
    Row("dot(a: real[N], b: real[N]) -> real", "inner product"),
    Row("outer(a: real[N], b: real[M]) -> real[N, M]", "the matrix of products a[i] * b[j]"),
    Row("quadratic_form(A: real[N, N], x: real[N]) -> real", "dot(x, A @ x)"),
    Row("convolve(x: real[N], y: real[M]) -> real[N+M-1]", "entry k is the sum of x[i] * y[k - i]"),
    Row("norm(x: real[...]) -> nonnegative", "square root of the sum of squares", kinks="x"),
    Row("norm1(x: real[...]) -> nonnegative", "sum of absolute values", kinks="x"),
    Row("distance(a: real[N], b: real[N]) -> nonnegative", "norm(a - b)", kinks="a b"),
    Row("squared_distance(a: real[N], b: real[N]) -> nonnegative", "sum of squared differences"),
    Row("normalize(x: real[N]) -> unit_vector[N]", "x / norm(x)", poles={"x": "where all are 0"}),
    Row(
        "layer_norm(x: real[N], epsilon: nonnegative = 1e-5) -> real[N]",
        "(x - mean) / deviation",
        poles={"x": "where all are equal"},
    ),
    Row(
        "batch_norm(x: real[N, M], epsilon: nonnegative = 1e-5) -> real[N, M]",
        "layer_norm of each column",
        poles={"x": "where all are equal"},
    ),
    Row(
        "group_soft_threshold(x: real[N], threshold: nonnegative = 1) -> real[N]",
        "x shortened by the threshold t, at most to 0: the proximal operator of t * norm(x)",
        kinks="x threshold",
    ),
)

MATRICES = (
    Row("transpose(A: item[N, M]) -> item[M, N]", "rows as columns", "jnp.transpose"),
    Row("diag(x: num[N]) -> num[N, N]", "a matrix with x on its diagonal, else 0", "jnp.diag"),
    Row("diagonal(A: num[N, N]) -> num[N]", "the diagonal of a matrix", "jnp.diagonal"),
    Row("trace(A: real[N, N]) -> real", "sum of the diagonal"),
    Row("det(A: real[N, N]) -> real", "determinant", "jnp.linalg.det"),
    Row(
        "logdet(A: real[N, N]) -> real",
        "logarithm of the absolute value of the determinant",
        poles={"A": "where singular"},
    ),
    Row(
        "inv(A: invertible[N, N]) -> real[N, N]",
        "inverse; for equations use solve",
        "jnp.linalg.inv",
        poles={"A": "where singular"},
    ),
    Row(
        "solve(A: invertible[N, N], b: real[N]) -> real[N]",
        "the x with A @ x = b",
        "jnp.linalg.solve",
        poles={"A": "where singular"},
    ),
    Row(
        "solve(A: invertible[N, N], b: real[N, M]) -> real[N, M]",
        "the X with A @ X = b",
        "jnp.linalg.solve",
        poles={"A": "where singular"},
    ),
    Row(
        "cholesky(A: covariance[N, N]) -> cholesky[N, N]",
        "the lower triangular L with L @ transpose(L) = A",
        "jnp.linalg.cholesky",
        bends={"A": "where singular"},
    ),
    Row(
        "solve_triangular(L: cholesky[N, N], b: real[N]) -> real[N]",
        "the x with L @ x = b",
        poles={"L": "where the diagonal is 0"},
    ),
    Row(
        "solve_triangular(L: cholesky[N, N], b: real[N, M]) -> real[N, M]",
        "the X with L @ X = b",
        poles={"L": "where the diagonal is 0"},
    ),
    Row(
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


def _kernel_rows(name: str, formula: str) -> tuple[Row, ...]:
    """A Gaussian-process kernel: among the points of x, or of x against those of y."""
    rest = "scale: positive, length: positive"
    doc = f"covariance at distance d: {formula}"
    kinks = "x y" if name == "gp_exponential" else ""
    return (
        Row(f"{name}(x: real[N], {rest}) -> covariance[N, N]", doc, kinks=kinks),
        Row(f"{name}(x: real[N, K], {rest}) -> covariance[N, N]", doc, kinks=kinks),
        Row(
            f"{name}(x: real[N], y: real[M], {rest}) -> real[N, M]",
            doc,
            f"{name}_cross",
            kinks=kinks,
        ),
        Row(
            f"{name}(x: real[N, K], y: real[M, K], {rest}) -> real[N, M]",
            doc,
            f"{name}_cross",
            kinks=kinks,
        ),
    )


KERNELS = tuple(row for name, formula in _KERNELS.items() for row in _kernel_rows(name, formula))

LINEAR_ALGEBRA: tuple[Row, ...] = PRODUCTS + MATRICES + KERNELS

HARD_LISTS = (
    Row("get(l: item[N], i: index[N]) -> item", "l[i] as a function", "list_get"),
    Row(
        "set(l: item[N], i: index[N], value: item) -> item[N]",
        "the list with its entry i replaced",
        "list_set",
    ),
    Row(
        "insert(l: item[N], i: index[N+1], value: item) -> item[N+1]",
        "value at i, what was there moves right",
        "list_insert",
    ),
    Row("push_left(l: item[N], value: item) -> item[N+1]", "the list with value before its first"),
    Row(
        "push_right(l: item[N], value: item) -> item[N+1]",
        "the list with a value after its last",
        "jnp.append",
    ),
    Row("pop_left(l: item[N]) -> item[N-1]", "the list without its first entry"),
    Row("pop_right(l: item[N]) -> item[N-1]", "the list without its last entry"),
    Row("concat(a: item[N], b: item[M]) -> item[N+M]", "entries of a, then of b", "jnp.append"),
)

SOFT_LISTS = (
    Row("soft_get(l: real[N], p: simplex[N]) -> real", "mean of l[i] for i with probabilities p"),
    Row(
        "soft_get(l: real[N, M], p: simplex[N]) -> real[M]",
        "mean of l[i] for i with probabilities p",
    ),
    Row(
        "soft_get(l: real[N, M], p: simplex[N], q: simplex[M]) -> real",
        "the mean of l[i, j] when i and j have the probabilities p and q",
        "soft_get_pair",
    ),
    Row("soft_set(l: real[N], p: simplex[N], value: real) -> real[N]", "mean of set(l, i, value)"),
    Row(
        "soft_insert(l: real[N], p: simplex[N+1], value: real) -> real[N+1]",
        "the mean of insert(l, i, value)",
    ),
)

DICTIONARIES = (
    Row(
        "lookup(keys: real[N], values: item[N], key: real) -> item",
        "the value of the nearest key",
        jumps="keys key",
    ),
    Row(
        "lookup(keys: real[N, K], values: item[N], key: real[K]) -> item",
        "the value of the nearest key",
        jumps="keys key",
    ),
    Row(
        "update(keys: real[N], values: item[N], key: real, value: item) -> item[N]",
        "the values, with that of this very key replaced",
        jumps="keys key",
    ),
    Row(
        "update(keys: real[N, K], values: item[N], key: real[K], value: item) -> item[N]",
        "the values, with that of this very key replaced",
        jumps="keys key",
    ),
    Row(
        "lookup_weights(keys: real[N], key: real, scale: positive = 1) -> simplex[N]",
        "softargmax(-distance^2 / (2 * scale^2)): which key is meant",
    ),
    Row(
        "lookup_weights(keys: real[N, K], key: real[K], scale: positive = 1) -> simplex[N]",
        "softargmax(-distance^2 / (2 * scale^2)): which key is meant",
    ),
    Row(
        "soft_lookup(keys: real[N], values: real[N], key: real, scale: positive = 1) -> real",
        "the mean value under lookup_weights: Nadaraya-Watson with a Gaussian kernel",
    ),
    Row(
        "soft_lookup(keys: real[N, K], values: real[N], key: real[K], scale: positive = 1) -> real",
        "the mean value under lookup_weights: Nadaraya-Watson with a Gaussian kernel",
    ),
    Row(
        "soft_lookup(keys: real[N, K], values: real[N, M], key: real[K], scale: positive = 1) "
        "-> real[M]",
        "the mean value under lookup_weights: Nadaraya-Watson with a Gaussian kernel",
    ),
    Row(
        (
            "attention(queries: real[N, K], keys: real[M, K], values: real[M, P], temperature: "
            "positive = 1) -> real[N, P]"
        ),
        "softargmax(queries @ transpose(keys) / temperature) @ values, row by row",
    ),
    Row(
        "attention(queries: real[N, K], keys: real[M, K], values: real[M, P], mask: bool[N, M], "
        "temperature: positive = 1) -> real[N, P]",
        "attention of each query to the keys that its row of the mask allows",
        "masked_attention",
    ),
)

LISTS: tuple[Row, ...] = HARD_LISTS + SOFT_LISTS + DICTIONARIES
