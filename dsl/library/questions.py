"""What an expression may ask of a distribution D(...), with the facts of its row that answer."""

from .rows import LibraryRow

CDF = ("cdf", "quantile", "tails")


class QuestionRow(LibraryRow):
    """`given` is what is asked about; one of the `facts` is enough, and every row has none."""

    doc: str
    given: str = ""
    facts: tuple[str, ...] = ()


QUESTIONS = {
    row.name: row
    for row in (
        QuestionRow(
            "log_density(D, value) -> real",
            "the log density, or the log mass, of the distribution D at a value",
            "value",
        ),
        QuestionRow("cdf(D, value) -> unit", "P(X <= value) for X drawn from D", "value", CDF),
        QuestionRow("log_cdf(D, value) -> real", "log P(X <= value)", "value", CDF),
        QuestionRow("survival(D, value) -> unit", "P(X > value)", "value", CDF),
        QuestionRow("log_survival(D, value) -> real", "log P(X > value)", "value", CDF),
        QuestionRow(
            "quantile(D, probability) -> real",
            "the value that D stays below with this probability",
            "probability",
            ("quantile", "tails"),
        ),
        QuestionRow("mean(D) -> real", "the mean of D", facts=("moments",)),
        QuestionRow("variance(D) -> nonnegative", "the variance of D", facts=("moments",)),
        QuestionRow("entropy(D) -> real", "the entropy of D in nats", facts=("entropy",)),
        QuestionRow(
            "kl(D, E) -> nonnegative",
            "the divergence of Kullback and Leibler, E log D(X) / E(X) for X drawn from D",
            "distribution",
            ("closed_divergence",),
        ),
    )
}
"""By name; functions of arrays with such a name take anything else."""
