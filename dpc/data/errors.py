"""What can be wrong with data. Problems are data; all of them travel in one exception."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dpc.dsl.diagnostics import nearest_name
from dpc.dsl.graph.passes.standard import Unfit
from dpc.dsl.printable import printable
from dpc.dsl.record import Record

MAX_SHOWN = 60


class Problem(Record):
    """`name` is the variable or dim it is about, empty for a file; `place` is where to look."""

    name: str
    message: str
    help: str = ""
    place: str = ""

    def __str__(self) -> str:
        lines = [f"data error: {self.message}"]
        lines += [f"  in {self.place}"] if self.place else []
        lines += [f"  help: {self.help}"] if self.help else []
        return "\n".join(map(printable, lines))


class DataError(Exception):
    """The data do not fit the model, or cannot be read: carries every problem found."""

    def __init__(self, problems: Iterable[Problem]):
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class Report:
    """Collects problems, so that one mistake does not hide the next."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, name: str, message: str, help: str = "", place: str = "") -> None:
        self.problems.append(Problem(name, message, help, place))

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """A DataError raised inside is kept for later."""
        try:
            yield
        except DataError as error:
            self.problems += error.problems

    def verify_empty(self) -> None:
        if self.problems:
            raise DataError(dict.fromkeys(self.problems))


def problem(name: str, message: str, help: str = "", place: str = "") -> DataError:
    """One problem, ready to be raised."""
    return DataError([Problem(name, message, help, place)])


@contextmanager
def unfit_as_problem() -> Iterator[None]:
    """What a rewrite of the graph cannot do with these data is a problem of the data."""
    try:
        yield
    except Unfit as error:
        raise problem(error.node, error.message, error.help) from None


def quoted(text: str) -> str:
    return repr(text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "...")


def did_you_mean_label(label: str, labels: Iterable[str]) -> str:
    found = nearest_name(label[:MAX_SHOWN], labels)
    return f"did you mean {quoted(found)}?" if found else ""


def counted(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"
