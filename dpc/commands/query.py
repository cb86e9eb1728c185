"""dpc query: what a model with finite variables says, given what is known."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any

from dpc.commands.answers import (
    Answer,
    print_answers,
    show_configurations,
    show_joint,
    show_marginals,
    show_number,
)
from dpc.commands.cases import answer_cases
from dpc.commands.discrete import Loaded, add_discrete_arguments, load_discrete
from dpc.commands.evidence import add_given_argument, read_given
from dpc.commands.expressions import ask_expression
from dpc.commands.methods import (
    Found,
    Way,
    add_method_argument,
    find_entropy,
    find_joint,
    find_kbest,
    find_log_partition,
    find_marginals,
    find_mode,
    find_samples,
    verify_method,
)
from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.tabulate.given import WrongEvidence, check_given
from dpc.exits import BAD_DATA, NOT_CONVERGED, OK, UsageError
from dpc.inference import queries as q
from dpc.inference.errors import InferenceError, MemoryLimitError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_discrete_arguments(parser)
    add_given_argument(parser)
    parser.add_argument("--evidence", metavar="CASES", help="a CSV file of cases, one to a row, answered together")
    parser.add_argument(
        "--ask",
        action="append",
        default=[],
        metavar="A,B or EXPRESSION",
        help="marginals of these variables only, or an expression: 'a == yes and b > 2'",
    )
    parser.add_argument("--joint", action="append", default=[], metavar="A,B", help="the joint distribution of these")
    parser.add_argument("--logz", action="store_true", help="the log-partition, or the log-probability of the evidence")
    parser.add_argument(
        "--map", nargs="?", const="", metavar="A,B", help="the most probable configuration, of all or these"
    )
    parser.add_argument("--kbest", type=int, metavar="K", help="the K most probable configurations")
    parser.add_argument("--samples", type=int, metavar="N", help="N joint draws of all variables")
    parser.add_argument("--entropy", action="store_true", help="the entropy of all variables, in nats")
    parser.add_argument("--kl", metavar="OTHER", help="the divergence to another model of the same variables, in nats")
    parser.add_argument(
        "--memory", metavar="SIZE", help="how much memory may be used, such as 2GB (default half of what is free)"
    )
    add_method_argument(parser)
    parser.add_argument("--seed", type=int, default=0, help="the seed of all that is drawn (default 0)")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.add_argument("--csv", action="store_true", help="print as CSV")
    parser.add_argument("--plot", metavar="OUT", help="draw the network with the marginals in its nodes: .svg or .png")


def run(args: argparse.Namespace) -> int:
    if args.plot and not args.plot.endswith((".svg", ".png")):
        raise UsageError(f"--plot writes .svg or .png, not {args.plot}")
    try:
        loaded = load_discrete(args)
        given = check_given(loaded.discrete, read_given(args.given))
        answers = answer_all(loaded, given, args)
        print_answers(answers, args)
        if args.plot:
            plot_marginals(loaded, given, args)
    except MemoryLimitError as error:
        raise UsageError(str(error)) from None
    except (InferenceError, WrongEvidence) as error:
        print_error(error)
        return BAD_DATA
    return OK if all(answer.converged for answer in answers) else NOT_CONVERGED


def answer_all(loaded: Loaded, given: dict[str, Any], args: argparse.Namespace) -> list[Answer]:
    """One answer for each question; without a question, all marginals."""
    way = way_of(args)
    if args.evidence:
        return [_cases(loaded, given, args, way)]
    answers = [rule(loaded, given, args, way) for wanted, rule in QUESTIONS if wanted(args)]
    for text in args.ask:
        answers.append(_ask(loaded, text, given, args, way))
    for text in args.joint:
        answers.append(_joint(loaded, _names(loaded, text), given, way))
    return answers or [_marginals(loaded, None, given, way)]


def way_of(args: argparse.Namespace) -> Way:
    return Way(args.method, read_memory(args.memory), args.seed)


# ---- questions


def _log_partition(loaded: Loaded, given: dict[str, Any], args: argparse.Namespace, way: Way) -> Answer:
    name = "log probability of the evidence" if loaded.discrete.directed else "log partition"
    return show_number("logz", name, find_log_partition(loaded.discrete.factors, given, way))


def _entropy(loaded: Loaded, given: dict[str, Any], args: argparse.Namespace, way: Way) -> Answer:
    return show_number("entropy", "entropy (nats)", find_entropy(loaded.discrete.factors, given, way))


def _divergence(loaded: Loaded, given: dict[str, Any], args: argparse.Namespace, way: Way) -> Answer:
    verify_method("kl", way.method)
    other = load_discrete(argparse.Namespace(path=args.kl, data=args.data, set=[]))
    if other.discrete.states != loaded.discrete.states:
        raise UsageError(f"{args.path} and {args.kl} have not the same variables and states")
    value = q.infer_divergence(loaded.discrete.factors, other.discrete.factors, given, memory=way.memory)
    return show_number("kl", f"KL({loaded.name or args.path} || {other.name or args.kl})", Found(value))


def _mode(loaded: Loaded, given: dict[str, Any], args: argparse.Namespace, way: Way) -> Answer:
    factors = loaded.discrete.factors
    if args.map:
        verify_method("marginal_mode", way.method)
        found = Found(q.infer_marginal_mode(factors, _names(loaded, args.map), given, memory=way.memory))
    else:
        found = find_mode(factors, given, way)
    log_z = q.infer_log_partition(factors, given, memory=way.memory) if found.method == "exact" else None
    return show_configurations("map", loaded.discrete, [found.value], log_z).by(found)


def _kbest(loaded: Loaded, given: dict[str, Any], args: argparse.Namespace, way: Way) -> Answer:
    if args.kbest < 1:
        raise UsageError("--kbest takes a number from 1 up")
    factors = loaded.discrete.factors
    found = find_kbest(factors, args.kbest, given, way)
    log_z = q.infer_log_partition(factors, given, memory=way.memory) if found.method == "exact" else None
    return show_configurations("kbest", loaded.discrete, found.value, log_z).by(found)


def _samples(loaded: Loaded, given: dict[str, Any], args: argparse.Namespace, way: Way) -> Answer:
    if args.samples < 1:
        raise UsageError("--samples takes a number from 1 up")
    found = find_samples(loaded.discrete.factors, args.samples, given, way)
    states = loaded.discrete.states
    rows = [{name: states[name][int(found.value[name][k])] for name in states} for k in range(args.samples)]
    return Answer("samples", rows, [tuple(states), *(tuple(row.values()) for row in rows)]).by(found)


OF_ONE_CASE = ("logz", "entropy", "kl", "map", "kbest", "samples", "joint", "plot")

QUESTIONS: tuple[tuple[Callable[[argparse.Namespace], bool], Callable[..., Answer]], ...] = (
    (lambda args: args.logz, _log_partition),
    (lambda args: args.entropy, _entropy),
    (lambda args: args.kl is not None, _divergence),
    (lambda args: args.map is not None, _mode),
    (lambda args: args.kbest is not None, _kbest),
    (lambda args: args.samples is not None, _samples),
)


def _marginals(loaded: Loaded, names: list[str] | None, given: dict[str, Any], way: Way) -> Answer:
    return show_marginals(find_marginals(loaded.discrete.factors, given, names, way), loaded.discrete, given)


def _joint(loaded: Loaded, names: list[str], given: dict[str, Any], way: Way) -> Answer:
    return show_joint(names, loaded.discrete, find_joint(loaded.discrete.factors, names, given, way))


def _ask(loaded: Loaded, text: str, given: dict[str, Any], args: argparse.Namespace, way: Way) -> Answer:
    """Names are marginals; anything else is an expression of the language."""
    if all(word in loaded.discrete.states or _elements(loaded, word) for word in _words(text)):
        return _marginals(loaded, _names(loaded, text), given, way)
    return ask_expression(loaded, text, given, args, way)


def _cases(loaded: Loaded, given: dict[str, Any], args: argparse.Namespace, way: Way) -> Answer:
    others = [name for name in OF_ONE_CASE if getattr(args, name) not in (None, False, [])]
    if given or others:
        raise UsageError(f"--evidence answers marginals of cases, without {'--given' if given else '--' + others[0]}")
    verify_method("cases", way.method)
    names = [name for text in args.ask for name in _names(loaded, text)]
    return answer_cases(loaded.discrete, args.evidence, names, way.memory)


# ---- the picture


def plot_marginals(loaded: Loaded, given: dict[str, Any], args: argparse.Namespace) -> None:
    from dpc.dsl.draw.from_discrete import picture_of_marginals
    from dpc.dsl.draw.write import write_picture

    found = find_marginals(loaded.discrete.factors, given, None, way_of(args))
    marginals = {str(name): table for name, table in found.value.items()}
    try:
        picture = picture_of_marginals(loaded.name or args.path, loaded.discrete, marginals, given)
        write_picture(picture, args.plot, engine="builtin")
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"cannot write {args.plot}: {error.strerror or error}") from None


# ---- names and sizes


def _words(text: str) -> list[str]:
    """What stands between the commas outside of brackets; within them, a comma is followed by a space."""
    return [re.sub(r"\s*,\s*", ", ", part.strip()) for part in re.split(r",(?![^\[]*\])", text)]


def _elements(loaded: Loaded, word: str) -> list[str]:
    return [name for name in loaded.discrete.states if name.startswith(f"{word}[")]


def _names(loaded: Loaded, text: str) -> list[str]:
    """Variables, and all elements of those that have indices."""
    found: list[str] = []
    for word in _words(text):
        own = [word] if word in loaded.discrete.states else _elements(loaded, word)
        if not own:
            hint = did_you_mean(word, loaded.discrete.states)
            raise UsageError(f"there is no variable `{word}`{hint and f'; {hint}'}")
        found += own
    return found


def read_memory(text: str | None) -> int | None:
    """2GB, 500 MB or a number of bytes."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)i?b?\s*", text, re.IGNORECASE)
    if not found:
        raise UsageError(f"--memory takes a size such as 2GB, not {text}")
    return int(float(found[1]) * 1024 ** ("kmgt".find(found[2].lower()) + 1 if found[2] else 0))


def print_error(error: Exception) -> None:
    import sys

    print(f"dpc: {error}", file=sys.stderr)
