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
