"""Amounts, tables and YAML as text."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from schedframe.api.yaml_writer import to_yaml
from schedframe.cli.output.terminal import columns
from schedframe.simulate.amounts import amount_text, share_text, unit_of

words = st.sampled_from(
    ["yes", "n", "null", "~", "1e3", "0x1F", "12:30", "a: b", "- x", "#", "", " ", "=", "é\x85"]
)
text = words | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=15,
)


@given(documents)
def test_yaml_reads_back(data: Any) -> None:
    assert yaml.safe_load(to_yaml(data)) == data


def test_yaml_quotes_what_readers_may_take_for_something_else() -> None:
    data = {"name": "1e3", "on": ["no", "web-0", {}], "deep": [[1, [2]], []]}
    assert to_yaml(data).splitlines() == [
        'name: "1e3"',
        '"on":',
        '  - "no"',
        "  - web-0",
        "  - {}",
        "deep:",
        "  - - 1",
        "    - - 2",
        "  - []",
    ]


@pytest.mark.parametrize(
    ("resource", "amount", "shown"),
    [
        ("cpu", 2500, "2.5"),
        ("cpu", 1000, "1"),
        ("cpu", 0, "0"),
        ("cpu", 1, "0.001"),
        ("memory", 30 * 2**30, "30Gi"),
        ("memory", 1536, "1.5Ki"),
        ("memory", 7, "7"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("example.com/gpu", 1200, "1200"),
    ],
)
def test_amounts(resource: str, amount: int, shown: str) -> None:
    assert amount_text(resource, amount) == shown


def test_units_and_shares() -> None:
    assert [unit_of(name) for name in ("cpu", "memory", "pods")] == ["milli-CPU", "bytes", "count"]
    assert (share_text(1, 3), share_text(0, 0)) == ("33.3 %", "")


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert columns([("a", "1"), ("long", "100")], ("N", "COUNT"), right=(1,)) == [
        "N     COUNT",
        "a         1",
        "long    100",
    ]
