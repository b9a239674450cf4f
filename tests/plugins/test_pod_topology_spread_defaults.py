"""PodTopologySpread: default constraints, for pods that a service or a controller selects."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from plugins_builtin._workload_selector import WorkloadSelectors
from plugins_builtin.args import LIST_DEFAULTING, PodTopologySpreadArgs
from plugins_builtin.pod_topology_spread import ERR_REASON_CONSTRAINTS, PodTopologySpread
from schedframe.api import (
    SCHEDULE_ANYWAY,
    CompiledSelector,
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    ObjectMeta,
    OwnerReference,
    Pod,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicationController,
    ReplicationControllerSpec,
    Requirement,
    Service,
    ServiceSpec,
    StatefulSet,
    StatefulSetSpec,
)
from schedframe.framework import CycleState, Status
from schedframe.state import NodeTable, ObjectStore, Rows
from tests.plugins.agreement import StandInHandle, columnar_scores, columnar_statuses, per_node_scores
from tests.plugins.spreading import HOSTNAME, cluster, constraint, make_node, make_pod, run

OPEN = Status()
SKEWED = Status.unschedulable(ERR_REASON_CONSTRAINTS)


def service(name: str, namespace: str = "default", **selector: str) -> Service:
    return Service(ObjectMeta(name=name, namespace=namespace), ServiceSpec(selector))


def owned(pod: Pod, api_version: str, kind: str, name: str, controller: bool | None = True) -> Pod:
    owner = OwnerReference(api_version, kind, name, "uid", controller)
    others = pod.metadata.owner_references
    return Pod(evolve(pod.metadata, owner_references=(*others, owner)), pod.spec)


def store_of(*objects: Any) -> ObjectStore:
    store = ObjectStore()
    for each in objects:
        store.set(each)
    return store


def wants(**labels: str) -> CompiledSelector:
    return CompiledSelector(Requirement(key, "In", (value,)) for key, value in labels.items())


def selector_of(pod: Pod, *objects: Any) -> CompiledSelector | None:
    return WorkloadSelectors(store_of(*objects)).selector_of(pod)


# ---- selectors of workloads --------------------------------------------------------------------------

WEB = make_pod("p", labels={"app": "web", "tier": "1"})


def test_services_of_the_namespace_that_select_the_pod_are_merged() -> None:
    services = [
        service("a", app="web"),
        service("b", tier="1", app="web"),
        service("c", app="db"),
        service("d", app="web", tier="2"),
        service("e", "other", tier="1"),
        service("none"),
    ]
    assert selector_of(WEB, *services) == wants(app="web", tier="1")
    assert selector_of(WEB, service("a", app="web")) == wants(app="web")
    assert selector_of(WEB, service("d", app="web", tier="2")) is None
    assert selector_of(make_pod("p", labels={"app": "cache"}), *services) is None
    assert selector_of(make_pod("p", namespace="other", labels={"tier": "1"}), *services) == wants(tier="1")


def test_services_can_be_added_changed_and_deleted() -> None:
    store = ObjectStore()
    selectors = WorkloadSelectors(store)
    assert selectors.selector_of(WEB) is None
    store.set(service("a", app="web"))
    found = selectors.selector_of(WEB)
    assert found == wants(app="web")
    assert selectors.selector_of(WEB) is found
    store.set(service("a", app="web", tier="1"))
    assert selectors.selector_of(WEB) == wants(app="web", tier="1")
    store.remove("Service", "default/a")
    assert selectors.selector_of(WEB) is None


REPLICA_SET = ReplicaSet(
    ObjectMeta(name="rs", namespace="default"),
    ReplicaSetSpec(
        selector=LabelSelector({"app": "web"}, (LabelSelectorRequirement("tier", "In", ("1", "2")),))
    ),
)
STATEFUL_SET = StatefulSet(
    ObjectMeta(name="ss", namespace="default"), StatefulSetSpec(selector=LabelSelector({"app": "web"}))
)
CONTROLLER = ReplicationController(
    ObjectMeta(name="rc", namespace="default"), ReplicationControllerSpec(selector={"app": "web"})
)


def test_the_controller_adds_its_selector() -> None:
    tiers = Requirement("tier", "In", ("1", "2"))
    both = CompiledSelector([*(wants(app="web").requirements or ()), tiers])
    assert selector_of(owned(WEB, "apps/v1", "ReplicaSet", "rs"), REPLICA_SET) == both
    assert selector_of(owned(WEB, "apps/v1", "StatefulSet", "ss"), STATEFUL_SET) == wants(app="web")
    assert selector_of(owned(WEB, "v1", "ReplicationController", "rc"), CONTROLLER) == wants(app="web")
    with_service = selector_of(
        owned(WEB, "apps/v1", "StatefulSet", "ss"), STATEFUL_SET, service("a", tier="1")
    )
    assert with_service == wants(app="web", tier="1")


@pytest.mark.parametrize(
    "pod",
    [
        owned(WEB, "apps/v1", "ReplicaSet", "another"),
        owned(WEB, "apps/v1", "ReplicaSet", "rs", controller=None),
        owned(WEB, "extensions/v1beta1", "ReplicaSet", "rs"),
        owned(WEB, "v1", "Job", "rs"),
        owned(owned(WEB, "batch/v1", "Job", "j"), "apps/v1", "ReplicaSet", "rs"),
        Pod(evolve(owned(WEB, "apps/v1", "ReplicaSet", "rs").metadata, namespace="other"), WEB.spec),
    ],
    ids=["unknown", "no-controller", "old-group", "other-kind", "second-controller", "other-namespace"],
)
def test_other_owners_do_not_count(pod: Pod) -> None:
    assert selector_of(pod, REPLICA_SET) is None


def test_controllers_without_a_valid_selector_add_nothing() -> None:
    pod = owned(WEB, "apps/v1", "ReplicaSet", "rs")
    for selector in (
        None,
        LabelSelector(),
        LabelSelector({}, (LabelSelectorRequirement("app", "Near", ("x",)),)),
    ):
        empty = ReplicaSet(REPLICA_SET.metadata, ReplicaSetSpec(selector=selector))
        assert selector_of(pod, empty) is None
        assert selector_of(pod, empty, service("a", app="web")) == wants(app="web")


# ---- the plugin ------------------------------------------------------------------------------------------


def system(table: NodeTable, *objects: Any) -> PodTopologySpread:
    return PodTopologySpread(PodTopologySpreadArgs(), StandInHandle(table, store_of(*objects)))


def listed(table: NodeTable, *objects: Any) -> PodTopologySpread:
    """Return a plugin with a DoNotSchedule and a ScheduleAnyway default."""
    hard, soft = constraint(selector=None), constraint(HOSTNAME, 2, SCHEDULE_ANYWAY, selector=None)
    args = PodTopologySpreadArgs((hard, soft), LIST_DEFAULTING)
    return PodTopologySpread(args, StandInHandle(table, store_of(*objects)))


def test_system_defaults_only_score_and_only_pods_of_workloads() -> None:
    table = cluster(a=0, b=3)
    plugin = system(table, service("a", app="web"))
    assert plugin.pre_filter(CycleState(), WEB, table.rows()) == Status.skip()
    state = CycleState()
    assert plugin.pre_score(state, WEB, table.rows()) is None
    scores = plugin.score_rows(state, table.rows())
    assert scores[0] < scores[1]
    loose = make_pod("p", labels={"app": "cache"})
    assert plugin.pre_score(CycleState(), loose, table.rows()) == Status.skip()


def test_system_defaults_score_nodes_without_a_zone() -> None:
    table = cluster(a=2)
    table.set_node(make_node("bare"))
    run(table, "bare", 1)
    plugin, state = system(table, service("a", app="web")), CycleState()
    plugin.pre_score(state, WEB, table.rows())
    scores = plugin.score_rows(state, table.rows())
    assert 0 < scores[1] < scores[0]
    plugin.normalize_scores(state, scores, table.rows())
    assert scores.min() > 0


def test_system_defaults_count_pods_on_nodes_without_a_hostname() -> None:
    table = cluster(a=0, b=0)
    anonymous = make_node("anonymous", zone="b")
    labels = {key: value for key, value in anonymous.labels.items() if key != HOSTNAME}
    table.set_node(Node(evolve(anonymous.metadata, labels=labels)))
    run(table, "anonymous", 4)
    plugin, state = system(table, service("a", app="web")), CycleState()
    plugin.pre_score(state, WEB, table.rows())
    weight = math.log(4)
    assert plugin.score_rows(state, table.rows()).tolist() == [
        2 + 4,
        2 + round(4 * weight + 4),
        round(4 * weight + 4),
    ]


def test_for_system_defaults_an_empty_zone_equals_a_missing_one() -> None:
    """The reference reads the label without checking that it exists."""
    table = NodeTable()
    for name, labels in (("n1", {"zone": ""}), ("n2", {"zone": "a"}), ("bare", {}), ("other", {"disk": "x"})):
        table.set_node(make_node(name, **labels))
        run(table, name, 2)
    plugin = system(table, service("a", app="web"))

    def raw(pod: Pod, *feasible: int) -> list[int]:
        rows = Rows.at(table, np.array(feasible, np.intp))
        state = CycleState()
        assert plugin.pre_score(state, pod, rows) is None
        found = columnar_scores(plugin, state, pod, rows)
        assert found == per_node_scores(plugin, state, pod, rows)
        return found

    def score(hosts: int, zones: int, in_zone: int) -> int:
        return round(2 * math.log(hosts + 2) + 2 + in_zone * math.log(zones + 2) + 4)

    assert raw(WEB, 0, 1, 2, 3)[:2] == [score(4, 2, 6), score(4, 2, 2)]
    assert raw(WEB, 0, 1, 2)[:2] == [score(3, 2, 6), score(3, 2, 2)]
    assert raw(WEB, 0, 1)[:2] == [score(2, 2, 6), score(2, 2, 2)]
    assert raw(WEB, 1, 2)[:1] == [score(2, 2, 2)]
    assert raw(WEB, 0, 2)[:1] == [score(2, 1, 6)]
    picky = Pod(WEB.metadata, evolve(WEB.spec, node_selector={"disk": "x"}))
    assert raw(picky, 0, 1, 2, 3)[:2] == [score(4, 2, 2), score(4, 2, 0)]


def test_listed_defaults_filter_and_score() -> None:
    table = cluster(a=0, b=3)
    plugin, state = listed(table, service("a", app="web")), CycleState()
    assert plugin.pre_filter(state, WEB, table.rows()) is None
    assert columnar_statuses(plugin, state, WEB, table.rows()) == [OPEN, SKEWED]
    assert plugin.pre_score(state, WEB, table.rows()) is None
    assert plugin.score_rows(state, table.rows()).tolist() == [1, 5]
    loose = make_pod("p", labels={"app": "cache"})
    assert plugin.pre_filter(CycleState(), loose, table.rows()) == Status.skip()


def test_a_pod_with_any_constraint_of_its_own_gets_no_defaults() -> None:
    table = cluster(a=0, b=3)
    plugin = listed(table, service("a", app="web"))
    pod = make_pod("p", constraint(when=SCHEDULE_ANYWAY), labels={"app": "web"})
    assert plugin.pre_filter(CycleState(), pod, table.rows()) == Status.skip()


def test_the_cached_defaults_of_a_pod_follow_the_services() -> None:
    table = cluster(a=0, b=3)
    plugin = listed(table, service("a", app="web"))
    assert plugin.pre_filter(CycleState(), WEB, table.rows()) is None
    plugin.handle.objects.remove("Service", "default/a")
    assert plugin.pre_filter(CycleState(), WEB, table.rows()) == Status.skip()
    plugin.handle.objects.set(service("a", tier="1"))
    state = CycleState()
    assert plugin.pre_filter(state, WEB, table.rows()) is None
    assert columnar_statuses(plugin, state, WEB, table.rows()) == [OPEN, OPEN]


def test_profiles_with_other_defaults_do_not_share_the_cache() -> None:
    table = cluster(a=0, b=3)
    services = service("a", app="web")
    two, one = (
        listed(table, services),
        PodTopologySpread(
            PodTopologySpreadArgs((constraint(max_skew=9, selector=None),), LIST_DEFAULTING),
            StandInHandle(table, store_of(services)),
        ),
    )
    for plugin, expected in ((two, SKEWED), (one, OPEN), (two, SKEWED)):
        state = CycleState()
        assert plugin.pre_filter(state, WEB, table.rows()) is None
        assert columnar_statuses(plugin, state, WEB, table.rows()) == [OPEN, expected]
