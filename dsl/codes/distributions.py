"""E04: distributions and tables."""

CODES = """
E0401: not a distribution, or one out of place
After `~` stands a distribution, `x ~ Normal(0, 1)`, or a table with columns. A
distribution stands nowhere else: to use a draw in an expression, give it a name
first. `dpc explain distributions` lists them all; their names start with a capital
letter.
- x ~ normal(0, 1)
+ x ~ Normal(0, 1)

E0402: parameters that the distribution does not have
The parameters of a distribution come in the order that `dpc explain` shows, or by
name. Some can be given in several ways: Gamma by shape and rate, or by mean and sd.
Note that the second parameter of Normal is the standard deviation, not the variance
or the precision.
- x ~ Normal(mu=0, sigma=1)
+ x ~ Normal(mean=0, sd=1)

E0403: a parameter of the wrong kind
The parameter cannot have this value or this shape: a standard deviation is above 0, a
probability lies between 0 and 1, the number of trials is whole.
- x ~ Normal(0, -1)
+ x ~ Normal(0, 1)

E0404: probabilities that do not sum to one
The probabilities of a Categorical, and of each row of a table, are not negative and
sum to 1. They are never rescaled in silence.
  dim Weather = sun | rain
- today : Weather ~ Categorical(sun=0.8, rain=0.3)
+ today : Weather ~ Categorical(sun=0.7, rain=0.3)

E0405: a label of another dim
Rows, columns and labelled probabilities name the labels of the dim that they speak
of. A dim without labels has the numbers 0, 1, ... instead, and a bool has `false` and
`true`.
  dim Weather = sun | rain
  today : Weather ~ Categorical(sun=0.7, rain=0.3)
  walk ~ table today => true, false {
-     sun => 0.9, 0.1
-     wet => 0.2, 0.8
+     sun  => 0.9, 0.1
+     rain => 0.2, 0.8
  }

E0406: a label without a probability
Every label gets its probability, exactly once; what is impossible is written as 0.
  dim Weather = sun | cloud | rain
- today : Weather ~ Categorical(sun=0.7, rain=0.3)
+ today : Weather ~ Categorical(sun=0.7, cloud=0, rain=0.3)

E0407: a table of the wrong kind
A table with columns, `table a => yes, no { ... }`, is a distribution and stands after
`~`. A table without columns, `table a { yes => 1.5; no => 2 }`, is a value and stands
after `=`.
  dim YesNo = yes | no
  smoker : YesNo ~ Categorical(yes=0.3, no=0.7)
- risk ~ table smoker { yes => 0.3; no => 0.1 }
+ risk := table smoker { yes => 0.3; no => 0.1 }

E0408: a parent or an entry that a table cannot have
A table has a row for each combination of its parents, so a parent is a bool, or a
label or index of a dim whose size is in the file. Entries are single numbers. For
other parents use `if`, or an array indexed by them.
  data age : real
- ill ~ table age => true, false { _ => 0.1, 0.9 }
+ old = age > 60
+ ill ~ table old => true, false { true => 0.3, 0.7; false => 0.1, 0.9 }

E0409: columns of no dim, or of several
Without a type, the columns of a table tell of which dim its values are. Here no dim
has exactly these labels, or several have. Write the type after the name.
  dim Answer = yes | no
  dim Vote = yes | no
  data old : bool
- vote ~ table old => yes, no { true => 0.5, 0.5; false => 0.6, 0.4 }
+ vote : Vote ~ table old => yes, no { true => 0.5, 0.5; false => 0.6, 0.4 }
  other : Vote ~ Categorical(yes=0.5, no=0.5)
  answer : Answer ~ Categorical(yes=0.5, no=0.5)

E0410: a table with too many combinations
The table would have more than a million rows once every `_` is filled in. Use fewer
parents, or an expression of them.
  dim Big = 2000
  data a : Big
  data b : Big
- y := table a, b { _, _ => 1 }
+ y := if a == b then 1 else 0

E0411: a row that is never used
The first row that matches wins. All that this row matches is taken by rows above it,
so it is a slip: a row written twice, or one that should stand further up.
  dim YesNo = yes | no
  data smoker : YesNo
- risk := table smoker { yes => 0.3; _ => 0.1; no => 0.2 }
+ risk := table smoker { yes => 0.3; no => 0.2 }

E0412: combinations without a row
A table has a row for every combination of its parents' values; `_` matches any.
  dim YesNo = yes | no
  data smoker : YesNo
  data old : bool
- risk := table smoker, old { yes, true => 0.5; yes, false => 0.3; no, true => 0.2 }
+ risk := table smoker, old { yes, true => 0.5; yes, false => 0.3; no, _ => 0.2 }

E0413: a row of the wrong length
A row has one key for each parent and one value for each column; a table of values has
one value in each row.
  data old : bool
- ill ~ table old => true, false { true => 0.3; false => 0.1, 0.9 }
+ ill ~ table old => true, false { true => 0.3, 0.7; false => 0.1, 0.9 }

E0414: a value that may leave its declared range
A declared range is a promise that others rely on, so it is proved from the definition
or refused. Ranges are known of parameters and data by their types, of draws by their
distributions, and of functions such as `exp`, `logistic`, `abs`, `max` by their values.
  param mu : real
- s : real(lower=0) = mu - 5
+ s : real(lower=0) = exp(mu - 5)
  x ~ Normal(0, s)

E0415: a draw that cannot be kept to its declared range
`x : real(lower=1) ~ Normal(0, 1)` is a Normal given that it lies above 1: what lies
outside of the range is cut off, and the rest is renormalised. That needs the
distribution function and its inverse, which not every distribution has here. Take the
range away, or draw from a distribution that has this range or can be cut to it.
- angle : real(lower=0) ~ VonMises(0, 1)
+ angle ~ VonMises(0, 1)
  x ~ Normal(cos(angle), 1)

E0416: a question that a distribution does not answer
An expression may ask a distribution for its log density at a value, its cdf, log_cdf,
survival, log_survival, quantile, mean, variance, entropy, and for the divergence kl from
another one. Not every distribution has a formula for each: then the question is an
error, and the help lists those that have one.
  angle ~ VonMises(0, 1)
- late := survival(VonMises(0, 1), angle)
+ late := log_density(VonMises(0, 1), angle)

E0417: a distribution that cannot be made of this one
`Truncated`, `Censored`, `ZeroInflated` and `Mixture` make a distribution of others. A mixture has
parts of one form, and none that is a mixture itself. What is censored, or has more zeros than a
density gives, has values with a probability beside values with a density: it is seen, not
inferred, so it is observed and no part of another one.
  param m : real
- y ~ Censored(Normal(m, 1), upper=2)
+ observed y : real
+ y ~ Censored(Normal(m, 1), upper=2)
"""
