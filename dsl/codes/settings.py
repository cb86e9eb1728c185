"""E07: annotations."""

from .entry import Code

CODES = (
    Code(
        "E0701",
        "an annotation that does not exist, or not here",
        "After `with` stand noncentered, ordered, grad=... and soft(...), each once. The first three go with `~`;\n"
        "soft goes with any statement that computes.",
        bad="""
mu ~ Normal(0, 1)
x ~ Normal(mu, 1) with noncentred
""",
        good="""
mu ~ Normal(0, 1)
x ~ Normal(mu, 1) with noncentered
""",
    ),
    Code(
        "E0702",
        "an annotation with the wrong method or option",
        "`grad=method` and `soft(method)` name one of their methods, perhaps with options:\n"
        "`grad=rloo(samples=16)`, `soft(logistic, scale=0.1)`. Options are constants.",
        bad="""
b ~ Bernoulli(0.5) with grad=reinforce
""",
        good="""
b ~ Bernoulli(0.5) with grad=sfe
""",
    ),
    Code(
        "E0703",
        "an annotation that this distribution cannot honour",
        "Some annotations are for some distributions: `noncentered` needs a location and a scale, `ordered` needs\n"
        "real numbers, `grad=pathwise` needs a draw that is a differentiable function of its parameters, and\n"
        "`grad=enumerate` a discrete one.",
        bad="""
b ~ Bernoulli(0.5) with grad=pathwise
""",
        good="""
b ~ Bernoulli(0.5) with grad=enumerate
""",
    ),
)
