"""Network files: what is written is read back the same, and a broken file is told by line and
reason.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from networks import same_network
from shared import NETWORKS, needs_references, reference

from dpc.inference.formats.bif import read_bif, write_bif
from dpc.inference.formats.network import (
    FormatError,
    Network,
    NetworkTable,
    NetworkVariable,
)
from dpc.inference.formats.registry import FORMATS, format_of
from dpc.inference.formats.uai import read_uai, read_uai_evidence, write_uai
from dpc.inference.formats.xmlbif import read_xmlbif
from dpc.model.load import read_network

SMALL = ("alarm", "asia", "cancer", "child", "hailfinder", "insurance", "sachs", "win95pts")
BIF_FILES = [NETWORKS / f"{name}.bif.gz" for name in SMALL] if NETWORKS else []
texts = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"], exclude_characters='"'),
    min_size=1,
)


@st.composite
def networks(draw: DrawFn) -> Network:
    """Any names and states that a quoted text can hold, and parents among the variables before."""
    names = draw(st.lists(texts.map(str.strip).filter(bool), min_size=1, max_size=4, unique=True))
    variables, tables = [], []
    for k, name in enumerate(names):
        states = draw(
            st.lists(texts.map(str.strip).filter(bool), min_size=1, max_size=3, unique=True)
        )
        variables.append(NetworkVariable(name, tuple(states)))
        parents = draw(st.lists(st.sampled_from(range(k)), max_size=2, unique=True)) if k else []
        shape = [len(variables[p].states) for p in parents] + [len(states)]
        chance = np.random.default_rng(draw(st.integers(0, 2**16)))
        values = chance.dirichlet(np.ones(shape[-1]), shape[:-1])
        tables.append(NetworkTable((*(names[p] for p in parents), name), values))
    return Network("net", tuple(variables), tuple(tables), True)


@settings(deadline=None, max_examples=60)
@given(networks())
def test_bif_and_xmlbif_lose_nothing(network: Network) -> None:
    for row in FORMATS:
        if row.only_bayesian:
            assert same_network(row.read(row.write(network), "x"), network, 1e-15), row.name


@settings(deadline=None, max_examples=30)
@given(networks(), st.booleans())
def test_uai_keeps_all_but_the_names(network: Network, is_bayesian: bool) -> None:
    number = {v.name: f"x{i}" for i, v in enumerate(network.variables)}
    plain = Network(
        "unknown",
        tuple(
            NetworkVariable(number[v.name], tuple(map(str, range(len(v.states)))))
            for v in network.variables
        ),
        tuple(
            NetworkTable(tuple(number[name] for name in t.scope), t.values) for t in network.tables
        ),
        is_bayesian,
    )
    assert same_network(read_uai(write_uai(plain)), plain, 1e-15)


@needs_references
@pytest.mark.parametrize("path", BIF_FILES, ids=lambda p: p.name.partition(".")[0])
def test_real_networks_have_the_states_of_their_references(path: Path) -> None:
    network = read_network(str(path))
    marginals = reference(path.name.partition(".")[0])["marginals"]
    assert {v.name: len(v.states) for v in network.variables} == {
        k: len(m) for k, m in marginals.items()
    }
    assert same_network(read_bif(write_bif(network)), network, 1e-15)


def test_a_table_lists_the_child_slowest_and_a_default_fills_the_rest() -> None:
    text = """
    // comment with } and ;
    network "fire alarm" { property author = me; }
    variable a { type discrete [ 2 ] { yes, no }; property position = (1, 2); }
    variable "b c" { type discrete [3] { "x y", q/r, <5 }; }
    probability ( a ) { table 0.25, 0.75; } /* many
    lines */
    probability ( "b c" | a ) { (no) 0.5 0.25 0.25; default 0.2, 0.3, 0.5; }
    """
    network = read_bif(text)
    assert network.name == "fire alarm"
    assert network.properties == ("author = me",)
    assert network.variables[0].properties == ("position = (1, 2)",)
    assert network.variables[1] == NetworkVariable("b c", ("x y", "q/r", "<5"))
    assert network.tables[1].values.tolist() == [[0.2, 0.3, 0.5], [0.5, 0.25, 0.25]]
    whole = text.replace(
        "(no) 0.5 0.25 0.25; default 0.2, 0.3, 0.5;", "table 0.2 0.5 0.3 0.25 0.5 0.25;"
    )
    assert read_bif(whole).tables[1].values.tolist() == network.tables[1].values.tolist()


HEAD = (
    "network n {}\nvariable a { type discrete [ 2 ] { yes, no }; }\nvariable b { type discrete "
    "[ 2 ] { yes, no }; }\n"
)
BROKEN_BIF = {
    "variable a {\n type discrete [ 3 ] { yes, no }; }": (
        2,
        "`a` says it has 3 states and lists 2",
    ),
    HEAD + "probability ( a ) {\n table 0.5, 0.6; }": (
        4,
        "the table of `a` is no distribution: it sums to 1.1",
    ),
    HEAD + "probability ( a ) { table 0.5, 0.5; }": (4, "`b` has no table"),
    HEAD + "probability ( a | b ) {\n (yes) 0.5, 0.5;\n}": (4, "`a` has no row for (no)"),
    HEAD + "probability ( a | b ) {\n (yes) 0.5, 0.5;\n (maybe) 0.5, 0.5;\n}": (
        6,
        "(maybe) are no states of b",
    ),
    HEAD + "probability ( a | b ) {\n (yes) 0.5, 0.5;\n (no) 0.5;\n}": (
        6,
        "this row of `a` has 1 numbers, not 2",
    ),
    HEAD + "probability ( a | b ) {\n (yes) 0.5, half;\n}": (
        5,
        "`half` is no number",
    ),
    HEAD + "probability ( c ) { table 1; }": (4, "`c` is not declared as a variable"),
    HEAD + "probability a { table 1; }": (4, "expected `(`, found `a`"),
    "nonsense": (1, "expected `network`, `variable` or `probability`, found `nonsense`"),
    HEAD + "probability ( a ) { table 0.5, 0.5": (4, "not ended by `;`"),
}


@pytest.mark.parametrize("text", BROKEN_BIF, ids=range(len(BROKEN_BIF)))
def test_a_broken_bif_file_is_told_by_line_and_reason(text: str) -> None:
    line, reason = BROKEN_BIF[text]
    with pytest.raises(FormatError) as error:
        read_bif(text + "\n", "net.bif")
    assert reason in str(error.value)
    assert error.value.line == line


BROKEN_UAI = {
    "BAYES": (1, "the number of variables"),
    "FOREST\n1": (1, "expected BAYES or MARKOV"),
    "MARKOV\n2\n2 2\n1\n2 0 5\n": (5, "variable 5 is not one of 0 to 1"),
    "MARKOV\n1\n2\n1\n1 0\n3\n1 1 1\n": (6, "has 3 entries, not 2"),
    "MARKOV\n1\n2\n1\n1 0\n2\n1 -1\n": (7, "negative"),
    "MARKOV\n1\n2\n1\n1 0\n2\n1 1\n9\n": (8, "there is more in the file than its tables"),
    "BAYES\n1\n2\n1\n1 0\n2\n1 1\n": (7, "does not sum to one"),
}


@pytest.mark.parametrize("text", BROKEN_UAI, ids=range(len(BROKEN_UAI)))
def test_a_broken_uai_file_is_told_by_line_and_reason(text: str) -> None:
    line, reason = BROKEN_UAI[text]
    with pytest.raises(FormatError) as error:
        read_uai(text, "net.uai")
    assert reason in str(error.value)
    assert error.value.line == line


def test_uai_evidence_with_and_without_the_number_of_samples() -> None:
    assert read_uai_evidence("") == {} == read_uai_evidence("0\n")
    assert read_uai_evidence("2 3 1 7 0\n") == {3: 1, 7: 0} == read_uai_evidence("1\n2 3 1 7 0\n")
    with pytest.raises(FormatError, match="more in the file"):
        read_uai_evidence("1 3 1 7\n")


def test_xml_that_is_none_or_hides_a_bomb() -> None:
    with pytest.raises(FormatError, match=r"x\.xml:1: not XML"):
        read_xmlbif("<BIF>", "x.xml")
    with pytest.raises(FormatError, match="entities"):
        read_xmlbif('<!DOCTYPE x [<!ENTITY a "aa">]><BIF/>')


def test_files_are_told_by_their_endings(tmp_path: Path) -> None:
    assert format_of("a.BIF.gz") is FORMATS[0]
    assert format_of("model.dp") is None
    with pytest.raises(FormatError, match=r"not a network file"):
        read_network(str(tmp_path / "x.txt"))
    (tmp_path / "x.bif").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match="line 1 is not UTF-8 text"):
        read_network(str(tmp_path / "x.bif"))


@pytest.mark.parametrize("scopes", ["0\n1 0", "0\n0", "1 0\n1 0"])
def test_a_table_of_uai_about_no_variable_is_refused(scopes: str) -> None:
    text = f"BAYES\n1\n2\n2\n{scopes}\n1\n0.3\n2\n0.5 0.5\n"
    with pytest.raises(FormatError, match="one table for each variable"):
        read_uai(text)
