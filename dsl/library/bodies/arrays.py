"""Functions of whole arrays: constructors, reductions, products, matrices and kernels."""

import jax
import jax.numpy as jnp
from jax import lax

from .elementary import as_real, logaddexp, magnitude

# ---- constructors: dims are given by their sizes


def zeros(*sizes: int) -> jax.Array:
    """An array of zeros."""
    return jnp.zeros(sizes)


def ones(*sizes: int) -> jax.Array:
    """An array of ones."""
    return jnp.ones(sizes)


def full(value: jax.Array, *sizes: int) -> jax.Array:
    """An array of one value."""
    return jnp.full(sizes, value)


def linspace(size: int, first: jax.Array, last: jax.Array) -> jax.Array:
    """first + (last - first) * i / (size - 1): both ends included."""
    return jnp.linspace(first, last, size)


def size(count: int) -> int:
    """The size of a dim is known when the program is built."""
    return count


# ---- reductions


def mean(x: jax.Array) -> jax.Array:
    """sum_i x_i / N."""
    return jnp.mean(as_real(x))


def variance(x: jax.Array) -> jax.Array:
    """sum_i (x_i - mean(x))^2 / (N - 1)."""
    return jnp.var(as_real(x), ddof=1)


def deviation(x: jax.Array) -> jax.Array:
    """sqrt(variance(x)) = norm(x - mean(x)) / sqrt(N - 1); derivative 0 where all are equal."""
    return norm(x - jnp.mean(as_real(x))) / jnp.sqrt(x.size - 1.0)


def quantile(x: jax.Array, p: jax.Array) -> jax.Array:
    """Entry p * (N - 1) of the sorted entries, interpolated linearly."""
    return jnp.quantile(as_real(x), as_real(p))


def cumlogsumexp(x: jax.Array) -> jax.Array:
    """y_i = log(exp(y_{i-1}) + exp(x_i)), in log(N) parallel steps (PP08)."""
    sums: jax.Array = lax.associative_scan(logaddexp, as_real(x))
    return sums


def rank(x: jax.Array) -> jax.Array:
    """How many entries come before each when sorted; equal entries keep their order."""
    return jnp.argsort(jnp.argsort(x))


def differences(x: jax.Array) -> jax.Array:
    """x_{i+1} - x_i."""
    return jnp.diff(as_real(x))


# ---- products


def dot(a: jax.Array, b: jax.Array) -> jax.Array:
    """sum_i a_i b_i."""
    return jnp.dot(as_real(a), as_real(b))


def outer(a: jax.Array, b: jax.Array) -> jax.Array:
    """The matrix of a_i b_j."""
    return jnp.outer(as_real(a), as_real(b))


def quadratic_form(matrix: jax.Array, x: jax.Array) -> jax.Array:
    """sum_ij x_i A_ij x_j."""
    return dot(x, as_real(matrix) @ as_real(x))


def convolve(x: jax.Array, y: jax.Array) -> jax.Array:
    """z_k = sum_i x_i y_{k-i} (CV03)."""
    return jnp.convolve(as_real(x), as_real(y))


def norm(x: jax.Array) -> jax.Array:
    """sqrt(sum_i x_i^2) without overflow or underflow; of its subgradients at 0 it takes 0."""
    x = as_real(x)
    top = lax.stop_gradient(jnp.max(jnp.abs(x), initial=0.0))
    unit = jnp.where((top > 0) & (top < jnp.inf), top, 1.0)
    squares = jnp.sum(jnp.square(x / unit))
    return jnp.where(squares > 0, unit * jnp.sqrt(jnp.where(squares > 0, squares, 1.0)), 0.0)


def norm1(x: jax.Array) -> jax.Array:
    """sum_i |x_i|, with derivative 0 in the entries that are 0."""
    return jnp.sum(magnitude(x))


def distance(a: jax.Array, b: jax.Array) -> jax.Array:
    """norm(a - b), with derivative 0 where a = b."""
    return norm(as_real(a) - b)


def squared_distance(a: jax.Array, b: jax.Array) -> jax.Array:
    """sum_i (a_i - b_i)^2."""
    return jnp.sum(jnp.square(as_real(a) - b))


def normalize(x: jax.Array) -> jax.Array:
    """x / norm(x); not a number at 0, which has no direction."""
    return x / norm(x)


def layer_norm(x: jax.Array, epsilon: float | jax.Array = 1e-5) -> jax.Array:
    """(x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) (PP12)."""
    x = as_real(x)
    return (x - jnp.mean(x)) / jnp.sqrt(jnp.var(x) + epsilon)


def batch_norm(x: jax.Array, epsilon: float | jax.Array = 1e-5) -> jax.Array:
    """layer_norm of each column (PP12)."""
    return jax.vmap(layer_norm, in_axes=(1, None), out_axes=1)(x, epsilon)


def group_soft_threshold(x: jax.Array, threshold: float | jax.Array = 1.0) -> jax.Array:
    """x * max(1 - t / norm(x), 0): the proximal operator of t * norm(x) (SM02)."""
    length = norm(x)
    outside = length > threshold
    return x * jnp.where(outside, 1 - threshold / jnp.where(outside, length, 1.0), 0.0)


# ---- matrices


def trace(matrix: jax.Array) -> jax.Array:
    """sum_i A_ii."""
    return jnp.trace(as_real(matrix))


def logdet(matrix: jax.Array) -> jax.Array:
    """log |det(A)|."""
    value: jax.Array = jnp.linalg.slogdet(as_real(matrix)).logabsdet
    return value


def solve_triangular(lower: jax.Array, b: jax.Array) -> jax.Array:
    """The x with L x = b, for a lower triangular L."""
    return jax.scipy.linalg.solve_triangular(lower, b, lower=True)


# ---- covariances of Gaussian processes, of points on a line `[N]` or in space `[N, K]` (CF10)
#
# Distances are sums of squared differences, never |x|^2 + |y|^2 - 2 x.y: they are symmetric, and 0
# for equal points. No jitter is added: points that nearly coincide make a matrix that is positive
# definite only up to rounding.


def squared_distances(x: jax.Array, y: jax.Array) -> jax.Array:
    """d_ij^2 = sum_k (x_ik - y_jk)^2."""
    squares = jnp.square(as_real(x)[:, None] - y[None, :])
    return squares if x.ndim == 1 else jnp.sum(squares, axis=-1)


def distances(x: jax.Array, y: jax.Array) -> jax.Array:
    """d_ij = |x_i - y_j|, with derivative 0 where the points are equal."""
    squares = squared_distances(x, y)
    apart = squares > 0
    return jnp.where(apart, jnp.sqrt(jnp.where(apart, squares, 1.0)), 0.0)


def gp_exp_quad(x: jax.Array, scale: jax.Array, length: jax.Array) -> jax.Array:
    """scale^2 exp(-(d / length)^2 / 2), among the points of x."""
    return gp_exp_quad_cross(x, x, scale, length)


def gp_exp_quad_cross(x: jax.Array, y: jax.Array, scale: jax.Array, length: jax.Array) -> jax.Array:
    """scale^2 exp(-(d / length)^2 / 2), of the points of x against those of y."""
    return scale**2 * jnp.exp(-squared_distances(x, y) / (2 * length**2))


def gp_exponential(x: jax.Array, scale: jax.Array, length: jax.Array) -> jax.Array:
    """scale^2 exp(-d / length), among the points of x."""
    return gp_exponential_cross(x, x, scale, length)


def gp_exponential_cross(
    x: jax.Array, y: jax.Array, scale: jax.Array, length: jax.Array
) -> jax.Array:
    """scale^2 exp(-d / length), of the points of x against those of y."""
    return scale**2 * jnp.exp(-distances(x, y) / length)


def gp_matern32(x: jax.Array, scale: jax.Array, length: jax.Array) -> jax.Array:
    """scale^2 (1 + r) exp(-r) for r = sqrt(3) d / length, among the points of x."""
    return gp_matern32_cross(x, x, scale, length)


def gp_matern32_cross(x: jax.Array, y: jax.Array, scale: jax.Array, length: jax.Array) -> jax.Array:
    """scale^2 (1 + r) exp(-r) for r = sqrt(3) d / length, of the points of x against those of y."""
    r = 3**0.5 * distances(x, y) / length
    return scale**2 * (1 + r) * jnp.exp(-r)


def gp_matern52(x: jax.Array, scale: jax.Array, length: jax.Array) -> jax.Array:
    """scale^2 (1 + r + r^2 / 3) exp(-r) for r = sqrt(5) d / length, among the points of x."""
    return gp_matern52_cross(x, x, scale, length)


def gp_matern52_cross(x: jax.Array, y: jax.Array, scale: jax.Array, length: jax.Array) -> jax.Array:
    """scale^2 (1 + r + r^2 / 3) exp(-r) for r = sqrt(5) d / length, of points of x against y."""
    r = 5**0.5 * distances(x, y) / length
    return scale**2 * (1 + r + r**2 / 3) * jnp.exp(-r)
