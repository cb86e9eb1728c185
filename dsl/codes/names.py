"""E01: names."""

from .entry import Code

CODES = (
    Code(
        "E0104",
        "unknown name",
        "The name is not defined in this file. Names are defined by `data`, `observed`, `param`, `latent`, `~`, `=`,\n"
        "`:=`, `fn` and `dim`; labels of dims count too. The order of statements does not matter. A binder is known\n"
        "only inside its statement, comprehension or reduction; a reduction ends with the product after it.",
        bad="""
data x : real
y := 2 * z
""",
        good="""
data x : real
y := 2 * x
""",
    ),
)
