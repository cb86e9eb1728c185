"""E00: reading the text."""

CODES = """
E0001: something does not belong here
The statement cannot be read at the marked place. A statement ends with its line or
with `;`, and runs over several lines only inside ( ) and [ ]. The help says what
could stand there, or what the language writes instead. The other statements of the
file are checked all the same.
- x ~ Normal(0 1)
+ x ~ Normal(0, 1)

E0002: not a text file
A model is a text in UTF-8. This file holds bytes that are not: it may be a picture, a
compressed file, or a text saved in an older encoding such as Latin-1. Save it again
as UTF-8.
- # "café" in Latin-1: the byte E9 alone is not UTF-8
  café ~ Normal(0, 1)

E0003: a character without meaning
The character has no meaning in the language. Names are made of letters, digits and
`_`; any other name goes between backquotes, as in `` `net income` ``.
- price$ ~ HalfNormal(1)
+ `price$` ~ HalfNormal(1)

E0004: brackets that do not match
Every ( [ { and " is closed by its own kind, within the same statement.
- x ~ Normal(0, 1
+ x ~ Normal(0, 1)
  y ~ Normal(x, 1)

E0005: a word of the language as a name
Words such as `data`, `max` and `in` have a meaning of their own and cannot name a
variable. Choose another name. Or put it between backquotes, unless it is the name of
a type, such as `real`.
- max ~ Normal(0, 1)
+ highest ~ Normal(0, 1)

E0006: the file is too large
A model is written by people, and may have a million characters. What makes it longer
is data: declare it with `data`, and give it in a file of its own.
- data x : real = 0    # and a million characters more
+ data x : real
  y := x

E0007: nested too deeply
Brackets, operators and branches may lie a hundred deep in each other. Give the inner
parts names of their own; a long sum over members of a dim is written `sum[i in D]
...`. A function that calls another twice doubles its calls: a call may make two
thousand, with those that they make.
- y := ((((1))))    # with a hundred brackets
+ y := 1

E0008: an incomplete `if`
An `if` is a value, so it says what it is in either case: `if c then a else b`. There
is no `if` without `else`, the condition comes first, and a chain is written `else
if`.
  data x : real
- y := if x > 0 then x
+ y := if x > 0 then x else 0

E0009: a declaration without a type
`data`, `observed`, `param` and `latent` say of which type a variable is: real, int,
bool, the name of a dim, or a constrained type such as simplex[K]. A drawn variable
needs no declaration, unless it is observed.
- param slope
+ param slope : real
  y := 2 * slope

E0010: a sign of another language
The sign is common elsewhere, but not part of this language. The help says what to
write for it.
  data x : real
- y := x**2
+ y := x^2
"""
