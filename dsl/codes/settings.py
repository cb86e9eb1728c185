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
    Code(
        "E0706",
        "a gradient that would be wrong without a word",
        "A pathwise gradient follows a draw through everything that is computed from it. Where that jumps, as a\n"
        "comparison or a rounding does, its derivative is zero although its mean moves with the parameters. And the\n"
        "score of a draw does not see the edges of its support, so these must not move. Such gradients are refused.",
        bad="""
param a : real = 0
x ~ Normal(a, 1) with grad=pathwise
minimize if x > 1 then 1 else 0
""",
        good="""
param a : real = 0
x ~ Normal(a, 1) with grad=rloo
minimize if x > 1 then 1 else 0
""",
    ),
    Code(
        "E0707",
        "an objective that cannot be estimated like this",
        "The objective is a mean over everything random. Draws of several statements, of a recurrence or under a\n"
        "condition can have `grad=pathwise`, `sfe` or `rloo` and no other; variables that only factors speak about\n"
        "have no order to be drawn in; a mean given what is observed takes a guide.",
        bad="""
dim T = 3
param a : real = 0
z[0] ~ Bernoulli(logits=a)
z[t in T[1..]] ~ Bernoulli(logits=if z[t-1] then a else -a) with grad=disarm
minimize sum[t in T] z[t]
""",
        good="""
dim T = 3
param a : real = 0
z[0] ~ Bernoulli(logits=a)
z[t in T[1..]] ~ Bernoulli(logits=if z[t-1] then a else -a) with grad=rloo
minimize sum[t in T] z[t]
""",
    ),
)
