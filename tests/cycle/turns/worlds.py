"""Worlds in which a scheduler runs in a thread, while other threads change things."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from attrs import define, evolve, frozen

from schedframe import InMemoryCluster, Pod, Status, ThreadExecutor, hookimpl
from schedframe.api import (
    ClaimVolumeSource,
    DeviceRequest,
    ExactDeviceRequest,
    PodResourceClaim,
    Volume,
)
from schedframe.cluster import Conflict, NotFound, ViewChange
from schedframe.cycle.inspection import on_core
from schedframe.cycle.messages import Rest
from schedframe.framework import BaseExtender, ExtenderError, ExtenderFilterResult, ExtenderVerb
from tests.configurations import configuration
from tests.cycle.build import make_node, make_pod
from tests.cycle.test_remote_cluster import Remote
from tests.plugins import devices, storage

from .recording import JumpingClock, Record, TurnScheduler, recorded, replayed

KINDS = ("plain", "waits", "paused", "searched", "faulty", "failing", "devices", "failing-devices", "volume")
"""What the plugins below do with a pod, and those of devices and volumes."""
CLAIMS = 2
"""Claims of either kind, so that pods share some."""


def kind_of(pod: Pod) -> str:
    return pod.labels.get("kind", "plain")


class Doorman:
    """Lets some pods wait in permit."""

    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        return Status.wait(20.0) if kind_of(pod) == "waits" else None


class Pausing:
    """Lets some pods wait in pre_bind, once."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    @hookimpl
    def pre_bind(self, pod: Pod) -> Status | None:
        if kind_of(pod) != "paused" or pod.uid in self.seen:
            return None
        self.seen.add(pod.uid)
        return Status.wait(5.0)


class Searching:
    """Decides some pods by how fast the machine is."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    @hookimpl
    def filter(self, pod: Pod) -> Status | None:
        if kind_of(pod) != "searched":
            return None
        is_over, looks = self.handle.deadline(1e-6), 0
        while not is_over():
            looks += 1
        return Status.unschedulable("an odd number of looks") if looks % 2 else None


class Faulty:
    """Fails for some pods, in the cycle and off the core."""

    @hookimpl
    def reserve(self, pod: Pod) -> None:
        if kind_of(pod) == "faulty":
            raise RuntimeError("no")

    @hookimpl
    def pre_bind(self, pod: Pod) -> None:
        if kind_of(pod).startswith("failing"):
            raise RuntimeError("not at all")


PLUGINS = (Doorman, Pausing, Searching, Faulty)
BACKOFF = {"podInitialBackoffSeconds": 2, "podMaxBackoffSeconds": 4}
CONFIGURATIONS = (
    configuration(),
    configuration({"schedulerName": "default-scheduler"}, {"schedulerName": "other"}, **BACKOFF),
    configuration({"plugins": {"score": {"disabled": [{"name": "*"}]}}}),
)


@define(eq=False)
class Choosy(BaseExtender):
    """Refuses a node, or fails, as the test says."""

    name: str = "choosy"
    verbs: frozenset[ExtenderVerb] = frozenset({ExtenderVerb.FILTER})
    refused: str = ""
    fails: bool = False

    def filter(self, pod: Pod, nodes: Any) -> ExtenderFilterResult:
        if self.fails:
            raise ExtenderError("no answer")
        return ExtenderFilterResult(failed={self.refused: "refused"} if self.refused else {})


@define(eq=False)
class World:
    """A scheduler that runs in a thread, and what can happen to it."""

    cluster: InMemoryCluster
    scheduler: TurnScheduler
    clock: JumpingClock
    extender: Choosy

    def create(self, number: int, kind: str, cpu: int, priority: int, scheduler: str) -> None:
        spec: dict[str, Any] = {}
        if kind.endswith("devices"):
            spec["resource_claims"] = (PodResourceClaim("d", resource_claim_name=f"c{number % CLAIMS}"),)
        if kind == "volume":
            spec["volumes"] = (Volume("v", persistent_volume_claim=ClaimVolumeSource(f"v{number % CLAIMS}")),)
        pod = make_pod(
            f"p{number}", cpu=cpu, labels={"kind": kind}, priority=priority, scheduler=scheduler, **spec
        )
        with suppress(Conflict):
            self.cluster.create(pod)

    def equip(self) -> None:
        """Create devices, volumes, and claims of both, unless they are there."""
        claimed = [
            devices.claim(f"c{n}", DeviceRequest("r", ExactDeviceRequest("gpu"))) for n in range(CLAIMS)
        ]
        volumes = [storage.make_volume(f"v{n}") for n in range(CLAIMS)]
        wanted = [storage.make_claim(f"v{n}", bound=False) for n in range(CLAIMS)]
        slices = [devices.slice_of(f"n{n}", [devices.device("a")]) for n in range(2)]
        for obj in (devices.device_class(), *slices, *claimed, storage.make_class(), *volumes, *wanted):
            with suppress(Conflict):
                self.cluster.create(obj)

    def delete(self, number: int) -> None:
        with suppress(NotFound):
            self.cluster.delete("Pod", f"default/p{number}")

    def node_of(self, number: int) -> str:
        pod = self.cluster.get("Pod", f"default/p{number}")
        return "" if pod is None else pod.spec.node_name

    def add_node(self, number: int, cpu: int) -> None:
        node = make_node(f"n{number}", cpu=cpu)
        present = self.cluster.get("Node", node.name)
        if present is None:
            self.cluster.create(node)
        else:
            self.cluster.update(evolve(present, status=node.status))

    def remove_node(self, number: int) -> None:
        with suppress(NotFound):
            self.cluster.delete("Node", f"n{number}")

    def decide(self, allow: bool) -> None:
        """Allow or reject the pods that wait in permit."""
        for waiting in on_core(self.scheduler, lambda: list(self.scheduler.core.waiting)):
            waiting.allow("Doorman") if allow else waiting.reject("Doorman", "no")

    def activate(self) -> None:
        framework = next(iter(self.scheduler.core.frameworks.values()))
        pods = on_core(self.scheduler, lambda: list(self.scheduler.core.pending.values()))
        framework.handle.activate(pods)

    def rest(self) -> None:
        pods = on_core(self.scheduler, lambda: list(self.scheduler.core.pending.values()))
        self.scheduler.core.inbox.put(Rest(tuple(pods[:1]), int(self.clock() + 3)))

    def jump(self, seconds: int) -> None:
        self.clock.ahead += seconds
        self.scheduler.core.inbox.wake()

    def reload(self, index: int) -> None:
        self.scheduler.reload(CONFIGURATIONS[index])

    def refuse(self, node: str, fails: bool) -> None:
        self.extender.refused, self.extender.fails = node, fails

    def hold(self, holds: bool) -> None:
        if isinstance(self.cluster, Remote) and self.cluster.on_view_change is not None:
            self.cluster.on_view_change(ViewChange({"Node": "lost"} if holds else {}, holds))

    def limit(self, limit: int) -> None:
        if isinstance(self.cluster, Remote) and self.cluster.on_limit_change is not None:
            self.cluster.binding_limit = limit
            self.cluster.on_limit_change(limit)

    def until(self, condition: Condition) -> None:
        """Let the core go on until the *condition*, which it evaluates itself."""
        for _ in range(100_000):
            if on_core(self.scheduler, lambda: condition(self)):
                return
        raise AssertionError("it did not come to that")

    def settle(self) -> None:
        """Let the core take in what happened so far, and decide the pods that are ready, if it may."""
        for _ in range(20):  # more turns than there are pods; with a stale view the pods stay ready
            if not on_core(self.scheduler, self.scheduler.core.queue.has_active):
                return


@frozen
class Nothing:
    """A subscription without events."""

    def close(self) -> None:
        """Nothing to end."""


class Silent(InMemoryCluster):
    """A cluster that tells nothing: the events are in the record."""

    def watch(self, handler: Any, kinds: Any = None) -> Any:
        return Nothing()


class SilentRemote(Remote):
    """The same of a remote one."""

    def watch(self, handler: Any, kinds: Any = None) -> Any:
        return Nothing()


@contextmanager
def loop_of(cluster: Remote) -> Iterator[None]:
    """Run the loop of *cluster*."""
    thread = threading.Thread(target=cluster.loop.run_forever, name="loop")
    thread.start()
    try:
        yield
    finally:
        cluster.loop.call_soon_threadsafe(cluster.loop.stop)
        thread.join()
        cluster.loop.close()


Condition = Callable[["World"], bool]
Happening = Callable[[World], None]


def lived(happenings: Sequence[Happening], *, remote: bool, asks: bool) -> tuple[Record, float]:
    """Return the record of a scheduler to which that happened while it ran, and when it was made.

    *remote*: binds run on an event loop, else in threads. *asks*: an extender is asked about each pod.
    """
    extender = Choosy()
    extenders = [extender] if asks else []
    with _cluster(remote) as cluster:
        executor = None if remote else ThreadExecutor(3)
        with recorded(
            cluster, extenders, config=CONFIGURATIONS[0], plugins=PLUGINS, seed=1, executor=executor
        ) as (scheduler, clock):
            began = scheduler.core.now
            world = World(cluster, scheduler, clock, extender)
            thread = threading.Thread(target=scheduler.run)
            thread.start()
            try:
                for happening in happenings:
                    happening(world)
                world.settle()
            finally:
                scheduler.stop()
                thread.join()
            record = Record(scheduler.record.inputs.copy(), list(scheduler.record.decisions))
    return record, began


@contextmanager
def _cluster(remote: bool) -> Iterator[InMemoryCluster]:
    if not remote:
        yield InMemoryCluster()
        return
    cluster = Remote()
    with loop_of(cluster):
        yield cluster


def lived_again(record: Record, began: float, *, remote: bool, asks: bool) -> list[Any]:
    """Return the decisions of another scheduler in the turns of *record*."""
    cluster = SilentRemote() if remote else Silent()
    return replayed(
        record, cluster, began, [Choosy()] if asks else [], config=CONFIGURATIONS[0], plugins=PLUGINS, seed=1
    )
