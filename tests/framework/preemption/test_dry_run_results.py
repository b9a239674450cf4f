"""Results of dry runs in columns, compared with a search of a list, and the best of them with ``min``."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import Status
from schedframe.framework import Candidate
from schedframe.framework.preemption.candidates import standing
from schedframe.framework.preemption.dry_run_cache import (
    MAX_STATUSES,
    SAFE,
    UNKNOWN,
    VIOLATING,
    DryRunResults,
    visit,
)

from .support import running

ROWS = 8


def candidate(row: int, start: float = 0.0, violations: int = 0, priority: int = 0) -> Candidate:
    victim = running(f"on{row}", f"n{row}", 1, priority, start=start)
    return Candidate(f"n{row}", (victim,), violations)


outcomes = st.one_of(
    st.builds(Status.unschedulable, st.sampled_from(["too small", "no victim"])),
    st.builds(
        candidate,
        st.just(0),
        start=st.floats(0, 1),
        violations=st.sampled_from([0, 0, 1]),
        priority=st.integers(0, 2),
    ),
)
worlds = st.lists(outcomes, min_size=ROWS, max_size=ROWS)


def first_enough(rows: list[int], world: list[Candidate | Status], wanted: int) -> list[int]:
    """The rows that a loop over all of them visits."""
    candidates = safe = 0
    for end, row in enumerate(rows, 1):
        outcome = world[row]
        if isinstance(outcome, Candidate):
            candidates, safe = candidates + 1, safe + (outcome.pdb_violations == 0)
        if candidates >= wanted and safe:
            return rows[:end]
    return rows


@given(worlds, st.sets(st.integers(0, ROWS - 1)), st.integers(0, ROWS - 1), st.integers(1, ROWS))
def test_a_visit_ends_where_a_loop_over_all_rows_would(
    world: list[Candidate | Status], known: set[int], start: int, wanted: int
) -> None:
    results, tried = DryRunResults(ROWS), []
    for row in known:
        results.put(row, world[row])

    def dry_run(row: int) -> Candidate | Status:
        tried.append(row)
        return world[row]

    visited, codes = visit(np.arange(ROWS), start, results, wanted, dry_run)

    expected = first_enough([*range(start, ROWS), *range(start)], world, wanted)
    assert visited.tolist() == expected
    assert tried == [row for row in expected if row not in known]
    assert codes.tolist() == results.codes[visited].tolist()
    rows = visited[(codes == SAFE) | (codes == VIOLATING)]
    candidates = [world[row] for row in expected if isinstance(world[row], Candidate)]
    assert results.candidates(rows) == candidates
    if candidates:
        assert results.best(rows) is min(results.candidates(rows), key=standing)
    told = {status: sum(world[row] == status for row in expected) for status in results.statuses}
    assert dict(results.counts(codes)) == {status: number for status, number in told.items() if number}


@given(
    st.lists(
        st.tuples(st.integers(0, ROWS - 1), st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])))
    ).filter(bool)
)
def test_the_best_is_the_first_of_those_with_the_smallest_measures(puts: list[tuple[int, float]]) -> None:
    results, last = DryRunResults(ROWS), dict[int, Candidate]()
    for row, start in puts:
        last[row] = candidate(row, start)
        results.put(row, last[row])
        rows = np.array(sorted(last), np.intp)
        assert results.best(rows) is min((last[each] for each in sorted(last)), key=standing)


@pytest.mark.parametrize("direction", ["up", "down", "between"])
def test_ranks_stay_in_order_beyond_the_precision_of_a_float(direction: str) -> None:
    starts = {
        "up": map(float, range(200)),
        "down": map(float, range(200, 0, -1)),
        "between": (1 + 1 / (2 + number) for number in count()),
    }[direction]
    results, last = DryRunResults(200), dict[int, Candidate]()
    last[0], last[1] = candidate(0, 1.0), candidate(1, 2.0)
    results.put(0, last[0])
    results.put(1, last[1])
    for row, start in zip(range(2, 200), starts, strict=False):
        last[row] = candidate(row, start)
        results.put(row, last[row])
        pair = np.array([row - 1, row], np.intp)
        assert results.best(pair) is min(last[row - 1], last[row], key=standing)
    assert results.best(np.arange(200)) is min(last.values(), key=standing)


def test_measures_that_no_row_has_any_more_are_dropped() -> None:
    results = DryRunResults(ROWS)
    for start in range(100 * ROWS):
        results.put(start % ROWS, candidate(start % ROWS, float(start)))
        assert len(results._rank_of) <= 2 * ROWS + 1
    assert results.best(np.arange(ROWS)).node_name == f"n{ROWS - 1}"


def test_all_is_kept_when_rows_are_added() -> None:
    results = DryRunResults(2)
    results.put(0, candidate(0, 3.0))
    results.put(1, candidate(1, 4.0))
    results.fit(5)
    results.put(4, candidate(4, 5.0))
    assert results.codes.tolist() == [SAFE, SAFE, UNKNOWN, UNKNOWN, SAFE]
    assert [each.node_name for each in results.candidates(np.array([0, 1, 4]))] == ["n0", "n1", "n4"]
    assert results.best(np.array([0, 1])).node_name == "n1"
    assert results.best(np.array([0, 1, 4])).node_name == "n4"


def test_too_many_statuses_drop_all_when_they_are_used_next() -> None:
    results = DryRunResults(MAX_STATUSES + 2)
    results.put(0, candidate(0))
    for row in range(1, MAX_STATUSES + 2):
        results.put(row, Status.unschedulable(f"reason {row}"))
    assert [each.node_name for each in results.candidates(np.array([0]))] == ["n0"]
    results.forget_errors()
    assert not results.codes.any()
    assert results.statuses == []
