"""The smallest single change that helps is found, has been tried out, and is the smallest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import Simulation, explain
from schedframe.api import Pod
from schedframe.fork import Fork
from schedframe.simulate.simulation import as_pod
from schedframe.why import ChangeKind
from schedframe.why.changing import Budget, ChangeTrial
from schedframe.why.explain import case_of
from schedframe.why.near_misses import near_misses
from schedframe.why.proposals import candidates
from schedframe.why.subject import subject_of
from tests.profiles import few

from .manifests import Manifest, node, pod

SSD = {"disk": "ssd"}
TAINT = {"key": "team", "value": "ml", "effect": "NoSchedule"}
HOSTNAME = "kubernetes.io/hostname"


def spread(skew: int = 1) -> dict[str, Any]:
    constraint = {"maxSkew": skew, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": {"app": "a"}}}]}


def apart() -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": HOSTNAME}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def wants(expression: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


PORT = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 8080}]}]
A = {"app": "a"}
DELETED = {**pod("x", "3", on="n")}
DELETED["metadata"] = {**DELETED["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
CLASS = {
    "kind": "StorageClass",
    "metadata": {"name": "late"},
    "provisioner": "p",
    "volumeBindingMode": "WaitForFirstConsumer",
}
CLAIM = {
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data", "namespace": "default"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
USES_CLAIM = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}

CASES: dict[str, tuple[list[Manifest], Manifest, str, str]] = {
    "request": (
        [node("n"), pod("x", "800m", on="n")],
        pod("p", "4"),
        "lower-request",
        "lower the requested cpu from 4 to 3.2",
    ),
    "taint": (
        [node("n", taints=[TAINT])],
        pod("p"),
        "tolerate-taint",
        "tolerate the taint team=ml:NoSchedule",
    ),
    "cordon": ([node("n", unschedulable=True)], pod("p"), "uncordon-node", "uncordon node n"),
    "selector": (
        [node("n")],
        pod("p", nodeSelector=SSD),
        "relax-node-selection",
        "drop disk=ssd from the node selector",
    ),
    "affinity": (
        [node("n")],
        pod("p", **wants({"key": "disk", "operator": "In", "values": ["ssd"]})),
        "relax-node-selection",
        "drop the required node affinity for disk",
    ),
    "gate": (
        [node("n")],
        pod("p", schedulingGates=[{"name": "g"}]),
        "remove-gate",
        "remove the scheduling gate g",
    ),
    "profile": (
        [node("n")],
        pod("p", schedulerName="mine"),
        "set-scheduler-name",
        "set the scheduler name to default-scheduler",
    ),
    "skew": (
        [node("a"), node("b", "100m"), *(pod(f"x{i}", "100m", on="a", labels=A) for i in range(1))],
        pod("p", labels=A, **spread()),
        "raise-max-skew",
        "raise maxSkew over kubernetes.io/hostname from 1 to 2",
    ),
    "anti-affinity": (
        [node("n"), pod("x", on="n", labels=A)],
        pod("p", **apart()),
        "drop-pod-affinity",
        "drop the required pod anti-affinity over kubernetes.io/hostname (term 0)",
    ),
    "existing anti-affinity": (
        [node("n"), pod("x", on="n", **apart())],
        pod("p", labels=A),
        "delete-pod",
        "delete pod default/x (priority 0) from n",
    ),
    "port": (
        [node("n"), pod("x", on="n") | {"spec": {"nodeName": "n", "containers": PORT}}],
        pod("p") | {"spec": {"containers": PORT}},
        "drop-host-port",
        "drop the host port 8080 of container c",
    ),
    "deletion": (
        [node("n"), DELETED],
        pod("p", "4"),
        "wait-for-deletion",
        "wait until default/x, which is being deleted, is gone from n",
    ),
    "missing claim": (
        [node("n"), CLASS],
        pod("p", **USES_CLAIM),
        "create-claim",
        "create the claim default/data with storage class late",
    ),
    "unbound claim": (
        [node("n"), CLAIM],
        pod("p", **USES_CLAIM),
        "create-volume",
        "create a volume of 1Gi for the claim default/data that every node can reach",
    ),
    "no node": ([], pod("p"), "add-node", "add a node with cpu 1, pods 1"),
    "too many pods": (
        [node("n"), *(pod(f"x{i}", "0", on="n") for i in range(10))],
        pod("p"),
        "delete-pod",
        "delete pod default/x0 (priority 0) from n",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_smallest_change_for_each_sort_of_obstacle(case: str) -> None:
    objects, pending, kind, text = CASES[case]
    found = explain(objects, pending)
    assert found.smallest_change is not None
    assert (found.smallest_change.kind, found.smallest_change.description) == (kind, text)
    assert found.changes[0].best in found.changes[0].nodes


def test_every_kind_has_its_order_and_sizes_only_grow() -> None:
    found = explain([node("n", taints=[TAINT]), node("c", unschedulable=True)], pod("p"))
    sizes = [each.change.size for each in found.changes]
    assert sizes == sorted(sizes)
    assert len({each.kind for each in found.changes}) == len(found.changes) >= 3
    assert {ChangeKind.TOLERATE_TAINT, ChangeKind.UNCORDON} <= {each.kind for each in found.changes}


def test_a_pod_more_important_than_the_pending_one_is_twice_as_large_a_change() -> None:
    objects = [node("n"), pod("low", on="n", **apart()), pod("high", on="n", priority=9, **apart())]
    found = explain([objects[0], objects[2]], pod("p", labels=A))
    deletion = next(each for each in found.changes if each.kind is ChangeKind.DELETE_POD)
    assert deletion.change.steps == 2


def test_what_no_single_change_cures_is_said_to_be_so() -> None:
    pending = pod("p", "64", nodeSelector=SSD, schedulingGates=[{"name": "g"}])
    found = explain([node("n", taints=[TAINT])], pending)
    assert not found.changes
    assert found.tried > 0
    assert f"none of {found.tried} single changes helps" in str(found)


def test_the_budget_ends_the_search_and_that_is_told() -> None:
    found = explain([node("n", taints=[TAINT])], pod("p", "64"), budget=1)
    assert found.tried == 1
    assert found.notes == ("not everything was tried: the budget of 1 changes is spent",)


def test_the_copy_is_as_it_was_after_every_change() -> None:
    objects = [node("n", taints=[TAINT]), node("m", "1"), pod("x", "500m", on="m"), CLASS]
    copy = subject_of(objects, pod("p", "2", **USES_CLAIM))
    before = _state(copy.fork)
    trial = ChangeTrial(copy.fork, copy.evaluator, copy.pod, Budget(1000))
    for change in candidates(case_of(copy, [], trial)):
        trial.helps(change)
        assert _state(copy.fork) == before, change.description
    copy.fork.scheduler.core.cache.check_invariants()


def _state(fork: Fork) -> dict[str, Any]:
    kinds = ("Node", "Pod", "PersistentVolume", "PersistentVolumeClaim")
    return {
        obj.KIND + obj.key: (obj.spec, obj.metadata.labels, obj.status)
        for kind in kinds
        for obj in fork.cluster.list(kind)
    }


# ---- against everything that there is ----------------------------------------------------------------------

NODES = st.builds(
    lambda cpu, disk, taint, cordoned: {
        "cpu": cpu,
        "labels": SSD if disk else {},
        **({"taints": [TAINT]} if taint else {}),
        **({"unschedulable": True} if cordoned else {}),
    },
    st.sampled_from(["1", "2", "4"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@few
@given(
    st.lists(NODES, max_size=3),
    st.lists(st.tuples(st.sampled_from(["500m", "1"]), st.integers(0, 2), st.booleans()), max_size=4),
    st.sampled_from(["500m", "1", "3"]),
    st.booleans(),
    st.sampled_from([{}, apart(), spread(), {"schedulingGates": [{"name": "g"}]}]),
)
def test_no_candidate_that_helps_is_smaller_than_the_one_that_is_told(
    nodes: list[dict[str, Any]],
    running: list[tuple[str, int, bool]],
    cpu: str,
    choosy: bool,
    more: dict[str, Any],
) -> None:
    objects = [node(f"n{i}", **each) for i, each in enumerate(nodes)]
    objects += [
        pod(f"x{i}", size, on=f"n{at}", labels=A if marked else {})
        for i, (size, at, marked) in enumerate(running)
        if at < len(nodes)
    ]
    pending = pod("p", cpu, labels=A, **({"nodeSelector": SSD} if choosy else {}), **more)
    found = explain(objects, pending, budget=10_000)
    assert (found.verdict == "fits") == bool(Simulation(objects).evaluate(pending).best)
    helping = sorted(
        (each for each in _candidates(objects, pending) if _helps(objects, pending, each)), key=_order
    )
    if found.verdict == "fits":
        assert not found.changes
    elif helping:
        assert found.smallest_change is not None
        assert found.smallest_change.change.order == helping[0].order
    else:
        assert not found.changes


def _order(change: Any) -> Any:
    return change.order


def _candidates(objects: list[Manifest], pending: Manifest) -> list[Any]:
    copy = subject_of(objects, pending)
    evaluation = copy.live.evaluate(copy.pod)
    framework = copy.live.framework_of(copy.pod)
    near = []
    if (
        framework is not None
        and evaluation.decision is not None
        and evaluation.decision.diagnosis is not None
    ):
        near = near_misses(framework, evaluation.decision)
    return list(
        candidates(case_of(copy, near, ChangeTrial(copy.fork, copy.evaluator, copy.pod, Budget(10_000))))
    )


def _helps(objects: list[Manifest], pending: Manifest, change: Any) -> bool:
    """Return whether it helps in a new cluster, in which no change was undone."""
    simulation = Simulation(objects)
    for gone in change.deleted:
        simulation.remove_pod(gone.key)
    simulation.add(*change.objects)
    value: Pod = change.pod if change.pod is not None else as_pod(pending)
    return bool(simulation.evaluate(value).best)
