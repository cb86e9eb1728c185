"""Distributions of one real number."""

from __future__ import annotations

from .rows import Distribution

REAL_LINE = (
    Distribution(
        "Normal(mean: real, sd: positive) -> real",
        "Normal(loc=mean, scale=sd)",
        "the Gaussian; `sd` is the standard deviation",
        reparametrised=True,
    ),
    Distribution(
        "StudentT(df: positive, location: real, scale: positive) -> real",
        "StudentT(df=df, loc=location, scale=scale)",
        "Student's t: tails like |x|^-(df + 1), nearer the Gaussian as `df` grows",
        reparametrised=True,
    ),
    Distribution(
        "Cauchy(location: real, scale: positive) -> real",
        "Cauchy(loc=location, scale=scale)",
        "Student's t with one degree of freedom: no mean; half the mass lies within `scale` of `location`",
        reparametrised=True,
    ),
    Distribution(
        "Laplace(location: real, scale: positive) -> real",
        "Laplace(loc=location, scale=scale)",
        "density proportional to exp(-|x - location| / scale)",
        reparametrised=True,
    ),
    Distribution(
        "AsymmetricLaplace(location: real, scale: positive, asymmetry: positive) -> real",
        "AsymmetricLaplace(loc=location, scale=scale, asymmetry=asymmetry)",
        "a Laplace whose scale is scale * asymmetry on the left and scale / asymmetry on the right",
        reparametrised=True,
    ),
    Distribution(
        "AsymmetricLaplace(location: real, scale: positive, quantile: unit) -> real",
        "AsymmetricLaplaceQuantile(loc=location, scale=scale, quantile=quantile)",
        "for quantile regression: P(x < location) = quantile; at 0.5 it is Laplace(location, 2 * scale)",
        reparametrised=True,
    ),
    Distribution(
        "Logistic(location: real, scale: positive) -> real",
        "Logistic(loc=location, scale=scale)",
        "the law whose distribution function is logistic((x - location) / scale)",
        reparametrised=True,
    ),
    Distribution(
        "Gumbel(location: real, scale: positive) -> real",
        "Gumbel(loc=location, scale=scale)",
        "the law of maxima; `location` is the mode, the mean is location + 0.5772 * scale",
        reparametrised=True,
    ),
    Distribution(
        "Levy(location: real, scale: positive) -> real",
        "Levy(loc=location, scale=scale)",
        "location + scale / z^2 for a standard normal z: above `location`, with no mean",
        reparametrised=True,
    ),
    Distribution(
        "VonMises(location: real, concentration: positive) -> real",
        "VonMises(loc=location, concentration=concentration)",
        "an angle from -pi to pi, density proportional to exp(concentration * cos(x - location))",
    ),
)

INTERVALS = (
    Distribution(
        "Uniform(lower: real, upper: real) -> real",
        "Uniform(low=lower, high=upper)",
        "constant density between `lower` and `upper`",
        reparametrised=True,
    ),
    Distribution(
        "LogUniform(lower: positive, upper: positive) -> positive",
        "LogUniform(low=lower, high=upper)",
        "between `lower` and `upper`, with a uniform logarithm",
        reparametrised=True,
    ),
    Distribution(
        "TruncatedNormal(location: real, scale: positive, lower: real) -> real",
        "TruncatedNormal(loc=location, scale=scale, low=lower)",
        "Normal(location, scale) given that it lies above `lower`",
        reparametrised=True,
    ),
    Distribution(
        "TruncatedNormal(location: real, scale: positive, upper: real) -> real",
        "TruncatedNormal(loc=location, scale=scale, high=upper)",
        "Normal(location, scale) given that it lies below `upper`",
        reparametrised=True,
    ),
    Distribution(
        "TruncatedNormal(location: real, scale: positive, lower: real, upper: real) -> real",
        "TruncatedNormal(loc=location, scale=scale, low=lower, high=upper)",
        "Normal(location, scale) given that it lies between `lower` and `upper`",
        reparametrised=True,
    ),
    Distribution(
        "TruncatedCauchy(location: real, scale: positive, lower: real) -> real",
        "TruncatedCauchy(loc=location, scale=scale, low=lower)",
        "Cauchy(location, scale) given that it lies above `lower`",
        reparametrised=True,
    ),
    Distribution(
        "TruncatedCauchy(location: real, scale: positive, upper: real) -> real",
        "TruncatedCauchy(loc=location, scale=scale, high=upper)",
        "Cauchy(location, scale) given that it lies below `upper`",
        reparametrised=True,
    ),
    Distribution(
        "TruncatedCauchy(location: real, scale: positive, lower: real, upper: real) -> real",
        "TruncatedCauchy(loc=location, scale=scale, low=lower, high=upper)",
        "Cauchy(location, scale) given that it lies between `lower` and `upper`",
        reparametrised=True,
    ),
    Distribution(
        "Beta(a: positive, b: positive) -> unit",
        "Beta(concentration1=a, concentration0=b)",
        "density proportional to x^(a - 1) * (1 - x)^(b - 1)",
        reparametrised=True,
    ),
    Distribution(
        "Beta(mean: unit, concentration: positive) -> unit",
        "BetaProportion(mean=mean, concentration=concentration)",
        "Beta(mean * concentration, (1 - mean) * concentration)",
        reparametrised=True,
    ),
    Distribution(
        "Kumaraswamy(a: positive, b: positive) -> unit",
        "Kumaraswamy(concentration1=a, concentration0=b)",
        "like a Beta, with the distribution function 1 - (1 - x^a)^b",
        reparametrised=True,
    ),
    Distribution(
        "RelaxedBernoulli(p: unit, temperature: positive) -> unit",
        "RelaxedBernoulli(temperature=temperature, probs=p)",
        "the binary Concrete law: logistic of (logit(p) + logistic noise) / temperature",
        reparametrised=True,
    ),
    Distribution(
        "RelaxedBernoulli(logits: real, temperature: positive) -> unit",
        "RelaxedBernoulli(temperature=temperature, logits=logits)",
        "the binary Concrete law: logistic of (logits + logistic noise) / temperature",
        reparametrised=True,
    ),
)

HALF_LINE = (
    Distribution(
        "HalfNormal(scale: positive) -> positive",
        "HalfNormal(scale=scale)",
        "the absolute value of Normal(0, scale)",
        reparametrised=True,
    ),
    Distribution(
        "HalfCauchy(scale: positive) -> positive",
        "HalfCauchy(scale=scale)",
        "the absolute value of Cauchy(0, scale)",
        reparametrised=True,
    ),
    Distribution(
        "HalfStudentT(df: positive, scale: positive) -> positive",
        "FoldedDistribution(StudentT(df=df, loc=0.0, scale=scale))",
        "the absolute value of StudentT(df, 0, scale)",
        reparametrised=True,
    ),
    Distribution(
        "LogNormal(location: real, scale: positive) -> positive",
        "LogNormal(loc=location, scale=scale)",
        "its logarithm is Normal(location, scale)",
        reparametrised=True,
    ),
    Distribution(
        "Exponential(rate: positive) -> positive",
        "Exponential(rate=rate)",
        "the waiting time for an event that happens at `rate`; the mean is 1 / rate",
        reparametrised=True,
    ),
    Distribution(
        "Gamma(shape: positive, rate: positive) -> positive",
        "Gamma(concentration=shape, rate=rate)",
        "density proportional to x^(shape - 1) * exp(-rate * x); the mean is shape / rate",
        reparametrised=True,
    ),
    Distribution(
        "Gamma(shape: positive, scale: positive) -> positive",
        "Gamma(concentration=shape, rate=1 / scale)",
        "the Gamma with rate 1 / scale; the mean is shape * scale",
        reparametrised=True,
    ),
    Distribution(
        "Gamma(mean: positive, sd: positive) -> positive",
        "Gamma(concentration=(mean / sd) ** 2, rate=mean / sd**2)",
        "the Gamma with this mean and standard deviation",
        reparametrised=True,
    ),
    Distribution(
        "InverseGamma(shape: positive, scale: positive) -> positive",
        "InverseGamma(concentration=shape, rate=scale)",
        "1 / x is Gamma(shape, rate=scale); the mean is scale / (shape - 1)",
        reparametrised=True,
    ),
    Distribution(
        "ChiSquared(df: positive) -> positive",
        "Chi2(df=df)",
        "the sum of `df` squared standard normals",
        reparametrised=True,
    ),
    Distribution(
        "InverseChiSquared(df: positive) -> positive",
        "InverseGamma(concentration=df / 2, rate=0.5)",
        "1 / x is ChiSquared(df)",
        reparametrised=True,
    ),
    Distribution(
        "ScaledInverseChiSquared(df: positive, scale: positive) -> positive",
        "InverseGamma(concentration=df / 2, rate=df * scale**2 / 2)",
        "df * scale^2 / x is ChiSquared(df): a variance near scale^2",
        reparametrised=True,
    ),
    Distribution(
        "Weibull(shape: positive, scale: positive) -> positive",
        "Weibull(concentration=shape, scale=scale)",
        "(x / scale)^shape is Exponential(1)",
        reparametrised=True,
    ),
    Distribution(
        "Rayleigh(scale: positive) -> positive",
        "Weibull(concentration=2.0, scale=sqrt(2.0) * scale)",
        "the length of a vector of two independent Normal(0, scale)",
        reparametrised=True,
    ),
    Distribution(
        "Gompertz(shape: positive, rate: positive) -> positive",
        "Gompertz(concentration=shape, rate=rate)",
        "a lifetime whose hazard is shape * rate * exp(rate * x)",
        reparametrised=True,
    ),
    Distribution(
        "Pareto(lower: positive, shape: positive) -> positive",
        "Pareto(scale=lower, alpha=shape)",
        "above `lower`, with P(x > t) = (lower / t)^shape",
        reparametrised=True,
    ),
)

CONTINUOUS: tuple[Distribution, ...] = REAL_LINE + INTERVALS + HALF_LINE
