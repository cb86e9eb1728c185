"""dpc explain: an error code, a function, a distribution, or a list of them."""

import argparse
from collections.abc import Callable, Sequence

from dpc.dsl.codes import all_codes, chapters, format_code
from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.library.distributions import DISTRIBUTIONS, distributions_by_name
from dpc.dsl.library.functions import all_functions, functions_by_name
from dpc.dsl.library.questions import QUESTIONS, QuestionRow
from dpc.dsl.library.rows import Distribution, FunctionRow
from dpc.dsl.library.wrappers import WRAPPERS, WrapperRow
from dpc.exits import OK, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "word",
        metavar="WORD",
        help="a code (E0104), a name (Normal), or codes, functions, distributions",
    )


def run(args: argparse.Namespace) -> int:
    print(explain(args.word))
    return OK


def explain(word: str) -> str:
    if word in LISTS:
        return LISTS[word]()
    if word.upper() in all_codes():
        return format_code(all_codes()[word.upper()])
    if word in distributions_by_name():
        return "\n\n".join(_explain_distribution(row.text) for row in distributions_by_name()[word])
    if word in WRAPPERS:
        return _forms([WRAPPERS[word]])
    asked = [QUESTIONS[word]] if word in QUESTIONS else []
    if word in functions_by_name() or asked:
        return _forms([*functions_by_name().get(word, ()), *asked])
    known = [
        *all_codes(),
        *distributions_by_name(),
        *functions_by_name(),
        *QUESTIONS,
        *WRAPPERS,
        *LISTS,
    ]
    raise UsageError(f"nothing is called {word}. {did_you_mean(word, known)}".rstrip())


def _explain_distribution(text: str) -> str:
    row = next(row for row in DISTRIBUTIONS if row.text == text)
    kind = "discrete" if row.discrete else "continuous"
    path = (
        "gradients pass through its draws"
        if row.reparametrised
        else "its draws are not differentiable"
    )
    return f"{row.text}\n  {row.doc}\n  {kind}; {path}\n  NumPyro: {row.numpyro}"


def _forms(rows: Sequence[Distribution | FunctionRow | QuestionRow | WrapperRow]) -> str:
    return "\n".join(f"{row.text}\n  {row.doc}" for row in rows)


def _list_codes() -> str:
    return "\n\n".join(
        f"{title}\n" + "\n".join(f"  {code.code}  {code.title}" for code in codes)
        for title, codes in chapters().items()
    )


LISTS: dict[str, Callable[[], str]] = {
    "codes": _list_codes,
    "distributions": lambda: _forms([*DISTRIBUTIONS, *WRAPPERS.values()]),
    "functions": lambda: _forms([*all_functions(), *QUESTIONS.values()]),
}
