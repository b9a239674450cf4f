from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.framework import Code, CycleState, Plan, RowVerdicts, Status, Verdicts
from schedframe.framework.filtering import filter_rows, run_filters, run_pod_hook
from schedframe.state import NodeInfo, NodeTable, Rows

from ..state.build import make_node, make_pod
from .fakes import HOPELESS, REJECTED, placeless, plan_of, plugin, table_of

POD = make_pod("p")


def statuses_by_rows(plan: Plan, table: NodeTable, state: CycleState | None = None) -> list[Status | None]:
    verdicts = filter_rows(plan, CycleState() if state is None else state, POD, table.rows())
    return [verdicts.status_at(i) for i in range(len(verdicts.rows))]


def statuses_by_node(plan: Plan, table: NodeTable, state: CycleState | None = None) -> list[Status | None]:
    state = CycleState() if state is None else state
    return [run_filters(plan, state, POD, info, table) for info in table.rows()]


def per_node(answers: dict[str, Any], seen: list[str] | None = None) -> Any:
    def filter(self: Any, node_info: NodeInfo) -> Any:
        if seen is not None:
            seen.append(node_info.name)
        answer = answers.get(node_info.name)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return plugin(filter=filter)


def columnar(answers: dict[str, Status]) -> Any:
    """The same verdicts in the other form; statuses are listed per row, repeated."""

    def filter_rows(self: Any, rows: Rows) -> RowVerdicts:
        found = [answers.get(info.name) for info in rows]
        rejecting = [status for status in found if status is not None]
        numbers = np.cumsum([status is not None for status in found], dtype=np.int16)
        codes = np.where([status is not None for status in found], numbers, 0)
        return RowVerdicts(codes, rejecting)

    return plugin(filter_rows=filter_rows)


# ---- one node ----------------------------------------------------------------------------------------------


def test_the_first_plugin_that_is_not_content_ends_it() -> None:
    seen: list[str] = []
    plan = plan_of(
        A=per_node({}, seen), B=per_node({"n0": REJECTED}, seen), C=per_node({"n0": HOPELESS}, seen)
    )
    assert statuses_by_node(plan, table_of(1)) == [REJECTED.with_plugin("B")]
    assert seen == ["n0", "n0"]


def test_success_may_be_said_or_left_unsaid() -> None:
    assert statuses_by_node(plan_of(A=per_node({"n0": Status()})), table_of(2)) == [None, None]


def test_skipped_plugins_are_left_out_of_both_forms() -> None:
    plan = plan_of(A=per_node({"n0": REJECTED}), B=columnar({"n0": HOPELESS}), C=per_node({"n0": REJECTED}))
    state = CycleState()
    state.skip_filter_plugins |= {"A", "B"}
    expected = [REJECTED.with_plugin("C")]
    assert statuses_by_node(plan, table_of(1), state) == expected
    assert statuses_by_rows(plan, table_of(1), state) == expected


def test_a_columnar_plugin_is_asked_about_one_row() -> None:
    plan = plan_of(A=columnar({"n1": REJECTED}))
    assert statuses_by_node(plan, table_of(3)) == [None, REJECTED.with_plugin("A"), None]


def test_a_columnar_plugin_sees_the_pods_of_a_node_info_that_is_tried_out() -> None:
    table = table_of(2)

    def full(self: Any, rows: Rows) -> RowVerdicts:
        return RowVerdicts.where(rows.take(table.pod_count) >= 2, REJECTED)

    plan = plan_of(Full=plugin(filter_rows=full))
    table.add_pod("n1", make_pod("a", "n1"))
    tried = table.info(1).clone()
    tried.add_pod(make_pod("b", "n1"))
    state = CycleState()
    assert run_filters(plan, state, POD, tried, table) == REJECTED.with_plugin("Full")
    assert run_filters(plan, state, POD, table.info(1), table) is None
    outside = NodeInfo.of(make_node("elsewhere"))
    status = run_filters(plan, state, POD, outside, table)
    assert status is not None
    assert (status.code, status.plugin) == (Code.ERROR, "Full")
    assert "node elsewhere is not in the table" in status.message


# ---- many rows ---------------------------------------------------------------------------------------------


def test_a_per_node_plugin_sees_exactly_the_nodes_that_passed_before() -> None:
    first, second = [], []
    plan = plan_of(
        A=columnar({"n0": REJECTED}),
        B=per_node({"n1": REJECTED}, first),
        C=columnar({"n2": HOPELESS, "n1": HOPELESS}),
        D=per_node({}, second),
    )
    found = statuses_by_rows(plan, table_of(5))
    assert found[:3] == [REJECTED.with_plugin("A"), REJECTED.with_plugin("B"), HOPELESS.with_plugin("C")]
    assert found[3:] == [None, None]
    assert first == ["n1", "n2", "n3", "n4"]
    assert second == ["n3", "n4"]


def test_no_plugin_runs_when_no_node_is_left() -> None:
    seen: list[str] = []
    asked: list[Rows] = []
    plan = plan_of(
        A=columnar({"n0": REJECTED, "n1": REJECTED}),
        B=per_node({}, seen),
        C=plugin(filter_rows=lambda self, rows: asked.append(rows)),
    )
    assert statuses_by_rows(plan, table_of(2)) == [REJECTED.with_plugin("A")] * 2
    assert (seen, asked) == ([], [])


def test_columns_are_preferred_for_many_rows_and_the_per_node_form_for_one() -> None:
    calls: list[str] = []
    both = plugin(
        filter=lambda self, node_info: calls.append("node"),
        filter_rows=lambda self, rows: calls.append("rows"),
    )
    plan, table = plan_of(Both=both), table_of(3)
    statuses_by_rows(plan, table)
    run_filters(plan, CycleState(), POD, table.info(0), table)
    assert calls == ["rows", "node"]


def test_rows_may_be_few_and_in_any_order() -> None:
    table = table_of(4)
    plan = plan_of(A=columnar({"n3": REJECTED}), B=per_node({"n1": HOPELESS}))
    verdicts = filter_rows(plan, CycleState(), POD, Rows.at(table, np.array([3, 2, 1])))
    assert [verdicts.status_at(i) for i in range(3)] == [
        REJECTED.with_plugin("A"),
        None,
        HOPELESS.with_plugin("B"),
    ]
    assert len(filter_rows(plan, CycleState(), POD, Rows.at(table, np.empty(0, np.intp))).rows) == 0


verdict = st.sampled_from(
    (
        None,
        None,
        REJECTED,
        HOPELESS,
        Status.pending("later"),
        Status.from_error("broken"),
        Status.unschedulable("a", "b"),
    )
)
matrix = st.integers(1, 6).flatmap(
    lambda nodes: st.lists(
        st.tuples(st.booleans(), st.booleans(), st.lists(verdict, min_size=nodes, max_size=nodes)), max_size=5
    )
)


@given(matrix, st.integers(0, 3))
def test_many_rows_at_once_as_node_by_node(
    rows: list[tuple[bool, bool, list[Status | None]]], holes: int
) -> None:
    """Any mixture of columnar and per-node plugins, some skipped, on a table with holes."""
    count = len(rows[0][2]) if rows else 2
    table = table_of(count + holes)
    for i in range(holes):
        table.remove_node(f"n{count + i if i else count}")
    names = table.rows().names()
    plugins, seen, state = {}, {}, CycleState()
    for i, (by_columns, skipped, answers) in enumerate(rows):
        said = {name: answer for name, answer in zip(names, answers, strict=False) if answer is not None}
        seen[f"P{i}"] = []
        plugins[f"P{i}"] = columnar(said) if by_columns else per_node(said, seen[f"P{i}"])
        if skipped:
            state.skip_filter_plugins.add(f"P{i}")
    plan = plan_of(**plugins)
    one_by_one = statuses_by_node(plan, table, state)
    visited = {name: list(nodes) for name, nodes in seen.items()}
    for nodes in seen.values():
        nodes.clear()
    assert statuses_by_rows(plan, table, state) == one_by_one
    assert seen == visited


# ---- faults and invalid -----------------------------------------------------------------------------------


@pytest.mark.parametrize("by_columns", [False, True])
def test_an_exception_is_an_error_of_its_plugin(by_columns: bool) -> None:
    error = ZeroDivisionError("by zero")

    def fail(self: Any) -> None:
        raise error

    failing = plugin(filter_rows=fail) if by_columns else plugin(filter=fail)
    plan = plan_of(A=columnar({"n0": REJECTED}), Bad=failing, C=columnar({"n1": HOPELESS}))
    for found in (statuses_by_rows(plan, table_of(2)), statuses_by_node(plan, table_of(2))):
        assert list(map(placeless, found)) == [
            REJECTED.with_plugin("A"),
            Status(Code.ERROR, ('running "Bad" filter plugin: ZeroDivisionError: by zero',), "Bad"),
        ]
        assert found[1] is not None
        assert found[1].error is error


@pytest.mark.parametrize("by_columns", [False, True])
def test_an_error_status_is_worded_and_keeps_its_exception(by_columns: bool) -> None:
    error = ValueError("odd")
    said = {"n0": Status.from_error(error)}
    plan = plan_of(Bad=columnar(said) if by_columns else per_node(said))
    for found in (statuses_by_rows(plan, table_of(1)), statuses_by_node(plan, table_of(1))):
        assert found == [Status(Code.ERROR, ('running "Bad" filter plugin: odd',), "Bad")]
        assert found[0] is not None
        assert found[0].error is error


@pytest.mark.parametrize("answer", [True, False, "no", 0, Status.skip(), Status.wait(1.0)])
def test_invalid_answer_about_a_node(answer: Any) -> None:
    plan, table = plan_of(Odd=per_node({"n1": answer})), table_of(3)
    for found in (statuses_by_rows(plan, table), statuses_by_node(plan, table)):
        assert [found[0], found[2]] == [None, None]
        assert found[1] is not None
        assert (found[1].code, found[1].plugin) == (Code.ERROR, "Odd")
        assert f"plugin Odd answered {answer!r:.200} at filter; return None or a" in found[1].message


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (True, "None or RowVerdicts"),
        (np.array([1, 0, 0]), "None or RowVerdicts"),
        (REJECTED, "None or RowVerdicts"),
        (RowVerdicts([1, 0, 0], (REJECTED,)), "None or RowVerdicts"),  # type: ignore[arg-type]  # that is the point
        (RowVerdicts(np.array([1, 0]), (REJECTED,)), r"integer codes of shape \(3,\)"),
        (RowVerdicts(np.array([[1, 0, 0]]), (REJECTED,)), r"integer codes of shape \(3,\)"),
        (RowVerdicts(np.array([1.0, 0, 0]), (REJECTED,)), r"integer codes of shape \(3,\)"),  # type: ignore[arg-type]  # that is the point
        (RowVerdicts(np.array([2, 0, 0]), (REJECTED,)), "codes from 0 to the number of statuses, which is 1"),
        (
            RowVerdicts(np.array([-1, 0, 0]), (REJECTED,)),
            "codes from 0 to the number of statuses, which is 1",
        ),
        (RowVerdicts(np.array([1, 0, 0]), ()), "codes from 0 to the number of statuses, which is 0"),
    ],
)
def test_invalid_answer_about_rows_is_an_error_on_every_row(answer: Any, wanted: str) -> None:
    plan = plan_of(A=columnar({"n0": REJECTED}), Odd=plugin(filter_rows=lambda self: answer))
    found = statuses_by_rows(plan, table_of(3))
    assert found[0] == REJECTED.with_plugin("A")
    for status in found[1:]:
        assert status is not None
        assert (status.code, status.plugin) == (Code.ERROR, "Odd")
        assert status.error is not None
        with pytest.raises(Exception, match=wanted):
            raise status.error


@pytest.mark.parametrize("wrong", [Status(), Status.skip(), Status.wait(1.0), "no", None])
def test_a_status_that_rejects_nothing_concerns_the_rows_that_have_it(wrong: Any) -> None:
    answer = RowVerdicts(np.array([0, 1, 2]), (REJECTED, wrong))
    found = statuses_by_rows(plan_of(Odd=plugin(filter_rows=lambda self: answer)), table_of(3))
    assert found[:2] == [None, REJECTED.with_plugin("Odd")]
    assert found[2] is not None
    assert (found[2].code, found[2].plugin) == (Code.ERROR, "Odd")
    assert "at filter_rows; return None or a rejecting Status" in found[2].message


@pytest.mark.parametrize(
    "answer",
    [
        5,
        RowVerdicts(np.array([0, 0]), (REJECTED,)),
        RowVerdicts(np.array([3]), (REJECTED,)),
        RowVerdicts(np.array([1]), (Status(),)),
    ],
)
def test_invalid_answer_about_the_only_row(answer: Any) -> None:
    plan = plan_of(Odd=plugin(filter_rows=lambda self: answer))
    (found,) = statuses_by_node(plan, table_of(1))
    assert found is not None
    assert (found.code, found.plugin) == (Code.ERROR, "Odd")
    assert "plugin Odd answered" in found.message
    assert "at filter_rows" in found.message


def test_verdicts_of_a_plugin_that_rejects_nothing() -> None:
    answer = RowVerdicts(np.zeros(2, np.int8), ())
    assert statuses_by_rows(plan_of(A=plugin(filter_rows=lambda self: answer)), table_of(2)) == [None, None]


# ---- add_pod and remove_pod --------------------------------------------------------------------------------

HOOKS = [
    ("add_pod", partial(run_pod_hook, hook="add_pod"), "AddPod"),
    ("remove_pod", partial(run_pod_hook, hook="remove_pod"), "RemovePod"),
]


@pytest.mark.parametrize(("hook", "run", "_title"), HOOKS)
def test_pod_hooks_run_in_order_and_only_where_the_filter_will(hook: str, run: Any, _title: str) -> None:
    calls: list[Any] = []

    def note(name: str) -> Any:
        def called(self: Any, state: Any, pod: Any, node_info: Any) -> None:
            calls.append((name, pod, node_info))

        return plugin(pre_filter=lambda self: None, **{hook: called})

    plan = plan_of(A=note("A"), B=note("B"), C=plugin(pre_filter=lambda self: None), D=note("D"))
    state = CycleState()
    state.skip_filter_plugins.add("B")
    assert run(plan, state, POD, make_pod("other"), "info") is None
    assert calls == [("A", POD, "info"), ("D", POD, "info")]


@pytest.mark.parametrize(("hook", "run", "title"), HOOKS)
@pytest.mark.parametrize("answer", [REJECTED, Status.from_error("no"), Status.skip(), ValueError("no")])
def test_anything_but_success_of_a_pod_hook_is_an_error(hook: str, run: Any, title: str, answer: Any) -> None:
    def called(self: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    plan = plan_of(A=plugin(pre_filter=lambda self: None, **{hook: called}))
    status = placeless(run(plan, CycleState(), POD, make_pod("other"), table_of(1).info(0)))
    text = "Skip" if answer == Status.skip() else "no"
    text = "ValueError: no" if isinstance(answer, Exception) else text
    assert status == Status(Code.ERROR, (f'running {title} on PreFilter plugin "A": {text}',), "A")


def test_invalid_answer_of_a_pod_hook() -> None:
    plan = plan_of(A=plugin(add_pod=lambda self: 5))
    status = run_pod_hook(plan, CycleState(), POD, POD, NodeInfo("n"), "add_pod")
    assert status is not None
    assert "plugin A answered 5 at add_pod; return None or a Status" in status.message


def test_verdicts_start_with_all_rows_passing() -> None:
    assert Verdicts.passing_all(table_of(2).rows()).passing().tolist() == [0, 1]
