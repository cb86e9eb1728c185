"""E03: indices and ranges."""

from . import Code

CODES = (
    Code(
        "E0301: an index that is not one of this axis",
        "An axis is indexed by values of its dim: a binder over it, a label, or data of its\n"
        "type. A whole number that comes with the data is declared with the dim as its type,\n"
        "`data county[Obs] : County`; then it is checked once, when the data is read. Numbers\n"
        "written in the program count from 0, negative ones from the end.",
        """
  dim Obs
  dim County
- data county[Obs] : int
+ data county[Obs] : County
  a[c in County] ~ Normal(0, 1)
  mean := [i in Obs] a[county[i]]
""",
    ),
    Code(
        "E0302: an index of another dim",
        "The index belongs to one dim and the axis to another. They are different even when\n"
        "their sizes happen to be the same: an index over one says nothing about the other.",
        """
  dim Obs
  dim County
+ data county[Obs] : County
  a[c in County] ~ Normal(0, 1)
- mean := [i in Obs] a[i]
+ mean := [i in Obs] a[county[i]]
""",
    ),
    Code(
        "E0303: an array as an index",
        "An index is one value. To take several elements, bind an index and take them one by\none.",
        """
  dim Obs
  dim County
  data county[Obs] : County
  a[c in County] ~ Normal(0, 1)
- mean := a[county]
+ mean := [i in Obs] a[county[i]]
""",
    ),
    Code(
        "E0304: an index that can leave its axis",
        "Members count from 0, and every index is proved to be in range before there is any\n"
        "data. `t-1` needs a binder that starts at 1, `t in T[1..]`; `t+1` needs one that stops\n"
        "before the last, `t in T[..-1]`.",
        """
  dim T
  z[0] ~ Normal(0, 1)
- z[t in T] ~ Normal(z[t-1], 1)
+ z[t in T[1..]] ~ Normal(z[t-1], 1)
""",
    ),
    Code(
        "E0305: more indices than axes",
        "An array takes at most one index for each of its axes, and a single value takes none.",
        """
  dim D = 3
  data x[D] : real
- y := x[0, 1]
+ y := x[0] + x[1]
""",
    ),
    Code(
        "E0306: a range that is empty or too long",
        "`D[a..b]` runs from a up to, but not including, b; either may be left out, and\n"
        "negative numbers count from the end. It holds at least one member, and stays within\n"
        "the dim.",
        """
  dim D = 4
  data x[D] : real
- rest := sum[i in D[2..2]] x[i]
+ rest := sum[i in D[2..4]] x[i]
""",
    ),
)
