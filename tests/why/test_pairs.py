"""Pairs of changes where no single one helps, and what each pair needs."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schedframe import Simulation, explain
from schedframe.why import ChangeKind
from schedframe.why.change import Change
from schedframe.why.changing import Budget, ChangeTrial
from schedframe.why.explain import case_of
from schedframe.why.near_misses import NearMiss, near_misses
from schedframe.why.pairs import PairSearch
from schedframe.why.proposals import candidates
from schedframe.why.subject import subject_of
from tests.profiles import few

from .manifests import Manifest, node, pod
from .patching import applied
from .test_changes import _state

GPU = "nvidia.com/gpu"
TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}
TOLERATION = {"key": GPU, "operator": "Exists"}


def gpu_node(name: str, **spec: Any) -> Manifest:
    made = node(name, taints=[TAINT], **spec)
    made["status"]["allocatable"][GPU] = "1"
    return made


def gpu_pod(name: str, on: str = "", **spec: Any) -> Manifest:
    made = pod(name, on=on, **spec)
    made["spec"]["containers"][0]["resources"]["requests"] = {GPU: "1"}
    return made


CLUSTER = [
    *(node(f"plain{i}") for i in range(5)),
    gpu_node("gpu"),
    gpu_pod("train", on="gpu", tolerations=[TOLERATION]),
]


def test_a_tainted_node_with_all_devices_taken_needs_two_changes() -> None:
    found = explain(CLUSTER, gpu_pod("p"))
    assert not found.changes
    assert found.nearest[0].node == "gpu"
    assert [each.description for each in found.pairs] == [
        "tolerate the taint nvidia.com/gpu=present:NoSchedule, and "
        "delete pod default/train (priority 0) from gpu",
        "remove the taint nvidia.com/gpu=present:NoSchedule from node gpu, and "
        "delete pod default/train (priority 0) from gpu",
    ]
    assert "pairs of changes that help:\n  tolerate the taint" in str(found)


def test_no_pair_is_searched_if_a_single_change_helps() -> None:
    found = explain(CLUSTER, gpu_pod("p", tolerations=[TOLERATION]))
    assert found.changes
    assert not found.pairs


def test_an_obstacle_before_the_queue_and_one_on_the_nodes() -> None:
    pending = pod("p", schedulingGates=[{"name": "g"}])
    (pair, *_) = explain([node("n", taints=[TAINT])], pending).pairs
    assert [each.kind for each in pair.parts] == [ChangeKind.REMOVE_GATE, ChangeKind.TOLERATE_TAINT]
    assert pair.size == 2


def test_the_copy_is_as_it_was_after_the_search() -> None:
    copied = subject_of([*CLUSTER, pod("q", "64")], gpu_pod("p"))
    fork = copied.fork
    before = _state(fork)
    trial = ChangeTrial(fork, copied.evaluator, copied.pod, Budget(500))

    def examine(changed: ChangeTrial) -> tuple[list[NearMiss], list[Change]]:
        framework, decision = copied.live.framework_of(changed.pod), copied.live.decide(changed.pod)
        assert framework is not None
        assert decision is not None
        near = near_misses(framework, decision)
        return near, list(candidates(case_of(copied, near, changed)))

    assert PairSearch(examine, 5).smallest(trial, *examine(trial))
    assert _state(fork) == before
    fork.scheduler.core.cache.check_invariants()


def test_the_budget_holds_for_pairs() -> None:
    assert explain(CLUSTER, gpu_pod("p"), budget=40).tried <= 40
    assert not explain(CLUSTER, gpu_pod("p"), budget=3).pairs


@few
@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=3),
    st.booleans(),
    st.sampled_from(["1", "6"]),
)
def test_pairs_can_be_applied_and_neither_half_helps(
    nodes: list[tuple[bool, bool, bool]], choosy: bool, cpu: str
) -> None:
    objects: list[Manifest] = []
    for i, (tainted, cordoned, full) in enumerate(nodes):
        spec = ({"taints": [TAINT]} if tainted else {}) | ({"unschedulable": True} if cordoned else {})
        objects.append(node(f"n{i}", "8", **spec))
        objects += [pod(f"x{i}", "7", on=f"n{i}", priority=5)] * full
    pending = pod("p", cpu, **({"nodeSelector": {"disk": "ssd"}} if choosy else {}))
    found = explain(objects, pending)
    if any(each.kind is not ChangeKind.ADD_NODE for each in found.changes):
        assert not found.pairs
    for pair in found.pairs:
        document = json.loads(json.dumps(pair.to_dict()))
        assert document["kinds"] == [str(each.kind) for each in pair.parts]
        assert _best(objects, pending, document["operations"]) == pair.best
        for part in pair.parts:
            assert part.kind not in {each.kind for each in found.changes}


def _best(objects: list[Manifest], pending: Manifest, operations: list[dict[str, Any]]) -> str:
    changed = applied([*objects, pending], operations)
    (wanted,) = (each for each in changed if each["metadata"]["name"] == "p")
    return Simulation([each for each in changed if each is not wanted]).evaluate(wanted).best[0]
