"""The whole scheduler behind an API server where any request may go wrong in any way, in virtual time."""

from __future__ import annotations

import logging
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from schedframe.errors import CacheFault, VerificationError
from schedframe.testing.api_server import MIX, STREAM_MIX, Fault, RandomFaults, Refusal
from tests.cycle.invariants import check_no_other_pod, check_places
from tests.profiles import few

from .driven_world import DrivenWorld

POD_NAMES = tuple(f"p{i}" for i in range(6))
NODE_CPUS = {"n0": 2, "n1": 4, "n2": 3}
SECONDS = (0.0, 0.0, 0.3, 1.5, 6.0, 40.0)
RESOURCES = ("pods/binding", "pods/binding", "pods/status", "pods", "nodes", "events", "*")
CHANGES = ("delete", "delete", "end", "label", "ungate", "bind")
APPLIED = tuple(fault for fault in MIX if fault.applied)
QUIET_SECONDS = 120.0
"""Seconds after which every request was answered and every retry was made, but for those of the queue's flush
of unschedulable pods (300 s), which would hide that an event was lost."""

pods = st.sampled_from(POD_NAMES)
nodes = st.sampled_from(tuple(NODE_CPUS))
seconds = st.sampled_from(SECONDS)
"""Time that passes after a step."""


@few
class BehindServerMachine(RuleBasedStateMachine):
    """Pods and nodes come and go, requests fail before and after their effect, watches break, time passes."""

    def __init__(self) -> None:
        super().__init__()
        logging.disable(logging.ERROR)
        self.world = DrivenWorld(graceful=True)
        self.server = self.world.server
        self.is_up = True

    @initialize()
    def begin(self) -> None:
        """One node and two pods; the scheduler starts."""
        self._put_node("n0")
        self._new_pod("p0", 1)
        self._new_pod("p1", 1)
        self.world.scheduler.start()

    # ---- the cluster -------------------------------------------------------------------------------------

    @rule(
        name=pods,
        cpu=st.sampled_from((0, 1, 1, 2, 3)),
        priority=st.sampled_from((0, 0, 10)),
        gated=st.sampled_from((False, False, False, True)),
        after=seconds,
    )
    def create_pod(self, name: str, cpu: int, priority: int, gated: bool, after: float) -> None:
        """Create a pod, in place of one of the same name."""
        self._delete("Pod", f"default/{name}")
        self._new_pod(name, cpu, priority=priority, gated=gated)
        self.world.drive(after)

    def _new_pod(self, name: str, cpu: int, *, priority: int = 0, gated: bool = False) -> None:
        container: dict[str, Any] = {"name": "c", "image": "i"}
        if cpu:
            container["resources"] = {"requests": {"cpu": str(cpu)}}
        spec: dict[str, Any] = {"containers": [container], "priority": priority}
        if gated:
            spec["schedulingGates"] = [{"name": "g"}]
        self.server.create({"kind": "Pod", "metadata": {"name": name}, "spec": spec})

    @rule(name=pods, what=st.sampled_from(CHANGES), after=seconds)
    def change_pod(self, name: str, what: str, after: float) -> None:
        """Something else than the scheduler changes a pod."""
        pod = self.server.get("Pod", f"default/{name}")
        if pod is None:
            return
        spec = pod["spec"]
        if what == "delete":
            self._delete("Pod", f"default/{name}")
        elif what == "end" and spec.get("nodeName"):
            self.server.apply({**pod, "status": {**pod["status"], "phase": "Succeeded"}})
        elif what == "label":
            version = pod["metadata"]["resourceVersion"]
            self.server.apply({**pod, "metadata": {**pod["metadata"], "labels": {"touched": version}}})
        elif what == "ungate" and "schedulingGates" in spec:
            open_spec = {key: value for key, value in spec.items() if key != "schedulingGates"}
            self.server.apply({**pod, "spec": open_spec})
        elif what == "bind" and not spec.get("nodeName") and not self._requests(pod):
            self.server.apply({**pod, "spec": {**spec, "nodeName": "n0"}})
        self.world.drive(after)

    def _requests(self, pod: Any) -> bool:
        return "resources" in pod["spec"]["containers"][0]

    @rule(name=nodes, what=st.sampled_from(("put", "put", "delete", "again", "cordon")), after=seconds)
    def change_node(self, name: str, what: str, after: float) -> None:
        """Add, remove, replace or close a node."""
        if what in ("delete", "again"):
            self._delete("Node", name)
        if what != "delete":
            self._put_node(name, unschedulable=what == "cordon")
        self.world.drive(after)

    def _put_node(self, name: str, *, cpu: int = 0, unschedulable: bool = False) -> None:
        amounts = {"cpu": str(cpu or NODE_CPUS[name]), "memory": "64Gi", "pods": "110"}
        self.server.apply(
            {
                "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                "spec": {"unschedulable": unschedulable},
                "status": {"allocatable": amounts, "capacity": amounts},
            }
        )

    def _delete(self, kind: str, key: str) -> None:
        if self.server.get(kind, key) is not None:
            self.server.delete(kind, key)

    # ---- the cluster, just when it matters ---------------------------------------------------------------

    @rule(cpu=st.sampled_from((1, 1, 2)), fault=st.sampled_from(APPLIED), silent=st.booleans(), after=seconds)
    def rush(self, cpu: int, fault: Fault, silent: bool, after: float) -> None:
        """Many pods at once, and the binds of some go wrong; the watch may show the pods, but no binds."""
        absent = [name for name in POD_NAMES if self.server.get("Pod", f"default/{name}") is None]
        if silent:
            self.server.faults.add(Fault.silence(events=len(absent)), "watch", "pods")
            self.world.drive(5.5)  # until the watch was opened again, being quiet
        self.server.faults.add(fault, "create", "pods/binding", times=3)
        for name in absent:
            self._new_pod(name, cpu)
        self.world.drive(after)

    @rule(
        name=pods,
        node=nodes,
        what=st.sampled_from(("delete", "again", "node", "label")),
        wait=st.sampled_from((0.5, 6.0)),
        after=seconds,
    )
    def change_during_bind(self, name: str, node: str, what: str, wait: float, after: float) -> None:
        """While a bind is on its way its pod or a node changes."""
        self.server.faults.add(Fault.delay(wait), "create", "pods/binding", times=2)
        self._delete("Pod", f"default/{name}")
        self._new_pod(name, 1)
        self.world.drive(0.1)
        if what == "label":
            self.change_pod(name, "label", 0.0)
        elif what == "node":
            self._delete("Node", node)
        else:
            self._delete("Pod", f"default/{name}")
        if what == "again":
            self._new_pod(name, 3)
        self.world.drive(after)

    @rule(
        name=pods,
        node=nodes,
        what=st.sampled_from(("delete", "again", "bind", "node", "node again")),
        compacted=st.booleans(),
        after=seconds,
    )
    def change_while_away(self, name: str, node: str, what: str, compacted: bool, after: float) -> None:
        """Things change while the scheduler cannot reach the server, and the history of that may be lost."""
        self.world.loop.run(self.server.shut_down())
        self.world.drive(1.0)
        if what in ("delete", "again"):
            self._delete("Pod", f"default/{name}")
        if what == "again":
            self._new_pod(name, 2)
        if what == "bind":
            self.change_pod(name, "bind", 0.0)
        if what.startswith("node"):
            self._delete("Node", node)
        if what == "node again":
            self._put_node(node)
        if compacted:
            self.world.check_history()
            self.server.compact()
        self.world.loop.run(self.server.listen())
        self.world.drive(after)

    # ---- trouble -----------------------------------------------------------------------------------------

    @rule(
        fault=st.sampled_from(MIX),
        resource=st.sampled_from(RESOURCES),
        times=st.sampled_from((1, 1, 2, 6)),
        after=seconds,
    )
    def fail_requests(self, fault: Fault, resource: str, times: int, after: float) -> None:
        """The next requests go wrong, some of them after their effect."""
        self.server.faults.add(fault, resource=resource, times=times)
        self.world.drive(after)

    @rule(fault=st.sampled_from(STREAM_MIX), resource=st.sampled_from(("pods", "nodes", "*")), after=seconds)
    def fail_watch(self, fault: Fault, resource: str, after: float) -> None:
        """The next watch goes wrong."""
        self.server.faults.add(fault, "watch", resource)
        self.world.drive(after)

    @rule(seed=st.integers(0, 1000), share=st.sampled_from((0.0, 0.1, 0.5)), after=seconds)
    def fail_at_random(self, seed: int, share: float, after: float) -> None:
        """From now on any request may go wrong."""
        self.server.faults.random = RandomFaults(seed, share=share) if share else None
        self.world.drive(after)

    @rule(keep=st.sampled_from((0, 0, 3)), after=seconds)
    def forget_history(self, keep: int, after: float) -> None:
        """The server compacts its history."""
        self.world.check_history()
        self.server.compact(keep)
        self.world.drive(after)

    @rule(after=seconds)
    def deny_binds(self, after: float) -> None:
        """A webhook denies the next bind."""
        hooks = self.server.hooks

        def deny(request: Any) -> None:
            if request.resource == "pods/binding":
                hooks.remove(deny)
                raise Refusal(403, "denied")

        hooks.append(deny)
        self.world.drive(after)

    @rule(away=st.sampled_from((0.1, 5.0, 20.0)), after=seconds)
    def restart_server(self, away: float, after: float) -> None:
        """The server crashes, and comes back."""
        self.world.loop.run(self.server.shut_down())
        self.world.drive(away)
        self.world.loop.run(self.server.listen())
        self.world.drive(after)

    @rule(after=seconds)
    def end_pods(self, after: float) -> None:
        """Kubelets end the pods that are being deleted."""
        self.world.end_pods()
        self.world.drive(after)

    @rule(after=st.sampled_from((0.3, 1.5, 6.0, 40.0)))
    def pass_time(self, after: float) -> None:
        """Time passes."""
        self.world.drive(after)

    @rule()
    @precondition(lambda self: self.server.faults.met > 0)
    def settle(self) -> None:
        """Nothing goes wrong any more; then scheduler and server agree."""
        self._settle()

    def _settle(self) -> None:
        self.server.faults.clear()
        self.server.hooks.clear()
        self.world.drive(QUIET_SECONDS)
        while self.world.end_pods():
            self.world.drive(QUIET_SECONDS)
        self.world.check_quiet()
        for pod in self.server.list("Pod"):
            if not pod["spec"].get("nodeName"):
                assert self._why(pod), pod

    def _why(self, pod: Any) -> str:
        """Return the reason that the pod's condition gives for its waiting."""
        conditions = {each["type"]: each for each in pod["status"].get("conditions", ())}
        scheduled = conditions.get("PodScheduled", {})
        return str(scheduled.get("reason", "")) if scheduled.get("status") == "False" else ""

    # ---- what must hold ----------------------------------------------------------------------------------

    @invariant()
    def no_pod_is_lost_or_doubled(self) -> None:
        """At every moment."""
        check_places(self.world)  # type: ignore[arg-type]  # it reads the scheduler alone
        check_no_other_pod(self.world, [None] * self.world.under_way())  # type: ignore[arg-type]  # its length

    @invariant()
    def nothing_is_over_committed(self) -> None:
        """At every resource version."""
        self.world.check_history()

    @invariant()
    def the_cache_changes_no_decision(self) -> None:
        """Every pod is decided by the full search, too."""
        faults = [status.error for status, _ in self.world.faults]
        assert not [each for each in faults if isinstance(each, CacheFault | VerificationError)]

    def teardown(self) -> None:
        """With room for all pods and no more trouble every pod is placed."""
        try:
            self._put_node("big", cpu=100)
            self._settle()
            waiting = [pod for pod in self.server.list("Pod") if not pod["spec"].get("nodeName")]
            assert all("schedulingGates" in pod["spec"] for pod in waiting), waiting
            self.world.check_history()
        finally:
            self.world.close()
            logging.disable(logging.NOTSET)


TestBehindServerMachine = BehindServerMachine.TestCase
