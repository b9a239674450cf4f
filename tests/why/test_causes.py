"""Causes that the reasons of the plugins do not tell apart: absent, taken, too large; labels; company."""

from __future__ import annotations

import pytest

from schedframe import Simulation, explain
from schedframe.why import ChangeKind

from .manifests import Manifest, node, pod
from .test_pairs import GPU, TOLERATION, gpu_node, gpu_pod

A = {"app": "a"}


@pytest.mark.parametrize(
    ("objects", "pending", "remark", "obstacle"),
    [
        ([node("n")], gpu_pod("p"), f"no node has {GPU}", f"needs 1 {GPU}, the node has none"),
        (
            [node("n"), gpu_node("g")],
            gpu_pod("p"),
            f"none of these nodes has {GPU}, 1 other node does",
            "node(s) had untolerated taint(s)",
        ),
        (
            [node("n"), gpu_node("g"), gpu_pod("x", on="g")],
            gpu_pod("p", tolerations=[TOLERATION]),
            f"all taken, on 1 node with {GPU}",
            f"needs 1 {GPU}, all 1 taken",
        ),
        (
            [node("n"), node("m", "8")],
            pod("p", "9"),
            "larger than any node, the largest has 8",
            "needs 9 cpu, 8 free, and the whole node has 8",
        ),
        ([node("n"), pod("x", on="n")], pod("p", "4"), "", "needs 4 cpu, 3 free"),
    ],
)
def test_absent_taken_and_too_large_are_told_apart(
    objects: list[Manifest], pending: Manifest, remark: str, obstacle: str
) -> None:
    found = explain(objects, pending)
    (reason,) = (each for each in found.reasons if each.plugin == "NodeResourcesFit")
    assert reason.remark == remark
    assert remark in str(found)
    assert obstacle in str(found.nearest[0].obstacles[0])


def test_devices_are_not_proposed_for_nodes_without_any() -> None:
    texts = [each.description for each in explain([node("n"), gpu_node("g")], gpu_pod("p")).changes]
    assert "tolerate the taint nvidia.com/gpu=present:NoSchedule" in texts
    assert not any("from 0" in text for text in texts)


@pytest.mark.parametrize("pending", [gpu_pod("p"), pod("p", "9")])
def test_what_no_node_can_hold_needs_a_new_node(pending: Manifest) -> None:
    found = explain([node("n"), pod("x", on="n")], pending)
    (change,) = (each for each in found.changes if each.kind is ChangeKind.ADD_NODE)
    assert change.best == "new-node"
    requests = pending["spec"]["containers"][0]["resources"]["requests"]
    assert requests.items() <= change.to_dict()["operations"][0]["manifest"]["status"]["allocatable"].items()


# ---- labels ------------------------------------------------------------------------------------------------

DISKS = [node("n1", labels={"disk": "ssd"}), node("n2", labels={"disk": "hdd", "arch": "arm"})]


@pytest.mark.parametrize(
    ("selector", "line"),
    [
        ({"disk": "nvme"}, "no node has disk=nvme; disk is hdd (1 node), ssd (1 node)"),
        ({"disk": "sssd"}, "no node has disk=sssd; disk is hdd (1 node), ssd (1 node); did you mean ssd?"),
        ({"disc": "ssd"}, "no node has the label disc; did you mean disk?"),
        ({"gpu": "a100"}, "no node has the label gpu"),
        ({"disk": "ssd", "arch": "arm"}, "no node has all of disk=ssd (1 node), arch=arm (1 node)"),
    ],
)
def test_values_that_exist(selector: dict[str, str], line: str) -> None:
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in selector.items()]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    for pending in (pod("p", nodeSelector=selector), pod("p", affinity=affinity)):
        found = explain(DISKS, pending)
        assert [str(each) for each in found.labels] == [line]
        assert f"labels:\n  {line}\n" in str(found)
        corrected = [each for each in found.changes if each.kind is ChangeKind.CORRECT_LABEL]
        assert bool(corrected) == ("did you mean" in line)
        assert [each.best for each in corrected] == ["n1"][: len(corrected)]


def test_labels_that_nodes_have_are_not_mentioned() -> None:
    assert not explain(DISKS, pod("p", "64", nodeSelector={"disk": "ssd"})).labels
    assert not explain([], pod("p", nodeSelector={"disk": "ssd"})).labels


# ---- company -----------------------------------------------------------------------------------------------


def beside(labels: dict[str, str]) -> dict[str, object]:
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_a_pending_pod_to_wait_for() -> None:
    found = explain([node("n"), node("m", "1"), pod("a", "2", labels=A)], pod("p", **beside(A)))
    assert [each.description for each in found.changes][:1] == [
        "wait until default/a, which is pending too, runs on n"
    ]
    assert "run a pod with app=a in namespace default on node m" in str(found)


def test_a_pod_that_fits_nowhere_is_not_waited_for() -> None:
    found = explain([node("n"), pod("a", "64", labels=A)], pod("p", **beside(A)))
    assert [each.kind for each in found.changes] == [ChangeKind.DROP_POD_AFFINITY, ChangeKind.ADD_POD]


def test_pending_pods_like_it_are_listed() -> None:
    pods = [pod(f"p{i}", "64", labels=A) for i in range(8)]
    for each in pods:
        each["metadata"].pop("uid")
    found = explain([node("n"), *pods, pod("q", "63", labels=A)], "p0")
    assert found.alike == tuple(f"default/p{i}" for i in range(1, 8))
    assert (
        "pending pods like it:\n  default/p1, default/p2, default/p3, default/p4, default/p5, 2 more"
        in str(found)
    )
    simulation = Simulation([node("n"), *pods])
    simulation.schedule()
    assert explain(simulation, "p3").alike[0] == "default/p0"


# ---- nodes -------------------------------------------------------------------------------------------------


def test_a_node_that_is_not_there() -> None:
    found = explain([node("n"), pod("p", on="ghost")], "p")
    assert found.message == "is on ghost: there is no such node in the cluster"


def test_a_node_without_allocatable_says_so() -> None:
    found = explain([{"kind": "Node", "metadata": {"name": "n"}}], pod("p"))
    assert "the node has no status.allocatable" in str(found.nearest[0].obstacles[0])


def test_an_event_that_a_registration_implies_is_listed() -> None:
    found = explain([node("n")], pod("p", nodeSelector={"disk": "ssd"}))
    assert found.waiting is not None
    assert found.waiting.lines() == [
        "NodeAffinity: Node: Add, UpdateNodeLabel; Node: UpdateNodeTaint (implied by Add)"
    ]


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "n0"), (2, "n0 or n1, with equal scores"), (3, "n0, n1 or n2, with equal scores")],
)
def test_ties_are_named(count: int, words: str) -> None:
    evaluation = Simulation([node(f"n{i}") for i in range(count)]).evaluate(pod("p"))
    assert str(evaluation).splitlines()[0].endswith(f"nodes, best is {words}")
    five = Simulation([node(f"n{i}") for i in range(5)]).evaluate(pod("p"))
    assert "best is n0 or one of 4 others, with equal scores" in str(five)
