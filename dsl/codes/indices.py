"""E03: indices and ranges."""

CODES = """
E0301: an index that is not one of this axis
An axis is indexed by values of its dim: a binder over it, a label, or data of its
type. A whole number that comes with the data is declared with the dim as its type,
`data county[Obs] : County`; then it is checked once, when the data is read. Numbers
written in the program count from 0, negative ones from the end.
  dim Obs
  dim County
- data county[Obs] : int
+ data county[Obs] : County
  a[c in County] ~ Normal(0, 1)
  mean := [i in Obs] a[county[i]]

E0302: an index of another dim
The index belongs to one dim and the axis to another. They are different even when
their sizes happen to be the same: an index over one says nothing about the other.
  dim Obs
  dim County
+ data county[Obs] : County
  a[c in County] ~ Normal(0, 1)
- mean := [i in Obs] a[i]
+ mean := [i in Obs] a[county[i]]

E0303: an array as an index
An index is one value. To take several elements, bind an index and take them one by
one.
  dim Obs
  dim County
  data county[Obs] : County
  a[c in County] ~ Normal(0, 1)
- mean := a[county]
+ mean := [i in Obs] a[county[i]]

E0304: an index that can leave its axis
Members count from 0, and every index is proved to be in range before there is any
data. `t-1` needs a binder that starts at 1, `t in T[1..]`; `t+1` needs one that stops
before the last, `t in T[..-1]`.
  dim T
  z[0] ~ Normal(0, 1)
- z[t in T] ~ Normal(z[t-1], 1)
+ z[t in T[1..]] ~ Normal(z[t-1], 1)

E0305: more indices than axes
An array takes at most one index for each of its axes, and a single value takes none.
  dim D = 3
  data x[D] : real
- y := x[0, 1]
+ y := x[0] + x[1]

E0306: a range that is empty or too long
`D[a..b]` runs from a up to, but not including, b; either may be left out, and
negative numbers count from the end. It holds at least one member, and stays within
the dim.
  dim D = 4
  data x[D] : real
- rest := sum[i in D[2..2]] x[i]
+ rest := sum[i in D[2..4]] x[i]
"""
