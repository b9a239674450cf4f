"""Assertions that what is cached for a class is what a new build gives."""

from __future__ import annotations

import numpy as np

from schedframe import (
    Status,
)
from schedframe.cycle.equivalence.columns import ClassColumns
from schedframe.cycle.equivalence.equivalence_class import EquivalenceClass
from schedframe.cycle.equivalence.index.base import ScoreIndex
from schedframe.cycle.equivalence.index.score_matrix import MatrixSlot
from schedframe.cycle.equivalence.index.state_index import StateIndex
from schedframe.cycle.equivalence.node_columns import NodeColumns
from schedframe.cycle.equivalence.shared import SharedIndexes
from schedframe.cycle.equivalence.status_codes import NO_NODE


def fresh_class(eq_class: EquivalenceClass) -> EquivalenceClass:
    """A class of the same pods that knows nothing of what happened so far."""
    columns = NodeColumns(eq_class.table, eq_class.plan, eq_class.pod, eq_class._objects)
    shared = SharedIndexes(columns, eq_class.policy)
    return EquivalenceClass(eq_class.framework, eq_class.plan, eq_class.pod, eq_class._objects, shared)


def assert_up_to_date(eq_class: EquivalenceClass) -> None:
    """The columns of a class equal those of one that is built now, and its index fits."""
    fresh = fresh_class(eq_class)
    fresh.refresh()
    if eq_class.columns is None and eq_class.find_best():
        assert fresh.cacheable
        assert_index_fits(eq_class, fresh)
        eq_class.check_invariants()
        return
    usable = eq_class.refresh()
    if not usable:
        # Not using a class is always right; a class that fails now must not be used.
        return
    assert fresh.cacheable
    mine, other, size = eq_class.columns, fresh.columns, eq_class.table.size
    assert mine is not None
    assert other is not None
    assert _by_row(mine, size) == _by_row(other, size)
    assert mine.feasible == other.feasible
    assert dict(mine.verdicts().counts()) == dict(other.verdicts().counts())
    assert np.array_equal(mine.totals[:size], other.totals[:size])
    eq_class.check_invariants()
    assert_index_fits(eq_class, eq_class)
    assert mine.highest == other.highest


def assert_index_fits(eq_class: EquivalenceClass, built: EquivalenceClass) -> None:
    """What the index of a class says is what an equal class with columns, *built*, says of each row."""
    if not eq_class.find_best():
        return
    index, columns = eq_class.index, built.columns
    assert columns is not None
    if isinstance(index, MatrixSlot):
        assert_slot_fits(index, eq_class, columns)
        return
    assert isinstance(index, StateIndex)
    rows = index.rows
    rows.check_invariants(eq_class.node_columns.codes)
    for state in rows.states():
        score = index._scores[state.number]
        for row in rows.rows_of([state]).tolist():
            code = columns.codes[row]
            if code:
                assert score < 0
                assert eq_class.node_columns.status_codes.statuses[-score - 1] == columns.statuses[code - 1]
            else:
                assert score == columns.totals[row] - columns.node_scores[row]
    best = (columns.totals == columns.totals.max()).nonzero()[0].tolist()
    assert rows.rows_of([state for state in index.found if state.count]).tolist() == best
    assert_feasible(index, columns)


def assert_slot_fits(slot: MatrixSlot, eq_class: EquivalenceClass, columns: ClassColumns) -> None:
    """The scores of a slot are those of the *columns* of an equal class."""
    scores, alive = slot.scores_at(np.arange(columns.table.size)).tolist(), columns.table.alive
    assert len(scores) == columns.table.size
    statuses = eq_class.node_columns.status_codes.statuses
    for row, (score, code) in enumerate(zip(scores, columns.codes.tolist(), strict=False)):
        if code:
            assert score < 0
            named = alive[row] and not columns.node_columns.codes[row]
            assert not named or statuses[-score - 1] == columns.statuses[code - 1]
        else:
            assert score == columns.totals[row] - columns.node_scores[row]
    assert_feasible(slot, columns)


def assert_feasible(index: ScoreIndex, columns: ClassColumns) -> None:
    """The rows that an index finds feasible are those of *columns*; scores differ by one number at most."""
    feasible = index.feasible_rows()
    positions = feasible.positions
    assert positions.tolist() == columns.feasible_rows().positions.tolist()
    assert len(feasible) == columns.feasible
    assert len(set((columns.totals[positions] - index.scores_at(positions)).tolist())) <= 1


def _by_row(columns: ClassColumns, size: int) -> list[Status | str | None]:
    return [
        "no node" if code == NO_NODE else columns.statuses[code - 1] if code else None
        for code in columns.codes[:size].tolist()
    ]
