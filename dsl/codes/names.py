"""E01: names."""

CODES = """
E0101: a name is defined twice
Dims, variables, factors and functions share one space of names, and each name is
defined once. A variable is either drawn (`~`), or has a value (`=`), or is declared;
only `observed` goes together with `~`.
- param mu : real
  mu ~ Normal(0, 1)

E0102: a label stands twice
The labels of a dim are its members, so each is written once.
- dim Color = red | green | red
+ dim Color = red | green | blue
  c : Color ~ Categorical([0.5, 0.2, 0.3])

E0103: an index or loop variable that already means something
A binder such as `i in D` gives a new name to an index. It must not hide a variable, a
dim, or a binder around it, because a reader could not tell which is meant.
  dim Obs
  data x[Obs] : real
  i ~ Normal(0, 1)
- total := sum[i in Obs] x[i]
+ total := i + sum[n in Obs] x[n]

E0104: unknown name
The name is not defined in this file. Names are defined by `data`, `observed`,
`param`, `latent`, `~`, `=`, `:=`, `fn` and `dim`; labels of dims count too. The order
of statements does not matter. A binder is known only inside its statement,
comprehension or reduction; a reduction ends with the product after it.
  data x : real
- y := 2 * z
+ y := 2 * x

E0105: a label of several dims
Two dims may have a label in common. Where nothing around the label tells which dim is
meant, write the dim before it: `Answer.yes`.
  dim Answer = yes | no
  dim Vote = yes | no | abstain
  data score[Answer] : real
  data wish[Vote] : real
  best := score[yes] + wish[yes]
- same := yes
+ same := Vote.yes

E0106: no such dim
Axes and binders name dims. A dim is declared by itself: `dim D` when its size comes
with the data, `dim D = 8`, or `dim D = low | high`.
+ dim Obs
  data x[Obs] : real
  m := mean(x)

E0107: no such function
The name before the parentheses is not a function. `dpc explain functions` lists those
of the language; `fn` defines one, and `extern fn` declares one that is bound from
Python. A product is written with `*`, an index with [ ].
  data x : real
- y := sigmoid(x)
+ y := logistic(x)

E0108: a variable where only constants or parameters can stand
The body of a function sees its parameters and nothing else, so that what it computes
depends on its arguments alone. Values of data, bounds of types and options of
annotations are constants. A parameter starts from constants and data.
  param scale : real = 2
- fn stretch(x: real) -> real = scale * x
- y := stretch(3)
+ fn stretch(x: real, by: real) -> real = by * x
+ y := stretch(3, scale)

E0109: no such type
Types are real, int, bool, the name of a dim (a label or index of it), and the
constrained arrays simplex, ordered, positive_ordered, unit_vector, cholesky,
corr_cholesky, covariance and correlation. Arrays are written by their dims: `x[D] :
real`.
- data x : float
+ data x : real
  y := x
"""
