"""VolumeBinding from reserve to the bound pod, in a scheduler with a volume controller."""

from __future__ import annotations

from attrs import evolve

from schedframe import InMemoryCluster, Scheduler, ThreadExecutor
from tests.configurations import configuration
from tests.plugins.storage import (
    HOSTNAME,
    SELECTED_NODE,
    ZONE,
    VolumeController,
    make_claim,
    make_class,
    make_node,
    make_pod,
    make_volume,
)
from tests.plugins.volume_world import NO_PROVISIONER, World, local


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

    def test_a_volume_is_assumed_for_one_claim(self) -> None:
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

    def test_profiles_do_not_assume_the_same_volume(self) -> None:
        world = World(
            delay=True,
            config=configuration({"schedulerName": "one"}, {"schedulerName": "two"}),
        )
        world.create(make_claim("c", "local"), make_claim("d", "local"), local("v"))
        for pod, profile in ((make_pod("c"), "one"), (make_pod("d", name="q"), "two")):
            world.create(evolve(pod, spec=evolve(pod.spec, scheduler_name=profile)))
        world.settle()
        assert [world.waits("p"), world.waits("q")] == [True, False]

    def test_pods_can_share_a_claim(self) -> None:
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

    def test_a_pre_bound_volume_is_not_written(self) -> None:
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
    def test_the_claim_is_annotated_with_the_node_and_the_pod_waits(self) -> None:
        world = World(delay=True)
        world.create(make_claim("c"), make_pod("c"), make_pod(name="other"))
        world.settle()
        node_name = world.claim().metadata.annotations[SELECTED_NODE]
        assert world.waits()
        assert not world.pod().spec.node_name
        assert world.pod("other").spec.node_name, "waiting delays no other pod"
        assert world.scheduler.next_deadline() == world.clock() + 600
        world.controller.work()
        world.settle()
        assert world.pod().spec.node_name == node_name
        assert world.claim().spec.volume_name == "made-1"
        world.check()

    def test_provisioning_beside_static_binding(self) -> None:
        world = World()
        world.create(make_claim("c"), make_claim("d", "local"), local("v", only={ZONE: ["b"]}))
        world.create(make_claim("b", volume="w"))
        world.create(make_volume("w", claim=world.claim("b"), only={ZONE: ["a", "b"]}))
        world.create(make_pod("c", "d", "b"))
        world.settle()
        assert world.pod().spec.node_name == "m"
        assert world.claim("d").spec.volume_name == "v"
        assert world.claim("c").metadata.annotations[SELECTED_NODE] == "m"

    def test_a_failed_provisioning_removes_the_annotation(self) -> None:
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

    def test_the_volume_of_a_claim_can_appear_later(self) -> None:
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
        while len(scheduler.core.paused):
            scheduler.run_until_idle()
        assert all(pod.spec.node_name for pod in cluster.list("Pod"))
    bound = [claim.spec.volume_name for claim in cluster.list("PersistentVolumeClaim")]
    assert len(set(bound)) == 20
    assert controller.made == 10
