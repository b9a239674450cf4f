"""Invalid claims and failing writes: the reason that the pod gets, and that other pods are scheduled."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from plugins_builtin.dynamic_resources.allocation_memo import ERR_CANNOT_ALLOCATE
from plugins_builtin.dynamic_resources.cel import selector as cel
from plugins_builtin.dynamic_resources.claims.tracker import tracker_of
from schedframe import InMemoryCluster, Scheduler, Status, VirtualClock
from schedframe.api import (
    ALL_DEVICES,
    DeviceRequest,
    ExactDeviceRequest,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    ResourceClaim,
    ResourceClaimConsumerReference,
    from_manifest,
)
from schedframe.cycle import observing

from .devices import claim, device, device_class, devices_of, node, pod, selectors, slice_of

ONE = DeviceRequest("r", ExactDeviceRequest("gpu"))


class Memory(InMemoryCluster):
    """A cluster in which another client acts just before claim *x* is written."""

    interfere: Callable[[], object] | None = None

    def update(self, obj: Any) -> Any:
        if self.interfere is not None and isinstance(obj, ResourceClaim) and obj.name == "x":
            act, self.interfere = self.interfere, None
            act()
        return super().update(obj)


class Cluster:
    """A node with two devices, a claim *other* for one of them, and a scheduler that runs."""

    def __init__(self, *objects: Any, devices: int = 2) -> None:
        self.clock = VirtualClock()
        offered = slice_of("n1", [device(f"d{i}") for i in range(devices)])
        there = [node("n1"), offered, device_class("gpu"), claim("other", ONE), *objects]
        self.memory = Memory(there, clock=self.clock)
        self.faults: list[Status] = []
        self.scheduler = Scheduler(
            self.memory,
            seed=1,
            clock=self.clock,
            observers=[observing(faulted=lambda status, pod: self.faults.append(status))],
        )

    def run(self, *pods: Pod) -> None:
        for each in pods:
            self.memory.create(each)
        self.scheduler.run_until_idle()

    def later(self, seconds: float = 60) -> None:
        self.clock.advance(seconds)
        self.scheduler.run_until_idle()

    def node_of(self, name: str) -> str:
        found: str = self.memory.get("Pod", f"default/{name}").spec.node_name
        return found

    def claim(self, name: str) -> ResourceClaim:
        found = self.memory.get("ResourceClaim", f"default/{name}")
        assert isinstance(found, ResourceClaim)
        return found

    def message(self, name: str) -> str:
        """Return the reason why the pod is pending, from pre_enqueue or its condition."""
        found = self.memory.get("Pod", f"default/{name}")
        conditions = [each.message for each in found.status.conditions if each.type == "PodScheduled"]
        if conditions:
            return str(conditions[0])
        status = self.scheduler.core.frameworks["default-scheduler"].run_pre_enqueue(found)
        return status.message if status is not None else ""

    def in_use(self) -> set[str]:
        tracker = tracker_of(self.scheduler.core.objects)
        tracker.sync()
        tracker.check_invariants()
        return {name for _, _, name in tracker.usage.whole}

    def others_go_on(self) -> None:
        self.run(pod("bystander", "other"), pod("plain"))
        assert (self.node_of("bystander"), self.node_of("plain")) == ("n1", "n1")


def wanting(name: str, made: str = "") -> Pod:
    """A pod with a claim by template; *made*: the claim that its status names."""
    manifest: dict[str, Any] = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-of-{name}"},
        "spec": {
            "containers": [{"name": "c"}],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
        },
    }
    if made:
        manifest["status"] = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": made}]}
    found = from_manifest(manifest)
    assert isinstance(found, Pod)
    return found


def changed(made: ResourceClaim, **changes: Any) -> ResourceClaim:
    return evolve(made, metadata=evolve(made.metadata, **changes))


# ---- reasons of pods ------------------------------------------------------------------------------------


def of_class(name: str) -> DeviceRequest:
    return DeviceRequest("r", ExactDeviceRequest(name))


TROUBLE = {
    "missing": (pod("p", "x"), [], 'could not find ResourceClaim "default/x"'),
    "being deleted": (
        pod("p", "x"),
        [changed(claim("x", ONE), deletion_timestamp=1.0, finalizers=("example.com/waits",))],
        'resourceclaim "x" is being deleted',
    ),
    "of an unknown class": (
        pod("p", "x"),
        [claim("x", of_class("nic"))],
        "request r: device class nic does not exist",
    ),
    "not made yet": (wanting("p"), [], 'pod "default/p": ResourceClaim not created yet'),
    "made for a pod of that name that is gone": (
        wanting("p", "x"),
        [claim("x", ONE)],
        "ResourceClaim default/x was not created for Pod default/p (Pod is not owner)",
    ),
    "too large": (
        pod("p", "x"),
        [claim("x", DeviceRequest("r", ExactDeviceRequest("gpu", count=3)))],
        ERR_CANNOT_ALLOCATE,
    ),
}


@pytest.mark.parametrize("case", TROUBLE)
def test_the_pod_gets_the_reason_and_other_pods_are_scheduled(case: str) -> None:
    unlucky, objects, reason = TROUBLE[case]
    cluster = Cluster(*objects)
    cluster.run(unlucky)
    assert cluster.node_of("p") == ""
    assert reason in cluster.message("p")
    cluster.others_go_on()
    assert cluster.faults == []
    assert cluster.in_use() == {"d0"}


def test_an_invalid_claim_is_an_error_and_is_retried() -> None:
    everything = DeviceRequest("r", ExactDeviceRequest("gpu", allocation_mode=ALL_DEVICES))
    incomplete = slice_of("n1", [device("z")], pool="z", slices=2)
    cluster = Cluster(claim("x", everything), incomplete)
    cluster.run(pod("p", "x"))
    assert [fault.plugin for fault in cluster.faults] == ["DynamicResources"]
    assert "asks for all devices, but resource pool gpu.example.com/z is currently being updated" in (
        cluster.faults[0].message
    )
    cluster.others_go_on()
    cluster.memory.delete("ResourceSlice", "slice-z")
    cluster.memory.delete("Pod", "default/bystander")
    freed = cluster.claim("other")
    cluster.memory.update(evolve(freed, status=evolve(freed.status, allocation=None, reserved_for=())))
    cluster.later()
    assert devices_of(cluster.claim("x")) == ["n1/d0", "n1/d1"]


def test_any_number_of_pods_may_use_a_claim() -> None:
    """The limit of the reference; the API server enforces its own."""
    users = tuple(ResourceClaimConsumerReference("", "pods", f"u{i}", f"uid-{i}") for i in range(256))
    shared = claim("x", ONE, allocated=["n1/d0"])
    cluster = Cluster(evolve(shared, status=evolve(shared.status, reserved_for=users)))
    cluster.run(pod("p", "x"))
    assert cluster.node_of("p") == "n1"
    assert len(cluster.claim("x").status.reserved_for) == 257


def test_without_the_library_only_claims_with_selectors_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    picky = DeviceRequest(
        "r", ExactDeviceRequest("gpu", selectors=selectors("device.driver != 'unheard of'"))
    )
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    cel._environment.cache_clear()
    cel.compile_selector.cache_clear()
    try:
        cluster = Cluster(claim("x", picky))
        cluster.run(pod("p", "x"))
        assert "install schedframe[dra]" in cluster.faults[0].message
        cluster.others_go_on()
    finally:
        monkeypatch.undo()
        cel._environment.cache_clear()
        cel.compile_selector.cache_clear()
    cluster.later()
    assert cluster.node_of("p") == "n1"


# ---- what happens between looking and writing --------------------------------------------------------------


def test_a_claim_of_the_same_name_does_not_get_the_allocation_of_a_deleted_one() -> None:
    cluster = Cluster(claim("x", ONE))

    def make_anew() -> None:
        cluster.memory.delete("ResourceClaim", "default/x")
        cluster.memory.create(changed(claim("x", of_class("none")), uid="another"))

    cluster.memory.interfere = make_anew
    cluster.run(pod("p", "x"))
    assert devices_of(cluster.claim("x")) == []
    assert cluster.in_use() == set()
    cluster.later()
    assert "device class none does not exist" in cluster.message("p")
    cluster.others_go_on()


def test_a_claim_allocated_by_another_client_is_not_allocated_again() -> None:
    cluster = Cluster(claim("x", ONE))

    def allocate() -> None:
        now = cluster.claim("x")
        elsewhere = claim("x", ONE, allocated=["n1/d1"]).status
        cluster.memory.update(evolve(now, status=elsewhere))

    cluster.memory.interfere = allocate
    cluster.run(pod("p", "x"))
    assert devices_of(cluster.claim("x")) == ["n1/d1"]
    cluster.later()
    assert cluster.node_of("p") == "n1"
    assert devices_of(cluster.claim("x")) == ["n1/d1"]
    assert cluster.in_use() == {"d1"}


def test_a_claim_deleted_during_the_write_is_not_allocated() -> None:
    cluster = Cluster(changed(claim("x", ONE), finalizers=("example.com/waits",)))
    cluster.memory.interfere = lambda: cluster.memory.delete("ResourceClaim", "default/x")
    cluster.run(pod("p", "x"))
    assert devices_of(cluster.claim("x")) == []
    assert cluster.in_use() == set()
    assert "got deleted in the meantime" in cluster.faults[0].message
    cluster.others_go_on()


def test_a_pod_deleted_while_its_devices_get_ready_releases_them() -> None:
    slow = slice_of("n1", [device("s", binding_conditions=("Ready",))], pool="slow")
    cluster = Cluster(claim("x", ONE), slow, devices=0)
    cluster.run(pod("p", "x"))
    assert [user.name for user in cluster.claim("x").status.reserved_for] == ["p"]
    cluster.memory.delete("Pod", "default/p")
    cluster.scheduler.run_until_idle()
    assert cluster.claim("x").status.reserved_for == ()
    cluster.run(pod("q", "other"))
    assert cluster.node_of("q") == "", "the claim keeps its device, for the next pod"


def test_events_of_other_claims_do_not_end_the_wait() -> None:
    slow = slice_of("n1", [device("s", binding_conditions=("Ready",))], pool="slow")
    cluster = Cluster(claim("x", ONE), claim("y", ONE), slow, devices=0)
    cluster.run(pod("p", "x"))
    (parked,) = cluster.scheduler.core.paused._paused.values()
    assert [wanted.key for wanted in parked.events] == ["default/x"]
    cluster.memory.update(changed(cluster.claim("y"), labels={"touched": "yes"}))
    cluster.scheduler.run_until_idle()
    assert list(cluster.scheduler.core.paused._paused.values()) == [parked]


def test_an_invalid_slice_fails_the_pods_that_read_it() -> None:
    worked, broken = (NodeSelectorRequirement("zone", operator, ("a",)) for operator in ("In", "Somehow"))
    made = slice_of("", [device("z")])
    cluster = Cluster(claim("x", ONE))

    def chosen_by(requirement: NodeSelectorRequirement) -> Any:
        selector = NodeSelector((NodeSelectorTerm((requirement,)),))
        return evolve(made, spec=evolve(made.spec, all_nodes=None, node_selector=selector))

    cluster.memory.create(chosen_by(broken))
    cluster.run(pod("p", "x"), pod("plain"))
    assert (cluster.node_of("p"), cluster.node_of("plain")) == ("", "n1")
    assert "failed to parse node selector" in cluster.faults[0].message
    cluster.memory.apply(chosen_by(worked))
    cluster.later()
    assert cluster.node_of("p") == "n1"


def test_a_failing_expression_is_reported_each_time() -> None:
    absent = "device.attributes['gpu.example.com'].absent == 1"
    cluster = Cluster(claim("x", DeviceRequest("r", ExactDeviceRequest("gpu", selectors=selectors(absent)))))
    cluster.run(pod("p", "x"))
    cluster.later()
    first, second = cluster.faults
    assert first == second
    assert "device gpu.example.com/n1/d0: CEL runtime error" in first.message
    cluster.others_go_on()


DIGITS = str([*range(30)])
"""Nested four times, more iterations than the library allows."""
FAILING = {
    "1/0 == 1": "CEL runtime error: INVALID_ARGUMENT: divide by zero",
    f"{DIGITS}.all(a, {DIGITS}.all(b, {DIGITS}.all(c, {DIGITS}.all(d, a + b + c + d >= 0))))": (
        "CEL runtime error: INTERNAL: Iteration budget exceeded"
    ),
    "nothing ==\n  nowhere": "CEL compile error: INVALID_ARGUMENT: ERROR: <input>:1:1: undeclared reference",
    "'x'.matches('(\\n')": "CEL runtime error: INVALID_ARGUMENT: invalid regular expression",
    "device.driver": "the result is of type STRING, not BOOL",
}


@pytest.mark.parametrize("expression", FAILING)
def test_a_failing_expression_takes_one_line_of_the_log_for_each_attempt(
    expression: str, caplog: pytest.LogCaptureFixture
) -> None:
    failing = DeviceRequest("r", ExactDeviceRequest("gpu", selectors=selectors(expression)))
    cluster = Cluster(claim("x", failing))
    caplog.handler.setFormatter(logging.Formatter("%(message)s"))
    for attempt in (1, 2):
        cluster.run(*[pod("p", "x")] if attempt == 1 else ())
        (line,) = caplog.text.splitlines()
        assert "claim default/x: selector #0 on device gpu.example.com/n1/d0: " + FAILING[expression] in line
        caplog.clear()
        cluster.clock.advance(60)


def test_a_claim_that_changed_takes_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster(changed(claim("x", ONE), finalizers=("example.com/waits",)))
    cluster.memory.interfere = lambda: cluster.memory.delete("ResourceClaim", "default/x")
    caplog.handler.setFormatter(logging.Formatter("%(message)s"))
    cluster.run(pod("p", "x"))
    (line,) = caplog.text.splitlines()
    assert "claim default/x got deleted in the meantime" in line


def test_the_report_of_a_missing_volume_claim_says_why_device_claims_are_unknown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}
    cluster = Cluster()
    cluster.run(
        from_manifest(
            {
                "kind": "Pod",
                "apiVersion": "v1",
                "metadata": {"name": "p", "namespace": "default"},
                "spec": {"containers": [{"name": "c"}], "volumes": [volume]},
            }
        )
    )
    # The reference has no state of the plugin either: "not found" is its message.
    assert cluster.message("p") == (
        '0/1 nodes are available: persistentvolumeclaim "gone" not found. not found'
    )
    (fault,) = cluster.faults
    assert (fault.plugin, fault.reasons) == ("DynamicResources", ("not found",))
    assert "another plugin rejected the pod at pre_filter" in caplog.text
