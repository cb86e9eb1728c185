"""W: warnings."""

from .entry import Code

CODES = (
    Code(
        "W0101",
        "never used",
        "Nothing uses this name, so it is probably a slip. To keep a value as an output, define it with `:=`. A\n"
        "comment `# dpc: ignore[W0101]` on the same line, or alone on the line before, silences the warning.",
        bad="""
tau ~ HalfNormal(1)
variance = tau^2
""",
        good="""
tau ~ HalfNormal(1)
variance := tau^2
""",
    ),
    Code(
        "W0401",
        "a parameter that may leave its domain",
        "The distribution needs a positive number, or a probability, and nothing says that this variable is one.\n"
        "Give it a type with bounds, draw it from a distribution with the right support, or map it: `exp(x)`,\n"
        "`logistic(x)`.",
        bad="""
sigma ~ Normal(0, 1)
x ~ Normal(0, sigma)
""",
        good="""
sigma ~ HalfNormal(1)
x ~ Normal(0, sigma)
""",
    ),
    Code(
        "W0402",
        "a centred hierarchy with little to tell each part",
        "Where a scale is unknown and each element that has it is observed once, the scale and the elements make a\n"
        "funnel: the smaller the scale, the closer together the elements must be, and no step size suits both ends.\n"
        "`with noncentered` draws standard noise and computes the elements from it; the model stays the same. Where\n"
        "the observations are precise the centred form is the better one: `# dpc: ignore[W0402]` says so.",
        bad="""
dim School
data sd[School] : real(lower=0)
observed effect[School] : real
tau ~ HalfNormal(5)
theta[s in School] ~ Normal(0, tau)
effect[s in School] ~ Normal(theta[s], sd[s])
""",
        good="""
dim School
data sd[School] : real(lower=0)
observed effect[School] : real
tau ~ HalfNormal(5)
theta[s in School] ~ Normal(0, tau) with noncentered
effect[s in School] ~ Normal(theta[s], sd[s])
""",
    ),
    Code(
        "W0501",
        "a parameter that data cannot tell",
        "A `param` has a flat prior. Where no observation depends on it, its posterior is as flat, and over an\n"
        "unbounded range that is no distribution: chains wander off without end, and a fit has no best value. Draw\n"
        "it from a prior, bound it, or let something observed depend on it.",
        bad="""
observed y : real
param shift : real
mu ~ Normal(0, 1)
noise ~ Normal(shift, 1)
y ~ Normal(mu, 1)
""",
        good="""
observed y : real
param shift : real
mu ~ Normal(0, 1)
noise ~ Normal(shift, 1)
y ~ Normal(mu + noise, 1)
""",
    ),
    Code(
        "W0701",
        "something that stays hard in a soft statement",
        "`soft` smooths comparisons, logic, branches, loops and indices that are written in the statement. An index\n"
        "computed elsewhere is one position, a function is compiled once for all who call it, and rounding has no\n"
        "soft meaning: no derivative passes them. Write the argmax where it indexes, the body of the function where\n"
        "it is called, or smooth the statement as a whole: `with smooth(gaussian, scale=0.1)`.",
        bad="""
dim N = 3
param x[N] : real = [1, 2, 3]
k = argmax(x)
y := x[k]^2 with soft(logistic, scale=0.1)
""",
        good="""
dim N = 3
param x[N] : real = [1, 2, 3]
y := x[argmax(x)]^2 with soft(logistic, scale=0.1)
""",
    ),
)
