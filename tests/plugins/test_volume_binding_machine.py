"""State machine: pods, claims and volumes are added and deleted while writes fail and events are late."""

from __future__ import annotations

from random import Random
from typing import Any

from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from plugins_builtin.volume_binding.claims import Storage
from schedframe import BindRefused, Conflict, OutcomeUnknown
from schedframe.api import PersistentVolumeClaim
from schedframe.cluster import FlakyCluster
from tests.plugins.storage import HOSTNAME, make_claim, make_node, make_pod
from tests.plugins.volume_world import World, assumptions, local

CLAIMS = ("a", "b", "c")
PODS = ("p", "q", "r")
LONGEST = 700.0
"""Seconds, longer than the binding timeout and any backoff."""


class Binding(RuleBasedStateMachine):
    """A scheduler whose events arrive late; pods with several claims, some of them shared.

    No volume is ever bound to two claims, no claim gets two volumes, and nothing is held that no attempt is
    under way for.
    """

    @initialize()
    def start(self) -> None:
        self.world = world = World(delay=True)
        flaky = FlakyCluster(world.cluster)
        world.scheduler.close()
        world.scheduler = world.make_scheduler(flaky)
        world.scheduler.sync()
        (self.watch,) = flaky.watches
        self.made = 0
        for name, storage_class in (("a", "local"), ("b", "wait"), ("c", "local")):
            world.create(make_claim(name, storage_class, uid=f"{name}-0"), local(f"v-{name}"))
        for name, claims in (("p", "a"), ("q", "ab"), ("r", "c")):
            world.create(make_pod(*claims, name=name))
        self.watch.deliver()

    def number(self) -> int:
        self.made += 1
        return self.made

    def run(self) -> None:
        self.world.scheduler.run_until_idle()

    # ---- users ---------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(PODS), claims=st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=2))
    def a_pod_comes_or_goes(self, name: str, claims: list[str]) -> None:
        if self.world.pod(name) is None:
            pod = make_pod(*claims, name=name)
            uid = f"{name}-{self.number()}"
            self.world.create(evolve(pod, metadata=evolve(pod.metadata, uid=uid)))
        else:
            self.world.cluster.delete("Pod", f"default/{name}")

    @rule(name=st.sampled_from(CLAIMS), storage_class=st.sampled_from(("local", "wait")))
    def a_claim_comes_or_is_recreated(self, name: str, storage_class: str) -> None:
        if self.world.claim(name) is not None:
            self.world.cluster.delete("PersistentVolumeClaim", f"default/{name}")
        self.world.create(make_claim(name, storage_class, uid=f"{name}-{self.number()}"))

    @rule(size=st.sampled_from(("10Gi", "20Gi")), node=st.sampled_from(("", "n", "m")))
    def a_volume_comes(self, size: str, node: str) -> None:
        only = {HOSTNAME: [node]} if node else None
        self.world.create(local(f"v{self.number()}", size, only=only))

    @rule(data=st.data())
    def a_volume_goes(self, data: st.DataObject) -> None:
        names = [volume.name for volume in self.world.cluster.list("PersistentVolume")]
        if names:
            self.world.cluster.delete("PersistentVolume", data.draw(st.sampled_from(names)))

    @rule()
    def a_node_is_recreated(self) -> None:
        self.world.cluster.delete("Node", "m")
        self.world.create(make_node("m", "b"))

    # ---- the cluster ----------------------------------------------------------------------------------

    @rule(refuses=st.booleans())
    def volumes_are_bound(self, refuses: bool) -> None:
        self.world.controller.refuse = lambda claim: refuses
        self.world.controller.work()
        self.run()

    @rule(count=st.none() | st.integers(1, 5), seed=st.none() | st.integers(0, 3))
    def events_arrive(self, count: int | None, seed: int | None) -> None:
        if seed is not None:
            self.watch.shuffle(Random(seed))
        self.watch.deliver(count)
        self.run()

    @rule(data=st.data())
    def an_event_comes_twice(self, data: st.DataObject) -> None:
        if self.watch.pending:
            self.watch.duplicate(data.draw(st.integers(0, len(self.watch.pending) - 1)))

    @rule(resync=st.booleans())
    def the_connection_is_renewed(self, resync: bool) -> None:
        self.watch.relist(resync=resync)
        self.run()

    @rule(
        operation=st.sampled_from(("update", "update", "bind")),
        outcome=st.sampled_from(("refused", "lost", "lost but done")),
    )
    def a_write_goes_wrong(self, operation: str, outcome: str) -> None:
        error: Exception = OutcomeUnknown("no answer")
        if outcome == "refused":
            error = Conflict("busy") if operation == "update" else BindRefused("busy")
        self.world.cluster.fail_next(operation, error, applied=outcome == "lost but done")
        self.watch.deliver()
        self.run()
        self.world.cluster._failures.waiting.clear()

    @rule(seconds=st.sampled_from((5.0, 60.0, LONGEST)))
    def time_passes(self, seconds: float) -> None:
        self.world.settle(seconds)

    # ---- invariants --------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_given_twice(self) -> None:
        owners: dict[str, str] = {}
        for volume in self.world.cluster.list("PersistentVolume"):
            reference = volume.spec.claim_ref
            if reference is not None:
                other = owners.setdefault(reference.uid, volume.name)
                assert other == volume.name, f"claim {reference.name} has {other} and {volume.name}"
        claims: list[PersistentVolumeClaim] = self.world.cluster.list("PersistentVolumeClaim")
        bound = [claim for claim in claims if claim.spec.volume_name]
        assert len({claim.spec.volume_name for claim in bound}) == len(bound)
        for claim in bound:
            assert owners.get(claim.uid, claim.spec.volume_name) == claim.spec.volume_name

    @invariant()
    def every_assumption_has_an_attempt(self) -> None:
        self.world.check()

    def teardown(self) -> None:
        """When all is messages and all pods are gone nothing is held, and nothing waits."""
        if not hasattr(self, "world"):
            return
        for pod in self.world.cluster.list("Pod"):
            self.world.cluster.delete("Pod", pod.key)
        self.watch.relist()
        self.run()
        self.world.settle(LONGEST)
        core = self.world.scheduler.core
        assert not core.binding
        assert not len(core.paused)
        storage = Storage.of(core.objects)
        storage.volumes.assumed.sync()
        storage.claims.sync()
        left: list[Any] = assumptions(storage)
        assert not left, left


TestBinding = Binding.TestCase
