"""E01: names."""

from .entry import Code

CODES = (
    Code(
        "E0101",
        "a name is defined twice",
        "Dims, variables, factors and functions share one space of names, and each name is defined once. A\n"
        "variable is either drawn (`~`), or has a value (`=`), or is declared; only `observed` goes together with\n"
        "`~`.",
        bad="""
param mu : real
mu ~ Normal(0, 1)
""",
        good="""
mu ~ Normal(0, 1)
""",
    ),
    Code(
        "E0102",
        "a label stands twice",
        "The labels of a dim are its members, so each is written once.",
        bad="""
dim Color = red | green | red
c : Color ~ Categorical([0.5, 0.2, 0.3])
""",
        good="""
dim Color = red | green | blue
c : Color ~ Categorical([0.5, 0.2, 0.3])
""",
    ),
    Code(
        "E0103",
        "an index or loop variable that already means something",
        "A binder such as `i in D` gives a new name to an index. It must not hide a variable, a dim, or a binder\n"
        "around it, because a reader could not tell which is meant.",
        bad="""
dim Obs
data x[Obs] : real
i ~ Normal(0, 1)
total := sum[i in Obs] x[i]
""",
        good="""
dim Obs
data x[Obs] : real
i ~ Normal(0, 1)
total := i + sum[n in Obs] x[n]
""",
    ),
    Code(
        "E0104",
        "unknown name",
        "The name is not defined in this file. Names are defined by `data`, `observed`, `param`, `latent`, `~`,\n"
        "`=`, `:=`, `fn` and `dim`; labels of dims count too. The order of statements does not matter. A binder\n"
        "is known only inside its statement, comprehension or reduction; a reduction ends with the product after\n"
        "it.",
        bad="""
data x : real
y := 2 * z
""",
        good="""
data x : real
y := 2 * x
""",
    ),
    Code(
        "E0105",
        "a label of several dims",
        "Two dims may have a label in common. Where nothing around the label tells which dim is meant, write the\n"
        "dim before it: `Answer.yes`.",
        bad="""
dim Answer = yes | no
dim Vote = yes | no | abstain
data score[Answer] : real
data wish[Vote] : real
best := score[yes] + wish[yes]
same := yes
""",
        good="""
dim Answer = yes | no
dim Vote = yes | no | abstain
data score[Answer] : real
data wish[Vote] : real
best := score[yes] + wish[yes]
same := Vote.yes
""",
    ),
    Code(
        "E0106",
        "no such dim",
        "Axes and binders name dims. A dim is declared by itself: `dim D` when its size comes with the data, `dim\n"
        "D = 8`, or `dim D = low | high`.",
        bad="""
data x[Obs] : real
m := mean(x)
""",
        good="""
dim Obs
data x[Obs] : real
m := mean(x)
""",
    ),
    Code(
        "E0107",
        "no such function",
        "The name before the parentheses is not a function. `dpc explain functions` lists those of the language;\n"
        "`fn` defines one, and `extern fn` declares one that is bound from Python. A product is written with `*`,\n"
        "an index with [ ].",
        bad="""
data x : real
y := sigmoid(x)
""",
        good="""
data x : real
y := logistic(x)
""",
    ),
    Code(
        "E0108",
        "a variable where only constants or parameters can stand",
        "The body of a function sees its parameters and nothing else, so that what it computes depends on its\n"
        "arguments alone. Values of data, bounds of types and options of annotations are constants. A parameter\n"
        "starts from constants and data.",
        bad="""
param scale : real = 2
fn stretch(x: real) -> real = scale * x
y := stretch(3)
""",
        good="""
param scale : real = 2
fn stretch(x: real, by: real) -> real = by * x
y := stretch(3, scale)
""",
    ),
    Code(
        "E0109",
        "no such type",
        "Types are real, int, bool, the name of a dim (a label or index of it), and the constrained arrays\n"
        "simplex, ordered, positive_ordered, unit_vector, cholesky, corr_cholesky, covariance and correlation.\n"
        "Arrays are written by their dims: `x[D] : real`.",
        bad="""
data x : float
y := x
""",
        good="""
data x : real
y := x
""",
    ),
)
