"""Checking a whole program: names, order, types, roles. Every mistake is reported."""

from collections.abc import Mapping
from contextlib import suppress

from ..diagnostics import Diagnostic, Label
from ..graph import core as c
from ..graph.breaks import is_soft
from ..graph.constraints import Constraints
from ..graph.dependence import Edge, Recurrence, components, find_recurrences
from ..graph.facts import Facts
from ..graph.typed import Definition, Function, Objective, Typed
from ..graph.types import UNKNOWN, Bool, IndexOf, Int, Real, Type
from ..limits import MAX_CALLS, MAX_DEPTH
from ..record import Record
from ..text import syntax as s
from .arguments import shown
from .calls import require_type
from .context import Context, FunctionType, ProgramFacts, TooManyErrors
from .declared import fit_shape, resolve_type
from .definitions import agrees, check_definition, preliminary_type, require_number, unbound_index
from .domains import report_domains
from .expressions import infer
from .indexing import check_index
from .matching import show_kind
from .modules import Mention, Module, SourceReader, flatten_module, lags_of, load_modules, mentions
from .settings import check_settings, smoothed
from .smoothing import report_smoothing
from .symbols import Symbol, Symbols
from .warnings import warn_posterior, warn_unused

# What the value in a declaration may use, and what is said about everything else.
_OPEN = {"data": frozenset[str](), "param": frozenset({"data", "observed"})}
_CLOSED = {
    "data": "a value in a declaration is a constant",
    "param": "a parameter starts from constants and data",
}


class CheckResult(Record):
    """`typed` is None when there are errors; warnings alone leave it whole."""

    typed: Typed | None
    diagnostics: tuple[Diagnostic, ...]


def check_program(
    program: s.Program, read: SourceReader, syntax_errors: list[Diagnostic]
) -> CheckResult:
    report = list(syntax_errors)
    modules = load_modules(program, read, report)
    flats = [flat for module in modules for flat in flatten_module(module, report)]
    symbols = Symbols(flats, report)
    typed = None
    with suppress(TooManyErrors):
        typed = _Checker(ProgramFacts(symbols, report)).check(program)
    if typed:
        report_domains(typed, report)
    if typed and not any(d.is_error for d in report):
        report_smoothing(typed, report)
        warn_posterior(typed, report)
    if not any(d.is_error for d in report):
        warn_unused(flats, symbols, report)
    return CheckResult(None if any(d.is_error for d in report) else typed, tuple(report))


class _Checker:
    def __init__(self, facts: ProgramFacts):
        self.facts = facts
        self.symbols: Symbols = facts.symbols

    def context(self, module: Module, guide: bool = False) -> Context:
        return Context(self.facts, module, {}, guide)

    def check(self, program: s.Program) -> Typed:
        owners = {s.name: s for s in self.symbols.model.values() if s.kind in ("fn", "extern")}
        for symbol in owners.values():
            self.declare_function(symbol)
        edges = [e for own in owners.values() for e in self.edges_of(own) if e.used in owners]
        _, cycles = find_recurrences(owners, edges)
        for cycle in cycles:
            path = " -> ".join([cycle[0].user, *(edge.used for edge in cycle)])
            context = self.context(owners[cycle[0].user].module)
            help = f"the circle is {path}; use `loop`"
            context.error("E0504", "a function cannot call itself", cycle[0].span, help)
        order = [name for group in components(owners, edges) for name in group]
        functions = [f for name in order if (f := self.check_function(owners[name]))]
        self.verify_calls(functions)
        self.verify_results(functions, owners)
        declarations = self.check_declarations(guide=False)
        guide_declarations = self.check_declarations(guide=True)
        definitions, recurrences = self.check_definitions(guide=False)
        guide, guide_recurrences = self.check_definitions(guide=True)
        own = [symbol for symbol in self.symbols.model.values() if symbol.kind == "factor"]
        factors = [d for symbol in own if (d := self.check_one(symbol, False))]
        objective = self.check_objective()
        self.check_roles()
        self.check_guide(objective)
        return Typed(
            self.symbols.title.name.name if self.symbols.title else "",
            program.source,
            tuple(dict.fromkeys(self.symbols.dims())),
            tuple(functions),
            declarations + definitions + tuple(factors),
            recurrences,
            guide_declarations + guide,
            guide_recurrences,
            objective,
            self.facts.least_sizes,
        )

    # ---- functions

    def declare_function(self, symbol: Symbol) -> None:
        statement = symbol.declaration
        assert isinstance(statement, s.FnStmt)
        context = self.context(symbol.module)
        types = [(p.name.name, resolve_type(p.type, p.dims, context)) for p in statement.parameters]
        for parameter in statement.parameters:
            others = [p for p in statement.parameters if p.name.name == parameter.name.name]
            if others[0] is not parameter:
                message = f"`{parameter.name.name}` is defined twice"
                context.error("E0101", message, parameter.name.span, help="rename one of them")
        result = resolve_type(statement.result, (), context)
        self.facts.functions[symbol.name] = FunctionType(tuple(types), result)

    def check_function(self, symbol: Symbol) -> Function | None:
        statement, signature = symbol.declaration, self.facts.functions[symbol.name]
        assert isinstance(statement, s.FnStmt)
        if statement.body is None:
            return Function(symbol.name, signature.parameters, signature.result, None)
        closed = "a function sees only its parameters; pass it as an argument"
        context = self.context(symbol.module).replace(closed=closed)
        context = context.bind(**dict(signature.parameters))
        body = infer(statement.body, context)
        require_type(body, signature.result, f"the result of `{symbol.name}`", context)
        return Function(symbol.name, signature.parameters, signature.result, body)

    def verify_results(self, functions: list[Function], owners: Mapping[str, Symbol]) -> None:
        """What a function says of its result is proved, as what a value says of itself is."""
        facts = Facts((), functions)
        for function in functions:
            result, body = function.result, function.body
            if body is None or not (body.type.known and result.known):
                continue
            known = facts.inside(function, tuple(type_.bounds for _, type_ in function.parameters))
            low, high = facts.range_of(body, known)
            least, most = result.bounds
            is_kept = least <= low and high <= most
            can = f"this can be {shown(low, high)}"
            if result.constraint:
                is_kept = Constraints(facts).keeps(body, result.constraint)
                can = f"it is not known that this is {result.constraint}"
            if not is_kept and isinstance(result.domain, Real | Int):
                help = "take the range away, or write what keeps to it: `max(...)`, `exp(...)`"
                if result.constraint:
                    help = "take the type away, or write what is one, as `softargmax(...)`"
                message = f"the result of `{function.name}` is {result}, but {can}"
                ctx = self.context(owners[function.name].module)
                ctx.error("E0414", message, body.span, help)

    def verify_calls(self, functions: list[Function]) -> None:
        """What one call computes: with other arguments, two calls of a function double it.

        calls(f) = sum over the different calls of g in f of 1 + calls(g); a function comes after
        those it calls.
        """
        counts: dict[str, int] = {}
        depths: dict[str, int] = {}
        for function in functions:
            name = function.name
            parts = c.walk(function.body) if function.body is not None else ()
            called = {part for part in parts if isinstance(part, c.CallFn)}
            counts[name] = sum(1 + counts.get(part.function, 0) for part in called)
            depths[name] = max((1 + depths.get(part.function, 0) for part in called), default=0)
            if counts[name] > MAX_CALLS:
                message = f"`{name}` makes {counts[name]:,} calls, with those that its calls make"
                help = f"at most {MAX_CALLS:,} are computed; those with the same arguments are one"
            elif depths[name] > MAX_DEPTH:
                message = f"`{name}` calls functions that call others, {depths[name]} deep"
                help = f"at most {MAX_DEPTH} deep; a `loop` repeats a step as often as you like"
            else:
                continue
            symbol = self.symbols.model[name]
            self.context(symbol.module).error("E0007", message, symbol.span, help=help)
            return  # those that call it make more

    # ---- declarations

    def check_declarations(self, guide: bool) -> tuple[Definition, ...]:
        """Types first: the starting value of a parameter may use data that is declared below it."""
        symbols = self.symbols.space(guide).values()
        declared = [(own, d) for own in symbols if isinstance(d := own.declaration, s.DeclStmt)]
        types = [self.declare(symbol, statement, guide) for symbol, statement in declared]
        found = []
        for (symbol, statement), type_ in zip(declared, types, strict=True):
            context = self.context(symbol.module, guide)
            check_settings(statement.annotations, None, statement.role, context)
            default = self.check_default(statement, type_, context)
            own = symbol.name, statement.role, type_, symbol.span, symbol.module.source
            if not symbol.pieces:
                found.append(Definition(*own, default=default))
        return tuple(found)

    def declare(self, symbol: Symbol, statement: s.DeclStmt, guide: bool) -> Type:
        context = self.context(symbol.module, guide)
        type_ = resolve_type(statement.type, statement.dims, context)
        self.facts.types_of(guide)[symbol.name] = type_
        if statement.role == "param" and isinstance(type_.domain, Int | Bool | IndexOf):
            help = "only real numbers can be optimised; a fixed value is `data`"
            context.error("E0507", f"a parameter cannot be {type_}", statement.type.span, help=help)
        return type_

    def check_default(self, statement: s.DeclStmt, type_: Type, context: Context) -> c.Core | None:
        if statement.value is None:
            return None
        if statement.role in ("observed", "latent"):
            is_latent = statement.role == "latent"
            help = "a value known in advance is `data`" if is_latent else "give it with the data"
            what = "a `latent`" if is_latent else "an `observed`"
            message = f"{what} variable has no value in the file"
            context.error("E0515", message, statement.value.span, help)
            return None
        hint = type_.domain.dim if isinstance(type_.domain, IndexOf) else None
        closed = context.replace(closed=_CLOSED[statement.role], open=_OPEN[statement.role])
        value = infer(statement.value, closed, hint)
        if hint and isinstance(value, c.Const) and isinstance(value.type.domain, Int):
            found = len(self.facts.report)
            value = check_index(value, hint, context)
            if len(self.facts.report) > found:
                return None
        if type_.known and value.type.known:
            name = f"`{statement.name.name}`"
            (low, high), (lowest, highest) = value.type.bounds, type_.bounds
            if value.type.shape:
                fit_shape(value, type_.shape, name, context)
            elif not agrees(Type(value.type.domain), Type(type_.domain)):
                message = f"{name} is {type_}, but its value is {show_kind(value.type)}"
                context.error("E0217", message, value.span)
            elif high < lowest or low > highest:
                context.error("E0217", f"{name} is {type_}, which this value is not", value.span)
        return value

    # ---- definitions

    def check_definitions(
        self, guide: bool
    ) -> tuple[tuple[Definition, ...], tuple[Recurrence, ...]]:
        space = self.symbols.space(guide)
        owners = {s.name: s for s in space.values() if s.pieces and s.kind != "factor"}
        mentioned = [edge for own in owners.values() for edge in self.edges_of(own, guide)]
        edges = [edge for edge in mentioned if edge.used in owners]
        recurrences, cycles = find_recurrences(owners, edges)
        for cycle in cycles:
            self.report_cycle(cycle, owners)
        in_cycle = {edge.user for cycle in cycles for edge in cycle}
        in_recurrence = {name for recurrence in recurrences for name in recurrence.members}
        found: list[Definition] = []
        for group in components(owners, edges):
            members = frozenset(group)
            if members & in_cycle:
                continue
            if members & in_recurrence:
                self.declare_group([owners[name] for name in group], members, guide)
            found += [d for name in group if (d := self.check_one(owners[name], guide))]
        return tuple(found), tuple(recurrences)

    def edges_of(self, symbol: Symbol, guide: bool = False) -> list[Edge]:
        """What a function or the pieces of a variable use."""
        context = self.context(symbol.module, guide)
        found: list[tuple[Mention, tuple[int | None, ...]]] = []
        function = symbol.declaration
        if isinstance(function, s.FnStmt) and function.body:
            bound = frozenset(p.name.name for p in function.parameters)
            found = [(mention, ()) for mention in mentions(function.body, bound)]
        for flat in symbol.pieces:
            target = flat.definition.target
            found += [(mention, lags_of(target, mention)) for mention in flat.uses]
        pairs = [(m, lags, used) for m, lags in found if (used := context.symbol(m.name))]
        return [Edge(symbol.name, used.name, m.span, lags) for m, lags, used in pairs]

    def report_cycle(self, cycle: list[Edge], owners: dict[str, Symbol]) -> None:
        path = " -> ".join([cycle[0].user, *(edge.used for edge in cycle)])
        owner = owners[cycle[0].user]
        unbound = unbound_index(owner, self.context(owner.module))
        if unbound:
            help = f"write `{unbound.name} in D[1..]`, and the first element in its own statement"
            message = f"nothing says what `{unbound.name}` runs over"
            self.context(owner.module).error("E0513", message, unbound.span, help=help)
            return
        shown = [e for e in cycle[1:] if owners[e.user].module is owner.module]
        also = tuple(Label(e.span, f"`{e.user}` uses `{e.used}`") for e in shown)
        step = "a recurrence steps along one axis: `z[t in T[1..]] ... z[t-1]`"
        help = f"{step}; what has no direction is a `factor`"
        message = f"these definitions go round in a circle: {path}"
        self.context(owner.module).error("E0503", message, cycle[0].span, help, also=also)

    def declare_group(self, group: list[Symbol], members: frozenset[str], guide: bool) -> None:
        """In a recurrence the members need each other's types first."""
        types = self.facts.types_of(guide)
        quiet = ProgramFacts(self.symbols, [])
        quiet.types, quiet.guide_types = self.facts.types, self.facts.guide_types
        quiet.functions = self.facts.functions
        pending = [symbol for symbol in group if symbol.name not in types]
        while pending:
            names = members & {symbol.name for symbol in pending}
            found = {
                s.name: preliminary_type(s, names, Context(quiet, s.module, {}, guide))
                for s in pending
            }
            types.update({name: type_ for name, type_ in found.items() if type_})
            if not any(found.values()):
                break
            pending = [symbol for symbol in pending if symbol.name not in types]
        for symbol in pending:
            types[symbol.name] = UNKNOWN
            if not quiet.report:
                message = f"every part of `{symbol.name}` depends on `{symbol.name}` itself"
                typed = f"`{symbol.name}[...] : real ...`"
                help = f"define its first element, or write its type: {typed}"
                self.context(symbol.module, guide).error("E0213", message, symbol.span, help=help)

    def check_one(self, symbol: Symbol, guide: bool) -> Definition | None:
        context = self.context(symbol.module, guide)
        types = self.facts.types_of(guide)
        declared = types.get(symbol.name) if symbol.declaration else None
        return check_definition(symbol, declared, context)

    # ---- the whole

    def check_objective(self) -> Objective | None:
        for flat in self.symbols.objectives:
            statement = flat.statement
            assert isinstance(statement, s.ObjectiveStmt)
            context = self.context(flat.module).replace(objective=True)
            settings = check_settings(statement.annotations, None, "objective", context)
            value = infer(statement.value, context.replace(soft=is_soft(settings)))
            require_number(value, "an objective", context)
            value = smoothed(value, settings)
            return Objective(statement.span, statement.minimize, value, settings)
        return None

    def check_roles(self) -> None:
        """What is observed has a density; what is latent is in a factor."""
        mentioned = {
            symbol.name: {
                used.name
                for flat in symbol.pieces
                for mention in flat.uses
                if (used := self.context(symbol.module).symbol(mention.name))
            }
            for symbol in self.symbols.model.values()
        }
        # A value that nobody weighs does not put what it is computed from into a factor.
        values = [s for s in self.symbols.model.values() if s.kind != "let"]
        waiting = {name for symbol in values for name in mentioned[symbol.name]}
        in_factors: set[str] = set()
        while waiting:
            in_factors |= waiting
            waiting = {new for name in waiting for new in mentioned.get(name, ())} - in_factors
        for symbol in self.symbols.model.values():
            context = self.context(symbol.module)
            if symbol.name in self.symbols.broken:
                continue
            if symbol.kind == "observed" and not symbol.pieces and symbol.name not in in_factors:
                help = f"add `{symbol.name} ~ ...`, or declare it `data` if it is only given"
                message = f"`{symbol.name}` is observed, but nothing gives it a density"
                context.error("E0505", message, symbol.span, help)
            elif symbol.kind == "latent" and symbol.name not in in_factors:
                help = "mention it in a `factor`, or draw it with `~` instead of declaring it"
                message = f"`{symbol.name}` is latent, but in no factor"
                context.error("E0505", message, symbol.span, help)

    def check_guide(self, objective: Objective | None) -> None:
        """The guide draws what the model draws and does not observe."""
        latents = {s.name: s for s in self.symbols.model.values() if s.kind == "draw"}
        drawn = {s.name: s for s in self.symbols.guide.values() if s.kind == "draw"}
        for name, symbol in drawn.items():
            context = self.context(symbol.module)
            if name not in latents:
                help = f"the model draws {', '.join(latents) or 'nothing that is not observed'}"
                message = f"the guide draws `{name}`, which the model does not"
                context.error("E0604", message, symbol.span, help)
                continue
            model = self.facts.types.get(name, UNKNOWN)
            guide = self.facts.guide_types.get(name, UNKNOWN)
            if model.known and guide.known and not agrees(guide, model):
                both = f"{show_kind(model)} in the model, but {show_kind(guide)} in the guide"
                context.error("E0604", f"`{name}` is {both}", symbol.span)
            elif model.known and guide.known and not _is_within(guide, model):
                both = f"{model} in the model, but {guide} in the guide"
                help = f"declare its range in the guide, too: `{name} : {model} ~ ...`"
                context.error("E0604", f"`{name}` is {both}", symbol.span, help)
        parts = c.walk(objective.value) if objective else ()
        uses_elbo = any(isinstance(x, c.Apply) and x.function in c.BOUNDS for x in parts)
        for name, symbol in latents.items():
            if uses_elbo and drawn and name not in drawn and name not in self.symbols.broken:
                help = f"add `{name} ~ ...` to the guide"
                message = f"the guide does not draw `{name}`"
                self.context(symbol.module).error("E0604", message, symbol.span, help)


def _is_within(guide: Type, model: Type) -> bool:
    """A draw of the guide outside of the model's range would have no density there."""
    (low, high), (least, most) = guide.bounds, model.bounds
    is_number = isinstance(model.domain, Real | Int)
    return not is_number or bool(model.constraint) or (low >= least and high <= most)
