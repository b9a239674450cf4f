"""InterPodAffinity on random clusters: all forms agree with plain loops over pods, also in dry runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from plugins_builtin.args import InterPodAffinityArgs
from plugins_builtin.inter_pod_affinity import InterPodAffinity
from plugins_builtin.inter_pod_affinity.filtering import (
    ERR_AFFINITY,
    ERR_ANTI_AFFINITY,
    ERR_EXISTING_ANTI_AFFINITY,
)
from plugins_builtin.inter_pod_affinity.scoring import normalize
from schedframe.api import Pod
from schedframe.framework import CycleState, Status
from schedframe.state import NodeInfo, NodeTable, policy

from .affinity_model import (
    AFFINITY,
    ANTI_AFFINITY,
    EXISTING_ANTI_AFFINITY,
    NODES,
    Cluster,
    clusters,
    namespace_labels,
    node_labels,
    normalized,
    pod_labels,
    pods,
)
from .agreement import (
    OPEN,
    StandInHandle,
    check_filter_agreement,
    check_score_agreement,
    columnar_scores,
    columnar_statuses,
    per_node_scores,
    per_node_statuses,
)

STATUSES = {
    "": OPEN,
    AFFINITY: Status.unresolvable(ERR_AFFINITY),
    ANTI_AFFINITY: Status.unschedulable(ERR_ANTI_AFFINITY),
    EXISTING_ANTI_AFFINITY: Status.unschedulable(ERR_EXISTING_ANTI_AFFINITY),
}


def plugin_for(cluster: Cluster) -> InterPodAffinity:
    """Return the plugin with the arguments of the model."""
    model = cluster.model
    args = InterPodAffinityArgs(
        hard_pod_affinity_weight=model.hard_weight,
        ignore_preferred_terms_of_existing_pods=model.ignore_preferred,
    )
    return InterPodAffinity(args, StandInHandle(table=cluster.table, objects=cluster.objects))


def statuses(plugin: InterPodAffinity, table: NodeTable, pod: Pod, state: CycleState | None = None) -> Any:
    """Node → status, after pre_filter unless *state* is given."""
    rows = table.rows()
    if state is None:
        state = CycleState()
        if plugin.pre_filter(state, pod) is not None:
            return dict.fromkeys(rows.names(), OPEN)
    return dict(zip(rows.names(), per_node_statuses(plugin, state, pod, rows), strict=True))


def check_filter(plugin: InterPodAffinity, cluster: Cluster, pod: Pod) -> None:
    """Assert that both forms agree with the model."""
    model, rows, state = cluster.model, cluster.table.rows(), CycleState()
    before = plugin.pre_filter(state, pod)
    assert (before is not None and before.is_skip) == model.filter_is_skipped(pod)
    expected = {name: STATUSES[verdict] for name, verdict in model.verdicts(pod).items()}
    if before is not None:
        assert set(expected.values()) <= {OPEN}
        return
    names = rows.names()
    assert dict(zip(names, per_node_statuses(plugin, state, pod, rows), strict=True)) == expected
    assert dict(zip(names, columnar_statuses(plugin, state, pod, rows), strict=True)) == expected


def check_score(plugin: InterPodAffinity, cluster: Cluster, pod: Pod) -> None:
    """Assert that both forms, and normalization, agree with the model."""
    rows, state = cluster.table.rows(), CycleState()
    before = plugin.pre_score(state, pod)
    expected = cluster.model.scores(pod)
    assert (before is not None and before.is_skip) == (expected is None)
    if expected is None:
        return
    names = rows.names()
    assert dict(zip(names, per_node_scores(plugin, state, pod, rows), strict=True)) == expected
    raw = columnar_scores(plugin, state, pod, rows)
    assert dict(zip(names, raw, strict=True)) == expected
    final = plugin.normalize_scores(np.array(raw, np.int64)).tolist()
    assert dict(zip(names, final, strict=True)) == normalized(expected)


# ---- verdicts and scores ---------------------------------------------------------------------------------


@given(cluster=clusters(), pod=pods("p"))
def test_filter_is_the_plain_algorithm(cluster: Cluster, pod: Pod) -> None:
    plugin = plugin_for(cluster)
    check_filter(plugin, cluster, pod)
    check_filter_agreement(plugin, cluster.table, pod)
    cluster.table.check_invariants()


@given(cluster=clusters(), pod=pods("p"), hard=st.sampled_from((0, 1, 100)), ignore=st.booleans())
def test_score_is_the_plain_algorithm(cluster: Cluster, pod: Pod, hard: int, ignore: bool) -> None:
    cluster.model.hard_weight, cluster.model.ignore_preferred = hard, ignore
    plugin = plugin_for(cluster)
    check_score(plugin, cluster, pod)
    check_score_agreement(plugin, cluster.table, pod)


@given(
    scores=st.lists(st.integers(-(2**31), 2**31), min_size=1, max_size=20),
    spread=st.sampled_from((1, 3, 100, 2**31)),
)
def test_normalisation_is_the_plain_formula(scores: list[int], spread: int) -> None:
    scores = [score % spread for score in scores] + [0] * 30
    raw = {str(i): score for i, score in enumerate(scores)}
    assert normalize(np.array(scores, np.int64)).tolist() == list(normalized(raw).values())


# ---- after any history -----------------------------------------------------------------------------------


class AffinityMachine(RuleBasedStateMachine):
    """One plugin, and random changes of a cluster; pods of all kinds are evaluated in between."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster()
        self.plugin = plugin_for(self.cluster)
        self.count = 0
        self.evaluated: list[Pod] = []

    @initialize(labels=st.lists(node_labels, min_size=2, max_size=2))
    def begin(self, labels: list[dict[str, str]]) -> None:
        """Two nodes."""
        for name, each in zip(NODES, labels, strict=False):
            self.cluster.set_node(name, each)

    @rule(name=st.sampled_from(NODES), labels=node_labels)
    def set_node(self, name: str, labels: dict[str, str]) -> None:
        """Add or change a node."""
        self.cluster.set_node(name, labels)

    @rule(name=st.sampled_from(NODES))
    def remove_node(self, name: str) -> None:
        """Remove a node."""
        if name in self.cluster.model.nodes:
            self.cluster.remove_node(name)

    @rule(name=st.sampled_from(("default", "other")), labels=namespace_labels)
    def set_namespace(self, name: str, labels: dict[str, str]) -> None:
        """Add or change a namespace."""
        self.cluster.set_namespace(name, labels)

    @rule(data=st.data(), name=st.sampled_from(NODES))
    def add_pod(self, data: st.DataObject, name: str) -> None:
        """Add a pod."""
        self.count += 1
        self.cluster.add_pod(data.draw(pods(f"running-{self.count}", name)))

    @rule(place=st.integers(0, 20))
    def remove_pod(self, place: int) -> None:
        """Remove a pod."""
        uids = list(self.cluster.model.pods)
        if uids:
            self.cluster.remove_pod(uids[place % len(uids)])

    @rule(place=st.integers(0, 20), name=st.sampled_from(NODES))
    def add_another(self, place: int, name: str) -> None:
        """Add a pod equal to a running one to some node."""
        uids = list(self.cluster.model.pods)
        if uids:
            self.count += 1
            pod = self.cluster.model.pods[uids[place % len(uids)]]
            other = evolve(pod, metadata=evolve(pod.metadata, uid=f"running-{self.count}"))
            self.cluster.add_pod(other.with_node_name(name))

    @rule(pod=pods("p"))
    def evaluate(self, pod: Pod) -> None:
        """Evaluate a new pod."""
        self.evaluated.append(pod)
        if self.cluster.model.nodes:
            check_filter(self.plugin, self.cluster, pod)
            check_score(self.plugin, self.cluster, pod)

    @rule(place=st.integers(0, 20))
    def evaluate_copy_of_running(self, place: int) -> None:
        """Evaluate a pod equal to a running one."""
        uids = list(self.cluster.model.pods)
        if uids:
            pod = self.cluster.model.pods[uids[place % len(uids)]]
            self.evaluate(evolve(pod, metadata=evolve(pod.metadata, uid="p")).with_node_name(""))

    @rule(place=st.integers(0, 20), labels=st.none() | pod_labels)
    def evaluate_again(self, place: int, labels: dict[str, str] | None) -> None:
        """Evaluate an earlier pod again, or one with its terms and other labels."""
        if self.evaluated:
            pod = self.evaluated[place % len(self.evaluated)]
            self.evaluate(
                pod if labels is None else evolve(pod, metadata=evolve(pod.metadata, labels=labels))
            )

    @invariant()
    def counts_are_right(self) -> None:
        """The counts of the table equal recomputed ones."""
        self.cluster.table.check_invariants()


class TestAffinityMachine(AffinityMachine.TestCase):  # type: ignore[name-defined, misc]
    """Limits are lowered so that columns and classes of terms are dropped, too."""

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(policy, "KEPT_COLUMNS", 4)
        monkeypatch.setattr(policy, "COUNT_BYTES", 0)
        monkeypatch.setattr(policy, "KEPT_CHANGES", 1)
        monkeypatch.setattr(policy, "SPARSE_SHARE", 0)


# ---- dry runs --------------------------------------------------------------------------------------------


@given(cluster=clusters(), pod=pods("p"), other=pods("other"), name=st.sampled_from(NODES))
def test_add_pod_equals_a_cluster_with_the_pod(cluster: Cluster, pod: Pod, other: Pod, name: str) -> None:
    state, plugin = CycleState(), plugin_for(cluster)
    if plugin.pre_filter(state, pod) is not None:
        return
    row = cluster.table.live_row(name)
    if row is None:
        return
    before = statuses(plugin, cluster.table, pod, state)
    trial = state.clone()
    info = cluster.table.info(row)
    plugin.add_pod(trial, pod, other, info)
    after = cluster.copy()
    after.add_pod(other.with_node_name(name))
    assert statuses(plugin, cluster.table, pod, trial) == statuses(plugin_for(after), after.table, pod)
    assert columnar_statuses(plugin, trial, pod, cluster.table.rows()) == list(
        statuses(plugin, cluster.table, pod, trial).values()
    )
    assert statuses(plugin, cluster.table, pod, state) == before
    plugin.remove_pod(trial, pod, other, info)
    assert statuses(plugin, cluster.table, pod, trial) == before


@given(cluster=clusters(), pod=pods("p"), data=st.data())
def test_remove_pod_equals_a_cluster_without_the_pods(
    cluster: Cluster, pod: Pod, data: st.DataObject
) -> None:
    state, plugin = CycleState(), plugin_for(cluster)
    here = [other for other, _ in cluster.model.running()]
    if not here or plugin.pre_filter(state, pod) is not None:
        return
    before = statuses(plugin, cluster.table, pod, state)
    going = data.draw(st.lists(st.sampled_from(here), min_size=1, unique_by=lambda each: each.uid))
    trial, after = state.clone(), cluster.copy()
    for other in going:
        plugin.remove_pod(trial, pod, other, info_of(cluster.table, other))
        after.remove_pod(other.uid)
    assert statuses(plugin, cluster.table, pod, trial) == statuses(plugin_for(after), after.table, pod)
    for other in reversed(going):
        plugin.add_pod(trial, pod, other, info_of(cluster.table, other))
    assert statuses(plugin, cluster.table, pod, trial) == before


def info_of(table: NodeTable, pod: Pod) -> NodeInfo:
    """Return the node of *pod*."""
    row = table.live_row(pod.node_name)
    assert row is not None
    return table.info(row)


# ---- explanations ----------------------------------------------------------------------------------------


@given(cluster=clusters(), pod=pods("p"))
def test_every_rejection_is_explained_and_nothing_else(cluster: Cluster, pod: Pod) -> None:
    plugin, state = plugin_for(cluster), CycleState()
    if plugin.pre_filter(state, pod) is not None:
        return
    verdicts = cluster.model.verdicts(pod)
    for info in cluster.table.rows():
        line = plugin.explain(state, pod, info)
        assert (line is None) == (verdicts[info.name] == "")
        if verdicts[info.name] in (ANTI_AFFINITY, EXISTING_ANTI_AFFINITY):
            assert line is not None
            blockers = [other.key for other, _ in cluster.model.running() if other.key in line]
            assert blockers, line
