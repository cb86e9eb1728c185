"""Distributions of a vector or a matrix of real numbers."""

from math import inf

from .rows import Distribution, Update, distribution

VECTORS = (
    distribution(
        "MultivariateNormal(mean: real[N], cov: covariance[N, N]) -> real[N]",
        "MultivariateNormal(loc=mean, covariance_matrix=cov)",
        "the Gaussian of a vector, by its covariance matrix",
        "reparametrised closed_divergence entropy",
        location_scale=("mean", "cov"),
        symmetric="smooth",
        family="MultivariateNormal",
    ),
    distribution(
        "MultivariateNormal(mean: real[N], chol: cholesky[N, N]) -> real[N]",
        "MultivariateNormal(loc=mean, scale_tril=chol)",
        "the Gaussian of a vector, by the lower Cholesky factor of its covariance",
        "reparametrised closed_divergence entropy",
        location_scale=("mean", "chol"),
        symmetric="smooth",
        family="MultivariateNormal",
    ),
    distribution(
        "MultivariateNormal(mean: real[N], precision: covariance[N, N]) -> real[N]",
        "MultivariateNormal(loc=mean, precision_matrix=precision)",
        "the Gaussian of a vector, by the inverse of its covariance",
        "reparametrised closed_divergence entropy",
        location_scale=("mean", "precision"),
        symmetric="smooth",
        family="MultivariateNormal",
    ),
    distribution(
        "LowRankMultivariateNormal(mean: real[N], factor: real[N, K], diagonal: positive[N]) -> "
        "real[N]",
        "LowRankMultivariateNormal(loc=mean, cov_factor=factor, cov_diag=diagonal)",
        "the Gaussian with covariance factor @ transpose(factor) + diag(diagonal)",
        "reparametrised entropy",
    ),
    distribution(
        "MultivariateStudentT(df: positive, location: real[N], scale: covariance[N, N]) -> real[N]",
        "MultivariateStudentT(df=df, loc=location, scale_tril=cholesky(scale))",
        "Student's t of a vector; `scale` is a matrix, the covariance is df / (df - 2) times it",
        "reparametrised",
        location_scale=("location", "scale"),
    ),
    distribution(
        "MultivariateStudentT(df: positive, location: real[N], chol: cholesky[N, N]) -> real[N]",
        "MultivariateStudentT(df=df, loc=location, scale_tril=chol)",
        "Student's t of a vector, by the lower Cholesky factor of its scale matrix",
        "reparametrised",
        location_scale=("location", "chol"),
    ),
    distribution(
        "ZeroSumNormal(D: dim, scale: positive) -> real[D]",
        "ZeroSumNormal(scale=scale, event_shape=(D,))",
        "independent Normal(0, scale) less their mean, so that they sum to zero",
        "reparametrised",
    ),
    distribution(
        "Dirichlet(concentration: positive[N]) -> simplex[N]",
        "Dirichlet(concentration=concentration)",
        "probabilities with density proportional to the product of p_i^(concentration_i - 1)",
        "reparametrised closed_divergence entropy",
        family="Dirichlet",
        prior=Update.PROBABILITIES,
    ),
    distribution(
        "ProjectedNormal(direction: real[N]) -> unit_vector[N]",
        "ProjectedNormal(concentration=direction)",
        "the direction of a Gaussian vector with mean `direction` and unit covariance, in 2 or 3 "
        "dimensions",
        "reparametrised",
        lengths={"N": (2, 3)},
        moments=False,
    ),
)

MATRICES = (
    distribution(
        "MatrixNormal(mean: real[N, M], chol_row: cholesky[N, N], chol_column: cholesky[M, M]) -> "
        "real[N, M]",
        "MatrixNormal(loc=mean, scale_tril_row=chol_row, scale_tril_column=chol_column)",
        "mean + chol_row @ Z @ transpose(chol_column) for a matrix Z of standard normals",
        "reparametrised",
        moments=False,
    ),
    distribution(
        "LKJ(D: dim, concentration: positive) -> correlation[D, D]",
        "LKJ(dimension=D, concentration=concentration)",
        "a correlation matrix, density proportional to det^(concentration - 1)",
        "reparametrised",
        lengths={"D": (2, inf)},
        moments=False,
    ),
    distribution(
        "LKJCholesky(D: dim, concentration: positive) -> corr_cholesky[D, D]",
        "LKJCholesky(dimension=D, concentration=concentration)",
        "the lower Cholesky factor of an LKJ(D, concentration) correlation matrix",
        "reparametrised",
        lengths={"D": (2, inf)},
        moments=False,
    ),
    distribution(
        "Wishart(df: positive, scale: covariance[N, N]) -> covariance[N, N]",
        "Wishart(concentration=df, scale_matrix=scale)",
        "the sum of `df` outer products of Gaussians with covariance `scale`; the mean is df * "
        "scale",
        "reparametrised entropy",
        degrees="df",
        family="Wishart",
    ),
    distribution(
        "WishartCholesky(df: positive, chol: cholesky[N, N]) -> cholesky[N, N]",
        "WishartCholesky(concentration=df, scale_tril=chol)",
        "the lower Cholesky factor of Wishart(df, chol @ transpose(chol))",
        "reparametrised",
        degrees="df",
    ),
    distribution(
        "InverseWishart(df: positive, scale: covariance[N, N]) -> covariance[N, N]",
        "InverseWishart(concentration=df, scale_matrix=scale)",
        "its inverse is Wishart(df, inv(scale)); the mean is scale / (df - N - 1)",
        "reparametrised",
        degrees="df",
    ),
    distribution(
        "InverseWishartCholesky(df: positive, chol: cholesky[N, N]) -> cholesky[N, N]",
        "InverseWishartCholesky(concentration=df, scale_tril=chol)",
        "the lower Cholesky factor of InverseWishart(df, chol @ transpose(chol))",
        "reparametrised",
        degrees="df",
    ),
)

MULTIVARIATE: tuple[Distribution, ...] = VECTORS + MATRICES
