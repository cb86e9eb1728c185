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
)
