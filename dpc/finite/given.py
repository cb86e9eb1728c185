"""Evidence as people write it, as the engine takes it: labels are states, arrays elements."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpc.dsl.diagnostics import did_you_mean

from .discrete import Discrete


class WrongEvidence(ValueError):
    """Evidence on a variable that is not there, or with a value that it cannot have."""


def check_given(discrete: Discrete, given: Mapping[str, Any]) -> dict[str, Any]:
    """States, sets of states and likelihood vectors by variable.

    A value is a label or a position, a set of them, or a sequence of likelihoods, one for each
    state. For a variable with indices, `z`, a sequence gives all its elements and `z[3]` one of
    them; None leaves an element open.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name in discrete.states:
            found[name] = _value(name, discrete.states[name], value)
        else:
            found |= _elements(discrete, name, value)
    return found


def _elements(discrete: Discrete, name: str, value: Any) -> dict[str, Any]:
    own = [element for element in discrete.states if element.startswith(f"{name}[")]
    if not own:
        hint = did_you_mean(
            name, [*discrete.states, *{e.partition("[")[0] for e in discrete.states}]
        )
        raise WrongEvidence(f"there is no variable `{name}`{hint and f'; {hint}'}")
    items = np.asarray(value, dtype=object).reshape(-1).tolist()
    if len(items) != len(own):
        raise WrongEvidence(f"`{name}` has {len(own)} elements, the evidence {len(items)}")
    pairs = zip(own, items, strict=True)
    return {
        element: _value(element, discrete.states[element], item)
        for element, item in pairs
        if item is not None
    }


def _value(name: str, states: tuple[str, ...], value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return {state_of(name, states, item) for item in value}
    if np.ndim(value) == 1:
        likelihood = np.asarray(value, float)
        if len(likelihood) != len(states):
            raise WrongEvidence(
                f"`{name}` has {len(states)} states, the likelihood {len(likelihood)} entries"
            )
        return likelihood
    return state_of(name, states, value)


def state_of(name: str, states: Sequence[str], value: Any) -> int:
    """The position of a label, or of a number or truth value."""
    text = str(value).lower() if isinstance(value, bool | np.bool_) else str(value)
    if text in states:
        return list(states).index(text)
    if text.isdigit() and int(text) < len(states) and not states[0].isdigit():
        return int(text)
    hint = did_you_mean(text, states)
    shown = ", ".join(states[:12]) + (", ..." if len(states) > 12 else "")
    raise WrongEvidence(f"`{name}` is one of {shown}, not `{text}`{hint and f'; {hint}'}")
