"""VolumeBinding if binding fails or is aborted: assumed volumes become free again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from plugins_builtin.args import VolumeBindingArgs
from plugins_builtin.volume_binding import VolumeBinding
from plugins_builtin.volume_binding.claims import Storage
from schedframe import Conflict, CycleState, OutcomeUnknown, Status
from schedframe.api import AWSElasticBlockStore
from schedframe.cluster import FlakyCluster
from tests.configurations import configuration
from tests.plugins.storage import (
    HOSTNAME,
    ZONE,
    make_claim,
    make_class,
    make_csi_node,
    make_handle,
    make_node,
    make_pod,
)
from tests.plugins.volume_world import NO_PROVISIONER, ChangingWorld, World, assumptions, local


class TestFailing:
    def test_the_wait_ends_at_the_timeout(self) -> None:
        world = World(delay=True)
        world.create(make_claim("c", "local"), local("v"), make_pod("c"))
        world.settle(599)
        assert world.waits()
        world.settle(1)
        assert world.faults == ["binding volumes: context deadline exceeded"]
        assert not world.waits()
        world.check()
        # The volume was written for the claim, so the next attempt waits for it.
        world.settle(60)
        assert world.waits()
        world.controller.work()
        world.settle()
        assert world.claim().spec.volume_name == "v"

    def test_the_timeout_is_an_argument(self) -> None:
        args = {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 30}}
        world = World(
            delay=True,
            config=configuration({"pluginConfig": [args]}),
        )
        world.create(make_claim("c"), make_pod("c"))
        world.settle(29)
        assert world.waits()
        world.settle(1)
        assert not world.waits()

    @pytest.mark.parametrize("again", [False, True], ids=["gone", "replaced"])
    def test_the_wait_ends_when_the_node_goes(self, again: bool) -> None:
        """It is no fault of the plugin: the pod is tried again, on a node that is there."""
        world = ChangingWorld(delay=True)
        world.create(make_claim("c", "local"), local("v", only={ZONE: ["a", "b"]}), make_pod("c"))
        world.settle()
        assert world.waits()
        gone = world.node()
        world.cluster.delete("Node", gone)
        if again:
            world.cluster.create(make_node(gone, "c"))
        world.settle()
        assert not world.faults
        assert not world.waits()
        assert not world.cluster.get("Pod", "default/p").node_name
        world.check()

    @pytest.mark.parametrize(
        ("happens", "reason"),
        [
            (
                lambda w: w.cluster.delete("PersistentVolumeClaim", "default/c"),
                'persistentvolumeclaim "c" is gone',
            ),
            (lambda w: w.cluster.delete("PersistentVolume", "v"), 'persistentvolume "v" is gone'),
            (lambda w: w.cluster.apply(make_node(w.node(), "c")), "node affinity doesn't match node"),
            (lambda w: w.reset(), 'ClaimRef got reset for pv "v"'),
        ],
        ids=["claim gone", "volume gone", "node moved", "claim reference reset"],
    )
    def test_what_goes_wrong_while_waiting(self, happens: Callable[[Any], object], reason: str) -> None:
        world = ChangingWorld(delay=True)
        world.create(make_claim("c", "local"), local("v", only={ZONE: ["a", "b"]}), make_pod("c"))
        world.settle()
        assert world.waits()
        happens(world)
        world.settle()
        assert len(world.faults) == 1
        assert reason in world.faults[0]
        assert not world.waits()
        world.check()

    def test_a_recreated_claim_is_another_one(self) -> None:
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

    def test_a_deleted_pod_releases_its_volume(self) -> None:
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

    def test_another_client_changes_the_volume_at_the_same_time(self) -> None:
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

    def test_assumptions_before_a_failure_are_released(self) -> None:
        handle = make_handle(make_node("n"), make_class("local", NO_PROVISIONER))
        for obj in (make_claim("c", "local", "1Gi"), make_claim("d", "local"), local("v", "5Gi"), local("w")):
            handle.objects.set(obj)
        plugin, state, pod = VolumeBinding(VolumeBindingArgs(), handle), CycleState(), make_pod("c", "d")
        assert plugin.pre_filter(state, pod) is None
        storage = Storage.of(handle.objects)
        # Between pre_filter and reserve; a scheduler does nothing in between.
        handle.objects.set(local("w", claim=make_claim("x"), version="2"))
        answer = plugin.reserve(state, pod, "n")
        assert answer is not None
        assert answer.message == "PersistentVolume w is assumed for another claim or node"
        assert len(assumptions(storage)) == 1
        for _ in range(2):
            plugin.unreserve(state, pod)
            assert not assumptions(storage)
        assert plugin.reserve(state, pod, "gone") == Status.from_error('node "gone" is gone')

    def test_unreserve_without_reserve(self) -> None:
        plugin = VolumeBinding(VolumeBindingArgs(), make_handle())
        plugin.unreserve(CycleState(), make_pod())


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
        # Free volumes are matched untranslated; translation applies once they are bound.
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


def test_late_events_assign_no_volume_twice() -> None:
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
        # Only events of the pod arrive; of volumes and claims the scheduler knows its own writes.
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
