"""Hostile inputs, seeded: mutated models, data, networks and command lines, all in this process.

    python bench/hunt_inputs.py --count 20000 --seed 0 [--only models,data,networks,commands]

A finding is an exception that is a bug of ours by `dpc.exits`, or an input that takes over two
seconds. Each is printed with the seed that makes it again; the counts come as they grow.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import dpc
from dpc.cli import COMMANDS, main
from dpc.data import read_data
from dpc.dsl.source import Source
from dpc.exits import BUG, sentence_of
from dpc.finite.answers import read_cases
from dpc.learn.cases import read_cases as read_learning_cases
from dpc.learn.result import learned
from dpc.model.check import check_model
from dpc.model.load import read_network

ROOT = Path(__file__).parent.parent
SECONDS = 2.0
EVERY = 1000

ODD = (
    *("", " ", "-1", "0", "1e400", "-1e400", "nan", "inf", "³", "1_0", "9" * 5000, "0x1", "1/0"),
    *("null", "true", "[]", "[[]]", "{}", '""', "[1,[2]]", "[" * 3000, "\u202e", "é", "\ufeff"),
    *("1000000000000", "18446744073709551616", "1.5.2", "*", "/dev/null", "/dev/full", ".", ".."),
    *("a=b", "=", ",", ",,", "a[0]=1", "a[99]=1", "a=yes|no", "a=[0.5,nan]", "x.grad=sfe", "\n"),
    *("(", ")", ";", "|", "\t", "\r\n", "\x00", "\x1b[31m", "sum[i in N]", "if", "~", "`", "#"),
)
"""What stands in the place of a piece of a text, or of a word."""

MODEL = """dim S = yes | no
dim N
a : S ~ Categorical(yes=0.3, no=0.7)
b[n in N] : S ~ Categorical(if a == yes then [0.2, 0.8] else [0.9, 0.1])
param t : real(lower=0) = 1
data x[N] : real
data k[N] : int = 1
observed y[N] : real
y[n in N] ~ Normal(t * x[n] + k[n], 1)
"""
NET = MODEL.partition("dim N")[0] + "a : S ~ Categorical(yes=0.3, no=0.7)\n"
JUMPS = "param t : real = 0.3\nb ~ Bernoulli(logistic(t))\nminimize (b - 0.4)^2 + t\n"
BIF = """network n { property a b; }
variable a { type discrete [ 2 ] { yes, no }; }
variable b { type discrete [ 3 ] { x, y, z }; }
probability ( a ) { table 0.25, 0.75; }
probability ( b | a ) { (no) 0.5 0.25 0.25; default 0.2, 0.3, 0.5; }
"""
UAI = "BAYES\n2\n2 3\n2\n1 0\n2 0 1\n\n2\n0.25 0.75\n\n6\n0.2 0.3 0.5 0.5 0.25 0.25\n"
XML = """<?xml version="1.0"?><BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME>a</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<DEFINITION><FOR>a</FOR><TABLE>0.25 0.75</TABLE></DEFINITION></NETWORK></BIF>
"""
CSV = "x,y,k\n1.5,2,3\n-1e3,0.25,1\n7,8,9\n"
JSON = '{"x": [1.5, 2, 3], "y": [0.1, 0.2, 0.3], "N": 3, "k": [1, 2, 3]}'
FIT = '{"params": {"t": 1.5}, "dims": {}, "given": []}'


def npz() -> bytes:
    content = io.BytesIO()
    np.savez(content, x=np.arange(3.0), y=np.ones(3), k=np.arange(3))
    return content.getvalue()


# ---- mutations


def mutated_text(text: str, rng: random.Random) -> str:
    for _ in range(rng.choice((1, 1, 2, 4))):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((0, 1, 1, 3, 10)))
        piece = rng.choice(ODD)
        other = rng.randrange(len(text) + 1)
        copied = text[other : other + rng.choice((1, 5, 40))]
        text = text[:start] + rng.choice(("", piece, copied, copied * 3)) + text[end:]
    return text


def mutated_bytes(content: bytes, rng: random.Random) -> bytes:
    bent = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        kind = rng.randrange(4)
        at = rng.randrange(len(bent) + 1)
        if kind == 0 and bent:
            bent[at % len(bent)] = rng.randrange(256)
        elif kind == 1:
            del bent[at:]
        elif kind == 2:
            bent[at:at] = rng.randbytes(rng.choice((1, 4, 8)))
        elif bent:
            bent[at % len(bent)] ^= 1 << rng.randrange(8)
    return bytes(bent)


# ---- one input of each kind


Try = Callable[[random.Random, Path], None]
SEEDS_OF_MODELS = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("models/*.dp"))]
GOOD = sorted(ROOT.glob("tests/golden/good/*.dp"))
SEEDS_OF_MODELS += [path.read_text(encoding="utf-8") for path in GOOD]
SMALL = [text for text in SEEDS_OF_MODELS if len(text) < 1500]


def try_model(rng: random.Random, folder: Path) -> None:
    check_model(Source(str(folder / "m.dp"), mutated_text(rng.choice(SMALL), rng)))


DATA = {".csv": CSV, ".tsv": CSV.replace(",", "\t"), ".json": JSON, ".jsonl": f"{JSON}\n{JSON}"}


def try_data(rng: random.Random, folder: Path) -> None:
    ending = rng.choice((*DATA, ".npz", ".csv.gz"))
    path = folder / f"d{ending}"
    if ending == ".npz":
        path.write_bytes(mutated_bytes(npz(), rng))
    elif ending == ".csv.gz":
        packed = gzip.compress(mutated_text(CSV, rng).encode(errors="replace"))
        path.write_bytes(mutated_bytes(packed, rng) if rng.random() < 0.5 else packed)
    else:
        path.write_text(mutated_text(DATA[ending], rng), encoding="utf-8", errors="replace")
    reader = rng.choice((0, 0, 0, 1, 2))
    if reader == 0 and ending != ".jsonl":
        model().bind(str(path))
    elif reader == 1:
        read_learning_cases(model().graph, str(path))
    elif ending in (".csv", ".csv.gz"):
        read_cases(str(path))
    elif ending != ".jsonl":
        read_data(path)


def try_fit(rng: random.Random, folder: Path) -> None:
    path = folder / "fit.json"
    path.write_text(mutated_text(FIT, rng), encoding="utf-8", errors="replace")
    learned(str(path))


NETWORKS = {".bif": BIF, ".uai": UAI, ".xmlbif": XML}


def try_network(rng: random.Random, folder: Path) -> None:
    ending, text = rng.choice(list(NETWORKS.items()))
    content = mutated_text(text, rng).encode(errors="replace")
    if rng.random() < 0.2:
        content, ending = mutated_bytes(gzip.compress(content), rng), f"{ending}.gz"
    path = folder / f"n{ending}"
    path.write_bytes(content)
    read_network(str(path)).factor_graph()


SKIPPED = frozenset({"posterior", "check", "fmt", "explain"})
FILES = ("net.dp", "jumps.dp", "m.dp", "n.bif", "missing.dp", "d.csv")
LIKELY = {
    "set": ("t=1", "t=null", "N=3", "x=[1,2,3]", "y=[1,2,3]", "b.grad=sfe", "t=-1", "a=yes"),
    "given": ("a=yes", "b[0]=no", "a=[0.5,0.5]", "a=yes|no", "zz=1"),
    "data": ("d.csv", "d.json", "missing.csv"),
    "samples": ("2", "10"),
    "steps": ("1", "5"),
    "n": ("1", "3"),
}


def try_command(rng: random.Random, folder: Path) -> None:
    """A command with some of its options; exits are judged, not what they print."""
    command = rng.choice([name for name in COMMANDS if name not in SKIPPED])
    parser = argparse.ArgumentParser()
    import_module(f"dpc.commands.{command}").add_arguments(parser)
    words = [command, rng.choice(FILES[:4]) if rng.random() < 0.9 else rng.choice(FILES)]
    actions = [each for each in parser._actions if each.option_strings and each.dest != "help"]
    for action in rng.sample(actions, min(len(actions), rng.choice((0, 1, 2, 3)))):
        words.append(action.option_strings[-1])
        if action.nargs != 0:
            words.append(value_of(action, rng))
    if command == "fit":
        words += ["--steps", "3"]
    if command == "grad":
        words += ["--samples", "10"]
    words = [word.replace("\x00", "") for word in words]
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8")
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            code = main(words)
    except SystemExit:
        return
    if code == BUG:
        raise Finding(f"{words}: {said.getvalue()[:300]}")


def value_of(action: argparse.Action, rng: random.Random) -> str:
    if action.choices and rng.random() < 0.8:
        return str(rng.choice(list(action.choices)))
    likely = LIKELY.get(action.dest, ("1", "a", "a,b", "out.svg", "out.json", "kept"))
    return rng.choice(likely if rng.random() < 0.6 else ODD)


class Finding(Exception):
    """What the run itself says is a bug."""


class TooSlow(BaseException):
    """No handler of ours may take it for something else."""


# Of a hundred inputs, so many are of this kind.
KINDS: dict[str, tuple[int, Try]] = {
    "models": (50, try_model),
    "data": (20, try_data),
    "fits": (5, try_fit),
    "networks": (20, try_network),
    "commands": (5, try_command),
}

MODELS: dict[str, Any] = {}


def model() -> Any:
    if not MODELS:
        MODELS["it"] = dpc.parse(MODEL)
    return MODELS["it"]


def write_files(folder: Path) -> None:
    (folder / "net.dp").write_text(NET)
    (folder / "jumps.dp").write_text(JUMPS)
    (folder / "m.dp").write_text(MODEL)
    (folder / "n.bif").write_text(BIF)
    (folder / "d.csv").write_text(CSV)
    (folder / "d.json").write_text(JSON)


def finding_of(attempt: Try, rng: random.Random, folder: Path, seconds: float) -> str:
    """What is wrong with how this input is taken; empty where nothing is."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        attempt(rng, folder)
    except TooSlow:
        return f"over {seconds:g} s"
    except Exception as error:
        if isinstance(error, Finding) or sentence_of(error) is None:
            return f"{type(error).__name__}: {str(error)[:300]}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return ""


def hunt(
    count: int, seed: int, kinds: list[str], seconds: float = SECONDS
) -> Iterator[tuple[int, str, str]]:
    """(number, kind, finding or nothing) of each input; each has a seed of its own."""
    weights = [KINDS[kind][0] for kind in kinds]
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        try:
            for number in range(seed, seed + count):
                write_files(folder)
                rng = random.Random(number)
                (kind,) = rng.choices(kinds, weights)
                # The first command loads JAX and compiles.
                limit = 10 * seconds if kind == "commands" else seconds
                yield number, kind, finding_of(KINDS[kind][1], rng, folder, limit)
        finally:
            os.chdir(home)


def run() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(KINDS))
    args = parser.parse_args()
    seen: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for number, kind, finding in hunt(args.count, args.seed, args.only.split(",")):
        seen[kind] += 1
        if finding:
            found[kind] += 1
            print(f"{kind}, --seed {number} --count 1 --only {args.only}: {finding}", flush=True)
        if seen.total() % EVERY == 0:
            print(f"{seen.total()} inputs, {found.total()} findings: {dict(seen)}", flush=True)
    print(f"{seen.total()} inputs {dict(seen)}, {found.total()} findings {dict(found)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(run())
