"""Names of a model are data: whatever stands between backquotes, it never runs as code, and the
numbers are those of the same model with plain names.
"""

from __future__ import annotations

import ast
import json
import os
import re
import string
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jax
import numpy as np
import pytest

import dpc
from dpc.cli import main

LOOSE_JAX = "NumPyro promotes types and ranks"
QUICKLY_COMPILED = "hundreds of small programs, each of which runs once"

ROOT = Path(__file__).parent.parent.parent
CANARY = "CANARY"
ASCII = "".join(c for c in string.printable if c.isprintable() and c != "`")
NASTY = [
    f'a" + str(open("{CANARY}","w").write("x")) + "',
    f"a' + str(open('{CANARY}','w').write('x')) + '",
    f'"""\\n\'\'\'; import os; open("{CANARY}","w"); """',
    "\\",
    '\\"',
    f"{{open('{CANARY}','w')}}",
    ASCII,
    "%s%n{0}{}",
    "]]>--><script>alert(1)</script>&amp;<!--",
    *["class", "None", "__import__", "jnp", "lax", "dist", "jax", "__builtins__", "__name__"],
    *["__debug__", "print", "data", "params", "values", "total", "keys", "v", "program"],
    *["Written", "hidden", "numpyro", "log_prob", "Any", "ones"],
    *["\u0430", "µ", "μ", "x\u202ey", "é", "ﬁ", "名前", " lead", "trail ", "a\tb", "\x07"],
    *["dim K", "table 0", "event 0", "K 2", "1", "1e5", "true", "a,b", "=1+1", "a.b", "a[0]"],
]
DIRECTED = """
model <m>
dim <K> = <red> | <green> | <blue>
dim <N> = 4
dim <T>
data <x>[<N>] : real
data <c>[<N>] : <K>
param <w> : real = 0.5
param <s>[<K>] : real(lower=0) = 1.5
fn <f>(<p>: real, <r>: real) -> real = <p> * 2 + <r>
extern fn <own>(<a>[<N>]: real) -> real[<N>]
<mu> ~ Normal(0, 5)
<h>[<i> in <N>] = <f>(<mu>, <x>[<i>]) + <s>[<c>[<i>]] * <w> + <own>(<x>)[<i>]
observed <y>[<N>] : real
<y>[<i> in <N>] ~ Normal(<h>[<i>], 1 + sum[<j> in <N> where <j> != <i>] <x>[<j>]^2)
<z> : <K> ~ Categorical(<red>=0.2, <green>=0.3, <blue>=0.5)
<b> : <K> ~ table <z> => <red>, <green>, <blue> {
    <red> => 0.1, 0.2, 0.7; <green> => 0.3, 0.3, 0.4; <blue> => 0.5, 0.25, 0.25
}
<q>[0] ~ Normal(0, 1)
<q>[<t> in <T>[1..]] ~ Normal(0.5 * <q>[<t>-1], 1)
"""
OBJECTIVE = """
model <m>
dim <K> = <red> | <green>
dim <N> = 3
data <x>[<N>] : real
param <w> : real = 0.5
param <s>[<K>] : real = 0.1
<a>[<i> in <N>] ~ Normal(<w> * <x>[<i>], 1)
<e> ~ Bernoulli(logistic(<w>)) with grad=sfe
<z> : <K> ~ Categorical(<red>=0.2, <green>=0.8)
<g> = sum[<j> in <N>] <a>[<j>] + <s>[<z>]
minimize <g>^2 + (if <e> then <w> else 2 * <w>)
"""
FIELD = """
model <m>
dim <K> = <red> | <green>
dim <N> = 3
param <w> : real = 0.5
latent <u>[<N>] : <K>
latent <o> : bool
factor <fa>[<i> in <N>[1..]] : if <u>[<i>] == <u>[<i>-1] then <w> else 0
factor <fb> : if <o> then 1.0 else if <u>[0] == <red> then 0.3 else 0.7
"""
PARAMETERS = ("p_0", "r_0", "a_0")  # of functions, which have names to themselves
MARK = re.compile("<([a-zA-Z0-9]+)>")
Names = dict[str, str]


def names_for(template: str, start: int) -> Names:
    """The names from `start` on; after all starts every name has been of every kind."""
    order = [NASTY[(start + k) % len(NASTY)] for k in range(len(NASTY))]
    return dict(zip(dict.fromkeys(MARK.findall(template)), order, strict=False))


def plain(template: str) -> Names:
    return {key: f"{key}_0" for key in MARK.findall(template)}


def fill(template: str, names: Names) -> str:
    return MARK.sub(lambda mark: f"`{names[mark[1]]}`", template)


def model_of(template: str, names: Names) -> dpc.Model:
    externs = {names["own"]: lambda x: 3 * x} if "own" in names else {}
    return dpc.parse(fill(template, names), **externs)


@pytest.fixture(autouse=True)
def _nothing_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    assert not os.path.exists(CANARY)


# ---- programs


@pytest.mark.parametrize("template", [DIRECTED, OBJECTIVE, FIELD], ids=["drawn", "cost", "field"])
def test_names_change_nothing_but_names(template: str) -> None:
    """Any names in any places: the printed program is the plain one with other names in it."""
    wanted = ast.parse(model_of(template, plain(template)).program)
    for start in range(len(NASTY)):
        names = names_for(template, start)
        text = model_of(template, names).program
        seen: Seen = {}
        same_but_for_names(wanted, ast.parse(text), seen, "")
        identifiers = [
            other
            for (kind, one), other in seen.items()
            if kind == "identifier" and one not in PARAMETERS
        ]
        assert len(set(identifiers)) == len(identifiers)
        assert set(strings(ast.parse(text))) & {*names.values()}


Seen = dict[tuple[str, str], str]


def same_but_for_names(one: Any, other: Any, seen: Seen, kind: str) -> None:
    """Equal trees, when identifiers and strings are exchanged, each for one other."""
    assert type(one) is type(other), (one, other)
    if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
        return  # a docstring
    if isinstance(one, ast.AST):
        for (field, a), (_, b) in zip(ast.iter_fields(one), ast.iter_fields(other), strict=True):
            same_but_for_names(a, b, seen, "string" if field == "value" else "identifier")
    elif isinstance(one, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same_but_for_names(a, b, seen, kind)
    elif isinstance(one, str):
        assert kind == "string" or other.isascii()
        assert seen.setdefault((kind, one), other) == other
    else:
        assert one == other


def strings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def answers(names: Names, printed: bool) -> dict[str, Any]:
    model = model_of(DIRECTED, names)
    given = {"x": np.arange(4) / 3, "c": np.array([0, 1, 2, 1]), "y": np.ones(4), "T": 5}
    data = {names[key]: value for key, value in given.items()}
    key, params = jax.random.key(0), model.init(data=data)
    drawn = model.sample(key, params, data)
    values = {name: own for name, own in drawn.items() if name not in data}
    density = model.log_prob(params, values, data)
    if printed:
        space: dict[str, Any] = {"__name__": "printed"}
        exec(compile(model.program, "printed", "exec"), space)
        own = next(name for name, found in space.items() if "Yours to write" in str(found.__doc__))
        space[own] = lambda x: 3 * x
        density = space["log_prob"](params, values, data)
    drawn = {key: np.asarray(values[names[key]]) for key in ("mu", "z", "b", "q")}
    return {"density": float(density), **drawn}


@pytest.mark.parametrize("start", [0, 9, 26])
def test_the_numbers_are_those_of_plain_names(start: int) -> None:
    wanted = answers(plain(DIRECTED), printed=False)
    for printed in (False, True):
        found = answers(names_for(DIRECTED, start), printed)
        for key in wanted:
            np.testing.assert_allclose(found[key], wanted[key], rtol=1e-6)


def test_an_introduction_stays_a_comment() -> None:
    text = f'# """ \\ \'\'\' \\"\n# """; open("{CANARY}", "w")\n# """""\\\nx ~ Normal(0, 1)\n'
    program = dpc.parse(text).program
    exec(compile(program, "printed", "exec"), {"__name__": "printed"})
    assert f'"""; open("{CANARY}", "w")' in (ast.get_docstring(ast.parse(program)) or "")


def test_code_is_executed_in_one_place() -> None:
    """No other source calls exec, compile or eval."""
    folders = [ROOT / folder for folder in ("dsl", "dpc", "inference", "estimators")]
    found = set()
    for path in (path for folder in folders for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id in ("exec", "compile", "eval"):
                found.add(str(path.relative_to(ROOT)))
    assert found == {"dsl/execute.py"}


# ---- commands


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    sys.stdout.flush()
    code = main([*arguments])
    out, err = capsys.readouterr()
    assert code in (0, 4), err  # 4: steps ran out before a certificate, as they are few here
    return out


def numbers(found: Any) -> list[Any]:
    """All numbers in the order of the answer, whatever they are called."""
    if isinstance(found, dict):
        return [number for value in found.values() for number in numbers(value)]
    if isinstance(found, list):
        return [number for value in found for number in numbers(value)]
    return [found] if isinstance(found, int | float) else []


FILE = f'a """\\ \'{{}} $(touch {CANARY}) \n#.dp'
COMMANDS = {
    "cost": (OBJECTIVE, [["grad", "--samples", "20"], ["fit", "--steps", "3"], ["sample"]]),
    "field": (FIELD, [["query", "--logz", "--map"], ["plan"], ["info"], ["check"]]),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_commands_give_the_numbers_of_plain_names(
    case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    template, commands = COMMANDS[case]
    found: dict[str, list[Any]] = {}
    for file, names in (("plain.dp", plain(template)), (FILE, names_for(template, 0))):
        Path(file).write_text(f"# {file!r}\n" + fill(template, names))
        data = []
        if "x" in names:
            Path("data.json").write_text(json.dumps({names["x"]: [0.1, 0.2, 0.3]}))
            data = ["--data", "data.json"]
        for command, *options in commands:
            shown = json.loads(answer(capsys, command, file, *options, *data, "--json"))
            found.setdefault(command, []).append(sorted(numbers(shown)))
    for first, second in found.values():
        np.testing.assert_allclose(first, second, rtol=1e-6)


def test_drawings_and_formatting(capsys: pytest.CaptureFixture[str]) -> None:
    names = names_for(DIRECTED, 0)
    Path(FILE).write_text(fill(DIRECTED, names))
    answer(capsys, "graph", FILE, "-o", "out.svg")
    texts = [node.text for node in ElementTree.parse("out.svg").iter() if node.text]
    assert not any("script" in node.tag for node in ElementTree.parse("out.svg").iter())
    assert texts
    for format_ in ("dot", "mermaid"):
        drawn = answer(capsys, "graph", FILE, "--format", format_)
        assert "<script>" not in drawn or format_ == "dot"
    before = dpc.parse(Path(FILE).read_text(), **{names["own"]: lambda x: x}).program
    answer(capsys, "fmt", FILE)
    assert dpc.parse(Path(FILE).read_text(), **{names["own"]: lambda x: x}).program == before


def test_posterior(capsys: pytest.CaptureFixture[str]) -> None:
    template = "dim <N> = 3\nobserved <y>[<N>] : real\n<mu> ~ Normal(0, 1)\n"
    template += "<z> ~ Bernoulli(0.3)\n<y>[<i> in <N>] ~ Normal(<mu> + (if <z> then 1 else 0), 1)\n"
    found = []
    for names in (plain(template), names_for(template, 0)):
        Path("model.dp").write_text(fill(template, names))
        Path("data.json").write_text(json.dumps({names["y"]: [0.1, 0.2, 0.3]}))
        few = ["--draws", "20", "--warmup", "20", "--chains", "1", "--json"]
        shown = answer(capsys, "posterior", "model.dp", "--data", "data.json", *few)
        found.append(json.loads(shown))
    first, second = (sorted(x for x in numbers(f["variables"]) if np.isfinite(x)) for f in found)
    np.testing.assert_allclose(first, second, rtol=1e-5)
