"""PodTopologySpread on random clusters: all forms agree with plain loops, also in dry runs."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.args import LIST_DEFAULTING, PodTopologySpreadArgs
from plugins_builtin.pod_topology_spread import ERR_REASON_CONSTRAINTS, ERR_REASON_LABEL, PodTopologySpread
from plugins_builtin.pod_topology_spread.filtering import FilterState
from plugins_builtin.pod_topology_spread.plugin import SYSTEM_DEFAULTS
from schedframe.api import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    LabelSelector,
    ObjectMeta,
    Pod,
    Service,
    ServiceSpec,
    TopologySpreadConstraint,
    compile_label_selector,
)
from schedframe.framework import CycleState, Status
from schedframe.state import NodeTable, ObjectStore, Rows, policy
from tests.plugins.agreement import (
    OPEN,
    StandInHandle,
    check_filter_agreement,
    check_score_agreement,
    columnar_scores,
    columnar_statuses,
    parts_of,
    per_node_scores,
    per_node_statuses,
)
from tests.plugins.spreading import (
    MISSING,
    NAMES,
    SKEWED,
    Plain,
    change,
    constraints,
    normalized,
    plain,
    pods,
    raw_scores,
    tables,
    verdicts,
)

STATUSES = {
    "": OPEN,
    SKEWED: Status.unschedulable(ERR_REASON_CONSTRAINTS),
    MISSING: Status.unresolvable(ERR_REASON_LABEL),
}


def plugin_for(table: NodeTable, *defaults: TopologySpreadConstraint) -> PodTopologySpread:
    """Return a plugin with the system defaults, or with *defaults*."""
    args = PodTopologySpreadArgs(defaults, LIST_DEFAULTING) if defaults else PodTopologySpreadArgs()
    return PodTopologySpread(args, StandInHandle(table=table))


def check_filter(plugin: PodTopologySpread, table: NodeTable, pod: Pod, hard: list[Plain]) -> None:
    state = CycleState()
    rows = table.rows()
    before = plugin.pre_filter(state, pod, rows)
    assert (before is not None and before.is_skip) == (not hard)
    if not hard:
        return
    expected = [STATUSES[verdict] for verdict in verdicts(table, pod, hard, rows.names())]
    assert per_node_statuses(plugin, state, pod, rows) == expected
    assert columnar_statuses(plugin, state, pod, rows) == expected


def check_score(
    plugin: PodTopologySpread, rows: Rows, pod: Pod, soft: list[Plain], all_keys: bool = True
) -> None:
    state = CycleState()
    before = plugin.pre_score(state, pod, rows)
    assert (before is not None and before.is_skip) == (not soft)
    if not soft:
        return
    raw = raw_scores(rows.table, pod, soft, rows.names(), all_keys)
    expected = [score or 0 for score in raw.values()]
    assert per_node_scores(plugin, state, pod, rows) == expected
    scores = columnar_scores(plugin, state, pod, rows)
    assert scores == expected
    final = np.array(scores, np.int64)
    assert plugin.normalize_scores(state, final, rows) is None
    assert dict(zip(rows.names(), final.tolist(), strict=True)) == normalized(raw)


# ---- the pod's own constraints ---------------------------------------------------------------------------


@given(table=tables(), pod=pods("p", spread=True), one_by_one=st.booleans(), data=st.data())
def test_filter_equals_plain_loops_after_any_history(
    table: NodeTable, pod: Pod, one_by_one: bool, data: st.DataObject
) -> None:
    """Domains are updated per changed node, as in large clusters, or rebuilt."""
    plugin = plugin_for(table)
    hard = plain(pod.spec.topology_spread_constraints, DO_NOT_SCHEDULE, pod)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "SPARSE_SHARE", 0 if one_by_one else 8)
        for _ in range(3):
            check_filter(plugin, table, pod, hard)
            change(data.draw, table)
            if not table.num_nodes:
                return
        check_filter(plugin, table, pod, hard)
        check_filter_agreement(plugin, table, pod)
        table.check_invariants()


@given(table=tables(), pod=pods("p", spread=True), data=st.data())
def test_score_equals_plain_loops_after_any_history(table: NodeTable, pod: Pod, data: st.DataObject) -> None:
    plugin = plugin_for(table)
    soft = plain(pod.spec.topology_spread_constraints, SCHEDULE_ANYWAY, pod)
    check_score(plugin, table.rows(), pod, soft)
    check_score_agreement(plugin, table, pod)
    change(data.draw, table)
    if table.num_nodes:
        for part in parts_of(table.rows()):
            if len(part):
                check_score(plugin, part, pod, soft)


@given(table=tables(), pod=pods("p", spread=True), data=st.data())
def test_only_the_nodes_given_to_pre_filter_count(table: NodeTable, pod: Pod, data: st.DataObject) -> None:
    """The result is that of a cluster without the others."""
    rows = table.rows()
    chosen = data.draw(st.lists(st.sampled_from(rows.names()), min_size=1, unique=True))
    lesser = NodeTable()
    for name in chosen:
        row = table.live_row(name)
        assert row is not None
        node = table.node_at(row)
        assert node is not None
        lesser.set_node(node)
        for running in table.pods_at(row).values():
            lesser.add_pod(name, running)
    hard = plain(pod.spec.topology_spread_constraints, DO_NOT_SCHEDULE, pod)
    state = CycleState()
    if plugin_for(table).pre_filter(state, pod, rows.select(np.isin(rows.names(), chosen))) is None:
        part = Rows.at(table, np.array([table.live_row(name) for name in chosen], np.intp))
        expected = [STATUSES[verdict] for verdict in verdicts(lesser, pod, hard, chosen)]
        assert columnar_statuses(plugin_for(table), state, pod, part) == expected
        assert per_node_statuses(plugin_for(table), state, pod, part) == expected


# ---- dry runs -----------------------------------------------------------------------------------------


def counts_something(each: Plain) -> bool:
    """Return whether pre_filter counts the same pods as add_pod and remove_pod."""
    return bool(each.selector.requirements) or each.selector.requirements is None


@given(table=tables(), pod=pods("p", spread=True), data=st.data())
def test_a_dry_run_equals_a_cluster_with_its_changes(table: NodeTable, pod: Pod, data: st.DataObject) -> None:
    plugin = plugin_for(table)
    hard = plain(pod.spec.topology_spread_constraints, DO_NOT_SCHEDULE, pod)
    state = CycleState()
    if plugin.pre_filter(state, pod, table.rows()) is not None or not all(map(counts_something, hard)):
        return
    trial = state.clone()
    mark = table.mark()
    names = table.rows().names()
    for i in range(data.draw(st.integers(1, 6))):
        name = data.draw(st.sampled_from(names))
        row = table.live_row(name)
        assert row is not None
        info = table.info(row)
        alive = [each for each in info.pods.values() if not each.is_terminating]
        if alive and data.draw(st.booleans()):
            other = data.draw(st.sampled_from(alive))
            table.remove_pod(name, other.uid)
            plugin.remove_pod(trial, other, info)
        else:
            other = data.draw(pods(f"more-{i}", name))
            other = Pod(evolve(other.metadata, deletion_timestamp=None), other.spec)
            table.add_pod(name, other)
            plugin.add_pod(trial, other, info)
        expected = [STATUSES[verdict] for verdict in verdicts(table, pod, hard, names)]
        assert per_node_statuses(plugin, trial, pod, table.rows()) == expected
        assert columnar_statuses(plugin, trial, pod, table.rows()) == expected
        if data.draw(st.booleans()):
            trial = trial.clone()
    table.rollback(mark)
    # The original state is unchanged.
    expected = [STATUSES[verdict] for verdict in verdicts(table, pod, hard, names)]
    assert columnar_statuses(plugin, state, pod, table.rows()) == expected


def changes_of(state: CycleState) -> list[dict[str, int]]:
    (filter_state,) = (value for value in state._entries.values() if isinstance(value, FilterState))
    return [dict(each) for each in filter_state.changes]


@given(table=tables(), pod=pods("p", spread=True), other=pods("other"), name=st.sampled_from(NAMES))
def test_remove_pod_is_the_inverse_of_add_pod(table: NodeTable, pod: Pod, other: Pod, name: str) -> None:
    plugin = plugin_for(table)
    state = CycleState()
    row = table.live_row(name)
    if row is None or plugin.pre_filter(state, pod, table.rows()) is not None:
        return
    info = table.info(row)
    for first, second in ((plugin.add_pod, plugin.remove_pod), (plugin.remove_pod, plugin.add_pod)):
        trial = state.clone()
        before = columnar_statuses(plugin, trial, pod, table.rows())
        first(trial, other, info)
        again = trial.clone()
        second(trial, other, info)
        assert changes_of(trial) == changes_of(state)
        assert columnar_statuses(plugin, trial, pod, table.rows()) == before
        second(again, other, info)
        assert changes_of(again) == changes_of(state)


# ---- defaults --------------------------------------------------------------------------------------------


def serve(plugin: PodTopologySpread, **selector: str) -> None:
    service = Service(ObjectMeta(name="s", namespace="default"), ServiceSpec(selector=selector))
    assert isinstance(plugin.handle.objects, ObjectStore)
    plugin.handle.objects.set(service)


@given(
    table=tables(),
    pod=pods("p", spread=True),
    defaults=st.lists(constraints(DO_NOT_SCHEDULE) | constraints(SCHEDULE_ANYWAY), min_size=1, max_size=3),
)
def test_defaults_apply_to_what_a_service_selects(
    table: NodeTable, pod: Pod, defaults: list[TopologySpreadConstraint]
) -> None:
    pod = Pod(pod.metadata, evolve(pod.spec, topology_spread_constraints=()))
    listed = plugin_for(table, *defaults)
    system = plugin_for(table)
    for plugin in (listed, system):
        serve(plugin, app="web")
    served = pod.namespace == "default" and pod.labels.get("app") == "web"
    selector = compile_label_selector(LabelSelector({"app": "web"}))
    hard = plain(defaults, DO_NOT_SCHEDULE, pod, selector) if served else []
    soft = plain(defaults, SCHEDULE_ANYWAY, pod, selector) if served else []
    check_filter(listed, table, pod, hard)
    check_filter(system, table, pod, [])
    for part in parts_of(table.rows()):
        if len(part):
            check_score(listed, part, pod, soft)
            of_system = plain(SYSTEM_DEFAULTS, SCHEDULE_ANYWAY, pod, selector) if served else []
            check_score(system, part, pod, of_system, all_keys=False)
