"""A cluster with storage, a scheduler, and a volume controller."""

from __future__ import annotations

from typing import Any

from attrs import define, evolve, field

from plugins_builtin.volume_binding.claims import Storage
from schedframe import InMemoryCluster, Pod, Scheduler, VirtualClock
from schedframe.api import PersistentVolume, PersistentVolumeClaim
from schedframe.cycle import observing
from tests.plugins.storage import VolumeController, make_class, make_node, make_volume

NO_PROVISIONER = "kubernetes.io/no-provisioner"
PREFIX = 'running PreBind plugin "VolumeBinding": '


@define(eq=False)
class World:
    """Two nodes, a class with and one without provisioner, a scheduler, and a volume controller."""

    delay: bool = False
    config: Any = None
    clock: VirtualClock = field(factory=VirtualClock)
    cluster: InMemoryCluster = field(init=False)
    controller: VolumeController = field(init=False)
    scheduler: Scheduler = field(init=False)
    faults: list[str] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.cluster = InMemoryCluster(clock=self.clock)
        self.controller = VolumeController(self.cluster, delay=self.delay)
        self.scheduler = self.make_scheduler(self.cluster)
        self.create(make_node("n", "a"), make_node("m", "b"), make_class())
        self.create(make_class("local", NO_PROVISIONER))

    def make_scheduler(self, cluster: Any) -> Scheduler:
        return Scheduler(
            cluster,
            self.config,
            clock=self.clock,
            seed=1,
            observers=[
                observing(faulted=lambda status, pod: self.faults.append(status.message.removeprefix(PREFIX)))
            ],
        )

    def create(self, *objects: Any) -> None:
        for obj in objects:
            self.cluster.create(evolve(obj, metadata=evolve(obj.metadata, resource_version="")))

    def settle(self, seconds: float = 0.0) -> None:
        """Let *seconds* pass, step by step, and run what is due."""
        self.scheduler.run_until_idle()
        end = self.clock() + seconds
        while (deadline := self.scheduler.next_deadline()) is not None and deadline <= end:
            self.clock.advance(max(0.0, deadline - self.clock()))
            self.scheduler.run_until_idle()
        self.clock.advance(end - self.clock())

    def pod(self, name: str = "p") -> Pod:
        pod: Pod = self.cluster.get("Pod", f"default/{name}")
        return pod

    def claim(self, name: str = "c") -> PersistentVolumeClaim:
        claim: PersistentVolumeClaim = self.cluster.get("PersistentVolumeClaim", f"default/{name}")
        return claim

    def volume(self, name: str = "v") -> PersistentVolume:
        volume: PersistentVolume = self.cluster.get("PersistentVolume", name)
        return volume

    def waits(self, name: str = "p") -> bool:
        return self.scheduler.core.paused.get(f"default-{name}") is not None

    def check(self) -> None:
        """Assert that every unwritten assumption belongs to a current attempt."""
        storage = Storage.of(self.scheduler.core.objects)
        storage.volumes.assumed.check_invariants()
        storage.claims.check_invariants()
        self.scheduler.core.paused.check_invariants()
        held = {uid for each in assumptions(storage) for uid in each.holders if each.written is None}
        assert held <= set(self.scheduler.core.binding)


def assumptions(storage: Storage) -> list[Any]:
    return [*storage.volumes.assumed._assumptions.values(), *storage.claims._assumptions.values()]


def local(name: str, size: str = "10Gi", **fields: Any) -> PersistentVolume:
    return make_volume(name, "local", size, **fields)


class ChangingWorld(World):
    """Changes that can happen while a pod waits for its volumes."""

    def node(self) -> str:
        attempt = self.scheduler.core.binding["default-p"]
        return attempt.node_name

    def reset(self) -> None:
        volume = self.volume()
        self.cluster.update(evolve(volume, spec=evolve(volume.spec, claim_ref=None)))
