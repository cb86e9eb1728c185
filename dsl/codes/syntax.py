"""E00: reading the text."""

from . import Code

CODES = (
    Code(
        "E0001: something does not belong here",
        "The statement cannot be read at the marked place. A statement ends with its line or\n"
        "with `;`, and runs over several lines only inside ( ) and [ ]. The help says what\n"
        "could stand there, or what the language writes instead. The other statements of the\n"
        "file are checked all the same.",
        """
- x ~ Normal(0 1)
+ x ~ Normal(0, 1)
""",
    ),
    Code(
        "E0002: not a text file",
        "A model is a text in UTF-8. This file holds bytes that are not: it may be a picture, a\n"
        "compressed file, or a text saved in an older encoding such as Latin-1. Save it again\n"
        "as UTF-8.",
        """
- # "café" in Latin-1: the byte E9 alone is not UTF-8
  café ~ Normal(0, 1)
""",
    ),
    Code(
        "E0003: a character without meaning",
        "The character has no meaning in the language. Names are made of letters, digits and\n"
        "`_`; any other name goes between backquotes, as in `` `net income` ``.",
        """
- price$ ~ HalfNormal(1)
+ `price$` ~ HalfNormal(1)
""",
    ),
    Code(
        "E0004: brackets that do not match",
        'Every ( [ { and " is closed by its own kind, within the same statement.',
        """
- x ~ Normal(0, 1
+ x ~ Normal(0, 1)
  y ~ Normal(x, 1)
""",
    ),
    Code(
        "E0005: a word of the language as a name",
        "Words such as `data`, `max` and `in` have a meaning of their own and cannot name a\n"
        "variable. Choose another name. Or put it between backquotes, unless it is the name of\n"
        "a type, such as `real`.",
        """
- max ~ Normal(0, 1)
+ highest ~ Normal(0, 1)
""",
    ),
    Code(
        "E0006: the file is too large",
        "A model is written by people, and may have a million characters. What makes it longer\n"
        "is data: declare it with `data`, and give it in a file of its own.",
        """
- data x : real = 0    # and a million characters more
+ data x : real
  y := x
""",
    ),
    Code(
        "E0007: nested too deeply",
        "Brackets, operators and branches may lie a hundred deep in each other. Give the inner\n"
        "parts names of their own; a long sum over members of a dim is written `sum[i in D]\n"
        "...`.",
        """
- y := ((((1))))    # with a hundred brackets
+ y := 1
""",
    ),
    Code(
        "E0008: an incomplete `if`",
        "An `if` is a value, so it says what it is in either case: `if c then a else b`. There\n"
        "is no `if` without `else`, the condition comes first, and a chain is written `else\n"
        "if`.",
        """
  data x : real
- y := if x > 0 then x
+ y := if x > 0 then x else 0
""",
    ),
    Code(
        "E0009: a declaration without a type",
        "`data`, `observed`, `param` and `latent` say of which type a variable is: real, int,\n"
        "bool, the name of a dim, or a constrained type such as simplex[K]. A drawn variable\n"
        "needs no declaration, unless it is observed.",
        """
- param slope
+ param slope : real
  y := 2 * slope
""",
    ),
    Code(
        "E0010: a sign of another language",
        "The sign is common elsewhere, but not part of this language. The help says what to\n"
        "write for it.",
        """
  data x : real
- y := x**2
+ y := x^2
""",
    ),
)
