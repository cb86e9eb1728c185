"""Distributions of one real number."""

from collections.abc import Iterator
from typing import Any

from .rows import Distribution, Update, distribution


def _truncated(name: str, **facts: Any) -> Iterator[Distribution]:
    """The part of a distribution above `lower`, below `upper`, or between them."""
    ends = {
        "above `lower`": {"lower": "low"},
        "below `upper`": {"upper": "high"},
        "between `lower` and `upper`": {"lower": "low", "upper": "high"},
    }
    for where, own in ends.items():
        arguments = ", ".join(f"{end}: real" for end in own)
        given = ", ".join(f"{word}={end}" for end, word in own.items())
        yield distribution(
            f"Truncated{name}(location: real, scale: positive, {arguments}) -> real",
            f"Truncated{name}(loc=location, scale=scale, {given})",
            f"{name}(location, scale) given that it lies {where}",
            "reparametrised quantile",
            edges=tuple(own),
            ascending=tuple(own) if len(own) == 2 else (),
            **facts,
        )


REAL_LINE = (
    distribution(
        "Normal(mean: real, sd: positive) -> real",
        "Normal(loc=mean, scale=sd)",
        "the Gaussian; `sd` is the standard deviation",
        "reparametrised on_the_line quantile measure_split closed_divergence entropy",
        location_scale=("mean", "sd"),
        symmetric="smooth",
        family="Normal",
        updates={"mean": Update.MEAN, "sd": Update.SPREAD},
        prior=Update.MEAN,
        tails="gaussian_tails",
    ),
    distribution(
        "StudentT(df: positive, location: real, scale: positive) -> real",
        "StudentT(df=df, loc=location, scale=scale)",
        "Student's t: tails like |x|^-(df + 1), nearer the Gaussian as `df` grows",
        "reparametrised on_the_line cdf entropy",
        location_scale=("location", "scale"),
        symmetric="smooth",
        tails="student_tails",
    ),
    distribution(
        "Cauchy(location: real, scale: positive) -> real",
        "Cauchy(loc=location, scale=scale)",
        "Student's t with one degree of freedom: no mean; half the mass lies within `scale` of "
        "`location`",
        "reparametrised on_the_line quantile entropy",
        location_scale=("location", "scale"),
        symmetric="smooth",
        moments=False,
        tails="cauchy_tails",
    ),
    distribution(
        "Laplace(location: real, scale: positive) -> real",
        "Laplace(loc=location, scale=scale)",
        "density proportional to exp(-|x - location| / scale)",
        "reparametrised on_the_line quantile entropy",
        location_scale=("location", "scale"),
        symmetric="kinked",
        kinked=("location",),
        tails="laplace_tails",
    ),
    distribution(
        "AsymmetricLaplace(location: real, scale: positive, asymmetry: positive) -> real",
        "AsymmetricLaplace(loc=location, scale=scale, asymmetry=asymmetry)",
        "a Laplace whose scale is scale * asymmetry on the left and scale / asymmetry on the right",
        "reparametrised on_the_line quantile",
        kinked=("location",),
        tails="asymmetric_laplace_tails",
    ),
    distribution(
        "AsymmetricLaplace(location: real, scale: positive, quantile: real(above=0, below=1)) -> "
        "real",
        "AsymmetricLaplaceQuantile(loc=location, scale=scale, quantile=quantile)",
        "for quantile regression: P(x < location) = quantile; at 0.5 it is Laplace(location, 2 * "
        "scale)",
        "reparametrised on_the_line quantile",
        kinked=("location",),
        tails="asymmetric_laplace_tails",
    ),
    distribution(
        "Logistic(location: real, scale: positive) -> real",
        "Logistic(loc=location, scale=scale)",
        "the law whose distribution function is logistic((x - location) / scale)",
        "reparametrised quantile entropy",
        location_scale=("location", "scale"),
        symmetric="smooth",
        tails="logistic_tails",
    ),
    distribution(
        "Gumbel(location: real, scale: positive) -> real",
        "Gumbel(loc=location, scale=scale)",
        "the law of maxima; `location` is the mode, the mean is location + 0.5772 * scale",
        "reparametrised quantile",
        location_scale=("location", "scale"),
        tails="gumbel_tails",
    ),
    distribution(
        "Levy(location: real, scale: positive) -> real",
        "Levy(loc=location, scale=scale)",
        "location + scale / z^2 for a standard normal z: above `location`, with no mean",
        "reparametrised quantile entropy",
        edges=("location",),
        moments=False,
        tails="levy_tails",
    ),
    distribution(
        "VonMises(location: real, concentration: positive) -> real",
        "VonMises(loc=location, concentration=concentration)",
        "an angle from -pi to pi, density proportional to exp(concentration * cos(x - location))",
        family="VonMises",
    ),
)

INTERVALS = (
    distribution(
        "Uniform(lower: real, upper: real) -> real",
        "Uniform(low=lower, high=upper)",
        "constant density between `lower` and `upper`",
        "reparametrised quantile entropy",
        edges=("lower", "upper"),
        ascending=("lower", "upper"),
        symmetric="kinked",
        tails="uniform_tails",
    ),
    distribution(
        "LogUniform(lower: positive, upper: positive) -> positive",
        "LogUniform(low=lower, high=upper)",
        "between `lower` and `upper`, with a uniform logarithm",
        "reparametrised quantile entropy",
        edges=("lower", "upper"),
        ascending=("lower", "upper"),
        tails="log_uniform_tails",
    ),
    *_truncated("Normal"),
    *_truncated("Cauchy", moments=False),
    distribution(
        "Beta(a: positive, b: positive) -> unit",
        "Beta(concentration1=a, concentration0=b)",
        "density proportional to x^(a - 1) * (1 - x)^(b - 1)",
        "reparametrised cdf closed_divergence entropy",
        family="Beta",
        prior=Update.CHANCE,
        tails="beta_tails",
    ),
    distribution(
        "Beta(mean: real(above=0, below=1), concentration: positive) -> unit",
        "BetaProportion(mean=mean, concentration=concentration)",
        "Beta(mean * concentration, (1 - mean) * concentration)",
        "reparametrised cdf closed_divergence entropy",
        family="Beta",
        prior=Update.CHANCE,
        tails="beta_tails",
    ),
    distribution(
        # 1.0: its density takes `xlogy` of them, which has no derivative beside a whole number.
        "Kumaraswamy(a: positive, b: positive) -> unit",
        "Kumaraswamy(concentration1=1.0 * a, concentration0=1.0 * b)",
        "like a Beta, with the distribution function 1 - (1 - x^a)^b",
        "reparametrised",
        tails="kumaraswamy_tails",
    ),
    distribution(
        "RelaxedBernoulli(p: unit, temperature: positive) -> unit",
        "RelaxedBernoulli(temperature=temperature, probs=p)",
        "the binary Concrete law: logistic of (logit(p) + logistic noise) / temperature",
        "reparametrised quantile",
        moments=False,
        tails="relaxed_bernoulli_tails",
    ),
    distribution(
        "RelaxedBernoulli(logits: real, temperature: positive) -> unit",
        "RelaxedBernoulli(temperature=temperature, logits=logits)",
        "the binary Concrete law: logistic of (logits + logistic noise) / temperature",
        "reparametrised quantile",
        moments=False,
        tails="relaxed_bernoulli_tails",
    ),
)

HALF_LINE = (
    distribution(
        "HalfNormal(scale: positive) -> positive",
        "HalfNormal(scale=scale)",
        "the absolute value of Normal(0, scale)",
        "reparametrised quantile",
        updates={"scale": Update.SPREAD},
        tails="half_normal_tails",
    ),
    distribution(
        "HalfCauchy(scale: positive) -> positive",
        "HalfCauchy(scale=scale)",
        "the absolute value of Cauchy(0, scale)",
        "reparametrised quantile",
        moments=False,
        tails="half_cauchy_tails",
    ),
    distribution(
        "HalfStudentT(df: positive, scale: positive) -> positive",
        "FoldedDistribution(StudentT(df=df, loc=0.0, scale=scale))",
        "the absolute value of StudentT(df, 0, scale)",
        "reparametrised",
        moments=False,
        tails="half_student_tails",
    ),
    distribution(
        "LogNormal(location: real, scale: positive) -> positive",
        "LogNormal(loc=location, scale=scale)",
        "its logarithm is Normal(location, scale)",
        "reparametrised of_logarithm quantile entropy",
        location_scale=("location", "scale"),
        updates={"location": Update.MEAN, "scale": Update.SPREAD},
        tails="log_normal_tails",
    ),
    distribution(
        "Exponential(rate: positive) -> positive",
        "Exponential(rate=rate)",
        "the waiting time for an event that happens at `rate`; the mean is 1 / rate",
        "reparametrised quantile measure_split entropy",
        family="Exponential",
        updates={"rate": Update.RATE},
        tails="exponential_tails",
    ),
    distribution(
        "Gamma(shape: positive, rate: positive) -> positive",
        "Gamma(concentration=shape, rate=rate)",
        "density proportional to x^(shape - 1) * exp(-rate * x); the mean is shape / rate",
        "reparametrised cdf measure_split closed_divergence entropy",
        family="Gamma",
        updates={"rate": Update.RATE},
        prior=Update.RATE,
        tails="gamma_tails",
    ),
    distribution(
        "Gamma(shape: positive, scale: positive) -> positive",
        "Gamma(concentration=shape, rate=1 / scale)",
        "the Gamma with rate 1 / scale; the mean is shape * scale",
        "reparametrised cdf measure_split closed_divergence entropy",
        family="Gamma",
        prior=Update.RATE,
        tails="gamma_tails",
    ),
    distribution(
        "Gamma(mean: positive, sd: positive) -> positive",
        "Gamma(concentration=(mean / sd) ** 2, rate=mean / sd**2, centre=mean)",
        "the Gamma with this mean and standard deviation",
        "reparametrised cdf measure_split closed_divergence entropy",
        family="Gamma",
        prior=Update.RATE,
        tails="gamma_tails",
    ),
    distribution(
        "InverseGamma(shape: positive, scale: positive) -> positive",
        "InverseGamma(concentration=shape, rate=scale)",
        "1 / x is Gamma(shape, rate=scale); the mean is scale / (shape - 1)",
        "reparametrised cdf entropy",
        tails="inverse_gamma_tails",
    ),
    distribution(
        "ChiSquared(df: positive) -> positive",
        "Chi2(df=df)",
        "the sum of `df` squared standard normals",
        "reparametrised cdf entropy",
        tails="gamma_tails",
    ),
    distribution(
        "InverseChiSquared(df: positive) -> positive",
        "InverseGamma(concentration=df / 2, rate=0.5)",
        "1 / x is ChiSquared(df)",
        "reparametrised cdf entropy",
        tails="inverse_gamma_tails",
    ),
    distribution(
        "ScaledInverseChiSquared(df: positive, scale: positive) -> positive",
        "InverseGamma(concentration=df / 2, rate=df * scale**2 / 2)",
        "df * scale^2 / x is ChiSquared(df): a variance near scale^2",
        "reparametrised cdf entropy",
        tails="inverse_gamma_tails",
    ),
    distribution(
        "Weibull(shape: positive, scale: positive) -> positive",
        "Weibull(concentration=shape, scale=scale)",
        "(x / scale)^shape is Exponential(1)",
        "reparametrised cdf entropy",
        tails="weibull_tails",
    ),
    distribution(
        "Rayleigh(scale: positive) -> positive",
        "Weibull(concentration=2.0, scale=sqrt(2.0) * scale)",
        "the length of a vector of two independent Normal(0, scale)",
        "reparametrised cdf entropy",
        tails="weibull_tails",
    ),
    distribution(
        "Gompertz(shape: positive, rate: positive) -> positive",
        "Gompertz(concentration=shape, rate=rate)",
        "a lifetime whose hazard is shape * rate * exp(rate * x)",
        "reparametrised quantile",
        moments=False,
        tails="gompertz_tails",
    ),
    distribution(
        "Pareto(lower: positive, shape: positive) -> positive",
        "Pareto(scale=lower, alpha=shape)",
        "above `lower`, with P(x > t) = (lower / t)^shape",
        "reparametrised quantile entropy",
        edges=("lower",),
        tails="pareto_tails",
    ),
)

CONTINUOUS: tuple[Distribution, ...] = REAL_LINE + INTERVALS + HALF_LINE
