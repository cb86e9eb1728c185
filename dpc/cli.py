"""The command line. Each command is a module of dpc.commands, imported when it is asked for."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from .exits import BUG, INTERRUPTED, USAGE, exit_of

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


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; whatever happens is an exit code, a user's mistake never a traceback."""
    options: list[str] = []  # the names of those that the command has
    try:
        words = list(sys.argv[1:] if argv is None else argv)
        name = next((word for word in words if not word.startswith("-")), None)
        parser = _parser(name if name in COMMANDS else None)
        args = parser.parse_args(words)
        options += vars(args)
        if args.command is None:
            parser.print_help()
            return USAGE
        code: int = import_module(f"dpc.commands.{args.command}").run(args)
        return code
    except KeyboardInterrupt as error:
        where = f": {_as_options(str(error), options)}" if str(error) else ""
        print(f"dpc: interrupted{where}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _report(error, options)


def _report(error: Exception, options: list[str]) -> int:
    """Errors in models, data and arguments are the user's; everything else is ours."""
    code = exit_of(error)
    if code == BUG and isinstance(error, OSError) and error.filename is not None:
        print(f"dpc: {error.filename}: {error.strerror or error}", file=sys.stderr)
        return USAGE
    if code == BUG:
        if os.environ.get("DPC_TRACEBACK"):
            raise error
        print(f"dpc: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        print("This is a bug in dpc. Please report it together with the model.", file=sys.stderr)
        print("DPC_TRACEBACK=1 shows where it happened.", file=sys.stderr)
        return BUG
    own_words = type(error).__name__ in ("DpError", "DataError")
    print(error if own_words else f"dpc: {_as_options(str(error), options)}", file=sys.stderr)
    return code


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
