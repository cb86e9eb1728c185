"""The command line. Each command is a module of dpc.commands, imported when it is asked for."""

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from dpc.dsl.printable import printable_lines

from .exits import BUG, INTERRUPTED, OK, USAGE, UsageError, exit_of, sentence_of

COMMANDS = {
    "check": "names, types, shapes and domains of a model",
    "fmt": "write models in canonical form",
    "info": "what kind of model it is: class, nodes, shapes, what is observed",
    "graph": "draw the graph: SVG, PNG, DOT or Mermaid",
    "explain": "what an error code, a function or a distribution means",
    "build": "write the model as a readable JAX program, or print a stage of the compiler",
    "sample": "draw from the model, parents before children",
    "run": "compute the values of the model's nodes and its objective",
    "grad": (
        "the gradient of an expected objective, with its standard error; estimators side by side"
    ),
    "fit": (
        "the parameters that data make most probable, or that minimise or maximise the objective"
    ),
    "predict": "what new data do not say, by parameters that were fitted",
    "posterior": (
        "what data tell about all that is unknown: draws, a summary, and whether to trust them"
    ),
    "query": "marginals, modes, probabilities and samples of finite variables, given what is known",
    "plan": "how a question would be answered, and what it would cost",
    "convert": "networks from and to BIF, XMLBIF, UAI and .dp",
}


LONG_WORD = re.compile(r"\S{500,}")
"""What nobody wrote by hand, and nobody wants to read again in a message."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; whatever happens is an exit code, a user's mistake never a traceback."""
    options: list[str] = []  # the names of those that the command has
    try:
        _open_streams()
        code = _run(argv, options)
        sys.stdout.flush()
        return code
    except SystemExit:  # after `--help`, or a word that is no option
        _flush_or_drop()
        raise
    except KeyboardInterrupt as error:
        where = f": {_as_options(str(error), options)}" if str(error) else ""
        return _leave(f"dpc: interrupted{where}", INTERRUPTED)
    except BrokenPipeError:
        return _leave("", OK)
    except Exception as error:
        return _report(error, options)


def _run(argv: Sequence[str] | None, options: list[str]) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if any("\0" in word for word in words):
        raise UsageError("a word of the command line holds a zero byte, which no name has")
    name = next((word for word in words if not word.startswith("-")), None)
    parser = _parser(name if name in COMMANDS else None)
    args = parser.parse_args(words)
    options += vars(args)
    if args.command is None:
        parser.print_help()
        return USAGE
    code: int = import_module(f"dpc.commands.{args.command}").run(args)
    return code


def _report(error: Exception, options: list[str]) -> int:
    """Errors in models, data and arguments are the user's, bad days nobody's, the rest is ours."""
    sentence = sentence_of(error)
    if sentence is not None:
        code = exit_of(error)
        return _leave(_as_options(sentence, options), USAGE if code == BUG else code)
    if os.environ.get("DPC_TRACEBACK"):
        raise error
    lines = (
        f"dpc: internal error: {type(error).__name__}: {error}",
        "This is a bug in dpc. Please report it together with the model.",
        "DPC_TRACEBACK=1 shows where it happened.",
    )
    return _leave("\n".join(lines), BUG)


# ---- streams: one may be closed, full, or in an encoding that lacks a character


def _open_streams() -> None:
    """Python has no object for a stream that the shell has closed."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (it stays open to the end)
    if sys.stdout is None:
        sys.stdout = sys.stderr
        raise UsageError("standard output is closed, so there is nowhere to print")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _leave(sentence: str, code: int) -> int:
    """Says it, and leaves nothing to be written when Python ends: that could fail once more."""
    with suppress(OSError, ValueError):
        if sentence:
            sentence = printable_lines(sentence)
            sentence = LONG_WORD.sub(lambda word: f"{word[0][:60]}...", sentence)
            print(sentence, file=sys.stderr, flush=True)
    _flush_or_drop()
    return code


def _flush_or_drop() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    """Only the chosen command's module is imported, so that `dpc check` stays light."""
    parser = argparse.ArgumentParser(prog="dpc", description="Compile probabilistic models to JAX.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in COMMANDS.items():
        command = commands.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:] + "."
        )
        if name == chosen:
            import_module(f"dpc.commands.{name}").add_arguments(command)
    return parser


def _as_options(text: str, options: list[str]) -> str:
    from .commands.inputs import as_options

    return as_options(text, options)


class _Version(argparse.Action):
    """Reads the version only when asked: package metadata is slow to load."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from . import __version__

        print(f"dpc {__version__}")
        parser.exit()
