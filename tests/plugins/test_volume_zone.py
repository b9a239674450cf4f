"""VolumeZone: zone and region labels of bound volumes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.volume_zone import (
    ERR_REASON,
    ERR_REASON_NO_CLASS,
    ERR_REASON_NO_NAME,
    ERR_REASON_NO_VOLUME,
    VolumeZone,
)
from schedframe import Action, ClusterEvent, CycleState, EventResource, Status
from schedframe.api import Node, ObjectMeta, PersistentVolume, PersistentVolumeClaim
from tests.plugins.agreement import check_filter_agreement
from tests.plugins.events import hint_of
from tests.plugins.storage import (
    ZONE,
    make_claim,
    make_class,
    make_handle,
    make_node,
    make_pod,
    make_volume,
    open_nodes,
    verdicts,
)

REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
CLASS_ADDED = ClusterEvent(EventResource.STORAGE_CLASS, Action.ADD)
CLAIM_UPDATED = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, Action.UPDATE)
VOLUME_ADDED = ClusterEvent(EventResource.PERSISTENT_VOLUME, Action.ADD)
VOLUME_UPDATED = ClusterEvent(EventResource.PERSISTENT_VOLUME, Action.UPDATE)


def node(name: str, **labels: str) -> Node:
    keys = {"zone": ZONE, "region": REGION, "beta_zone": BETA_ZONE, "beta_region": BETA_REGION}
    return Node(ObjectMeta(name=name, uid=name, labels={keys[key]: value for key, value in labels.items()}))


def bound(**labels: str) -> tuple[PersistentVolumeClaim, PersistentVolume]:
    keys = {"zone": ZONE, "region": REGION, "beta_zone": BETA_ZONE, "beta_region": BETA_REGION}
    claim = make_claim("c", volume="v")
    return claim, make_volume("v", claim=claim, labels={keys[key]: labels[key] for key in labels})


@pytest.mark.parametrize(
    ("volume", "nodes", "expected"),
    [
        ({"zone": "a"}, {"x": {"zone": "a"}, "y": {"zone": "b"}, "z": {}}, {"x", "z"}),
        ({"zone": "a__b"}, {"x": {"zone": "a"}, "y": {"zone": "b"}, "z": {"zone": "c"}}, {"x", "y"}),
        ({"beta_zone": "a"}, {"x": {"zone": "a"}, "y": {"beta_zone": "a"}, "z": {"zone": "b"}}, {"x", "y"}),
        ({"zone": "a"}, {"x": {"beta_zone": "a"}, "y": {"region": "eu"}}, set()),
        ({"zone": "a", "region": "eu"}, {"x": {"zone": "a", "region": "us"}, "y": {"zone": "a"}}, set()),
        ({"beta_region": "eu"}, {"x": {"beta_region": "us", "region": "eu"}, "y": {"region": "eu"}}, {"y"}),
    ],
)
def test_labels_must_agree(
    volume: dict[str, str], nodes: dict[str, dict[str, str]], expected: set[str]
) -> None:
    handle = make_handle(*bound(**volume), *(node(name, **labels) for name, labels in nodes.items()))
    found = verdicts(VolumeZone(handle), handle, make_pod("c"))
    assert isinstance(found, dict)
    assert {name for name, status in found.items() if status == Status()} == expected
    assert all(found[name] == Status.unresolvable(ERR_REASON) for name in nodes.keys() - expected)


def test_pods_without_such_volumes_are_skipped() -> None:
    handle = make_handle(make_class(), make_claim("unbound"), *bound(), node("n", zone="a"))
    plugin = VolumeZone(handle)
    for pod in (make_pod(), make_pod(ephemeral=["e"]), make_pod("unbound"), make_pod("c")):
        assert plugin.pre_filter(CycleState(), pod) == Status.skip()


@pytest.mark.parametrize("label", ["a____b", "__a", " "])
def test_a_label_with_an_empty_zone_counts_as_absent(label: str) -> None:
    handle = make_handle(*bound(zone=label), node("n", zone="a"))
    assert verdicts(VolumeZone(handle), handle, make_pod("c")) == Status.skip()


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ([], 'persistentvolumeclaim "c" not found'),
        ([make_claim("c", volume="v")], 'persistentvolume "v" not found'),
        ([make_claim("c", None)], ERR_REASON_NO_CLASS),
        ([make_claim("c", "wait")], 'storageclass.storage.k8s.io "wait" not found'),
        ([make_claim("c", "now"), make_class("now", mode="Immediate")], ERR_REASON_NO_VOLUME),
        ([make_claim("c", "now"), make_class("now", mode="")], ERR_REASON_NO_VOLUME),
    ],
)
def test_claims_that_reject_all_nodes(objects: list[PersistentVolumeClaim], reason: str) -> None:
    handle = make_handle(node("n", zone="a"), node("m"), *objects)
    plugin, pod = VolumeZone(handle), make_pod("c")
    status = Status.unresolvable(reason)
    assert plugin.pre_filter(CycleState(), pod) == status
    # Without pre_filter, every node is rejected with that reason.
    assert plugin.filter(CycleState(), pod, handle.table.info(0)) == status
    answer = plugin.filter_rows(CycleState(), pod, handle.table.rows())
    assert answer is not None
    assert answer.codes.tolist() == [1, 1]
    assert answer.statuses == (status,)


def test_a_claim_without_a_name() -> None:
    plugin = VolumeZone(make_handle())
    assert plugin.pre_filter(CycleState(), make_pod("")) == Status.unresolvable(ERR_REASON_NO_NAME)


def test_the_beta_annotation_names_the_class() -> None:
    claim = make_claim("c", "now", annotations={"volume.beta.kubernetes.io/storage-class": "wait"})
    handle = make_handle(claim, make_class("wait"), make_class("now", mode="Immediate"))
    assert VolumeZone(handle).pre_filter(CycleState(), make_pod("c")) == Status.skip()


def test_filter_works_without_pre_filter() -> None:
    handle = make_handle(*bound(zone="a"), node("x", zone="a"), node("y", zone="b"))
    plugin, pod, state = VolumeZone(handle), make_pod("c"), CycleState()
    assert [plugin.filter(state, pod, info) for info in handle.table.rows()] == [
        None,
        Status.unresolvable(ERR_REASON),
    ]
    assert plugin.filter(state, make_pod(), handle.table.info(1)) is None
    assert plugin.filter_rows(state, make_pod(), handle.table.rows()) is None


def test_it_follows_labels_of_nodes_and_volumes() -> None:
    handle = make_handle(*bound(zone="a"), node("x", zone="a"), node("y", zone="b"))
    plugin = VolumeZone(handle)
    assert open_nodes(plugin, handle, make_pod("c")) == {"x"}
    handle.table.set_node(node("x", zone="c"))
    handle.table.set_node(node("y", zone="a"))
    assert open_nodes(plugin, handle, make_pod("c")) == {"y"}
    handle.objects.set(bound(zone="c")[1])
    assert open_nodes(plugin, handle, make_pod("c")) == {"x"}


def test_hints() -> None:
    plugin, pod = VolumeZone(make_handle()), make_pod("c")
    assert hint_of(plugin, CLASS_ADDED, pod, None, make_class())
    assert not hint_of(plugin, CLASS_ADDED, pod, None, make_class(mode="Immediate"))
    assert not hint_of(plugin, CLASS_ADDED, pod, None, make_class(mode=""))
    assert hint_of(plugin, CLAIM_UPDATED, pod, make_claim("c"), make_claim("c", volume="v"))
    assert not hint_of(plugin, CLAIM_UPDATED, pod, make_claim("d"), make_claim("d"))
    assert not hint_of(plugin, CLAIM_UPDATED, make_pod(ephemeral=["e"]), None, make_claim("p-e"))
    before, after = bound(zone="a")[1], bound(zone="b")[1]
    assert hint_of(plugin, VOLUME_ADDED, pod, None, after)
    assert hint_of(plugin, VOLUME_UPDATED, pod, before, after)
    assert not hint_of(plugin, VOLUME_UPDATED, pod, bound(zone="a__b")[1], bound(zone="b__a")[1])
    assert not hint_of(plugin, VOLUME_UPDATED, pod, bound(zone="a____b")[1], bound()[1])
    assert hint_of(plugin, ClusterEvent(EventResource.NODE, Action.ADD), pod, None, make_node())


zones = st.sampled_from(("a", "b", "a__b", "b__", "eu"))
labels = st.dictionaries(st.sampled_from(("zone", "region", "beta_zone", "beta_region")), zones, max_size=3)


@given(st.lists(labels, min_size=1, max_size=5), labels, labels)
def test_both_forms_agree(
    of_nodes: list[dict[str, str]], first: dict[str, str], second: dict[str, str]
) -> None:
    claim, volume = bound(**first)
    other = make_claim("d", volume="w")
    more = make_volume("w", claim=other, labels=bound(**second)[1].labels)
    nodes = [node(f"n{i}", **each) for i, each in enumerate(of_nodes)]
    handle = make_handle(claim, volume, other, more, *nodes)
    check_filter_agreement(VolumeZone(handle), handle.table, make_pod("c", "d"))
