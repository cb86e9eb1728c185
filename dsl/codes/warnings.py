"""W: warnings."""

CODES = """
W0101: never used
Nothing uses this name, so it is probably a slip. To keep a value as an output, define
it with `:=`. A comment `# dpc: ignore[W0101]` on the same line, or alone on the line
before, silences the warning.
  tau ~ HalfNormal(1)
- variance = tau^2
+ variance := tau^2

W0401: an argument that may leave its domain
The distribution or the function needs a positive number, a probability, probabilities
that sum to one, a covariance matrix, a divisor that is not 0, and this expression may be
something else. Give what it is computed from a type with bounds (which cuts the
distribution of a draw to them), draw it from a distribution with the right support, map
it: `exp(x)`, `logistic(x)`, `softargmax(x)`, or write a branch: `if x > 0 then log(x)`.
- sigma ~ Normal(0, 1)
+ sigma ~ HalfNormal(1)
  x ~ Normal(0, sigma)

W0402: a centred hierarchy with little to tell each part
Where a scale is unknown and each element that has it is observed once, the scale and
the elements make a funnel: the smaller the scale, the closer together the elements
must be, and no step size suits both ends. `with noncentered` draws standard noise and
computes the elements from it; the model stays the same. Where the observations are
precise the centred form is the better one: `# dpc: ignore[W0402]` says so.
  dim School
  data sd[School] : real(lower=0)
  observed effect[School] : real
  tau ~ HalfNormal(5)
- theta[s in School] ~ Normal(0, tau)
+ theta[s in School] ~ Normal(0, tau) with noncentered
  effect[s in School] ~ Normal(theta[s], sd[s])

W0501: a parameter that data cannot tell
A `param` has a flat prior. Where no observation depends on it, its posterior is as
flat, and over an unbounded range that is no distribution: chains wander off without
end, and a fit has no best value. Draw it from a prior, bound it, or let something
observed depend on it.
  observed y : real
  param shift : real
  mu ~ Normal(0, 1)
  noise ~ Normal(shift, 1)
- y ~ Normal(mu, 1)
+ y ~ Normal(mu + noise, 1)

W0701: something that stays hard in a soft statement
`soft` smooths comparisons, logic, branches, loops and indices that are written in the
statement. An index computed elsewhere is one position, a function is compiled once
for all who call it, and rounding has no soft meaning: no derivative passes them.
Write the argmax where it indexes, the body of the function where it is called, or
smooth the statement as a whole: `with smooth(gaussian, scale=0.1)`.
  dim N = 3
  param x[N] : real = [1, 2, 3]
- k = argmax(x)
- y := x[k]^2 with soft(logistic, scale=0.1)
+ y := x[argmax(x)]^2 with soft(logistic, scale=0.1)
"""
