"""VolumeCounts: how NodeVolumeLimits counts volumes, and when it looks at all rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from plugins_builtin.node_volume_limits.least_room import LeastRoom
from plugins_builtin.node_volume_limits.plugin import NodeVolumeLimits
from plugins_builtin.node_volume_limits.resolver import VolumeResolver
from plugins_builtin.node_volume_limits.volume_counts import VolumeCounts
from schedframe import Pod
from schedframe.api import AWSElasticBlockStore, CinderVolume, PersistentVolumeClaim, Volume
from tests.plugins.agreement import check_filter_agreement
from tests.plugins.storage import (
    DRIVER,
    claims,
    ebs,
    limits,
    make_attachment,
    make_claim,
    make_class,
    make_csi_node,
    make_handle,
    make_node,
    make_pod,
    make_volume,
    open_nodes,
)


def test_most_pods_are_filtered_without_a_pass_over_the_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[str] = []
    of_rows = LeastRoom.of_rows

    def counted(self: LeastRoom, driver: str, *columns: Any) -> Any:
        passes.append(driver)
        return of_rows(self, driver, *columns)

    monkeypatch.setattr(LeastRoom, "of_rows", counted)
    handle = make_handle(
        *(make_node(name) for name in "nm"), *(limits("n", 4), limits("m", 9), *claims(*"abcdef"))
    )
    plugin = NodeVolumeLimits(handle)
    for name in "abcd":
        assert open_nodes(plugin, handle, make_pod(name)) == {"n", "m"}
        handle.table.add_pod("n", make_pod(name, name=name, node="n"))
    assert len(passes) == 1
    assert open_nodes(plugin, handle, make_pod("e")) == {"m"}
    handle.table.remove_pod("n", make_pod(name="a").uid)
    assert open_nodes(plugin, handle, make_pod("e")) == {"n", "m"}
    assert open_nodes(plugin, handle, make_pod("e")) == {"n", "m"}
    assert len(passes) == 3
    # A new limit ends what is known of the room.
    handle.objects.set(limits("m", 0))
    assert open_nodes(plugin, handle, make_pod("e")) == {"n"}


def test_volumes_are_resolved_once_for_each_pod_of_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved: list[str] = []
    of_claim = VolumeResolver.of_claim

    def counted(self: VolumeResolver, key: str, claim: PersistentVolumeClaim) -> Any:
        resolved.append(claim.name)
        return of_claim(self, key, claim)

    handle = make_handle(make_node(), limits("n", 9), *claims(*"abcde"))
    plugin = NodeVolumeLimits(handle)
    monkeypatch.setattr(VolumeResolver, "of_claim", counted)
    for name in "abcd":
        plugin.filter_rows(make_pod("e"), handle.table.rows())
        handle.table.add_pod("n", make_pod(name, name=name, node="n"))
    plugin.filter_rows(make_pod("e"), handle.table.rows())
    assert [name for name in resolved if name != "e"] == list("abcd")
    # Another pod of the same uid is resolved, and counts with what its claims are.
    del resolved[:]
    old = handle.table.remove_pod("n", make_pod(name="d").uid)
    handle.table.add_pod("n", make_pod("e", name=old.name, node="n"))
    handle.objects.set(limits("n", 4))
    assert open_nodes(plugin, handle, make_pod("e")) == {"n"}
    assert open_nodes(plugin, handle, make_pod("d")) == set()


NODES = ("n0", "n1", "n2")
CLAIMS = ("a", "b", "c")
DISKS = (ebs("x"), ebs("y"), Volume("z", cinder=CinderVolume("z")), Volume("token"))


class Limits(RuleBasedStateMachine):
    """Random changes of all objects; after each one both forms must agree on every node."""

    @initialize()
    def start(self) -> None:
        self.handle = make_handle(make_class(), *(make_node(name) for name in NODES))
        self.plugin = NodeVolumeLimits(self.handle)
        self.running: dict[str, Pod] = {}

    @rule(name=st.sampled_from("pqrs"), node=st.sampled_from((*NODES, "gone")), data=st.data())
    def pod_comes_or_goes(self, name: str, node: str, data: st.DataObject) -> None:
        old = self.running.pop(name, None)
        if old is not None:
            self.handle.table.remove_pod(old.node_name, old.uid)
            return
        self.running[name] = pod = make_pod(
            *data.draw(st.lists(st.sampled_from(CLAIMS), max_size=2)),
            name=name,
            node=node,
            volumes=data.draw(st.lists(st.sampled_from(DISKS), max_size=1)),
            ephemeral=data.draw(st.lists(st.just("e"), max_size=1)),
        )
        self.handle.table.add_pod(node, pod)

    @rule(name=st.sampled_from("pqrs"), claims=st.lists(st.sampled_from(CLAIMS), max_size=2))
    def pod_is_replaced(self, name: str, claims: list[str]) -> None:
        old = self.running.get(name)
        if old is not None:
            self.handle.table.remove_pod(old.node_name, old.uid)
            self.running[name] = pod = make_pod(*claims, name=name, node=old.node_name)
            self.handle.table.add_pod(pod.node_name, pod)

    @rule(name=st.sampled_from(NODES))
    def node_comes_or_goes(self, name: str) -> None:
        if not self.handle.table.remove_node(name):
            self.handle.table.set_node(make_node(name))

    @rule(
        node=st.sampled_from(NODES),
        count=st.sampled_from((None, 0, 1, 2)),
        ebs_count=st.sampled_from((None, 1)),
    )
    def csi_node(self, node: str, count: int | None, ebs_count: int | None) -> None:
        self.handle.objects.set(make_csi_node(node, disks_example_com=count, ebs_csi_aws_com=ebs_count))

    @rule(node=st.sampled_from(NODES))
    def csi_node_goes(self, node: str) -> None:
        self.handle.objects.remove("CSINode", node)

    @rule(
        name=st.sampled_from((*CLAIMS, "p-e", "q-e")),
        volume=st.sampled_from(("", "v1", "v2")),
        owned=st.booleans(),
        gone=st.booleans(),
    )
    def claim(self, name: str, volume: str, owned: bool, gone: bool) -> None:
        if gone:
            self.handle.objects.remove("PersistentVolumeClaim", f"default/{name}")
        else:
            owner = f"default-{name[0]}" if owned else ""
            claim: PersistentVolumeClaim = make_claim(name, volume=volume, owner=owner)
            self.handle.objects.set(claim)

    @rule(name=st.sampled_from(("v1", "v2")), kind=st.sampled_from(("csi", "same", "ebs", "gone")))
    def volume(self, name: str, kind: str) -> None:
        if kind == "gone":
            self.handle.objects.remove("PersistentVolume", name)
        elif kind == "ebs":
            source = AWSElasticBlockStore(name)
            self.handle.objects.set(make_volume(name, csi=None, aws_elastic_block_store=source))
        else:
            self.handle.objects.set(make_volume(name, handle="same" if kind == "same" else name))

    @rule(
        name=st.sampled_from("12"),
        node=st.sampled_from(NODES),
        volume=st.sampled_from(("v1", "v2")),
        gone=st.booleans(),
    )
    def attachment(self, name: str, node: str, volume: str, gone: bool) -> None:
        if gone:
            self.handle.objects.remove("VolumeAttachment", name)
        else:
            self.handle.objects.set(make_attachment(name, node, volume, DRIVER))

    @rule(provisioner=st.sampled_from((DRIVER, "kubernetes.io/aws-ebs", "")))
    def storage_class(self, provisioner: str) -> None:
        self.handle.objects.set(make_class(provisioner=provisioner))

    @invariant()
    def both_forms_agree(self) -> None:
        for pod in (make_pod("a", "b", name="t", volumes=[ebs("x")]), make_pod("c", name="t")):
            check_filter_agreement(self.plugin, self.handle.table, pod)
        fresh = NodeVolumeLimits(make_handle(*_everything(self), pods=self.running.values()))
        for info in self.handle.table.rows():
            pod = make_pod(name="t", volumes=[ebs("x"), ebs("y")])
            assert self.plugin.filter(pod, info) == fresh.filter(pod, info)
        counts = VolumeCounts.of(self.handle)
        counts.sync()
        counts.check_invariants()


def _everything(machine: Limits) -> list[Any]:
    kinds = ("StorageClass", "CSINode", "PersistentVolumeClaim", "PersistentVolume", "VolumeAttachment")
    return [obj for kind in kinds for obj in machine.handle.objects.list(kind)]


TestLimits = Limits.TestCase
