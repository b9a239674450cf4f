from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.framework import Diagnosis, RowVerdicts, Status, Verdicts
from schedframe.state import Rows

from .fakes import HOPELESS, REJECTED, table_of

ONE, TWO = Status.unschedulable("one"), Status.unschedulable("one", "two")
ERROR = Status.from_error("broken")


def all_passing(count: int = 4) -> Verdicts:
    return Verdicts.passing_all(table_of(count).rows())


def by_name(verdicts: Verdicts) -> dict[str, Status | None]:
    return {name: verdicts.status_at(i) for i, name in enumerate(verdicts.rows.names())}


def test_where() -> None:
    verdicts = RowVerdicts.where(np.array([True, False]), ONE)
    assert (verdicts.codes.tolist(), verdicts.statuses) == ([1, 0], (ONE,))


def test_the_first_rejection_stays() -> None:
    verdicts = all_passing()
    verdicts.merge("A", RowVerdicts(np.array([0, 1, 0, 0]), [ONE]))
    verdicts.merge("B", RowVerdicts(np.array([2, 2, 1, 0]), [ONE, TWO]))
    assert list(by_name(verdicts).values()) == [
        TWO.with_plugin("B"),
        ONE.with_plugin("A"),
        ONE.with_plugin("B"),
        None,
    ]
    assert verdicts.passing().tolist() == [3]
    assert dict(verdicts.counts()) == {
        TWO.with_plugin("B"): 1,
        ONE.with_plugin("A"): 1,
        ONE.with_plugin("B"): 1,
    }


def test_equal_statuses_share_a_number_and_errors_do_not() -> None:
    verdicts = all_passing()
    verdicts.reject(0, REJECTED)
    verdicts.reject(1, Status.unschedulable("no"))
    verdicts.reject(2, ERROR)
    verdicts.reject(3, Status.from_error(ValueError("broken")))
    assert verdicts.codes.tolist() == [1, 1, 2, 3]


def test_accept_and_reject_overrule() -> None:
    verdicts = all_passing(2)
    verdicts.reject(0, ONE)
    verdicts.accept(0)
    verdicts.reject(1, ONE)
    verdicts.reject(1, TWO)
    assert list(by_name(verdicts).values()) == [None, TWO]
    assert list(verdicts.counts()) == [(TWO, 1)]


def test_merging_into_rows_that_all_were_let_through_again() -> None:
    verdicts = all_passing(2)
    verdicts.reject(0, ONE)
    verdicts.accept(0)
    verdicts.merge("A", RowVerdicts(np.array([0, 1]), [TWO]))
    assert list(by_name(verdicts).values()) == [None, TWO.with_plugin("A")]


def test_the_plugins_own_array_is_not_kept() -> None:
    codes = np.array([1, 0], np.int32)
    verdicts = all_passing(2)
    verdicts.merge("A", RowVerdicts(codes, [ONE]))
    codes[:] = 0
    verdicts.reject(1, TWO)
    assert codes.tolist() == [0, 0]
    assert verdicts.passing().tolist() == []


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64])
def test_codes_of_any_integer_type(dtype: type[np.integer]) -> None:
    verdicts = all_passing(3)
    verdicts.merge("A", RowVerdicts(np.array([0, 2, 1], dtype), [ONE, TWO]))
    assert verdicts.codes.tolist() == [0, 2, 1]
    with pytest.raises(IndexError):
        verdicts.merge("B", RowVerdicts(np.array([0, 3, 1], dtype), [ONE, TWO]))
    assert verdicts.codes.tolist() == [0, 2, 1]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("count", [1, 200])
def test_negative_codes_do_not_count_from_the_end(dtype: type[np.integer], count: int) -> None:
    statuses = [Status.unschedulable(str(i)) for i in range(count)]
    verdicts = all_passing(2)
    with pytest.raises(IndexError):
        verdicts.merge("A", RowVerdicts(np.array([0, -1], dtype), statuses))
    assert verdicts.passing().tolist() == [0, 1]


def test_the_first_error_is_that_of_the_first_node_by_name() -> None:
    table = table_of(11)
    verdicts = Verdicts.passing_all(table.rows())
    assert verdicts.first_error() is None
    verdicts.reject(0, ONE)
    assert verdicts.first_error() is None
    for position in (2, 10, 5):
        verdicts.reject(position, Status.from_error(f"broken on {position}"))
    first = verdicts.first_error()
    assert first is not None
    assert first.message == "broken on 10"  # n10 comes before n2
    verdicts.accept(10)
    assert verdicts.first_error() == Status.from_error("broken on 2")


# ---- diagnosis ---------------------------------------------------------------------------------------------


def test_message_counts_each_reason_and_sorts_them_as_text() -> None:
    verdicts = all_passing(12)
    verdicts.reject(0, Status.unschedulable("Insufficient cpu", "Insufficient memory"))
    verdicts.reject(1, Status.unschedulable("Insufficient memory"))
    for position in range(2, 12):
        verdicts.reject(position, Status.unresolvable("node(s) were unschedulable"))
    assert Diagnosis(verdicts, 12).message() == (
        "0/12 nodes are available: 1 Insufficient cpu, 10 node(s) were unschedulable, 2 Insufficient memory."
    )


def test_message_of_a_rejection_by_pre_filter() -> None:
    empty = Verdicts.passing_all(Rows.at(table_of(3), np.empty(0, np.intp)))
    status = Status.unresolvable("first", "second")
    diagnosis = Diagnosis(empty, 3, status, status, post_filter_message="preemption: no")
    assert diagnosis.message() == "0/3 nodes are available: first, second. preemption: no"
    assert diagnosis["n1"] is status


def test_message_without_any_reason() -> None:
    verdicts = all_passing(1)
    verdicts.reject(0, Status.unschedulable())
    assert Diagnosis(verdicts, 1).message() == "0/1 nodes are available:"
    assert Diagnosis(verdicts, 1, Status.unschedulable()).message() == "0/1 nodes are available:"


def test_nodes_that_pre_filter_left_out_have_its_status() -> None:
    table = table_of(5)
    verdicts = Verdicts.passing_all(Rows.at(table, np.array([1, 3])))
    verdicts.reject(0, ONE)
    verdicts.reject(1, ONE)
    absent = Status.unresolvable("elsewhere")
    diagnosis = Diagnosis(verdicts, 5, None, absent)
    assert diagnosis["n1"] == ONE
    assert diagnosis["n2"] == absent
    assert list(diagnosis) == ["n1", "n3"]
    assert len(diagnosis) == 2
    assert diagnosis.message() == "0/5 nodes are available: 2 one, 3 elsewhere."


def test_a_mapping_of_the_rejected_nodes() -> None:
    verdicts = all_passing(3)
    verdicts.reject(1, ONE)
    diagnosis = Diagnosis(verdicts, 3)
    assert dict(diagnosis) == {"n1": ONE}
    assert diagnosis.get("n0") is None
    assert "n2" not in diagnosis
    with pytest.raises(KeyError):
        diagnosis["unknown"]


def test_statuses_by_name_overrule_those_of_the_rows() -> None:
    verdicts = all_passing(3)
    verdicts.reject(0, ONE)
    verdicts.reject(1, ONE)
    diagnosis = Diagnosis(verdicts, 3, named={"n1": HOPELESS, "n2": HOPELESS, "made-up": REJECTED})
    assert dict(diagnosis) == {"n0": ONE, "n1": HOPELESS, "n2": HOPELESS, "made-up": REJECTED}
    assert len(diagnosis) == len(list(diagnosis)) == 4
    assert diagnosis.reasons() == {"one": 1, "never": 2, "no": 1}


statuses = st.builds(
    lambda reasons, plugin: Status.unschedulable(*reasons).with_plugin(plugin),
    st.lists(st.sampled_from(("a", "b", "c")), max_size=2),
    st.sampled_from(("P", "Q")),
)


@given(
    st.integers(0, 6),
    st.dictionaries(st.integers(0, 5), statuses),
    st.dictionaries(st.sampled_from(("n0", "n3", "x")), statuses),
    st.none() | statuses,
)
def test_against_a_dictionary_and_a_counter(
    count: int, rejected: dict[int, Status], named: dict[str, Status], absent: Status | None
) -> None:
    """All that the table of 8 nodes has beyond *count* was left out by pre_filter."""
    verdicts = Verdicts.passing_all(Rows.at(table_of(8), np.arange(count)))
    expected = {f"n{i}": status for i, status in rejected.items() if i < count} | named
    for position, status in rejected.items():
        if position < count:
            verdicts.reject(position, status)
    diagnosis = Diagnosis(verdicts, 8, None, absent, named=named)
    assert dict(diagnosis) == expected
    assert len(diagnosis) == len(expected)
    reasons = Counter(reason for status in expected.values() for reason in status.reasons)
    for reason in absent.reasons if absent is not None else ():
        reasons[reason] += 8 - len(expected)
    assert diagnosis.reasons() == reasons
    for name in ("n0", "n3", "n5", "x", "y"):
        assert diagnosis.status_of(name) == expected.get(name, absent)


@given(
    st.integers(0, 6),
    st.dictionaries(st.integers(0, 5), st.sampled_from((REJECTED, HOPELESS))),
    st.dictionaries(st.sampled_from(("n0", "n3", "x")), st.sampled_from((REJECTED, HOPELESS))),
    st.none() | st.sampled_from((REJECTED, HOPELESS)),
)
def test_rows_by_code(
    count: int, rejected: dict[int, Status], named: dict[str, Status], absent: Status | None
) -> None:
    table = table_of(8)
    verdicts = Verdicts.passing_all(Rows.at(table, np.arange(count)))
    for position, status in rejected.items():
        if position < count:
            verdicts.reject(position, status)
    diagnosis = Diagnosis(verdicts, 8, None, absent, named=named)
    for code in (REJECTED.code, HOPELESS.code):
        expected = []
        for row, name in enumerate(table.rows().names()):
            of_row = rejected.get(row) if row < count else absent
            status = named.get(name, of_row)
            if status is not None and status.code is code:
                expected.append(row)
        assert sorted(diagnosis.rows_with(code, table.rows()).tolist()) == expected


def test_verdicts_with_given_counts_are_summed_up_once() -> None:
    table = table_of(3)
    statuses = [ONE.with_plugin("A"), HOPELESS.with_plugin("B")]
    codes = np.array([1, 2, 1], np.int32)
    counted = Verdicts.counted(table.rows(), codes, statuses, [(statuses[0], 2), (statuses[1], 1)])
    diagnosis = Diagnosis(counted, 3)
    assert diagnosis.message() == f"0/3 nodes are available: 1 {HOPELESS.reasons[0]}, 2 one."
    rows = diagnosis.rows_with(statuses[0].code, table.rows())
    assert rows.tolist() == [0, 2]
    assert Diagnosis(counted, 3).rows_with(statuses[0].code, table.rows()) is rows
    with pytest.raises(ValueError, match="read-only"):
        rows[0] = 1
    # What is said of single nodes besides counts as ever.
    assert Diagnosis(counted, 3, named={"n0": TWO}).message() == (
        f"0/3 nodes are available: 1 {HOPELESS.reasons[0]}, 1 two, 2 one."
    )


def test_verdicts_that_may_still_change_are_looked_at_again() -> None:
    verdicts = all_passing(2)
    verdicts.reject(0, ONE)
    assert verdicts.summary() == ": 1 one."
    assert verdicts.rows_with(ONE.code).tolist() == [0]
    verdicts.reject(1, ONE)
    assert verdicts.summary() == ": 2 one."
    assert verdicts.rows_with(ONE.code).tolist() == [0, 1]
