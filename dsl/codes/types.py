"""E02: types and shapes."""

CODES = """
E0201: an argument of the wrong type
The function does not take a value of this type or shape. The message shows what it
takes, in the notation of `dpc explain functions`; capital letters stand for any axis.
- data a : real
- data b : real
+ dim D
+ data a[D] : real
+ data b[D] : real
  y := dot(a, b)

E0202: too many or too few arguments, or a wrong name
Arguments come in the order of the function's parameters, or by their names. Functions
of the program take theirs in order only.
  data x : real(lower=0)
- y := sqrt(x, 2)
+ y := sqrt(x)

E0203: shapes that do not agree
Two arrays go together when they have the same dims in the same order; a number goes
with any array. Nothing is stretched to fit. Two dims are different even when their
sizes happen to be the same.
  dim County
  dim Obs
+ data county[Obs] : County
  data base[County] : real
  data x[Obs] : real
- y := base + x
+ y := [i in Obs] base[county[i]] + x[i]

E0204: a matrix product of arrays that do not match
In `A @ b` the last axis of A is the first of b. The product of numbers, and the
elementwise product of arrays, is `*`.
  dim Obs
  dim Input
  data x[Obs, Input] : real
- param w[Obs] : real = 0
+ param w[Input] : real = 0
  y := x @ w

E0205: a chain of comparisons
`a < b < c` would compare the truth of `a < b` with c. Write both comparisons.
  data x : real
- inside := 0 < x < 1
+ inside := 0 < x and x < 1

E0206: a number, a label or a truth value in the place of another
Conditions are true or false, arithmetic is for numbers, and a label of a dim is
neither: it indexes arrays, and is compared with labels of its dim. A dim without
labels is a range of numbers 0, 1, ..., and its indices can be counted with.
  data count : int
- seen := if count then 1 else 0
+ seen := if count > 0 then 1 else 0

E0207: not a value
The name is that of a dim, a function, a factor or an imported file, and stands where
a value is needed. The number of members of a dim is `size(D)`.
  dim Obs
  data x[Obs] : real
- average := sum(x) / Obs
+ average := sum(x) / size(Obs)

E0208: values of different types in one place
The branches of an `if`, the items of an array, the values of a table, the start and
the step of a `loop`, and the parts of one variable are of one type and shape each.
  dim Side = left | right
  data x : real
- side := if x < 0 then left else 1
+ side := if x < 0 then left else right

E0209: a quoted text
Values are numbers, truth values and labels. A label is written like a name, without
quotes; only the path of an `import` is quoted.
  dim Side = left | right
  data side : Side
- bonus := if side == "left" then 1 else 0
+ bonus := if side == left then 1 else 0

E0210: a loop without a fixed limit
`max` says how often a loop may run at most, as a whole number from 1 up. A fixed
limit is what lets a loop be compiled and differentiated.
- data n : int
- y := loop s = 1.0 while s < 100 max n do 2 * s
+ y := loop s = 1.0 while s < 100 max 20 do 2 * s

E0211: an argmax over more than one index
`argmax[i in D] e` is the index i with the largest e: one binder, and one number for
each of its members.
  dim Row = 3
  dim Col = 3
  data score[Row, Col] : real
- best := argmax[i in Row, j in Col] score[i, j]
+ best := [i in Row] argmax[j in Col] score[i, j]

E0212: an array with holes
`[i in D] e` has a value for every i, so it takes no `where`. In sums and other
reductions `where` leaves terms out; in an array, say with `if` what the other
elements are.
  dim D = 4
  data x[D] : real
- y := [i in D where x[i] > 0] x[i]
+ y := [i in D] if x[i] > 0 then x[i] else 0

E0213: a recurrence whose type is not clear
Every part of this recurrence depends on the recurrence itself, so nothing says where
it starts, nor of which type it is. Define its first element in a statement of its
own.
  dim T
+ total[0] = 0
  total[t in T[1..]] = total[t-1] + 1
  last := total[-1]

E0214: a constrained type without its dims
A simplex, ordered or unit vector has a dim of its own, along which the constraint
holds; matrices such as cholesky and covariance have the same dim twice.
  dim Topic = 3
- param mix : simplex
+ param mix : simplex[Topic]
  top := max(mix)

E0215: bounds that make no sense
`real` and `int` take `lower=` and `upper=`, with constants, the lower one below the
upper one. No other type takes arguments.
- param rate : real(min=0)
+ param rate : real(lower=0)
  y := 2 * rate

E0216: a factor or an objective that is not one number
A factor adds one number to the log density for each of its indices, and an objective
is one number. Add the elements up, or bind an index.
  dim D = 3
  param w[D] : real = 0
- minimize w^2
+ minimize sum(w^2)

E0217: a value that is not of the declared type
What is drawn or computed, or the value in a declaration, must be of the type that is
written: the same kind of value, in the same shape. Bounds of numbers are checked
where the value is a constant.
  dim Obs
- observed y[Obs] : real
+ observed y[Obs] : int
  rate ~ HalfNormal(1)
  y[i in Obs] ~ Poisson(rate)

E0218: a number too large
Numbers are double precision: the largest is about 1.8e308, and the largest whole
number about 9.2e18. That holds for constants that are computed, too. Work with
logarithms instead.
- huge := 10^999
+ log_huge := 999 * log(10)

E0219: an argument outside its domain
The function has no value there: a logarithm is of a number above 0, an entropy of
probabilities that sum to one, and nothing is divided by 0. Where an argument only may
be outside, there is the warning W0401.
  param p : real(lower=0)
- y := log(-1 - p)
+ y := log(1 + p)
"""
