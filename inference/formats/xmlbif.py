"""XMLBIF 0.3: BIF in XML. A table lists its numbers with the child's state moving fastest."""

from collections import Counter
from html import escape
from math import prod
from xml.etree import ElementTree

import numpy as np

from .network import (
    FormatError,
    Network,
    NetworkTable,
    NetworkVariable,
    normalise_rows,
    numbers_of,
    refuse_states,
    refuse_table,
)


def read_xmlbif(text: str, path: str = "<xmlbif>") -> Network:
    if "<!ENTITY" in text:
        raise FormatError(path, None, "entities are not read: they can hide a bomb")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise FormatError(path, error.position[0], f"not XML: {error.msg}") from None
    network = root if root.tag.upper() == "NETWORK" else root.find("NETWORK")
    if network is None:
        raise FormatError(path, None, f"expected <BIF> with a <NETWORK>, found <{root.tag}>")
    variables = [_variable(child, path) for child in network.findall("VARIABLE")]
    by_name = {variable.name: variable for variable in variables}
    if len(by_name) < len(variables):
        raise FormatError(path, None, "a variable is declared twice")
    reason = refuse_states(sum(len(variable.states) for variable in variables))
    if reason:
        raise FormatError(path, None, reason)
    tables = tuple(_table(child, by_name, path) for child in network.findall("DEFINITION"))
    definitions = Counter(table.child for table in tables)
    for name in by_name:
        count = definitions[name]
        if count != 1:
            raise FormatError(path, None, f"`{name}` has {count or 'no'} definitions, not one")
    name, properties = _text(network, "NAME", "unknown"), _properties(network)
    return Network(name, tuple(variables), tables, True, properties)


def _text(element: ElementTree.Element, tag: str, default: str = "") -> str:
    return (element.findtext(tag) or default).strip()


def _properties(element: ElementTree.Element) -> tuple[str, ...]:
    return tuple((child.text or "").strip() for child in element.findall("PROPERTY"))


def _variable(element: ElementTree.Element, path: str) -> NetworkVariable:
    name = _text(element, "NAME")
    states = tuple((child.text or "").strip() for child in element.findall("OUTCOME"))
    if not name or not states or len(set(states)) < len(states):
        raise FormatError(path, None, f"the variable `{name}` needs a name and different outcomes")
    return NetworkVariable(name, states, _properties(element))


def _table(
    element: ElementTree.Element, variables: dict[str, NetworkVariable], path: str
) -> NetworkTable:
    child = _text(element, "FOR")
    scope = (*((given.text or "").strip() for given in element.findall("GIVEN")), child)
    for name in scope:
        if name not in variables:
            reason = f"the definition of `{child}` names `{name}`, which is no variable"
            raise FormatError(path, None, reason)
    if len(set(scope)) < len(scope):
        raise FormatError(path, None, f"the definition of `{child}` names a variable twice")
    shape = tuple(len(variables[name].states) for name in scope)
    reason = refuse_table(shape)
    if reason:
        raise FormatError(path, None, f"the table of `{child}`: {reason}")
    try:
        numbers = numbers_of(_text(element, "TABLE"))
    except ValueError as error:
        raise FormatError(path, None, f"the table of `{child}`: {error}") from None
    if len(numbers) != prod(shape):
        reason = f"the table of `{child}` has {len(numbers)} numbers, not {prod(shape)}"
        raise FormatError(path, None, reason)
    values, wrong = normalise_rows(np.reshape(numbers, shape))
    if wrong is not None:
        key = ", ".join(variables[name].states[i] for name, i in zip(scope, wrong, strict=False))
        raise FormatError(path, None, f"the row ({key}) of `{child}` is no distribution")
    return NetworkTable(scope, values, _properties(element))


def write_xmlbif(network: Network) -> str:
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n'
    parts = [head, _tag("NAME", network.name), *_property_tags(network.properties)]
    for variable in network.variables:
        outcomes = [_tag("OUTCOME", state) for state in variable.states]
        inner = [_tag("NAME", variable.name), *outcomes, *_property_tags(variable.properties)]
        parts.append(f'<VARIABLE TYPE="nature">\n{"".join(inner)}</VARIABLE>\n')
    for table in network.tables:
        given = [_tag("GIVEN", parent) for parent in table.parents]
        numbers = _tag("TABLE", " ".join(map(repr, table.values.reshape(-1).tolist())))
        inner = [_tag("FOR", table.child), *given, numbers, *_property_tags(table.properties)]
        parts.append(f"<DEFINITION>\n{''.join(inner)}</DEFINITION>\n")
    return "".join(parts) + "</NETWORK>\n</BIF>\n"


def _tag(name: str, content: str) -> str:
    return f"  <{name}>{escape(content, quote=False)}</{name}>\n"


def _property_tags(properties: tuple[str, ...]) -> list[str]:
    return [_tag("PROPERTY", text) for text in properties]
