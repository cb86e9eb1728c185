"""Distributions of truth values, labels, whole numbers and vectors of counts."""

from .rows import Distribution, Update, distribution

LABELS = (
    distribution(
        "Bernoulli(p: unit) -> bool",
        "Bernoulli(probs=p)",
        "true with probability p",
        "measure_split relaxed closed_divergence entropy",
        family="Bernoulli",
        updates={"p": Update.CHANCE},
    ),
    distribution(
        "Bernoulli(logits: real) -> bool",
        "Bernoulli(logits=logits)",
        "true with odds exp(logits)",
        "measure_split relaxed closed_divergence entropy",
        family="Bernoulli",
        natural="logits",
    ),
    distribution(
        "Categorical(p: simplex[N]) -> index[N]",
        "Categorical(probs=p)",
        "a label or index with these probabilities",
        "measure_split relaxed closed_divergence entropy",
        family="Categorical",
        updates={"p": Update.PROBABILITIES},
        moments=False,
    ),
    distribution(
        "Categorical(logits: real[N]) -> index[N]",
        "Categorical(logits=logits)",
        "a label or index with probabilities softargmax(logits)",
        "measure_split relaxed closed_divergence entropy",
        family="Categorical",
        natural="logits",
        moments=False,
    ),
    distribution(
        "OrderedLogistic(predictor: real, cutpoints: ordered[N]) -> index[N+1]",
        "OrderedLogistic(predictor=predictor, cutpoints=cutpoints)",
        "one of ordered levels: P(x > k) = logistic(predictor - cutpoints[k])",
        "relaxed",
        moments=False,
    ),
)

COUNTS = (
    distribution(
        "Binomial(n: count, p: unit) -> count",
        "Binomial(total_count=n, probs=p)",
        "the number of successes in `n` trials of probability p",
        "measure_split",
        highest="n",
        family="Binomial",
        updates={"p": Update.CHANCE},
    ),
    distribution(
        "Binomial(n: count, logits: real) -> count",
        "Binomial(total_count=n, logits=logits)",
        "the number of successes in `n` trials of odds exp(logits)",
        "measure_split",
        highest="n",
        family="Binomial",
        natural="logits",
    ),
    distribution(
        "BetaBinomial(n: count, a: positive, b: positive) -> count",
        "BetaBinomial(concentration1=a, concentration0=b, total_count=n)",
        "a Binomial whose probability is Beta(a, b)",
        highest="n",
    ),
    distribution(
        "BetaBinomial(n: count, p: real(above=0, below=1), concentration: positive) -> count",
        "BetaBinomial(concentration * p, concentration * (1 - p), total_count=n)",
        "a Binomial whose probability is Beta(mean=p, concentration); the mean is n * p",
        highest="n",
    ),
    distribution(
        "Poisson(rate: nonnegative) -> count",
        "Poisson(rate=rate)",
        "the number of independent events when `rate` are expected",
        "cdf measure_split",
        family="Poisson",
        updates={"rate": Update.RATE},
        tails="poisson_tails",
    ),
    distribution(
        "Poisson(log_rate: real) -> count",
        "Poisson(rate=exp(log_rate), log_rate=log_rate)",
        "the number of independent events when exp(log_rate) are expected",
        "cdf measure_split",
        family="Poisson",
        natural="log_rate",
        tails="poisson_tails",
    ),
    distribution(
        "Geometric(p: real(above=0, below=1)) -> count",
        "Geometric(probs=p)",
        "the number of failures before the first success of probability p",
        "measure_split entropy",
        family="Geometric",
        updates={"p": Update.CHANCE},
    ),
    distribution(
        "Geometric(logits: real) -> count",
        "Geometric(logits=1.0 * logits)",
        "the number of failures before the first success of odds exp(logits)",
        "measure_split entropy",
        family="Geometric",
    ),
    distribution(
        "NegativeBinomial(mean: positive, concentration: positive) -> count",
        "NegativeBinomial2(mean=mean, concentration=concentration)",
        "a Poisson with a Gamma rate; the variance is mean + mean^2 / concentration",
        "cdf",
    ),
    distribution(
        "NegativeBinomial(log_mean: real, concentration: positive) -> count",
        "NegativeBinomial2(mean=exp(log_mean), concentration=concentration, log_mean=log_mean)",
        "NegativeBinomial(exp(log_mean), concentration)",
        "cdf",
    ),
    distribution(
        "NegativeBinomial(shape: positive, rate: positive) -> count",
        "GammaPoisson(concentration=shape, rate=rate)",
        "a Poisson whose rate is Gamma(shape, rate); the mean is shape / rate",
        "cdf",
    ),
    distribution(
        "NegativeBinomial(n: positive, p: real(above=0, upper=1)) -> count",
        "GammaPoisson(concentration=n, rate=p / (1 - p))",
        "the number of failures before the n-th success of probability p; the mean is n * (1 - p) "
        "/ p",
        "cdf",
    ),
    distribution(
        "ZeroInflatedPoisson(p_zero: unit, rate: positive) -> count",
        "ZeroInflatedPoisson(gate=p_zero, rate=rate)",
        "0 with probability p_zero, else Poisson(rate)",
    ),
    distribution(
        "ZeroInflatedNegativeBinomial(p_zero: unit, rate: positive, concentration: positive) -> "
        "count",
        "ZeroInflatedNegativeBinomial2(mean=rate, concentration=concentration, gate=p_zero)",
        "0 with probability p_zero, else NegativeBinomial(mean=rate, concentration)",
    ),
    distribution(
        "ZeroInflatedBinomial(p_zero: unit, n: count, p: unit) -> count",
        "ZeroInflatedDistribution(Binomial(total_count=n, probs=p), gate=p_zero)",
        "0 with probability p_zero, else Binomial(n, p)",
        highest="n",
    ),
    distribution(
        "DiscreteUniform(lower: int, upper: int) -> int",
        "DiscreteUniform(low=lower, high=upper)",
        "a whole number from `lower` to `upper`, both included",
        "quantile entropy",
        edges=("lower", "upper"),
        ascending=("lower", "upper"),
    ),
)

COUNT_VECTORS = (
    distribution(
        "Multinomial(n: count, p: simplex[N]) -> count[N]",
        "Multinomial(total_count=n, probs=p)",
        "how often each label comes up in `n` draws with these probabilities",
        family="Multinomial",
        updates={"p": Update.PROBABILITIES},
    ),
    distribution(
        "Multinomial(n: count, logits: real[N]) -> count[N]",
        "Multinomial(total_count=n, logits=logits)",
        "how often each label comes up in `n` draws with probabilities softargmax(logits)",
        family="Multinomial",
    ),
    distribution(
        "DirichletMultinomial(n: count, concentration: positive[N]) -> count[N]",
        "DirichletMultinomial(concentration=concentration, total_count=n)",
        "a Multinomial whose probabilities are Dirichlet(concentration)",
    ),
)

DISCRETE: tuple[Distribution, ...] = LABELS + COUNTS + COUNT_VECTORS
