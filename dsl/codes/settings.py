"""E07: annotations."""

CODES = """
E0701: an annotation that does not exist, or not here
After `with` stand noncentered, ordered, grad=..., soft(...) and smooth(...), each
once. The first three go with `~`; soft goes with any statement that computes, and
smooth with all of them but `~`.
  mu ~ Normal(0, 1)
- x ~ Normal(mu, 1) with noncentred
+ x ~ Normal(mu, 1) with noncentered

E0702: an annotation with the wrong method or option
`grad=method`, `soft(method)` and `smooth(noise)` name one of their methods, perhaps
with options: `grad=rloo(samples=16)`, `soft(logistic, scale=0.1)`, `smooth(gaussian,
scale=0.1, over=x)`. Options are constants, and the names of variables for `over`.
- b ~ Bernoulli(0.5) with grad=reinforce
+ b ~ Bernoulli(0.5) with grad=sfe

E0703: an annotation that this distribution cannot honour
Some annotations are for some distributions: `noncentered` needs a location and a
scale, `ordered` needs real numbers, `grad=pathwise` needs a draw that is a
differentiable function of its parameters, and `grad=enumerate` a discrete one.
- b ~ Bernoulli(0.5) with grad=pathwise
+ b ~ Bernoulli(0.5) with grad=enumerate

E0704: a statement that cannot be smoothed like this
`smooth` is the mean of a statement over noise in real variables that it mentions:
those named by `over=`, or all of them. One or two numbers are integrated over; for
more, say how many samples to take: `samples=1000`. Where the statement jumps must
depend on nothing that is optimised or drawn but not noisy, because the derivative by
that would be lost. In a soft statement the condition after `where` is a weight, of
sums, products, `all` and `any`; other reductions have no soft meaning with one.
  param x : real = 0.3
  param a : real = 0
- y := if x > a then 1 else 0 with smooth(gaussian, scale=0.1, over=x)
+ y := if x > a then 1 else 0 with smooth(gaussian, scale=0.1, over=[x, a])

E0705: the variance of something without branches
In a soft statement the branches of an `if`, and the elements of `v[argmax(x)]`, have
weights, and `branch_variance` is the variance of their values under these weights.
Nothing else has such a variance.
  param x : real = 0.3
- y := branch_variance(x^2) with soft(logistic, scale=0.1)
+ y := branch_variance(if x > 0 then x^2 else 0) with soft(logistic, scale=0.1)

E0706: a gradient that would be wrong without a word
A pathwise gradient follows a draw through everything that is computed from it. Where
that jumps, as a comparison or a rounding does, its derivative is zero although its
mean moves with the parameters. And the score of a draw does not see the edges of its
support, so these must not move. Such gradients are refused.
  param a : real = 0
- x ~ Normal(a, 1) with grad=pathwise
+ x ~ Normal(a, 1) with grad=rloo
  minimize if x > 1 then 1 else 0

E0707: an objective that cannot be estimated like this
The objective is a mean over everything random. Draws of several statements, of a
recurrence or under a condition can have `grad=pathwise`, `sfe` or `rloo` and no
other; variables that only factors speak about have no order to be drawn in; a mean
given what is observed takes a guide.
  dim T = 3
  param a : real = 0
  z[0] ~ Bernoulli(logits=a)
- z[t in T[1..]] ~ Bernoulli(logits=if z[t-1] then a else -a) with grad=disarm
+ z[t in T[1..]] ~ Bernoulli(logits=if z[t-1] then a else -a) with grad=rloo
  minimize sum[t in T] z[t]
"""
