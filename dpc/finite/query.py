"""All questions about finite variables, asked at once and answered by what suits."""

import re
from collections.abc import Mapping
from typing import Any

from dpc.dsl.diagnostics import did_you_mean
from dpc.dsl.graph.finite import finite_draws
from dpc.dsl.graph.graph import Graph
from dpc.dsl.graph.passes.chances import add_entropies, ask_of_distributions, open_draws
from dpc.dsl.graph.passes.standard import Unfit
from dpc.dsl.record import Record
from dpc.inference import queries as q
from dpc.inference.errors import ImpossibleEvidenceError

from ..data import bind_data
from ..exits import UsageError, verify_seed
from ..model.check import as_numbers
from ..model.model import Model
from ..model.room import SHOWN, verify_room
from ..show.info import EliminationPlan
from . import answers as by
from .answers import Answers, Finding, FiniteAnswer, How, answer_cases
from .discrete import Discrete, as_sources, tabulate
from .evidence import impossible

Names = str | list[str] | tuple[str, ...]


class Asked(Record):
    """What a query asks for, by the words of `dpc query`."""

    ask: tuple[str, ...] = ()
    joint: tuple[str, ...] = ()
    logz: bool = False
    entropy: bool = False
    kl: Any = None
    map: Any = False
    kbest: int | None = None
    samples: int | None = None
    evidence: str | None = None


def query(
    model: Model,
    asked: Asked,
    given: Mapping[str, Any],
    known: dict[str, Any],
    how: How,
    plot: str | None = None,
) -> Answers:
    """One answer for each question; without a question, all marginals."""
    if how.method not in by.METHODS:
        hint = did_you_mean(how.method, by.METHODS)
        raise UsageError(f"there is no method `{how.method}`{hint and f'; {hint}'}")
    verify_seed(how.seed)
    for name in ("kbest", "samples"):
        value = getattr(asked, name)
        if value is not None and value < 1:
            raise UsageError(f"`{name}=` takes a number from 1 up")
    evidence, values = _split_given(model, given)
    known = {**known, "values": {**known.get("values", {}), **values}}
    discrete = tabulate(model, **known)
    questions = _Query(model, discrete, discrete.variables.by_element(evidence), known, how)
    try:
        answers = Answers(questions.answers(asked))
    except ImpossibleEvidenceError:
        raise impossible(given) from None
    if plot:
        questions.plot(plot)
    return answers


def plan_elimination(
    model: Model, given: Mapping[str, Any], data: list[Any], params: Mapping[str, Any]
) -> EliminationPlan:
    """The order in which all marginals would be found, and its cost."""
    evidence, values = _split_given(model, given)
    discrete = tabulate(model, data, params, values)
    known = discrete.variables.by_element(evidence)
    return EliminationPlan(q.plan_marginals(discrete.factors, known))


def _split_given(model: Model, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Evidence on finite variables, and the values of continuous draws."""
    if model.network is not None:
        return dict(given), {}
    finite = {node.name for node in finite_draws(model.graph)}
    open_names = model.graph.by_name.keys() - finite
    values = {name: as_numbers(name, v) for name, v in given.items() if name in open_names}
    return {name: value for name, value in given.items() if name not in values}, values


class _Query(Record):
    """Each method answers one kind of question."""

    model: Model
    discrete: Discrete
    given: dict[str, Any]
    known: dict[str, Any]
    how: How

    @property
    def factors(self) -> Any:
        return self.discrete.factors

    def find(self, question: str, *asked: Any) -> Finding:
        return by.find(question, self.factors, self.given, self.how, *asked)

    def answers(self, asked: Asked) -> list[FiniteAnswer]:
        if asked.evidence:
            return [self.cases(asked)]
        found, discrete = [], self.discrete
        if asked.logz:
            name = "log probability of the evidence" if discrete.directed else "log partition"
            found.append(by.number_answer("logz", name, self.find("log_partition")))
        if asked.entropy:
            found.append(by.number_answer("entropy", "entropy (nats)", self.entropy()))
        if asked.kl is not None:
            found.append(self.divergence(asked.kl))
        if asked.map is not False and asked.map is not None:
            found.append(self.configurations("map", self.of_finite(self.mode(asked.map))))
        if asked.kbest is not None:
            self.verify_finite("a configuration")
            best = by.find_kbest(self.factors, asked.kbest, self.given, self.how)
            found.append(self.configurations("kbest", self.of_finite(best)))
        if asked.samples is not None:
            self.verify_finite("a joint draw")
            entries = len(self.discrete.states)
            verify_room(asked.samples, "samples", entries, SHOWN, self.how.memory)
            drawn = self.of_finite(self.find("samples", asked.samples))
            found.append(by.samples_answer(discrete, drawn, asked.samples))
        found += [self.ask(text) for text in asked.ask]
        for text in asked.joint:
            names = self.names(text)
            found.append(by.joint_answer(names, discrete, self.find("joint", names)))
        return found or [self.marginals(None)]

    @property
    def open(self) -> list[str]:
        """Draws that are neither finite nor given: no table speaks of them."""
        if self.model.network is not None or not open_draws(self.model.graph, ()):
            return []
        return list(open_draws(self.model.graph, _given_names(self.model, self.known)))

    def verify_finite(self, what: str) -> None:
        """Raises where nothing is finite; else what is not is summed out."""
        if not self.discrete.states and self.open:
            name = self.open[0]
            ways = f"ask for `{name} <= 1.5` or for its mean, `{name}`; or draw it, `dpc sample`"
            raise UsageError(f"no variable is finite, and {what} is of finite variables: {ways}")

    def of_finite(self, found: Finding) -> Finding:
        """Says which draws are summed out: they would have values in a configuration, too."""
        if not self.open:
            return found
        names = ", ".join(f"`{name}`" for name in self.open)
        said = f"of the finite variables alone, with {names} summed out; `dpc sample` draws all"
        return found.replace(report=" ".join(filter(None, [found.report, said])))

    def entropy(self) -> Finding:
        """H(z) + E[H(y | z)], for draws y that are not finite and on which nothing depends."""
        found = self.find("entropy") if self.discrete.states else Finding(0.0)
        if not self.open:
            return found
        graph = _rewritten(add_entropies, self.model.graph, ASKED, {*self.given_names})
        asking = Model(graph, externs=self.model.externs)
        discrete = tabulate(asking, **self.known, asked=ASKED)
        rest = by.find("moments", discrete.factors, self.given, self.how, discrete.asked)
        return found.replace(value=float(found.value) + float(rest.value.mean))

    @property
    def given_names(self) -> set[str]:
        return _given_names(self.model, self.known)

    def divergence(self, other: Any) -> FiniteAnswer:
        """KL(this, other), from a model or the path of one, with the same data."""
        from ..model.load import load

        by.verify_method("kl", self.how.method)
        second = load(other) if isinstance(other, str) else other
        its = tabulate(second, data=self.known.get("data", ()))
        if self.open:
            what = f"`{self.open[0]}` is not finite"
            raise UsageError(f"{what}, and `kl=` compares finite variables: give it a value")
        if its.states != self.discrete.states:
            both = f"{self.model.title} and {second.title}"
            raise UsageError(f"{both} have not the same variables and states")
        value = q.infer_divergence(self.factors, its.factors, self.given, memory=self.how.memory)
        return by.number_answer("kl", f"KL({self.model.title} || {second.title})", Finding(value))

    def mode(self, names: Any) -> Finding:
        """Of all variables together, or of some with the others summed out."""
        self.verify_finite("a mode")
        if names is True or not names:
            return self.find("mode")
        by.verify_method("marginal_mode", self.how.method)
        wanted = self.names(names)
        memory = self.how.memory
        return Finding(q.infer_marginal_mode(self.factors, wanted, self.given, memory=memory))

    def configurations(self, question: str, found: Finding) -> FiniteAnswer:
        log_z = None
        if found.method == "exact":
            log_z = q.infer_log_partition(self.factors, self.given, memory=self.how.memory)
        return by.configurations_answer(question, self.discrete, found, log_z)

    def marginals(self, names: list[str] | None) -> FiniteAnswer:
        self.verify_finite("a marginal")
        return by.marginals_answer(self.find("marginals", names), self.discrete, self.given)

    def ask(self, text: str) -> FiniteAnswer:
        """Names are marginals; anything else is an expression of the language."""
        if all(self.elements(word) for word in words(text)):
            return self.marginals(self.names(text))
        return ask_expression(self.model, text, self.given, self.how, **self.known)

    def cases(self, asked: Asked) -> FiniteAnswer:
        """Marginals of a file of cases, all rows together."""
        others = asked.replace(ask=(), evidence=None)
        second = [name for name in Asked.fields if getattr(others, name) != Asked.defaults[name]]
        if self.given or second:
            word = "given" if self.given else second[0]
            raise UsageError(f"`evidence=` answers marginals of cases, without `{word}=`")
        by.verify_method("cases", self.how.method)
        names = [name for text in asked.ask for name in self.names(text)]
        return answer_cases(self.discrete, str(asked.evidence), names, self.how.memory)

    def plot(self, path: str) -> None:
        """The network with the marginals in its nodes."""
        from ..show.draw.picture import picture_of_marginals
        from ..show.draw.write import write_picture

        found = self.find("marginals")
        marginals = {str(name): table for name, table in found.value.items()}
        picture = picture_of_marginals(self.model.title, self.discrete, marginals, self.given)
        write_picture(picture, path, engine="builtin")

    def elements(self, word: str) -> list[str]:
        """The variable of this name, or all elements of one that has indices."""
        states = self.discrete.states
        return [word] if word in states else [n for n in states if n.startswith(f"{word}[")]

    def names(self, text: Names) -> list[str]:
        found: list[str] = []
        for word in words(text):
            own = self.elements(word)
            if not own:
                hint = did_you_mean(word, self.discrete.states)
                raise UsageError(f"there is no variable `{word}`{hint and f'; {hint}'}")
            found += own
        return found


def words(text: Names) -> list[str]:
    """What stands between the commas outside of brackets; within them, a space follows a comma."""
    if not isinstance(text, str):
        return list(text)
    parts = re.split(r",(?![^\[]*\])", text)
    return [re.sub(r"\s*,\s*", ", ", part.strip()) for part in parts]


def read_memory(size: int | str | None) -> int | None:
    """2GB, 500 MB or a number of bytes."""
    if size is None or isinstance(size, int):
        return _positive(size)
    written = r"\s*([0-9]{1,18}(?:\.[0-9]+)?)\s*([kmgt]?)i?b?\s*"
    found = re.fullmatch(written, size, re.IGNORECASE)
    if not found:
        raise UsageError(f"`memory=` takes a size such as 2GB, not {size}")
    unit = "kmgt".find(found[2].lower()) + 1 if found[2] else 0
    return _positive(int(float(found[1]) * 1024**unit))


def _positive(size: int | None) -> int | None:
    if size is not None and size < 1:
        raise UsageError("`memory=` takes a size such as 2GB, and nothing is done in no memory")
    return size


ASKED = "asked"


def ask_expression(
    model: Model, text: str, given: dict[str, Any], how: How, **known: Any
) -> FiniteAnswer:
    """P(expression) for a truth value, mean and standard deviation for a number."""
    own = _with_statement(model, f"{ASKED} := {text}")
    node = own.graph[ASKED]
    if node.type.shape:
        raise UsageError(f"`{text}` is an array: ask for one of its elements")
    is_truth = str(node.type.domain) == "bool"
    found, spread = _expectation(own, given, how, "mean", **known)
    if is_truth:
        value = min(max(float(found.value.mean), 0.0), 1.0)
        return by.number_answer("probability", f"P({text})", found.replace(value=value))
    if spread:
        # Var[y] = E[Var[y | z]] + Var[E[y | z]], with the mean of y given z in the place of y.
        within, _ = _expectation(own, given, how, "variance", **known)
        both = found.value.variance + within.value.mean
        found = found.replace(value=found.value._replace(variance=both))
    return by.moments_answer(text, found)


def _expectation(
    own: Model, given: dict[str, Any], how: How, what: str, **known: Any
) -> tuple[Finding, bool]:
    """Of what is asked, and whether it asked of draws that are not finite."""
    graph = own.graph
    is_open = bool(open_draws(graph, ()))
    if is_open:
        graph = _rewritten(ask_of_distributions, graph, ASKED, _given_names(own, known), what)
    changed = graph is not own.graph
    asking = Model(graph, externs=own.externs) if changed else own
    discrete = tabulate(asking, **known, asked=ASKED)
    return by.find("moments", discrete.factors, given, how, discrete.asked), changed


def _rewritten(change: Any, *arguments: Any) -> Graph:
    try:
        found: Graph = change(*arguments)
    except Unfit as error:
        raise UsageError(f"{error.message}: {error.help}") from None
    return found


def _given_names(model: Model, known: Mapping[str, Any]) -> set[str]:
    """What data and evidence say of draws that are not finite."""
    bound = bind_data(model.graph, *as_sources(known.get("data")), partial=True)
    return {*bound.arrays, *known.get("values", {})}


def _with_statement(model: Model, statement: str) -> Model:
    """The same model with one more statement, told by the language's own rules."""
    from ..model.check import check_model

    if model.own_data:
        what = "this network is too large to ask expressions of"
        raise UsageError(f"{what}: ask for `joint=` of the variables")
    source = model.graph.source
    checked = check_model(source.replace(text=f"{source.text.rstrip()}\n{statement}\n"))
    if checked.graph is None:
        wrong = next(d for d in checked.diagnostics if d.is_error)
        raise UsageError(f"`ask=`: {wrong.message}{wrong.help and f' ({wrong.help})'}")
    return Model(checked.graph, externs=model.externs)
