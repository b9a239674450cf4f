"""Profiles that run all filters: the same nodes are feasible, and the reasons of all filters are merged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import (
    InMemoryCluster,
    NodeInfo,
    Rows,
    RowVerdicts,
    Scheduler,
    Simulation,
    Status,
    VirtualClock,
    explain,
    from_manifest,
    hookimpl,
)
from schedframe.api import Node, ObjectMeta, Pod, PodSpec
from schedframe.config import ConfigDecodeError, dump_config, load_config
from schedframe.cycle import Tuning, observing
from schedframe.framework import Code, CycleState
from schedframe.framework.all_filters import merged, parts_of
from schedframe.framework.filtering import filter_rows, run_filters
from schedframe.framework.plan import FilterEntry, Plan
from schedframe.state import NodeTable
from tests.configurations import configuration

NO = Status.unschedulable("no")
NEVER = Status.unresolvable("never")
LATER = Status.pending("later")
FAULT = Status.from_error("fault", "p")


def config(run_all: bool | None) -> dict[str, Any]:
    profile: dict[str, Any] = {} if run_all is None else {"runAllFilters": run_all}
    return configuration(profile)


def node(name: str, cpu: str = "2", **spec: Any) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "4Gi", "pods": "9"}
    status = {"allocatable": amounts, "capacity": amounts}
    return {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec, "status": status}


def pod(cpu: str, name: str = "p") -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": name, "namespace": "default"}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"containers": [container]}}


CORDONED = [node("a", unschedulable=True), node("b", unschedulable=True), node("c", "1")]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tuning": Tuning(remember=0)},
        {"tuning": Tuning(verify=1.0)},
        {"tuning": Tuning(wait_together=False)},
    ],
)
@pytest.mark.parametrize(
    ("run_all", "expected"),
    [
        (None, ": 1 Insufficient cpu, 2 node(s) were unschedulable."),
        (False, ": 1 Insufficient cpu, 2 node(s) were unschedulable."),
        (True, ": 2 node(s) were unschedulable, 3 Insufficient cpu."),
    ],
)
def test_reasons_of_all_filters(run_all: bool | None, expected: str, options: dict[str, Any]) -> None:
    cluster = InMemoryCluster()
    for manifest in (*CORDONED, pod("3"), pod("3", "q")):
        cluster.create(from_manifest(manifest))
    faults: list[Status] = []
    clock = VirtualClock()
    report = lambda status, pod: faults.append(status)  # noqa: E731
    with Scheduler(
        cluster, config(run_all), clock=clock, observers=[observing(faulted=report)], **options
    ) as scheduler:
        scheduler.run_until_idle()
    for each in cluster.list("Pod"):
        (condition,) = each.status.conditions
        assert expected in condition.message
    assert not faults


def test_explanations_name_the_plugin_of_each_reason() -> None:
    found = explain(CORDONED, pod("3"), config(True))
    assert {(each.plugin, each.reason, each.nodes) for each in found.reasons} == {
        ("NodeUnschedulable", "node(s) were unschedulable", 2),
        ("NodeResourcesFit", "Insufficient cpu", 3),
    }
    (cpu,) = (each for each in found.reasons if each.plugin == "NodeResourcesFit")
    assert cpu.numbers == "needs 3 cpu, most free 2 on a"


def test_feasible_nodes_are_the_same() -> None:
    for run_all in (False, True):
        with Simulation([*CORDONED, node("d", "8")], config(run_all)) as simulation:
            assert simulation.evaluate(pod("3")).feasible == ["d"]


def test_it_is_a_boolean_that_is_written_only_if_set() -> None:
    assert "runAllFilters" not in dump_config(load_config(config(False)))
    assert "runAllFilters: true" in dump_config(load_config(config(True)))
    with pytest.raises(ConfigDecodeError, match="runAllFilters"):
        load_config({**config(None), "profiles": [{"runAllFilters": 1}]})


# ---- merging -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "code", "plugin"),
    [
        (NO, NEVER, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "b"),
        (NEVER, NO, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "a"),
        (NO, NO, Code.UNSCHEDULABLE, "a"),
        (NO, LATER, Code.PENDING, "b"),
        (LATER, NEVER, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "b"),
    ],
)
def test_the_code_that_takes_precedence(first: Status, second: Status, code: Code, plugin: str) -> None:
    status = merged(first.with_plugin("a"), second.with_plugin("b"))
    assert (status.code, status.plugin) == (code, plugin)
    assert status.reasons == first.reasons + second.reasons
    assert parts_of(status) == (first.with_plugin("a"), second.with_plugin("b"))
    assert parts_of(first) == (first,)
    assert len({status, merged(first.with_plugin("a"), second.with_plugin("b"))}) == 1


def test_an_error_stays_alone() -> None:
    assert merged(NO, FAULT) is FAULT
    assert merged(FAULT, NO) is FAULT


class Answers:
    """A filter with given answers by node name, by rows if *columnar*."""

    def __init__(self, answers: dict[str, Status | None], columnar: bool) -> None:
        self.answers = answers
        self.columnar = columnar

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Return the answer."""
        return self.answers[node_info.name]

    def filter_rows(self, state: CycleState, pod: Pod, rows: Rows) -> RowVerdicts:
        """Return all answers."""
        given = [self.answers[name] for name in rows.names()]
        statuses = [status for status in given if status is not None]
        codes = np.zeros(len(rows), np.int8)
        codes[[i for i, status in enumerate(given) if status is not None]] = range(1, len(statuses) + 1)
        return RowVerdicts(codes, statuses)


NAMES = ("n0", "n1", "n2")
ANSWERS = st.builds(
    Answers,
    st.fixed_dictionaries({name: st.sampled_from((None, NO, NEVER, LATER, FAULT)) for name in NAMES}),
    st.booleans(),
)


@given(st.lists(ANSWERS, max_size=4))
def test_rows_and_nodes_agree(plugins: list[Answers]) -> None:
    table = NodeTable()
    for name in NAMES:
        table.set_node(Node(ObjectMeta(name=name)))
    entries = tuple(
        FilterEntry(f"p{i}", each.filter, each.filter_rows if each.columnar else None)
        for i, each in enumerate(plugins)
    )
    plan = Plan({}, filter=entries, runs_all_filters=True)
    state, pod = CycleState(), Pod(ObjectMeta(name="p"), PodSpec())
    verdicts = filter_rows(plan, state, pod, table.rows())
    for position, info in enumerate(table.rows()):
        assert verdicts.status_at(position) == run_filters(plan, state, pod, info, table)
