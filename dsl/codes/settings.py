"""E07: annotations."""

from .entry import Code

CODES = (
    Code(
        "E0701",
        "an annotation that does not exist, or not here",
        "After `with` stand noncentered, ordered, grad=..., soft(...) and smooth(...), each once. The first three go\n"
        "with `~`; soft goes with any statement that computes, and smooth with all of them but `~`.",
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
        "`grad=method`, `soft(method)` and `smooth(noise)` name one of their methods, perhaps with options:\n"
        "`grad=rloo(samples=16)`, `soft(logistic, scale=0.1)`, `smooth(gaussian, scale=0.1, over=x)`. Options are\n"
        "constants, and the names of variables for `over`.",
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
    Code(
        "E0704",
        "a statement that cannot be smoothed like this",
        "`smooth` is the mean of a statement over noise in real variables that it mentions: those named by `over=`,\n"
        "or all of them. One or two numbers are integrated over; for more, say how many samples to take:\n"
        "`samples=1000`. Where the statement jumps must depend on nothing that is optimised or drawn but not noisy,\n"
        "because the derivative by that would be lost.",
        bad="""
param x : real = 0.3
param a : real = 0
y := if x > a then 1 else 0 with smooth(gaussian, scale=0.1, over=x)
""",
        good="""
param x : real = 0.3
param a : real = 0
y := if x > a then 1 else 0 with smooth(gaussian, scale=0.1, over=[x, a])
""",
    ),
    Code(
        "E0705",
        "the variance of something without branches",
        "In a soft statement the branches of an `if`, and the elements of `v[argmax(x)]`, have weights, and\n"
        "`branch_variance` is the variance of their values under these weights. Nothing else has such a variance.",
        bad="""
param x : real = 0.3
y := branch_variance(x^2) with soft(logistic, scale=0.1)
""",
        good="""
param x : real = 0.3
y := branch_variance(if x > 0 then x^2 else 0) with soft(logistic, scale=0.1)
""",
    ),
)
