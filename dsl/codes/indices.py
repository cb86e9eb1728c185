"""E03: indices and ranges."""

from .entry import Code

CODES = (
    Code(
        "E0301",
        "an index that is not one of this axis",
        "An axis is indexed by values of its dim: a binder over it, a label, or data of its type. A whole number\n"
        "that comes with the data is declared with the dim as its type, `data county[Obs] : County`; then it is\n"
        "checked once, when the data is read. Numbers written in the program count from 0, negative ones from the\n"
        "end.",
        bad="""
dim Obs
dim County
data county[Obs] : int
a[c in County] ~ Normal(0, 1)
mean := [i in Obs] a[county[i]]
""",
        good="""
dim Obs
dim County
data county[Obs] : County
a[c in County] ~ Normal(0, 1)
mean := [i in Obs] a[county[i]]
""",
    ),
    Code(
        "E0302",
        "an index of another dim",
        "The index belongs to one dim and the axis to another. They are different even when their sizes happen to\n"
        "be the same: an index over one says nothing about the other.",
        bad="""
dim Obs
dim County
a[c in County] ~ Normal(0, 1)
mean := [i in Obs] a[i]
""",
        good="""
dim Obs
dim County
data county[Obs] : County
a[c in County] ~ Normal(0, 1)
mean := [i in Obs] a[county[i]]
""",
    ),
    Code(
        "E0303",
        "an array as an index",
        "An index is one value. To take several elements, bind an index and take them one by one.",
        bad="""
dim Obs
dim County
data county[Obs] : County
a[c in County] ~ Normal(0, 1)
mean := a[county]
""",
        good="""
dim Obs
dim County
data county[Obs] : County
a[c in County] ~ Normal(0, 1)
mean := [i in Obs] a[county[i]]
""",
    ),
    Code(
        "E0304",
        "an index that can leave its axis",
        "Members count from 0, and every index is proved to be in range before there is any data. `t-1` needs a\n"
        "binder that starts at 1, `t in T[1..]`; `t+1` needs one that stops before the last, `t in T[..-1]`.",
        bad="""
dim T
z[0] ~ Normal(0, 1)
z[t in T] ~ Normal(z[t-1], 1)
""",
        good="""
dim T
z[0] ~ Normal(0, 1)
z[t in T[1..]] ~ Normal(z[t-1], 1)
""",
    ),
    Code(
        "E0305",
        "more indices than axes",
        "An array takes at most one index for each of its axes, and a single value takes none.",
        bad="""
dim D = 3
data x[D] : real
y := x[0, 1]
""",
        good="""
dim D = 3
data x[D] : real
y := x[0] + x[1]
""",
    ),
    Code(
        "E0306",
        "a range that is empty or too long",
        "`D[a..b]` runs from a up to, but not including, b; either may be left out, and negative numbers count\n"
        "from the end. It holds at least one member, and stays within the dim.",
        bad="""
dim D = 4
data x[D] : real
rest := sum[i in D[2..2]] x[i]
""",
        good="""
dim D = 4
data x[D] : real
rest := sum[i in D[2..4]] x[i]
""",
    ),
)
