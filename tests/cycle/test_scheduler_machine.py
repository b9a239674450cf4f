"""The whole scheduler under everything that can happen to it, checked after every step."""

from __future__ import annotations

from typing import Any

from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from schedframe import BindRefused, ClusterError, OutcomeUnknown, Pod
from schedframe.api import Namespace, ObjectMeta
from schedframe.cluster import FlakyCluster, FlakyWatch
from schedframe.cycle import Tuning
from schedframe.queue import Pool
from tests.profiles import many

from .build import World, make_node, make_pod
from .chaos import MOODS, PARK, POINTS, WAIT, Chaos
from .driven import DrivenMachine, steps
from .executors import ManualExecutor
from .invariants import check_agreement, check_no_other_pod, check_places

POD_NAMES = tuple(f"p{i}" for i in range(6))
NODE_NAMES = tuple(f"n{i}" for i in range(3))
CHANGES = ("delete", "delete", "label", "ungate", "release", "end", "nominate", "bind")

pods = st.sampled_from(POD_NAMES)
nodes = st.sampled_from(NODE_NAMES)


@many
class SchedulerMachine(DrivenMachine):
    """Events are lost, doubled and late, binds fail and come back in any order, plugins do as they like."""

    gatekeeper = "Chaos"

    def __init__(self) -> None:
        super().__init__()
        self.executor = ManualExecutor()
        self.world = World(
            {"Chaos": Chaos},
            self.executor,
            only={"bind": ["Chaos"]},
            around=FlakyCluster,
            options={"tuning": Tuning(verify=1.0)},
        )
        self.cluster = self.world.cluster
        self.core = self.world.scheduler.core
        self.chaos: Chaos = self.world.plugin("Chaos")
        self.chaos.attempts_of = self._attempts_of
        self.world.create(make_node("n0", cpu=4), make_pod("p0", cpu=1), make_pod("p1", labels={WAIT: "10"}))
        self.world.scheduler.start()
        flaky = self.core.cluster
        assert isinstance(flaky, FlakyCluster)
        self.watch: FlakyWatch = flaky.watches[0]

    def _attempts_of(self, pod: Pod) -> int:
        (info,) = [each for each in self.core.queue.in_pool(Pool.IN_FLIGHT) if each.uid == pod.uid]
        return info.attempts

    # ---- the cluster ----

    @rule(
        name=pods,
        cpu=st.sampled_from((0, 1, 2, 3)),
        priority=st.sampled_from((None, 10)),
        wait=st.sampled_from(("", "", "10", "60")),
        park=st.sampled_from(("", "", "5", "60")),
        gated=st.sampled_from((False, False, False, True)),
        held=st.booleans(),
        nominated=st.sampled_from(("", "", "", "n0", "nowhere")),
        go=steps,
    )
    def create_pod(
        self,
        name: str,
        cpu: int,
        priority: int | None,
        wait: str,
        park: str,
        gated: bool,
        held: bool,
        nominated: str,
        go: int,
    ) -> None:
        """Create a pod, in the place of one that has its name."""
        self._remove(name)
        labels = {key: value for key, value in ((WAIT, wait), (PARK, park)) if value}
        self.cluster.create(
            make_pod(
                name,
                cpu=cpu,
                priority=priority,
                labels=labels,
                gates=("gate",) if gated else (),
                finalizers=("test/held",) if held else (),
                nominated=nominated,
            )
        )
        self._go(go)

    @rule(name=pods, node=nodes, what=st.sampled_from(CHANGES), go=steps)
    def change_pod(self, name: str, node: str, what: str, go: int) -> None:
        """Something happens to a pod."""
        pod = self.world.find("Pod", f"default/{name}")
        if pod is None:
            return
        if what == "delete":
            self.cluster.delete(pod)
        elif what == "label":
            self.world.change_pod(name, labels={**pod.labels, "touched": pod.metadata.resource_version})
        elif what == "ungate":
            self.cluster.update(_ungated(pod))
        elif what == "release":
            self.world.change_pod(name, finalizers=())
        elif what == "end":
            self.world.change_pod(name, status={"phase": "Succeeded"})
        elif what == "nominate":
            self.world.change_pod(name, status={"nominated_node_name": node})
        elif not pod.spec.node_name and not pod.is_terminating:
            self.cluster.update(_ungated(pod).with_node_name(node))
        self._go(go)

    @rule(
        name=nodes,
        cpu=st.sampled_from((0, 2, 4)),
        cordoned=st.booleans(),
        pods=st.sampled_from((2, 110)),
        what=st.sampled_from(("put", "put", "delete", "replace", "namespace")),
        go=steps,
    )
    def change_node(self, name: str, cpu: int, cordoned: bool, pods: int, what: str, go: int) -> None:
        """Add, change, remove or replace a node, or something that matters less."""
        new = make_node(name, cpu=cpu, unschedulable=cordoned, pods=pods)
        if what == "put":
            self.cluster.apply(new)
        elif what == "namespace":
            self._toggle(Namespace(ObjectMeta(name=name)))
        elif self.world.find("Node", name) is not None:
            self.cluster.delete(new)
            if what == "replace":
                self.cluster.create(new)
        self._go(go)

    def _toggle(self, obj: Any) -> None:
        if self.world.find(obj.KIND, obj.key) is None:
            self.cluster.create(obj)
        else:
            self.cluster.delete(obj)

    # ---- trouble ----

    @rule(
        operation=st.sampled_from(("bind", "bind", "get", "patch_pod_status", "record_event")),
        error=st.sampled_from((OutcomeUnknown, BindRefused, ClusterError)),
        applied=st.booleans(),
        times=st.integers(1, 3),
        go=steps,
    )
    def fail_next(self, operation: str, error: type[Exception], applied: bool, times: int, go: int) -> None:
        """The next requests fail; some of them take effect."""
        applied &= error is OutcomeUnknown
        self.cluster.fail_next(operation, error, times=times, applied=applied)
        self._go(go)

    @rule(point=st.sampled_from(POINTS), mood=st.sampled_from(MOODS), go=steps)
    def annoy(self, point: str, mood: str, go: int) -> None:
        """The plugin does something at that point when it is called next."""
        self.chaos.moods[point] = mood
        self._go(go)

    @rule(name=pods)
    def activate(self, name: str) -> None:
        """A plugin wants a pod to be tried at once."""
        pod = self.core.pending.get(f"default/{name}")
        if pod is not None:
            self.chaos.handle.activate([pod])

    @rule()
    def settle(self) -> None:
        """Everything that is under way ends; then scheduler and cluster agree."""
        self.watch.relist()
        self._come_to_rest()
        self._agree()

    # ---- what must hold ----

    @invariant()
    def is_consistent(self) -> None:
        """Every structure by itself."""
        self.world.check()
        assert not self.chaos.problems

    @invariant()
    def every_pending_pod_is_in_one_place(self) -> None:
        """No pod is lost, none is doubled."""
        check_places(self.world)

    @invariant()
    def nobody_else_is_anywhere(self) -> None:
        """Nothing is kept for the past."""
        check_no_other_pod(self.world, self.executor)

    def _agree(self) -> None:
        check_agreement(self.world, self.watch)

    def teardown(self) -> None:
        """With room for all pods and no more trouble every pod is placed, without waiting for minutes."""
        self.chaos.moods.clear()
        self.cluster._failures.waiting.clear()
        for name in POD_NAMES:
            pod = self.world.find("Pod", f"default/{name}")
            if pod is not None and pod.spec.scheduling_gates:
                self.cluster.update(_ungated(pod))
        self.cluster.apply(make_node("big", cpu=100))
        self.settle()
        # As in kube-scheduler, the gate of a preemptor opens when its last victim is gone, not before.
        for name in POD_NAMES:
            pod = self.world.find("Pod", f"default/{name}")
            if pod is not None and pod.is_terminating:
                self.world.change_pod(name, finalizers=())
        for _ in range(20):
            for waiting in self.core.waiting:
                waiting.allow("Chaos")
            self._come_to_rest()
            deadline = self.world.scheduler.next_deadline()
            if deadline is None or deadline > self.world.clock() + 100:
                break
            self.world.clock.advance_to(deadline)
        left = [pod for pod in self.core.pending.values() if not pod.is_terminating]
        assert not left, [self.world.where(pod.name) for pod in left]
        self._agree()
        self.is_consistent()


def _ungated(pod: Pod) -> Pod:
    return evolve(pod, spec=evolve(pod.spec, scheduling_gates=()))


TestSchedulerMachine = SchedulerMachine.TestCase
# 12,000 steps, and 240,000 with the profile for nights.
