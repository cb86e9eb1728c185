"""E05: the model as a whole."""

CODES = """
E0501: drawn or defined twice
A variable has one distribution or one value, for each of its elements. A further term
of the log density is a `factor`. Parts of an array may be defined in several
statements, if their ranges do not overlap.
  x ~ Normal(0, 1)
- x ~ Normal(1, 2)
+ factor pull : -((x - 1) / 2)^2 / 2

E0502: elements that nothing defines
The statements for a variable together define all of its elements. The first element
of a recurrence has a statement of its own.
  dim T
+ z[0] ~ Normal(0, 1)
  z[t in T[1..]] ~ Normal(z[t-1], 1)

E0503: definitions that go round in a circle
The order of statements does not matter, but a variable cannot depend on itself. The
one exception is a recurrence, where every turn of the circle takes a step along one
axis: z[t] may depend on z[t-1], or on z[t+1], but not on both. Dependence without a
direction is written with `latent` and `factor`.
- a ~ Normal(b, 1)
- b ~ Normal(a, 1)
+ latent a : real
+ latent b : real
+ factor near : -(a - b)^2 / 2
+ factor small : -(a^2 + b^2) / 2

E0504: a function that calls itself
Functions are written out where they are called, so none can call itself, also not by
way of another. Repetition is a `loop`, a reduction, or a recurrence along a dim.
- fn halve(x: real) -> real = if x > 1 then halve(x / 2) else x
+ fn halve(x: real) -> real = loop s = x while s > 1 max 100 do s / 2
  y := halve(10)

E0505: declared, but without a density
An `observed` variable is conditioned on, so something must say how likely it is: a
`~`, or a factor that mentions it. What is only given is `data`. A `latent` variable
is undirected: only factors speak of it.
  observed y : real
  mu ~ Normal(0, 1)
+ y ~ Normal(mu, 1)

E0506: a second objective
A model has at most one `minimize` or `maximize`. Add the terms up.
  param w : real = 1
- minimize (w - 3)^2
- minimize abs(w)
+ minimize (w - 3)^2 + abs(w)

E0507: a parameter that is not real
Parameters are optimised by their gradients, so they are real numbers. Whole numbers,
truth values and labels are given as `data`, or drawn.
- param degree : int = 2
+ data degree : int = 2
  y := 3^degree

E0508: a `model` line out of place
`model NAME` stands once, before all other statements. It may be left out.
+ model early
  x ~ Normal(0, 1)
- model late

E0509: a dim without a proper size
The size of a dim is a whole number from 1 up, written in the file, or left out: `dim
Obs` takes its size from the data. It cannot be the name of a variable.
- data n : int
- dim Obs = n
+ dim Obs
  x[i in Obs] ~ Normal(0, 1)

E0510: a statement that cannot stand in a block
Blocks hold definitions: `~`, `=`, `:=` and `factor`. Dims, declarations, functions,
imports and objectives stand outside; a `guide` may declare parameters of its own.
  dim Obs
+ param shift : real
  for i in Obs {
-     param shift : real
      y[i] ~ Normal(shift, 1)
  }

E0511: a name in a `for` block without its index
What a `for i in D` block defines is defined once for each i, so it carries i as an
index. This is not a loop that assigns: every i has a variable of its own.
  dim Obs
  data x[Obs] : real
  for i in Obs {
-     double := 2 * x[i]
+     double[i] := 2 * x[i]
  }

E0512: indices that do not fit the variable
All statements of one variable have the same number of indices, over the same dims in
the same order, and so has its declaration.
  dim Obs
- dim County
  observed y[Obs] : real
- y[c in County] ~ Normal(0, 1)
+ y[i in Obs] ~ Normal(0, 1)

E0513: an index on the left that is not bound
On the left of `~` and `=` an index is a binder, `i in D`, or a constant: a number or
a label. Inside a `for i in D` block, `i` alone is enough.
  dim Obs
  data x[Obs] : real
  observed y[Obs] : real
- y[i] ~ Normal(x[i], 1)
+ y[i in Obs] ~ Normal(x[i], 1)

E0514: a `where` that would leave elements undefined
`where` picks observations and factors: those it leaves out say nothing. A variable
that is drawn or computed has a value everywhere, so it takes no `where`.
  dim Obs
  data x[Obs] : real
- y[i in Obs where x[i] > 0] := log(x[i])
+ y[i in Obs] := if x[i] > 0 then log(x[i]) else 0

E0515: a value for what is observed or latent
In a declaration `= value` is the value of `data` when none is given, and where a
`param` starts. What is observed is given with the data, and what is latent is
unknown.
- observed y : real = 3
+ observed y : real
  y ~ Normal(0, 1)
"""
