from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.errors import InvariantError
from schedframe.state import ChangeLog
from schedframe.state.change_log import distinct


def test_reader_gets_what_it_missed() -> None:
    log = ChangeLog()
    log.append(3)
    seen = log.version
    log.append(5)
    log.append(3)
    assert log.since(seen) == [5, 3]
    assert log.since(log.version) == []
    assert log.since(0) == [3, 5, 3]


def test_reader_that_is_too_late_reads_everything() -> None:
    log = ChangeLog(limit=2)
    for row in range(5):
        log.append(row)
    assert log.since(0) is None
    assert log.since(log.version - 2) == [3, 4]


def test_forget_makes_every_earlier_reader_process_all_rows() -> None:
    log = ChangeLog()
    log.append(1)
    log.forget()
    assert log.since(1) is None
    assert log.since(log.version) == []
    seen = log.version
    log.append(2)
    assert log.since(seen) == [2]
    log.check_invariants()


def test_fit_keeps_as_many_entries_as_there_are_rows() -> None:
    log = ChangeLog(limit=1)
    log.fit(10_000)
    for row in range(20_000):
        log.append(row)
    assert log.since(0) is not None
    log.append(20_000)
    assert log.since(0) is None
    assert log.since(log.version - 10_000) == [*range(10_001, 20_001)]


@given(st.integers(1, 5), st.lists(st.integers(0, 3) | st.none(), max_size=40), st.integers(0, 45))
def test_against_a_list_that_never_forgets(limit: int, rows: list[int | None], since: int) -> None:
    """``None`` stands for forget."""
    log, everything = ChangeLog(limit=limit), []
    forgotten = 0
    for row in rows:
        if row is None:
            log.forget()
            forgotten = log.version
        else:
            log.append(row)
        everything.append(row)
        log.check_invariants()
    since = min(since, log.version)
    found = log.since(since)
    if found is not None:
        assert found == everything[since:]
    else:
        assert since < forgotten or log.version - since > limit


def test_a_log_that_lost_count_says_so() -> None:
    log = ChangeLog()
    log.append(1)
    log.version += 1
    with pytest.raises(InvariantError, match="entries"):
        log.check_invariants()


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(0, 60), st.sampled_from((31, 500, 100_000)))
def test_positions_are_the_rows_once_each_in_order(rows: list[int], since: int, size: int) -> None:
    log = ChangeLog(limit=20)
    for row in rows:
        log.append(row)
    since = min(since, log.version)
    expected = log.since(since)
    positions = log.positions_since(since, size)
    assert (positions is None) == (expected is None)
    if positions is not None and expected is not None:
        assert positions.tolist() == sorted(set(expected))


@given(st.lists(st.integers(0, 2**40)))
def test_distinct_rows_are_those_of_numpy(rows: list[int]) -> None:
    column = np.array(rows, np.int64)
    assert distinct(column).tolist() == np.unique(column).tolist()


def test_nodes_that_join_import_no_masked_arrays() -> None:
    """Importing ``numpy.ma`` takes as long as some hundred attempts."""
    churn = "from schedframe.bench import run, Options; run('node-churn', Options(nodes=20, pods=30))"
    script = f"import sys; {churn}; sys.exit('numpy.ma' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
