"""E02: types and shapes."""

from .entry import Code

CODES = (
    Code(
        "E0201",
        "an argument of the wrong type",
        "The function does not take a value of this type or shape. The message shows what it takes, in the\n"
        "notation of `dpc explain functions`; capital letters stand for any axis.",
        bad="""
data a : real
data b : real
y := dot(a, b)
""",
        good="""
dim D
data a[D] : real
data b[D] : real
y := dot(a, b)
""",
    ),
    Code(
        "E0202",
        "too many or too few arguments, or a wrong name",
        "Arguments come in the order of the function's parameters, or by their names. Functions of the program\n"
        "take theirs in order only.",
        bad="""
data x : real
y := sqrt(x, 2)
""",
        good="""
data x : real
y := sqrt(x)
""",
    ),
    Code(
        "E0203",
        "shapes that do not agree",
        "Two arrays go together when they have the same dims in the same order; a number goes with any array.\n"
        "Nothing is stretched to fit. Two dims are different even when their sizes happen to be the same.",
        bad="""
dim County
dim Obs
data base[County] : real
data x[Obs] : real
y := base + x
""",
        good="""
dim County
dim Obs
data county[Obs] : County
data base[County] : real
data x[Obs] : real
y := [i in Obs] base[county[i]] + x[i]
""",
    ),
    Code(
        "E0204",
        "a matrix product of arrays that do not match",
        "In `A @ b` the last axis of A is the first of b. The product of numbers, and the elementwise product of\n"
        "arrays, is `*`.",
        bad="""
dim Obs
dim Input
data x[Obs, Input] : real
param w[Obs] : real = 0
y := x @ w
""",
        good="""
dim Obs
dim Input
data x[Obs, Input] : real
param w[Input] : real = 0
y := x @ w
""",
    ),
    Code(
        "E0205",
        "a chain of comparisons",
        "`a < b < c` would compare the truth of `a < b` with c. Write both comparisons.",
        bad="""
data x : real
inside := 0 < x < 1
""",
        good="""
data x : real
inside := 0 < x and x < 1
""",
    ),
    Code(
        "E0206",
        "a number, a label or a truth value in the place of another",
        "Conditions are true or false, arithmetic is for numbers, and a label of a dim is neither: it indexes\n"
        "arrays, and is compared with labels of its dim. A dim without labels is a range of numbers 0, 1, ...,\n"
        "and its indices can be counted with.",
        bad="""
data count : int
seen := if count then 1 else 0
""",
        good="""
data count : int
seen := if count > 0 then 1 else 0
""",
    ),
    Code(
        "E0207",
        "not a value",
        "The name is that of a dim, a function, a factor or an imported file, and stands where a value is needed.\n"
        "The number of members of a dim is `size(D)`.",
        bad="""
dim Obs
data x[Obs] : real
average := sum(x) / Obs
""",
        good="""
dim Obs
data x[Obs] : real
average := sum(x) / size(Obs)
""",
    ),
    Code(
        "E0208",
        "values of different types in one place",
        "The branches of an `if`, the items of an array, the values of a table, the start and the step of a\n"
        "`loop`, and the parts of one variable are of one type and shape each.",
        bad="""
dim Side = left | right
data x : real
side := if x < 0 then left else 1
""",
        good="""
dim Side = left | right
data x : real
side := if x < 0 then left else right
""",
    ),
    Code(
        "E0209",
        "a quoted text",
        "Values are numbers, truth values and labels. A label is written like a name, without quotes; only the\n"
        "path of an `import` is quoted.",
        bad="""
dim Side = left | right
data side : Side
bonus := if side == "left" then 1 else 0
""",
        good="""
dim Side = left | right
data side : Side
bonus := if side == left then 1 else 0
""",
    ),
    Code(
        "E0210",
        "a loop without a fixed limit",
        "`max` says how often a loop may run at most, as a whole number from 1 up. A fixed limit is what lets a\n"
        "loop be compiled and differentiated.",
        bad="""
data n : int
y := loop s = 1.0 while s < 100 max n do 2 * s
""",
        good="""
y := loop s = 1.0 while s < 100 max 20 do 2 * s
""",
    ),
    Code(
        "E0211",
        "an argmax over more than one index",
        (
            "`argmax[i in D] e` is the index i with the largest e: one binder, and one number for "
            "each of its\nmembers."
        ),
        bad="""
dim Row = 3
dim Col = 3
data score[Row, Col] : real
best := argmax[i in Row, j in Col] score[i, j]
""",
        good="""
dim Row = 3
dim Col = 3
data score[Row, Col] : real
best := [i in Row] argmax[j in Col] score[i, j]
""",
    ),
    Code(
        "E0212",
        "an array with holes",
        "`[i in D] e` has a value for every i, so it takes no `where`. In sums and other reductions `where`\n"
        "leaves terms out; in an array, say with `if` what the other elements are.",
        bad="""
dim D = 4
data x[D] : real
y := [i in D where x[i] > 0] x[i]
""",
        good="""
dim D = 4
data x[D] : real
y := [i in D] if x[i] > 0 then x[i] else 0
""",
    ),
    Code(
        "E0213",
        "a recurrence whose type is not clear",
        "Every part of this recurrence depends on the recurrence itself, so nothing says where it starts, nor of\n"
        "which type it is. Define its first element in a statement of its own.",
        bad="""
dim T
total[t in T[1..]] = total[t-1] + 1
last := total[-1]
""",
        good="""
dim T
total[0] = 0
total[t in T[1..]] = total[t-1] + 1
last := total[-1]
""",
    ),
    Code(
        "E0214",
        "a constrained type without its dims",
        "A simplex, ordered or unit vector has a dim of its own, along which the constraint holds; matrices such\n"
        "as cholesky and covariance have the same dim twice.",
        bad="""
dim Topic = 3
param mix : simplex
top := max(mix)
""",
        good="""
dim Topic = 3
param mix : simplex[Topic]
top := max(mix)
""",
    ),
    Code(
        "E0215",
        "bounds that make no sense",
        "`real` and `int` take `lower=` and `upper=`, with constants, the lower one below the upper one. No other\n"
        "type takes arguments.",
        bad="""
param rate : real(min=0)
y := 2 * rate
""",
        good="""
param rate : real(lower=0)
y := 2 * rate
""",
    ),
    Code(
        "E0216",
        "a factor or an objective that is not one number",
        "A factor adds one number to the log density for each of its indices, and an objective is one number. Add\n"
        "the elements up, or bind an index.",
        bad="""
dim D = 3
param w[D] : real = 0
minimize w^2
""",
        good="""
dim D = 3
param w[D] : real = 0
minimize sum(w^2)
""",
    ),
    Code(
        "E0217",
        "a value that is not of the declared type",
        "What is drawn or computed, or the value in a declaration, must be of the type that is written: the same\n"
        "kind of value, in the same shape. Bounds of numbers are checked where the value is a constant.",
        bad="""
dim Obs
observed y[Obs] : real
rate ~ HalfNormal(1)
y[i in Obs] ~ Poisson(rate)
""",
        good="""
dim Obs
observed y[Obs] : int
rate ~ HalfNormal(1)
y[i in Obs] ~ Poisson(rate)
""",
    ),
    Code(
        "E0218",
        "a number too large",
        "Numbers are double precision: the largest is about 1.8e308. Work with logarithms instead.",
        bad="""
huge := 1e999
""",
        good="""
log_huge := 999 * log(10)
""",
    ),
)
