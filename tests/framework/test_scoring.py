from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.framework import Code, CycleState, Normalization, Plan, ScoreTable, Status
from schedframe.framework.scoring import run_pre_score, run_scores
from schedframe.state import NodeInfo, NodeTable, Rows

from ..state.build import make_pod
from .fakes import REJECTED, placeless, plan_of, plugin, table_of

POD = make_pod("p")


def scored(plan: Plan, count: int = 3, state: CycleState | None = None) -> ScoreTable:
    result = run_scores(plan, CycleState() if state is None else state, POD, table_of(count).rows())
    assert isinstance(result, ScoreTable)
    return result


def failed(plan: Plan, count: int = 3) -> Status:
    result = run_scores(plan, CycleState(), POD, table_of(count).rows())
    assert isinstance(result, Status)
    assert result.code is Code.ERROR
    return result


def number(node_info: NodeInfo) -> int:
    return int(node_info.name[1:])


NUMBER = plugin(score=lambda self, node_info: number(node_info))


def by_nodes(scores: Sequence[int], **more: Any) -> Any:
    return plugin(score=lambda self, node_info: scores[number(node_info)], **more)


def by_rows(*scores: Any, dtype: Any = np.int64, **more: Any) -> Any:
    return plugin(score_rows=lambda self: np.array(scores, dtype), **more)


def test_totals_are_weighted_sums() -> None:
    table = scored(plan_of(weights={"A": 3, "B": 10}, A=NUMBER, B=by_rows(5, 0, 100)))
    assert {name: scores.tolist() for name, scores in table.by_plugin.items()} == {
        "A": [0, 3, 6],
        "B": [50, 0, 1000],
    }
    assert list(table.by_plugin) == ["A", "B"]
    assert table.total.tolist() == [50, 3, 1006]
    assert table.best().tolist() == [2]


def test_ties() -> None:
    assert scored(plan_of(A=by_rows(7, 3, 7))).best().tolist() == [0, 2]


def test_without_score_plugins_all_are_equal() -> None:
    table = scored(plan_of())
    assert table.total.tolist() == [1, 1, 1]
    assert table.by_plugin == {}


def test_skipped_plugins_leave_zero_not_one() -> None:
    state = CycleState()
    state.skip_score_plugins.add("A")
    table = scored(plan_of(A=by_rows(1, 2, 3)), state=state)
    assert table.total.tolist() == [0, 0, 0]
    assert table.by_plugin == {}


def test_columns_are_preferred() -> None:
    def never(self: Any) -> int:
        raise AssertionError

    assert scored(plan_of(A=by_rows(1, 2, 3, score=never))).total.tolist() == [1, 2, 3]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64])
def test_small_integers_do_not_overflow(dtype: Any) -> None:
    for more in ({}, {"normalization": Normalization.BY_MAX}):
        table = scored(plan_of(weights={"A": 1_000_000}, A=by_rows(100, 50, 0, dtype=dtype, **more)))
        assert table.total.tolist() == [100_000_000, 50_000_000, 0]
        assert table.total.dtype == np.int64


def test_scores_may_be_numpy_integers() -> None:
    assert scored(plan_of(A=plugin(score=lambda self: np.int32(5)))).total.tolist() == [5, 5, 5]


# ---- normalisation -----------------------------------------------------------------------------------------


def test_normalising_in_place_and_by_a_new_array() -> None:
    def in_place(self: Any, scores: Any) -> None:
        scores //= 10

    in_place_plan = plan_of(A=by_rows(500, 990, 7, normalize_scores=in_place))
    assert scored(in_place_plan).total.tolist() == [50, 99, 0]
    new = plan_of(A=by_rows(500, 990, 7, normalize_scores=lambda self, scores: scores // 10))
    assert scored(new).total.tolist() == [50, 99, 0]
    said = plan_of(A=by_rows(5, 9, 7, normalize_scores=lambda self: Status()))
    assert scored(said).total.tolist() == [5, 9, 7]


def test_normalising_gets_the_rows() -> None:
    seen: list[Any] = []
    plan = plan_of(
        A=by_rows(1, 2, 3, normalize_scores=lambda self, nodes, pod: seen.extend((nodes.names(), pod)))
    )
    scored(plan)
    assert seen == [["n0", "n1", "n2"], POD]


@pytest.mark.parametrize(
    "more",
    [
        {"normalization": Normalization.BY_MAX_REVERSED},
        {"normalize_scores": lambda self, scores: scores.fill(0)},
    ],
)
def test_normalising_never_touches_what_the_plugin_returned(more: dict[str, Any]) -> None:
    """It may be the plugin's own array, or a part of a column of the table."""
    kept = np.array([10, 20, 40])
    plan = plan_of(A=plugin(score_rows=lambda self: kept, **more))
    scored(plan)
    assert kept.tolist() == [10, 20, 40]
    table = table_of(3)
    plan = plan_of(A=plugin(score_rows=lambda self, rows: rows.take(table.allowed_pods), **more))
    run_scores(plan, CycleState(), POD, table.rows())
    table.check_invariants()


raw_scores = st.lists(st.integers(0, 10_000), min_size=1, max_size=6)


@given(
    st.lists(
        st.tuples(raw_scores, st.integers(1, 5), st.sampled_from([None, *Normalization]), st.booleans()),
        max_size=4,
    )
)
def test_against_plain_arithmetic(plugins: list[tuple[list[int], int, Normalization | None, bool]]) -> None:
    count = len(plugins[0][0]) if plugins else 2
    instances, weights, total = {}, {}, [0 if plugins else 1] * count
    for i, (drawn, weight, how, by_columns) in enumerate(plugins):
        raw = (drawn * count)[:count]
        if how is None:
            raw = [score % 101 for score in raw]
        more = {} if how is None else {"normalization": how}
        name = f"P{i}"
        weights[name] = weight
        instances[name] = by_rows(*raw, **more) if by_columns else by_nodes(raw, **more)
        highest = max(raw)
        for row, score in enumerate(raw):
            scaled = score if how is None else score * 100 // highest if highest else 0
            total[row] += weight * (100 - scaled if how is Normalization.BY_MAX_REVERSED else scaled)
    plan = plan_of(weights=weights, **instances)
    assert scored(plan, count).total.tolist() == total


# ---- faults ------------------------------------------------------------------------------------------------


def test_an_exception_while_scoring() -> None:
    error = ValueError("no")

    def fail(self: Any) -> int:
        raise error

    for bad in (plugin(score=fail), plugin(score_rows=fail)):
        status = failed(plan_of(A=NUMBER, Bad=bad))
        text = 'running Score plugins: plugin "Bad" failed with: ValueError: no'
        assert placeless(status) == Status(Code.ERROR, (text,), "Bad")
        assert status.error is error


def test_an_error_status_while_scoring() -> None:
    for bad in (
        plugin(score=lambda self: Status.from_error("no")),
        plugin(score_rows=lambda self: Status.from_error("no")),
    ):
        assert failed(plan_of(Bad=bad)).message == 'running Score plugins: plugin "Bad" failed with: no'


def test_an_error_while_normalising() -> None:
    def fail(self: Any) -> None:
        raise ValueError("no")

    for normalize in (fail, lambda self: Status.from_error("no")):
        status = failed(plan_of(Bad=by_rows(1, 2, 3, normalize_scores=normalize)))
        said = "ValueError: no" if normalize is fail else "no"
        text = f'running Normalize on Score plugins: plugin "Bad" failed with: {said}'
        assert placeless(status) == Status(Code.ERROR, (text,), "Bad")


@pytest.mark.parametrize(("scores", "wrong"), [((0, 101, 50), 101), ((50, 0, -1), -1), ((-1, 0, 500), -1)])
def test_scores_out_of_range(scores: tuple[int, ...], wrong: int) -> None:
    text = f"plugin Bad gave the score {wrong}, outside of 0 to 100; scale it, or bring it into that range"
    for bad in (
        by_rows(*scores),
        by_nodes(scores),
        by_rows(0, 0, 0, normalize_scores=lambda self: np.array(scores)),
    ):
        status = failed(plan_of(Bad=bad))
        assert status.plugin == "Bad"
        assert text in status.message


@pytest.mark.parametrize("answer", [None, 1.5, True, "5", REJECTED, 2**70])
def test_invalid_answer_for_one_node(answer: Any) -> None:
    status = failed(plan_of(Odd=plugin(score=lambda self: answer)))
    assert status.plugin == "Odd"
    assert status.error is not None


@pytest.mark.parametrize(
    "answer",
    [
        None,
        5,
        [1, 2, 3],
        np.array([1, 2]),
        np.array([[1, 2, 3]]),
        np.array([1.0, 2.0, 3.0]),
        np.array([True, False, True]),
        REJECTED,
        Status(),
        Status.skip(),
    ],
)
def test_invalid_answer_for_all_rows(answer: Any) -> None:
    status = failed(plan_of(Odd=plugin(score_rows=lambda self: answer)))
    assert status.plugin == "Odd"
    assert "at score_rows; return an int64 array of shape (3,)" in status.message
    if answer is not None and not (isinstance(answer, Status) and answer.is_success):
        status = failed(plan_of(Odd=by_rows(1, 2, 3, normalize_scores=lambda self: answer)))
        assert "at normalize_scores; return an int64 array of shape (3,)" in status.message


def test_no_rows_at_all() -> None:
    table = NodeTable()
    plan = plan_of(
        A=NUMBER,
        B=plugin(
            score_rows=lambda self, rows: np.zeros(len(rows), np.int64), normalization=Normalization.BY_MAX
        ),
    )
    result = run_scores(plan, CycleState(), POD, Rows.at(table, np.empty(0, np.intp)))
    assert isinstance(result, ScoreTable)
    assert len(result.total) == 0


# ---- pre_score ---------------------------------------------------------------------------------------------


def test_pre_score_skips_and_goes_on() -> None:
    seen: list[Any] = []
    plan = plan_of(
        A=plugin(pre_score=lambda self: Status.skip()),
        B=plugin(pre_score=lambda self, state, pod, nodes: seen.extend((pod, nodes.names()))),
        C=plugin(pre_score=lambda self: Status()),
    )
    state = CycleState()
    assert run_pre_score(plan, state, POD, table_of(2).rows()) is None
    assert state.skip_score_plugins == {"A"}
    assert seen == [POD, ["n0", "n1"]]


@pytest.mark.parametrize("answer", [ValueError("no"), Status.from_error("no"), Status.unschedulable("no")])
def test_anything_but_success_of_pre_score_is_an_error(answer: Any) -> None:
    def pre_score(self: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    asked: list[str] = []
    plan = plan_of(A=plugin(pre_score=pre_score), B=plugin(pre_score=lambda self: asked.append("B")))
    status = run_pre_score(plan, CycleState(), POD, table_of(2).rows())
    said = "ValueError: no" if isinstance(answer, Exception) else "no"
    assert status is not None
    assert placeless(status) == Status(Code.ERROR, (f'running PreScore plugin "A": {said}',), "A")
    assert (status.error is answer) == isinstance(answer, Exception)
    assert asked == []


def test_invalid_answer_of_pre_score() -> None:
    status = run_pre_score(plan_of(A=plugin(pre_score=lambda self: 5)), CycleState(), POD, table_of(1).rows())
    assert status is not None
    assert "plugin A answered 5 at pre_score; return None or a Status" in status.message
