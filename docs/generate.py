"""Writes the reference pages from the tables they describe. `--check` writes nothing and fails when
one is stale.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from dpc.dsl.codes import Code, chapters
from dpc.dsl.library import (
    distributions,
    distributions_continuous,
    distributions_discrete,
    distributions_multivariate,
    functions_arrays,
    functions_elementary,
    functions_smooth,
)
from dpc.dsl.library.notation import DOMAIN_WORDS
from dpc.dsl.library.questions import QUESTIONS, QuestionRow
from dpc.dsl.library.rows import Distribution, FunctionRow

FOLDER = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py from the tables in dsl/: do not edit. -->"


def main() -> int:
    pages = {
        "errors.md": errors_page(),
        "functions.md": functions_page(),
        "distributions.md": distributions_page(),
    }
    stale = [name for name, text in pages.items() if _read(FOLDER / name) != text]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"docs/{name} is stale: run `make docs`")
        return 1 if stale else 0
    for name in stale:
        (FOLDER / name).write_text(pages[name], encoding="utf-8")
        print(f"wrote docs/{name}")
    return 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _page(*parts: str) -> str:
    return "\n\n".join([parts[0], NOTE, *parts[1:]]) + "\n"


# ---- errors


def errors_page() -> str:
    intro = (
        "Every message of the compiler has a code. `dpc explain E0104` shows the same text in\n"
        "the terminal, and `dpc explain codes` lists all codes. For each code: the rule, a\n"
        "program that breaks it, and the same program mended."
    )
    contents = "\n".join(f"- [{title}](#{_anchor(title)})" for title in chapters())
    sections = [
        part for title, codes in chapters().items() for part in (f"## {title}", *map(_error, codes))
    ]
    return _page("# Errors and warnings", intro, contents, *sections)


def _anchor(title: str) -> str:
    return "".join(
        char for char in title.lower().replace(" ", "-") if char.isalnum() or char == "-"
    )


def _error(code: Code) -> str:
    return "\n\n".join(
        [
            f"### {code.code}: {code.title}",
            code.text,
            _program("Wrong:", code.bad),
            _program("Right:", code.good),
        ]
    )


def _program(title: str, text: str) -> str:
    return f"{title}\n\n```\n{text.strip()}\n```"


# ---- functions

FUNCTION_SECTIONS = {
    "Powers and logarithms": functions_elementary.POWERS,
    "Angles": functions_elementary.ANGLES,
    "Special functions": functions_elementary.SPECIAL,
    "Rounding": functions_elementary.ROUNDING,
    "Two numbers": functions_elementary.BINARY,
    "Activations and losses of one number": functions_elementary.ACTIVATIONS,
    "Reductions of arrays": functions_arrays.REDUCTIONS,
    "Making arrays": functions_arrays.CONSTRUCTORS,
    "Vectors": functions_arrays.PRODUCTS,
    "Matrices": functions_arrays.MATRICES,
    "Kernels of Gaussian processes": functions_arrays.KERNELS,
    "Soft branches": functions_smooth.BRANCHES,
    "Smooth maxima": functions_smooth.MAXIMA,
    "Entropies": functions_smooth.ENTROPIES,
    "Losses": functions_smooth.LOSSES,
    "Moreau envelopes": functions_smooth.ENVELOPES,
    "Lists and dictionaries": functions_arrays.LISTS,
}


def functions_page() -> str:
    intro = (
        "Capital letters stand for any axis, the same wherever they recur; `...` for any shape\n"
        "at all. A function of numbers alone applies elementwise to arrays of one shape. `D:\n"
        "dim` takes the name of a dim, `*D: dim` one or more. A parameter with `= value` may be\n"
        "left out. Functions marked *hard* jump: no gradient passes them.\n\n"
        "`sum`, `prod`, `mean`, `max`, `min`, `argmax`, `argmin`, `logsumexp`, `all` and `any`\n"
        "also bind an index: `sum[i in D] x[i]`."
    )
    sections = [
        f"## {title}\n\n{_function_table(rows)}" for title, rows in FUNCTION_SECTIONS.items()
    ]
    asked = "## Asked of a distribution `D`\n\n" + _function_table(QUESTIONS.values())
    return _page("# Functions", intro, _legend(), *sections, asked)


def _function_table(rows: Iterable[FunctionRow | QuestionRow]) -> str:
    lines = []
    for row in rows:
        note = " *(hard)*" if isinstance(row, FunctionRow) and row.hard else ""
        lines.append(f"| {_code(row.text)} | {_cell(row.doc)}{note} |")
    return "\n".join(["| function | meaning |", "|---|---|", *lines])


# ---- distributions

DISTRIBUTION_SECTIONS = {
    "One real number": distributions_continuous.CONTINUOUS,
    "Vectors and matrices": distributions_multivariate.MULTIVARIATE,
    "Truth values, labels and counts": distributions_discrete.DISCRETE,
}


def distributions_page() -> str:
    intro = (
        "`x ~ Normal(0, 1)` draws one value; `x[i in D] ~ Normal(a[i], 1)` draws one for each\n"
        "member of a dim. A name that stands several times can be given its parameters in\n"
        "several ways: the first takes them in order, the others by name, as in `Gamma(mean=2,\n"
        "sd=1)`. A draw is *smooth* when it is a differentiable function of its parameters and\n"
        "of noise, so that gradients pass through it (`with grad=pathwise`).\n\n"
        "The names of the parameters say what they are:"
    )
    names = "```\n" + _indented(distributions.__doc__ or "") + "\n```"
    sections = [
        f"## {title}\n\n{_distribution_table(rows)}"
        for title, rows in DISTRIBUTION_SECTIONS.items()
    ]
    return _page("# Distributions", intro, names, _legend(), *sections)


def _indented(doc: str) -> str:
    return "\n".join(line.strip() for line in doc.splitlines() if line.startswith("    "))


def _distribution_table(rows: Iterable[Distribution]) -> str:
    lines = [
        f"| {_code(row.text)} | {_cell(row.doc)} | {_support(row)} | {_code(row.numpyro)} |"
        for row in rows
    ]
    return "\n".join(["| distribution | meaning | draws | NumPyro |", "|---|---|---|---|", *lines])


def _support(row: Distribution) -> str:
    return (
        "discrete" if row.discrete else "continuous, smooth" if row.reparametrised else "continuous"
    )


# ---- both


def _legend() -> str:
    lines = [f"| `{word}` | {_cell(meaning)} |" for word, meaning in DOMAIN_WORDS.items()]
    return "\n".join(["| word | a value that is |", "|---|---|", *lines])


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
