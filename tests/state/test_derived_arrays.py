"""Derived arrays: kept under a key of their reader while they are in use."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import define, field
from typing_extensions import override

from schedframe.state import DerivedArrays, NodeTable, policy

from .build import make_node


@define(eq=False)
class Names(DerivedArrays):
    """Counts how it is asked."""

    filled: list[int] = field(factory=list)

    @override
    def rebind(self) -> None:
        self.filled.append(-1)

    @override
    def compute(self, index: slice | npt.NDArray[np.intp]) -> None:
        self.filled.append(len(np.arange(self.table.size)[index]))

    @override
    def compute_row(self, row: int) -> None:
        self.filled.append(1)


def table_of(nodes: int) -> NodeTable:
    table = NodeTable()
    for i in range(nodes):
        table.set_node(make_node(f"n{i}"))
    return table


def test_kept_from_the_moment_that_more_was_asked_than_there_is() -> None:
    table = table_of(10)
    assert table.derived_arrays_if_busy("k", Names, 4) is None
    assert table.derived_arrays_if_busy("k", Names, 6) is None
    assert table.derived_arrays_if_busy("other", Names, 1) is None
    kept = table.derived_arrays_if_busy("k", Names, 1)
    assert kept is not None
    assert kept.filled == [-1, 10]
    assert table.derived_arrays_if_busy("k", Names, 1) is kept
    assert table.derived_arrays("k", Names) is kept


def test_what_was_asked_long_ago_is_forgotten() -> None:
    table = table_of(10)
    assert table.derived_arrays_if_busy("k", Names, 10) is None
    for i in range(policy.KEPT_COLUMNS):
        assert table.derived_arrays_if_busy(i, Names, 1) is None
    assert table.derived_arrays_if_busy("k", Names, 10) is None
    assert table.derived_arrays_if_busy("k", Names, 10) is not None


def test_of_many_the_oldest_are_dropped() -> None:
    table = table_of(1)
    first = table.derived_arrays(0, Names)
    for i in range(policy.KEPT_COLUMNS):
        table.derived_arrays(i, Names)
    assert table.derived_arrays(0, Names) is first
    table.derived_arrays("one more", Names)
    assert table.derived_arrays(0, Names) is not first
