"""E06: imports, guides and objectives."""

CODES = """
E0601: an import that cannot be read
The file does not exist, is not a text, or may not be read. Paths are relative to the
importing file.
- import "missing.dp" as lib
+ import "lib.dp" as lib
  y := lib.double(3)

E0602: imports that go round in a circle
A file cannot import itself, also not by way of another. Move what both need into a
third file.
- import "circle.dp" as other
- y := other.x
+ import "lib.dp" as lib
+ y := lib.double(3)

E0603: an imported file with an objective
What is minimised or maximised is the question of the whole program, so the importing
file states it.
- import "objective.dp" as lib
- y := lib.w
+ import "lib.dp" as lib
+ param w : real = 1
+ minimize lib.double(w)^2

E0604: a guide that does not fit the model
A guide approximates the posterior: it draws what the model draws and does not
observe, under the same names, with the same types and shapes. With `elbo()` it draws
all of them.
  observed y : real
  mu ~ Normal(0, 1)
  y ~ Normal(mu, 1)
  param m : real = 0
- guide { nu ~ Normal(m, 1) }
+ guide { mu ~ Normal(m, 1) }

E0605: `elbo()` out of place
`elbo()` is the evidence lower bound of the model under its guide. It needs a guide,
and stands only in an objective.
  observed y : real
  mu ~ Normal(0, 1)
  y ~ Normal(mu, 1)
+ param m : real = 0
+ guide { mu ~ Normal(m, 1) }
  maximize elbo()
"""
