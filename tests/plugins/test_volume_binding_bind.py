"""VolumeBinding from reserve to the bound pod, in a scheduler, with somebody who binds volumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import define, evolve, field

from plugins_builtin.args import VolumeBindingArgs
from plugins_builtin.volume_binding import VolumeBinding
from plugins_builtin.volume_binding.claims import Storage
from schedframe import (
    Conflict,
    CycleState,
    FlakyCluster,
    InMemoryCluster,
    OutcomeUnknown,
    Pod,
    Scheduler,
    Status,
    ThreadExecutor,
    VirtualClock,
)
from schedframe.api import AWSElasticBlockStore, PersistentVolume, PersistentVolumeClaim
from tests.plugins.storage import (
    HOSTNAME,
    SELECTED_NODE,
    ZONE,
    VolumeController,
    make_claim,
    make_class,
    make_csi_node,
    make_handle,
    make_node,
    make_pod,
    make_volume,
)

NO_PROVISIONER = "kubernetes.io/no-provisioner"
PREFIX = 'running PreBind plugin "VolumeBinding": '


@define(eq=False)
class World:
    """Two nodes, a class with a provisioner and one without, a scheduler, and a volume controller."""

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
            on_fault=lambda status, pod: self.faults.append(status.message.removeprefix(PREFIX)),
        )

    def create(self, *objects: Any) -> None:
        for obj in objects:
            self.cluster.create(evolve(obj, metadata=evolve(obj.metadata, resource_version="")))

    def settle(self, seconds: float = 0.0) -> None:
        """Let *seconds* pass, step by step, and do what is due."""
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
        return self.scheduler.core.parked.get(f"default-{name}") is not None

    def check(self) -> None:
        """Nothing is held that no attempt is under way for."""
        storage = Storage.of(self.scheduler.core.objects)
        storage.volumes.assumed.check_invariants()
        storage.claims.check_invariants()
        self.scheduler.core.parked.check_invariants()
        held = {uid for each in assumptions(storage) for uid in each.holders if each.written is None}
        assert held <= set(self.scheduler.core.binding)


def assumptions(storage: Storage) -> list[Any]:
    return [*storage.volumes.assumed._assumptions.values(), *storage.claims._assumptions.values()]


def local(name: str, size: str = "10Gi", **fields: Any) -> PersistentVolume:
    return make_volume(name, "local", size, **fields)


class TestStatic:
    def test_the_smallest_volume_that_fits(self) -> None:
        world = World()
        world.create(
            make_claim("c", "local"), local("large", "30Gi"), local("v", "20Gi"), local("small", "5Gi")
        )
        world.create(make_pod("c"))
        world.settle()
        assert world.pod().spec.node_name
        assert world.claim().spec.volume_name == "v"
        reference = world.volume().spec.claim_ref
        assert reference is not None
        assert (reference.name, reference.uid) == ("c", world.claim().uid)
        assert not world.faults
        world.check()

    def test_a_volume_is_promised_to_one_claim(self) -> None:
        world = World(delay=True)
        world.create(make_claim("c", "local"), make_claim("d", "local"), local("v"))
        world.create(make_pod("c"), make_pod("d", name="q"))
        world.settle()
        assert world.waits("p")
        assert not world.waits("q")
        assert "didn't find available persistent volumes" in world.pod("q").status.conditions[0].message
        world.controller.work()
        world.settle()
        assert world.pod().spec.node_name
        world.create(local("w"))
        world.settle(60)
        world.controller.work()
        world.settle()
        assert world.pod("q").spec.node_name
        assert world.claim("d").spec.volume_name == "w"
        world.check()

    def test_profiles_do_not_promise_the_same_volume(self) -> None:
        world = World(
            delay=True,
            config={
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [{"schedulerName": "one"}, {"schedulerName": "two"}],
            },
        )
        world.create(make_claim("c", "local"), make_claim("d", "local"), local("v"))
        for pod, profile in ((make_pod("c"), "one"), (make_pod("d", name="q"), "two")):
            world.create(evolve(pod, spec=evolve(pod.spec, scheduler_name=profile)))
        world.settle()
        assert [world.waits("p"), world.waits("q")] == [True, False]

    def test_pods_may_share_a_claim(self) -> None:
        world = World(delay=True)
        world.create(make_claim("c", "local"))
        world.create(*(local(f"v-{node}", only={HOSTNAME: [node]}) for node in "nm"))
        world.create(make_pod("c"), make_pod("c", name="q"))
        world.settle()
        assert world.waits("p")
        assert world.waits("q")
        world.controller.work()
        world.settle()
        node_name = world.pod("p").spec.node_name
        assert world.pod("q").spec.node_name == node_name
        assert world.claim().spec.volume_name == f"v-{node_name}"
        assert len([v for v in world.cluster.list("PersistentVolume") if v.spec.claim_ref is None]) == 1
        world.check()

    def test_a_pod_that_names_a_claim_twice_gets_one_volume(self) -> None:
        world = World()
        world.create(make_claim("c", "local"), local("v"), local("w"), make_pod("c", "c"))
        world.settle()
        assert world.pod().spec.node_name
        assert world.claim().spec.volume_name == "v"
        assert world.volume("w").spec.claim_ref is None

    def test_a_volume_that_names_the_claim_already_is_left_as_it_is(self) -> None:
        world = World(delay=True)
        world.create(make_claim("c", "local"))
        world.create(local("v", claim=world.claim()), make_pod("c"))
        before = world.volume().metadata.resource_version
        world.settle()
        assert world.waits()
        assert world.volume().metadata.resource_version == before
        world.controller.work()
        world.settle()
        assert world.pod().spec.node_name


class TestProvisioning:
    def test_the_claim_is_sent_to_the_node_and_the_pod_waits_there(self) -> None:
        world = World(delay=True)
        world.create(make_claim("c"), make_pod("c"), make_pod(name="other"))
        world.settle()
        node_name = world.claim().metadata.annotations[SELECTED_NODE]
        assert world.waits()
        assert not world.pod().spec.node_name
        assert world.pod("other").spec.node_name, "waiting holds nobody up"
        assert world.scheduler.next_deadline() == world.clock() + 600
        world.controller.work()
        world.settle()
        assert world.pod().spec.node_name == node_name
        assert world.claim().spec.volume_name == "made-1"
        world.check()

    def test_with_volumes_besides(self) -> None:
        world = World()
        world.create(make_claim("c"), make_claim("d", "local"), local("v", only={ZONE: ["b"]}))
        world.create(make_claim("b", volume="w"))
        world.create(make_volume("w", claim=world.claim("b"), only={ZONE: ["a", "b"]}))
        world.create(make_pod("c", "d", "b"))
        world.settle()
        assert world.pod().spec.node_name == "m"
        assert world.claim("d").spec.volume_name == "v"
        assert world.claim("c").metadata.annotations[SELECTED_NODE] == "m"

    def test_where_no_volume_can_be_made_the_claim_comes_back(self) -> None:
        world = World(delay=True)
        refused: list[str] = []
        world.controller.refuse = lambda claim: not refused and not refused.append(claim.name)  # type: ignore[func-returns-value]  # append
        world.create(make_claim("c"), make_pod("c"))
        world.settle()
        world.controller.work()
        world.settle()
        assert world.faults == ['binding volumes: provisioning failed for PVC "c"']
        assert not world.waits()
        world.check()
        world.settle(60)
        world.controller.work()
        world.settle()
        assert world.pod().spec.node_name

    def test_a_volume_that_the_claim_names_may_show_up_later(self) -> None:
        world = World(delay=True)
        world.create(make_claim("c"), make_pod("c"))
        world.settle()
        claim = world.claim()
        bound = make_claim("c", volume="late", selected=claim.metadata.annotations[SELECTED_NODE])
        world.cluster.update(
            evolve(bound, metadata=evolve(bound.metadata, uid=claim.uid, resource_version=""))
        )
        world.settle()
        assert world.waits()
        world.create(make_volume("late", claim=claim))
        world.settle()
        assert world.pod().spec.node_name


class TestFailing:
    def test_it_waits_only_so_long(self) -> None:
        world = World(delay=True)
        world.create(make_claim("c", "local"), local("v"), make_pod("c"))
        world.settle(599)
        assert world.waits()
        world.settle(1)
        assert world.faults == ["binding volumes: context deadline exceeded"]
        assert not world.waits()
        world.check()
        # The volume was written for the claim, so it is the one that the next attempt waits for.
        world.settle(60)
        assert world.waits()
        world.controller.work()
        world.settle()
        assert world.claim().spec.volume_name == "v"

    def test_the_timeout_is_an_argument(self) -> None:
        args = {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 30}}
        world = World(
            delay=True,
            config={
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [{"pluginConfig": [args]}],
            },
        )
        world.create(make_claim("c"), make_pod("c"))
        world.settle(29)
        assert world.waits()
        world.settle(1)
        assert not world.waits()

    @pytest.mark.parametrize(
        ("happens", "reason"),
        [
            (
                lambda w: w.cluster.delete("PersistentVolumeClaim", "default/c"),
                'persistentvolumeclaim "c" is gone',
            ),
            (lambda w: w.cluster.delete("PersistentVolume", "v"), 'persistentvolume "v" is gone'),
            (lambda w: w.cluster.delete("Node", w.node()), "failed to get node"),
            (lambda w: w.cluster.apply(make_node(w.node(), "c")), "node affinity doesn't match node"),
            (lambda w: w.reset(), 'ClaimRef got reset for pv "v"'),
        ],
        ids=["claim gone", "volume gone", "node gone", "node moved", "claim reference reset"],
    )
    def test_what_goes_wrong_meanwhile(self, happens: Callable[[Any], object], reason: str) -> None:
        world = Meanwhile(delay=True)
        world.create(make_claim("c", "local"), local("v", only={ZONE: ["a", "b"]}), make_pod("c"))
        world.settle()
        assert world.waits()
        happens(world)
        world.settle()
        assert len(world.faults) == 1
        assert reason in world.faults[0]
        assert not world.waits()
        world.check()

    def test_a_claim_that_is_made_anew_is_another_one(self) -> None:
        world = World(delay=True)
        world.create(make_claim("c"), make_pod("c"))
        world.settle()
        world.cluster.delete("PersistentVolumeClaim", "default/c")
        world.create(make_claim("c", uid="namesake"))
        world.settle()
        assert world.faults == ['binding volumes: persistentvolumeclaim "c" is gone']
        world.settle(60)
        world.controller.work()
        world.settle()
        assert world.pod().spec.node_name

    def test_a_deleted_pod_gives_its_volume_back(self) -> None:
        world = World(delay=True)
        world.cluster.fail_next("update", Conflict("busy"))
        world.create(make_claim("c"), make_pod("c"))
        world.settle()
        world.check()
        world.settle(60)
        assert world.waits()
        world.cluster.delete("Pod", "default/p")
        world.settle()
        assert not world.waits()
        assert not world.scheduler.core.binding
        world.check()

    def test_somebody_else_changes_the_volume_at_the_same_time(self) -> None:
        world = World()
        world.cluster.fail_next("update", Conflict("the object has been modified"))
        world.create(make_claim("c", "local"), local("v"), make_pod("c"))
        world.settle()
        assert world.faults == ["the object has been modified"]
        assert not world.pod().spec.node_name
        world.check()
        world.settle(60)
        assert world.pod().spec.node_name

    def test_a_lost_answer_does_no_harm(self) -> None:
        world = World()
        world.cluster.fail_next("update", OutcomeUnknown("timeout"), applied=True)
        world.create(make_claim("c", "local"), local("v"), make_pod("c"))
        world.settle()
        assert world.pod().spec.node_name
        assert not world.faults

    def test_what_was_promised_before_a_failure_is_given_back(self) -> None:
        handle = make_handle(make_node("n"), make_class("local", NO_PROVISIONER))
        for obj in (make_claim("c", "local", "1Gi"), make_claim("d", "local"), local("v", "5Gi"), local("w")):
            handle.objects.set(obj)
        plugin, state, pod = VolumeBinding(VolumeBindingArgs(), handle), CycleState(), make_pod("c", "d")
        assert plugin.pre_filter(state, pod) is None
        storage = Storage.of(handle.objects)
        # Between pre_filter and reserve, which in a scheduler nothing comes between.
        handle.objects.set(local("w", claim=make_claim("x"), version="2"))
        answer = plugin.reserve(state, pod, "n")
        assert answer is not None
        assert answer.message == "PersistentVolume w is promised to somebody else"
        assert len(assumptions(storage)) == 1
        for _ in range(2):
            plugin.unreserve(state, pod)
            assert not assumptions(storage)
        assert plugin.reserve(state, pod, "gone") == Status.from_error('node "gone" is gone')

    def test_unreserve_without_reserve(self) -> None:
        plugin = VolumeBinding(VolumeBindingArgs(), make_handle())
        plugin.unreserve(CycleState(), make_pod())


class Meanwhile(World):
    """What may happen while a pod waits for its volumes."""

    def node(self) -> str:
        attempt = self.scheduler.core.binding["default-p"]
        return attempt.node_name

    def reset(self) -> None:
        volume = self.volume()
        self.cluster.update(evolve(volume, spec=evolve(volume.spec, claim_ref=None)))


class TestMigratedVolumes:
    @pytest.mark.parametrize("labelled", [True, False])
    def test_topology_is_that_of_the_driver(self, labelled: bool) -> None:
        world = World(delay=True)
        source = AWSElasticBlockStore("vol-1")
        volume = local("v", csi=None, aws_elastic_block_store=source, only={ZONE: ["a"]})
        world.create(make_csi_node("n", migrated="kubernetes.io/aws-ebs"), volume, make_claim("c", "local"))
        if labelled:
            world.cluster.apply(make_node("n", "a", **{"topology.ebs.csi.aws.com/zone": "a"}))
        world.create(make_pod("c"))
        world.settle()
        # Free volumes are judged as they are; what the driver makes of them is seen when they are bound.
        assert world.waits() is labelled
        assert bool(world.faults) is not labelled

    def test_a_volume_that_cannot_be_translated(self) -> None:
        world = World(delay=True)
        source = AWSElasticBlockStore("aws://zone/disk")
        world.create(make_csi_node("n", migrated="kubernetes.io/aws-ebs"), make_claim("c", "local"))
        world.create(local("v", csi=None, aws_elastic_block_store=source, only={HOSTNAME: ["n"]}))
        world.create(make_pod("c"))
        world.settle()
        assert "failed to translate pv to csi" in world.faults[0]


def test_late_events_hand_no_volume_out_twice() -> None:
    world = World()
    flaky = FlakyCluster(world.cluster)
    scheduler = world.make_scheduler(flaky)
    world.scheduler.close()
    world.scheduler = scheduler
    for name in "abc":
        world.create(make_claim(name, "local"), local(f"v-{name}"))
    scheduler.sync()
    (watch,) = flaky.watches
    watch.deliver()
    for name in "abc":
        world.create(make_pod(name, name=name))
        # Only the pod is heard of: of volumes and claims the scheduler knows what it wrote itself.
        for event in [each for each in watch.pending if each.kind == "Pod" and each.new.name == name]:
            watch.move(watch.pending.index(event), 0)
            watch.deliver(1)
        scheduler.run_until_idle()
    watch.deliver()
    scheduler.run_until_idle()
    world.settle(120)
    watch.deliver()
    scheduler.run_until_idle()
    taken = [world.claim(name).spec.volume_name for name in "abc"]
    assert sorted(taken) == ["v-a", "v-b", "v-c"]
    assert all(world.pod(name).spec.node_name for name in "abc")


def test_binding_in_threads() -> None:
    cluster = InMemoryCluster()
    controller = VolumeController(cluster)
    for obj in (make_class(), make_class("local", NO_PROVISIONER), *(make_node(f"n{i}") for i in range(3))):
        cluster.create(obj)
    for i in range(20):
        claim = make_claim(f"c{i}", "wait" if i % 2 else "local", version="")
        cluster.create(claim)
        if not i % 2:
            cluster.create(local(f"v{i}", version=""))
        cluster.create(make_pod(f"c{i}", name=f"p{i}"))
    with Scheduler(cluster, seed=1, executor=ThreadExecutor()) as scheduler:
        scheduler.run_until_idle()
        while len(scheduler.core.parked):
            scheduler.run_until_idle()
        assert all(pod.spec.node_name for pod in cluster.list("Pod"))
    bound = [claim.spec.volume_name for claim in cluster.list("PersistentVolumeClaim")]
    assert len(set(bound)) == 20
    assert controller.made == 10
