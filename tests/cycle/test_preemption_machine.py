"""The whole scheduler with preemption, under everything that can happen to it, checked after every step."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from schedframe import BindRefused, ClusterError, NotFound, OutcomeUnknown
from schedframe.api import (
    LabelSelector,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from schedframe.cluster import FlakyWatch
from schedframe.cycle import Tuning
from schedframe.cycle.search.search import Search
from schedframe.queue import Pool

from .build import PROFILE, World, config_with, make_node, make_pod
from .chaos import PARK, WAIT
from .driven import DrivenMachine, steps
from .executors import ManualExecutor
from .invariants import check_agreement, check_no_other_pod, check_places
from .preempting import Guard, WatchedCluster, WatchedEviction

POD_NAMES = tuple(f"p{i}" for i in range(7))
NODE_NAMES = ("n0", "n1")
APPS = ("a", "b")
CHANGES = ("delete", "delete", "release", "end", "nominate", "relabel")
FAILURES = ("evict", "evict", "evict", "bind", "get", "patch_pod_status", "record_event")

pods = st.sampled_from(POD_NAMES)
nodes = st.sampled_from(NODE_NAMES)
apps = st.sampled_from(APPS)


class PreemptionMachine(DrivenMachine):
    """Evictions fail, come late, or find no pod; victims wait or are being bound; budgets change."""

    gatekeeper = "Guard"

    def __init__(self) -> None:
        super().__init__()
        self.executor = ManualExecutor()
        self.world = World(
            {"Guard": Guard},
            self.executor,
            config=config_with("Guard"),
            around=WatchedCluster,
            options={"tuning": Tuning(verify=1.0)},
        )
        self.cluster = self.world.cluster
        self.core = self.world.scheduler.core
        self.guard: Guard = self.world.plugin("Guard")
        evaluator = self.world.plugin("DefaultPreemption").evaluator
        self.eviction = WatchedEviction(self.core.frameworks[PROFILE].handle, "DefaultPreemption")
        evaluator.eviction = self.eviction
        self.world.create(make_node("n0", cpu=3), make_node("n1", cpu=2))
        self.world.create(make_pod("p0", cpu=2, node_name="n0"), make_pod("p1", cpu=2, node_name="n1"))
        self.world.scheduler.start()
        flaky = self.core.cluster
        assert isinstance(flaky, WatchedCluster)
        self.flaky = flaky
        self.watch: FlakyWatch = flaky.watches[0]

    # ---- the cluster ----

    @rule(
        name=pods,
        cpu=st.sampled_from((0, 1, 2, 2)),
        priority=st.sampled_from((0, 0, 5, 10)),
        label=st.sampled_from(({}, {}, {}, {WAIT: "10"}, {WAIT: "600"}, {PARK: "5"}, {PARK: "60"})),
        app=apps,
        held=st.sampled_from((False, False, True)),
        policy=st.sampled_from((None, None, None, "Never")),
        node=st.sampled_from(("", "", "", *NODE_NAMES)),
        go=steps,
    )
    def create_pod(
        self,
        name: str,
        cpu: int,
        priority: int,
        label: dict[str, str],
        app: str,
        held: bool,
        policy: str | None,
        node: str,
        go: int,
    ) -> None:
        """Create a pod, in the place of one that has its name; another scheduler may have placed it."""
        self._remove(name)
        self.cluster.create(
            make_pod(
                name,
                cpu=cpu,
                priority=priority,
                labels={"app": app} | label,
                finalizers=("test/held",) if held else (),
                node_name=node,
                preemption_policy=policy,
            )
        )
        self._go(go)

    @rule(
        label=st.sampled_from((None, WAIT, PARK)),
        app=apps,
        second=st.sampled_from((0, 4, 5)),
        held=st.booleans(),
        late=steps,
        go=steps,
    )
    def challenge(self, label: str | None, app: str, second: int, held: bool, late: int, go: int) -> None:
        """A pod that needs a whole node comes when one of lower priority has just taken it, or nearly."""
        for name in POD_NAMES[:4]:
            self._remove(name)
        details: dict[str, Any] = {"finalizers": ("test/held",) if held else ()}
        labels = {"app": app} | ({label: "60"} if label else {})
        for name, cpu, priority, later in (
            (POD_NAMES[0], 1, 0, late),
            (POD_NAMES[1], 1, second, 1 + late),
            (POD_NAMES[2], 2, 5, late),
            (POD_NAMES[3], 2, 10, go),
        ):
            self.cluster.create(make_pod(name, cpu=cpu, priority=priority, labels=labels, **details))
            self._go(later)

    @rule(name=pods, node=nodes, what=st.sampled_from(CHANGES), go=steps)
    def change_pod(self, name: str, node: str, what: str, go: int) -> None:
        """Something happens to a pod."""
        pod = self.world.find("Pod", f"default/{name}")
        if pod is None:
            return
        if what == "delete":
            self.cluster.delete(pod)
        elif what == "release":
            self.world.change_pod(name, finalizers=())
        elif what == "end":
            self.world.change_pod(name, status={"phase": "Succeeded"})
        elif what == "relabel":
            other = "b" if pod.labels.get("app") == "a" else "a"
            self.world.change_pod(name, labels={**pod.labels, "app": other})
        elif pod.spec.preemption_policy is None:
            self.world.change_pod(name, status={"nominated_node_name": node})
        self._go(go)

    @rule(
        name=nodes, cpu=st.sampled_from((1, 2, 4)), what=st.sampled_from(("put", "put", "delete")), go=steps
    )
    def change_node(self, name: str, cpu: int, what: str, go: int) -> None:
        """Add, change or remove a node."""
        if what == "put":
            self.cluster.apply(make_node(name, cpu=cpu))
        elif self.world.find("Node", name) is not None:
            self.cluster.delete("Node", name)
        self._go(go)

    @rule(app=apps, allowed=st.sampled_from((None, 0, 1, 2)), counted=pods, go=steps)
    def change_budget(self, app: str, allowed: int | None, counted: str, go: int) -> None:
        """A budget comes, goes, or allows more or less."""
        if allowed is not None:
            spec = PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={"app": app}))
            status = PodDisruptionBudgetStatus(disruptions_allowed=allowed, disrupted_pods={counted: 0.0})
            self.cluster.apply(PodDisruptionBudget(make_pod(app).metadata, spec, status))
        elif self.world.find("PodDisruptionBudget", f"default/{app}") is not None:
            self.cluster.delete("PodDisruptionBudget", f"default/{app}")
        self._go(go)

    # ---- trouble ----

    @rule(
        operation=st.sampled_from(FAILURES),
        error=st.sampled_from((OutcomeUnknown, OutcomeUnknown, BindRefused, ClusterError, NotFound)),
        applied=st.booleans(),
        times=st.integers(1, 3),
        go=steps,
    )
    def fail_next(self, operation: str, error: type[Exception], applied: bool, times: int, go: int) -> None:
        """The next requests fail; some of them take effect."""
        if error is NotFound and operation != "evict":
            error = ClusterError
        applied &= error is OutcomeUnknown
        self.cluster.fail_next(operation, error, times=times, applied=applied)
        self._go(go)

    @rule()
    def settle(self) -> None:
        """Everything that is under way ends; then scheduler and cluster agree."""
        self.watch.relist()
        self._come_to_rest()
        check_agreement(self.world, self.watch)
        self._nobody_waits_for_room_that_is_there()

    # ---- what must hold ----

    @invariant()
    def is_consistent(self) -> None:
        """Every structure by itself; no pod gets room that is not there."""
        self.world.check()
        assert not self.guard.problems
        assert not self.eviction.problems

    @invariant()
    def every_pending_pod_is_in_one_place(self) -> None:
        """No pod is lost, none is doubled."""
        check_places(self.world)

    @invariant()
    def nobody_else_is_anywhere(self) -> None:
        """Nothing is kept for the past; nominations are of pending pods only."""
        check_no_other_pod(self.world, self.executor)
        if not len(self.executor) and not self.core.inbox:
            assert not self.eviction._under_way, "an eviction that is not carried out"
            # An entry whose victim was seen to go keeps its preemptor out no longer; the next preemption
            # forgets it.
            assert self.eviction.last_victims.keys() <= {*self.eviction._evicted}
            kept_out = [pod.key for pod in self.core.pending.values() if self.eviction.is_in_progress(pod)]
            assert not kept_out, "kept out of the queue for an eviction that is not carried out"

    @invariant()
    def only_the_less_important_are_evicted(self) -> None:
        """And only those that a preemption chose."""
        for pod in self.flaky.evicted:
            assert pod.priority < self.eviction.ordered.get(pod.uid, -1), f"{pod.key} was evicted"
        self.flaky.evicted.clear()

    def _nobody_waits_for_room_that_is_there(self) -> None:
        """A pod that was to have room on a node, and could have it, is on its way there."""
        framework = self.core.frameworks[PROFILE]
        for info in self.core.queue.in_pool(Pool.UNSCHEDULABLE):
            node = self.core.queue.nominator.node_of(info.pod)
            # What Guard turned down waits for time alone.
            if node is not None and "Guard" not in info.unschedulable_plugins:
                decision = Search(self.core.cache, Random(0)).decide(framework, info.pod)
                assert decision.node_name is None, f"{info.pod.key} waits for {node}"

    # ---- the end ----

    def teardown(self) -> None:
        """Without more trouble every nomination is used or cleared; with room for all, all are placed."""
        self.cluster._failures.waiting.clear()
        for name in POD_NAMES:
            if self.world.find("Pod", f"default/{name}") is not None:
                self.world.change_pod(name, finalizers=())
        self.settle()
        self._rounds(8, flush=True)
        self._no_nomination_is_left()
        self.cluster.apply(make_node("big", cpu=100))
        self.settle()
        self._rounds(8)
        left = [pod for pod in self.core.pending.values() if not pod.is_terminating]
        assert not left, [self.world.where(pod.name) for pod in left]
        check_agreement(self.world, self.watch)
        self.is_consistent()

    def _rounds(self, count: int, *, flush: bool = False) -> None:
        """Time passes, waiting pods are let go; with *flush* until those without hope are tried again."""
        for _ in range(count):
            for waiting in self.core.waiting:
                waiting.allow("Guard")
            self._come_to_rest()
            self.world.clock.advance(310 if flush else 20)
            self._come_to_rest()

    def _no_nomination_is_left(self) -> None:
        nominator = self.core.queue.nominator
        left = {
            pod.key: name for name in nominator.node_names for pod in nominator.nominated_pods_for_node(name)
        }
        never = {pod.key for pod in self.core.pending.values() if pod.spec.preemption_policy == "Never"}
        assert left.keys() <= never, left
        for pod in self.cluster.list("Pod"):
            if pod.key in self.core.pending and pod.key not in never:
                assert pod.status.nominated_node_name == "", pod.key


TestPreemptionMachine = PreemptionMachine.TestCase
