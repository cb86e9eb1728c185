"""Statements with `smooth` and `soft`: can they be smoothed as asked, and what stays hard?"""

from __future__ import annotations

from collections.abc import Iterator

from ..diagnostics import Diagnostic
from ..graph import core as c
from ..graph.breaks import COMPARISONS, SELECTIONS, Break, finder, own_break, selects
from ..graph.dependence import reads
from ..graph.inputs import noisy_inputs, noisy_names
from ..graph.typed import Definition, Piece, Setting, Typed
from ..graph.types import IndexOf, Real
from ..source import Source, Span

MOVING = frozenset({"param", "draw", "latent"})


class _SmoothingReport:
    """What is known of the whole program, and where the diagnostics go."""

    def __init__(self, typed: Typed, report: list[Diagnostic]):
        self.report = report
        self.source = typed.source
        self.definitions = typed.definitions + typed.guide
        self.moving = _moving(self.definitions)
        pieces = [(d, piece) for d in self.definitions for piece in d.pieces]
        self.breaks = finder(typed.functions)
        whole = [(d, p) for d, p in pieces if p.body.type.whole]
        self.hard = {
            d.name: d.source.text[p.body.span.start : p.body.span.end]
            for d, p in whole
            if isinstance(p.body, c.Core) and any(b.kind == "jump" for b in self.breaks.of_piece(p))
        }

    def say(self, code: str, message: str, span: Span, help: str) -> None:
        self.report.append(Diagnostic(code, message, self.source, span, help=help))

    def within(self, source: Source) -> _SmoothingReport:
        self.source = source
        return self


def report_smoothing(typed: Typed, report: list[Diagnostic]) -> None:
    context = _SmoothingReport(typed, report)
    for definition in context.definitions:
        for piece in definition.pieces:
            _report_piece(piece, context.within(definition.source))
    context.within(typed.source)
    if typed.objective:
        objective = typed.objective
        _report_piece(Piece(objective.span, (), None, objective.value, objective.settings), context)
    for function in typed.functions:
        if function.body:
            _report_variances(function.body, False, context)


def _report_piece(piece: Piece, context: _SmoothingReport) -> None:
    by_name = {setting.name: setting for setting in piece.settings}
    if "smooth" in by_name and isinstance(piece.body, c.Core):
        _report_options(by_name["smooth"], piece.body, context)
        _report_noise(by_name["smooth"], piece.body, context)
    if "soft" in by_name:
        _warn_hard(piece.body, context)
    _report_variances(piece.body, "soft" in by_name, context)


# ---- smooth


def _report_options(setting: Setting, body: c.Core, context: _SmoothingReport) -> None:
    given = dict(setting.options)
    if "samples" in given and "panels" in given:
        help = "leave out `samples` for an integral, or `panels` for a mean of samples"
        message = "`panels` and `samples` are two ways to take one mean"
        context.say("E0702", message, body.span, help)
    if "seed" in given and "samples" not in given:
        help = "an integral over noise draws nothing"
        context.say("E0702", "`seed` is for `samples`", body.span, help)


def _report_noise(setting: Setting, body: c.Core, context: _SmoothingReport) -> None:
    names = noisy_names(body, setting)
    mentioned = {ref.name: ref.type for ref, _ in reads(body)}
    before = len(context.report)
    if isinstance(body.type.domain, IndexOf):
        help = "index an array of numbers with it in this statement"
        context.say("E0704", "a label has no mean, so this cannot be smoothed", body.span, help)
    for name in names:
        if name not in mentioned:
            help = _over_help(body)
            context.say("E0704", f"this statement does not mention `{name}`", body.span, help)
        elif not isinstance(mentioned[name].domain, Real):
            help = "noise goes to real variables"
            message = f"`{name}` is {mentioned[name]}, so it cannot be noisy"
            context.say("E0704", message, body.span, help)
    if not names:
        help = "leave `smooth` out"
        context.say("E0704", "there is no real variable here that could be noisy", body.span, help)
    if len(context.report) == before:
        _report_dimension(setting, body, names, context)
        _report_lost_derivatives(body, names, context)


def _over_help(body: c.Core) -> str:
    names = dict.fromkeys(ref.name for ref, _ in reads(body))
    return f"it mentions {', '.join(names) or 'no variable'}"


def _report_dimension(
    setting: Setting, body: c.Core, names: tuple[str, ...], context: _SmoothingReport
) -> None:
    """One or two numbers are integrated over; more need samples, whose number the user says."""
    inputs = noisy_inputs(body, names)
    is_large = len(inputs) > 2 or any(i.type.shape for i in inputs)
    if is_large and "samples" not in dict(setting.options):
        samples = "`samples=1000` for a mean of that many samples"
        help = f"say `over=x` to let fewer be noisy, or {samples}"
        shown = ", ".join(f"`{n}`" for n in names)
        message = f"this is a mean over noise in {shown}: more than two numbers"
        context.say("E0704", message, body.span, help)


def _report_lost_derivatives(
    body: c.Core, names: tuple[str, ...], context: _SmoothingReport
) -> None:
    """The mean's derivative by what is not noisy is a mean of derivatives, which misses jumps."""
    moving = context.moving.difference(names)
    for name in (n for n in dict.fromkeys(_moves_jumps(body, context)) if n in moving):
        apart = "compute what is compared as a value of its own and put the noise there"
        help = f"let `{name}` be noisy too, or {apart}"
        lost = "is not noisy, so its derivative would be lost"
        context.say("E0704", f"`{name}` decides where this jumps but {lost}", body.span, help)


def _moves_jumps(body: c.Core, context: _SmoothingReport) -> Iterator[str]:
    """Real variables inside the hard operations of a statement."""
    for found in context.breaks.find(body):
        if found.kind == "jump":
            pairs = (pair for core in found.inside for pair in reads(core))
            yield from (ref.name for ref, _ in pairs if isinstance(ref.type.domain, Real))


def _moving(definitions: tuple[Definition, ...]) -> frozenset[str]:
    """Variables that derivatives are taken by, and all that is computed from them."""
    found = {d.name for d in definitions if d.kind in MOVING}
    lets = [d for d in definitions if d.kind == "let"]
    used = {d.name: {ref.name for piece in d.pieces for ref, _ in reads(piece.body)} for d in lets}
    while more := {name for name in used if name not in found and used[name] & found}:
        found |= more
    return frozenset(found)


# ---- soft


def _warn_hard(body: c.Core | c.Law, context: _SmoothingReport) -> None:
    """What a soft statement does not smooth, and what to do instead."""
    for found in context.breaks.find(body, soft=True):
        if found.kind == "jump" or found.word == "`sort`":
            context.say("W0701", *_stays_hard(found))
    for ref, read in reads(body):
        if ref.name in context.hard:
            help = f"write it here, in the place of `{ref.name}`: `{context.hard[ref.name]}`"
            message = f"`{ref.name}` is computed elsewhere, so this stays hard"
            context.say("W0701", message, read.span, help)

    _warn_idle(body, context)


def _warn_idle(body: c.Core | c.Law, context: _SmoothingReport) -> None:
    """A comparison of whole numbers that was meant to be smoothed, as nothing else here is."""
    if set(context.breaks.find(body)) != set(context.breaks.find(body, soft=True)):
        return
    for core in c.walk(body):
        is_exact = isinstance(core, c.Apply) and core.function in COMPARISONS
        if is_exact and own_break(core) is None:
            help = "leave `soft` out, or compare numbers that may move: `1.0 * k > 2`"
            message = "nothing here is smoothed: whole numbers and labels are compared exactly"
            context.say("W0701", message, core.span, help)
            return


def _stays_hard(found: Break) -> tuple[str, Span, str]:
    whole = "smooth the whole statement: `with smooth(gaussian, scale=0.1)`"
    if found.function:
        message = f"inside `{found.function}` everything stays hard"
        return message, found.span, f"write its body here, or {whole}"
    if found.word.strip("`") in SELECTIONS:
        message = "an index by itself is whole, so this stays hard"
        return message, found.span, "use it as an index in this statement: `v[argmax(x)]`"
    return f"{found.word} has no soft meaning and stays hard", found.span, whole


def _report_variances(body: c.Core | c.Law, is_soft: bool, context: _SmoothingReport) -> None:
    for core in c.walk(body):
        if isinstance(core, c.Apply) and core.function == "branch_variance":
            (_, inner), *_ = core.arguments
            if not is_soft:
                help = "add `with soft(logistic, scale=0.1)`"
                message = "only a soft statement has weights on its branches"
                context.say("E0705", message, core.span, help)
            elif not isinstance(inner, c.If) and not (
                isinstance(inner, c.At) and selects(inner.indices[-1])
            ):
                form = "`branch_variance(if ... then ... else ...)`"
                help = f"write {form} or `branch_variance(v[argmax(x)])`"
                context.say("E0705", "this has no branches", inner.span, help)
