"""Which JAX function or helper of this folder implements each row of the function table. Plain data.

It takes the row's parameters in their order. Sizes of dims are Python ints. `one_hot` also needs the size of its
axis, which its argument does not tell, as a second argument. JAX's own functions read int32 and bool as float32 even
where float64 is the default: `as_real(x)` gives the default float.
"""

from __future__ import annotations

from ..signatures.functions import FUNCTIONS

ELEMENTARY = {
    "square": "square",
    "sqrt": "jnp.sqrt",
    "pow": "power",
    "exp": "jnp.exp",
    "expm1": "jnp.expm1",
    "log": "jnp.log",
    "log1p": "jnp.log1p",
    "log1mexp": "log1mexp",
    "log2": "jnp.log2",
    "log10": "jnp.log10",
    "xlogy": "xlogy",
    "sin": "jnp.sin",
    "cos": "jnp.cos",
    "tan": "jnp.tan",
    "asin": "jnp.arcsin",
    "acos": "jnp.arccos",
    "atan": "jnp.arctan",
    "atan2": "jnp.arctan2",
    "sinh": "jnp.sinh",
    "cosh": "jnp.cosh",
    "tanh": "jnp.tanh",
    "asinh": "jnp.arcsinh",
    "acosh": "jnp.arccosh",
    "atanh": "jnp.arctanh",
    "erf": "jax.scipy.special.erf",
    "erfc": "jax.scipy.special.erfc",
    "erfinv": "jax.scipy.special.erfinv",
    "Phi": "Phi",
    "Phi_inverse": "Phi_inverse",
    "logistic": "logistic",
    "logit": "jax.scipy.special.logit",
    "lgamma": "jax.scipy.special.gammaln",
    "digamma": "jax.scipy.special.digamma",
    "lbeta": "jax.scipy.special.betaln",
    "lchoose": "lchoose",
    "gammainc": "jax.scipy.special.gammainc",
    "betainc": "betainc",
    "sign": "sign",
    "step": "step",
    "floor": "floor",
    "ceil": "ceil",
    "round": "nearest_int",
    "trunc": "trunc",
    "mod": "jnp.mod",
    "clip": "jnp.clip",
    "logdiffexp": "logdiffexp",
    "relu": "relu",
    "softplus": "jax.nn.softplus",
    "sparseplus": "jax.nn.sparse_plus",
    "sparsesigmoid": "jax.nn.sparse_sigmoid",
    "gelu": "gelu",
    "silu": "silu",
    "elu": "elu",
    "leaky_relu": "leaky_relu",
    "huber": "huber",
    "soft_threshold": "soft_threshold",
}

ARRAYS = {
    "sum": "jnp.sum",
    "prod": "jnp.prod",
    "mean": "mean",
    "var": "variance",
    "sd": "deviation",
    "quantile": "quantile",
    "any": "jnp.any",
    "all": "jnp.all",
    "argmax": "jnp.argmax",
    "argmin": "jnp.argmin",
    "cumsum": "jnp.cumsum",
    "cumprod": "jnp.cumprod",
    "cummax": "jax.lax.cummax",
    "cummin": "jax.lax.cummin",
    "cumlogsumexp": "cumlogsumexp",
    "diff": "differences",
    "sort": "jnp.sort",
    "rank": "rank",
    "reverse": "jnp.flip",
    "zeros": "zeros",
    "ones": "ones",
    "full": "full",
    "eye": "jnp.eye",
    "linspace": "linspace",
    "one_hot": "jax.nn.one_hot",
    "size": "size",
    "dot": "dot",
    "outer": "outer",
    "quadratic_form": "quadratic_form",
    "convolve": "convolve",
    "norm": "norm",
    "norm1": "norm1",
    "distance": "distance",
    "squared_distance": "squared_distance",
    "normalize": "normalize",
    "layer_norm": "layer_norm",
    "batch_norm": "batch_norm",
    "group_soft_threshold": "group_soft_threshold",
    "transpose": "jnp.transpose",
    "diag": "jnp.diag",
    "diagonal": "jnp.diagonal",
    "trace": "trace",
    "det": "jnp.linalg.det",
    "logdet": "logdet",
    "inv": "jnp.linalg.inv",
    "solve": "jnp.linalg.solve",
    "cholesky": "jnp.linalg.cholesky",
    "solve_triangular": "solve_triangular",
    "matrix_exp": "jax.scipy.linalg.expm",
}

SMOOTH = {"branch_variance": "hard_variance"} | {
    name: name
    for name in (
        "softmax",
        "softmin",
        "softargmax",
        "softargmin",
        "log_softargmax",
        "softargmax_inverse",
        "sparsemax",
        "sparsemin",
        "sparseargmax",
        "sparseargmin",
        "entmax",
        "entargmax",
        "entropy",
        "gini_entropy",
        "tsallis_entropy",
        "kl",
        "prox_relu",
        "moreau_relu",
        "prox_barrier",
        "moreau_barrier",
        "hard_threshold",
        "truncated_square",
        "moreau_interval",
        "moreau_norm",
        "prox_max",
        "moreau_max",
        "prox_norm_inf",
        "moreau_norm_inf",
        "project_ball",
        "moreau_ball",
        "project_l1_ball",
        "moreau_simplex",
    )
}

LISTS = {
    "get": "list_get",
    "set": "list_set",
    "insert": "list_insert",
    "push_left": "push_left",
    "push_right": "jnp.append",
    "pop_left": "pop_left",
    "pop_right": "pop_right",
    "concat": "jnp.append",
    "soft_set": "soft_set",
    "soft_insert": "soft_insert",
    "lookup": "lookup",
    "update": "update",
    "lookup_weights": "lookup_weights",
    "soft_lookup": "soft_lookup",
}

BY_NAME = ELEMENTARY | ARRAYS | SMOOTH | LISTS

# Rows of one name that need different code.
BY_TEXT = {
    "abs(x: int) -> count": "jnp.abs",
    "abs(x: real) -> nonnegative": "magnitude",
    "min(a: num, b: num) -> num": "jnp.minimum",
    "max(a: num, b: num) -> num": "jnp.maximum",
    "min(x: num[...]) -> num": "jnp.min",
    "max(x: num[...]) -> num": "jnp.max",
    "logsumexp(a: real, b: real) -> real": "logaddexp",
    "logsumexp(x: real[...]) -> real": "logsumexp",
    "logistic_loss(scores: real[N], label: index[N]) -> nonnegative": "logistic_loss",
    "logistic_loss(scores: real[N], target: simplex[N]) -> nonnegative": "logistic_loss_target",
    "sparsemax_loss(scores: real[N], label: index[N]) -> nonnegative": "sparsemax_loss",
    "sparsemax_loss(scores: real[N], target: simplex[N]) -> nonnegative": "sparsemax_loss_target",
    "entmax_loss(scores: real[N], label: index[N], alpha: positive = 1.5) -> nonnegative": "entmax_loss",
    "entmax_loss(scores: real[N], target: simplex[N], alpha: positive = 1.5) -> nonnegative": "entmax_loss_target",
    "perceptron_loss(scores: real[N], label: index[N]) -> nonnegative": "perceptron_loss",
    "perceptron_loss(scores: real[N], target: simplex[N]) -> nonnegative": "perceptron_loss_target",
    "soft_get(l: real[N], p: simplex[N]) -> real": "soft_get",
    "soft_get(l: real[N, M], p: simplex[N]) -> real[M]": "soft_get",
    "soft_get(l: real[N, M], p: simplex[N], q: simplex[M]) -> real": "soft_get_pair",
    "attention(queries: real[N, K], keys: real[M, K], values: real[M, P], temperature: positive = 1) -> real[N, P]": (
        "attention"
    ),
    "attention(queries: real[N, K], keys: real[M, K], values: real[M, P], mask: bool[N, M], "
    "temperature: positive = 1) -> real[N, P]": "masked_attention",
}

KERNELS = {
    row.text: f"{row.name}_cross" if any(p.name == "y" for p in row.signature.params) else row.name
    for row in FUNCTIONS
    if row.name.startswith("gp_")
}

_CANDIDATES = {row.text: BY_TEXT.get(row.text) or KERNELS.get(row.text) or BY_NAME.get(row.name) for row in FUNCTIONS}
IMPLEMENTATIONS: dict[str, str] = {text: path for text, path in _CANDIDATES.items() if path}
