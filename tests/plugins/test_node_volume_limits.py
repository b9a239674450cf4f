"""NodeVolumeLimits: what counts as a volume, attached volumes, and limits."""

from __future__ import annotations

from typing import Any

import pytest

from plugins_builtin.node_volume_limits.plugin import ERR_REASON, NodeVolumeLimits
from schedframe import (
    Action,
    ClusterEvent,
    ConfigError,
    EventResource,
    InputError,
    Status,
    load_config,
)
from schedframe.api import (
    AWSElasticBlockStore,
    AzureDisk,
    Volume,
    VsphereVolume,
)
from tests.configurations import configuration
from tests.plugins.events import hint_of
from tests.plugins.storage import (
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
    verdicts,
)

FULL = Status.unschedulable(ERR_REASON)
CSI_NODE_ADDED = ClusterEvent(EventResource.CSI_NODE, Action.ADD)
CSI_NODE_UPDATED = ClusterEvent(EventResource.CSI_NODE, Action.UPDATE)
POD_DELETED = ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE)
CLAIM_ADDED = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, Action.ADD)
DETACHED = ClusterEvent(EventResource.VOLUME_ATTACHMENT, Action.DELETE)
EBS = "ebs.csi.aws.com"


def test_pods_without_volumes_to_attach_are_skipped() -> None:
    plugin = NodeVolumeLimits(make_handle())
    for pod in (make_pod(), make_pod(volumes=[Volume("token")])):
        assert plugin.pre_filter(pod) == Status.skip()
    for pod in (make_pod("c"), make_pod(ephemeral=["e"]), make_pod(volumes=[ebs("a")])):
        assert plugin.pre_filter(pod) is None


def test_a_node_has_a_limit_per_driver() -> None:
    running = [make_pod("a", name="r1", node="one"), make_pod("b", name="r2", node="one")]
    nodes = [make_node(name) for name in ("one", "two", "none", "unlimited", "unknown")]
    known = [limits("one", 2), limits("two", 1), limits("none", 0), limits("unlimited", None)]
    handle = make_handle(*nodes, *known, *claims("a", "b", "c"), pods=running)
    plugin = NodeVolumeLimits(handle)
    found = verdicts(plugin, handle, make_pod("c"))
    assert found == {"one": FULL, "two": Status(), "none": FULL, "unlimited": Status(), "unknown": Status()}
    # A volume that is attached already does not count again, even beyond the limit.
    handle.objects.set(limits("one", 1))
    assert open_nodes(plugin, handle, make_pod("a")) == {"one", "two", "unlimited", "unknown"}
    assert open_nodes(plugin, handle, make_pod("a", "c")) == {"unlimited", "unknown"}


def test_volumes_are_counted_from_the_first_limit_on() -> None:
    pods = [make_pod("a", name="r", node="n")]
    handle = make_handle(make_node(), limits("n", None), *claims("a", "b"), pods=pods)
    plugin = NodeVolumeLimits(handle)
    handle.objects.set(limits("n", 1))
    assert open_nodes(plugin, handle, make_pod("b")) == set()
    handle.objects.set(limits("n", None))
    # While nothing is counted, the claim of the new pod gets the volume that the node has.
    assert open_nodes(plugin, handle, make_pod("b")) == {"n"}
    handle.objects.set(make_volume("v-b", claim=make_claim("b", volume="v-b"), handle="a"))
    handle.objects.set(limits("n", 1))
    assert open_nodes(plugin, handle, make_pod("b")) == {"n"}


def test_volumes_are_identified_by_driver_and_handle() -> None:
    first, second, other = (make_claim(name, volume=f"v-{name}") for name in ("a", "b", "c"))
    handle = make_handle(
        make_node(),
        make_csi_node("n", disks_example_com=1, other_example_com=1),
        *(first, second, other),
        make_volume("v-a", claim=first, handle="same"),
        make_volume("v-b", claim=second, handle="same"),
        make_volume("v-c", claim=other, handle="another"),
        pods=[make_pod("a", name="r", node="n")],
    )
    plugin = NodeVolumeLimits(handle)
    assert open_nodes(plugin, handle, make_pod("b")) == {"n"}
    assert open_nodes(plugin, handle, make_pod("c")) == set()


def test_unbound_claims_are_volumes_of_their_own() -> None:
    classes = [
        make_class("wait"),
        make_class("ebs", "kubernetes.io/aws-ebs"),
        make_class("odd", "kubernetes.io/azure-file"),
    ]
    unbound = [make_claim("a"), make_claim("b"), make_claim("e", "ebs"), make_claim("f", "odd")]
    lost = make_claim("gone", volume="gone")
    without_class = [make_claim("x", None), make_claim("y", "unknown")]
    handle = make_handle(
        make_node(),
        make_csi_node("n", disks_example_com=1, ebs_csi_aws_com=0, file_csi_azure_com=0),
        *(*classes, *unbound, *without_class, lost),
        pods=[make_pod("a", name="r", node="n")],
    )
    plugin = NodeVolumeLimits(handle)
    assert open_nodes(plugin, handle, make_pod("a")) == {"n"}
    for name in ("b", "e", "gone"):
        assert open_nodes(plugin, handle, make_pod(name)) == set(), name
    for name in ("x", "y", "f"):
        assert open_nodes(plugin, handle, make_pod(name)) == {"n"}, name


@pytest.mark.parametrize("annotation", ["", "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"])
def test_in_tree_disks_count_for_their_driver_migrated_or_not(annotation: str) -> None:
    claim = make_claim("c", volume="v")
    volume = make_volume("v", claim=claim, csi=None, aws_elastic_block_store=AWSElasticBlockStore("vol-1"))
    handle = make_handle(
        make_node(),
        make_node("m"),
        make_csi_node("n", migrated=annotation, ebs_csi_aws_com=1),
        *(claim, volume),
        pods=[make_pod(name="r", node="n", volumes=[ebs("vol-1")])],
    )
    plugin = NodeVolumeLimits(handle)
    assert open_nodes(plugin, handle, make_pod("c")) == {"n", "m"}
    assert open_nodes(plugin, handle, make_pod("c", volumes=[ebs("vol-2")])) == {"m"}
    assert open_nodes(plugin, handle, make_pod(volumes=[Volume("v", vsphere_volume=VsphereVolume("x"))])) == {
        "n",
        "m",
    }


def test_a_disk_that_cannot_be_translated() -> None:
    bad = Volume("bad", azure_disk=AzureDisk("d", "/d", "Dedicated"))
    handle = make_handle(make_node(), make_node("m"), make_csi_node("n", disk_csi_azure_com=3))
    plugin = NodeVolumeLimits(handle)
    found = verdicts(plugin, handle, make_pod(volumes=[bad]))
    assert isinstance(found, dict)
    assert found["n"].message.startswith("converting volume(bad) from inline to csi")
    assert found["m"] == Status()
    # In a volume object it does not count.
    claim = make_claim("c", volume="v")
    for obj in (claim, make_volume("v", claim=claim, csi=None, azure_disk=bad.azure_disk)):
        handle.objects.set(obj)
    assert open_nodes(plugin, handle, make_pod("c")) == {"n", "m"}


def test_attachments_count() -> None:
    handle = make_handle(
        *(make_node(name) for name in "nmo"),
        *(limits("n", 2), limits("m", 2), limits("o", 2)),
        *claims("a", "b", "c"),
        make_attachment("1", "n", "v-b"),
        make_attachment("2", "m", "v-a"),
        make_attachment("3", "n", "unknown"),
        make_attachment("4", "n", None),
        make_attachment("5", "o", "v-c"),
        make_attachment("6", "o", "v-c"),
        pods=[make_pod("a", name=f"r-{node}", node=node) for node in "nm"],
    )
    plugin = NodeVolumeLimits(handle)
    # n has a and b, m only a; on o the pod's own volume counts twice, as in the reference.
    assert open_nodes(plugin, handle, make_pod("c")) == {"m", "o"}
    handle.objects.set(limits("o", 1))
    assert open_nodes(plugin, handle, make_pod("c")) == {"m"}
    handle.objects.remove("VolumeAttachment", "1")
    assert open_nodes(plugin, handle, make_pod("c")) == {"n", "m"}


def test_claims_must_exist_and_belong_to_the_pod_if_ephemeral() -> None:
    stray = make_claim("r-e", volume="v")
    handle = make_handle(
        *(make_node(name) for name in "nmo"),
        *(limits("n", 5), stray, *claims("c")),
        pods=[make_pod("missing", name="q", node="m"), make_pod(name="r", node="n", ephemeral=["e"])],
    )
    plugin = NodeVolumeLimits(handle)
    missing = 'looking up PVC default/nowhere: persistentvolumeclaim "nowhere" not found'
    found = verdicts(plugin, handle, make_pod("nowhere"))
    assert found == dict.fromkeys("nmo", Status.unresolvable(missing))
    problem = "PVC default/r-e was not created for pod default/r (pod is not owner)"
    assert verdicts(plugin, handle, make_pod("c")) == {
        "n": Status.from_error(problem),
        "m": Status(),
        "o": Status(),
    }
    handle.objects.set(make_claim("r-e", owner="default-r"))
    assert open_nodes(plugin, handle, make_pod("c")) == set("nmo")
    found = verdicts(plugin, handle, make_pod(name="r", ephemeral=["e"]))
    assert found == dict.fromkeys("nmo", Status())


def test_without_limits_attached_volumes_do_not_matter() -> None:
    handle = make_handle(make_node(), limits("n", None), make_claim("r-e"), *claims("c"))
    handle.table.add_pod("n", make_pod(name="r", node="n", ephemeral=["e"]))
    assert open_nodes(NodeVolumeLimits(handle), handle, make_pod("c")) == {"n"}


def test_hints() -> None:
    plugin, pod = NodeVolumeLimits(make_handle()), make_pod("c")
    assert hint_of(plugin, CSI_NODE_ADDED, pod, None, limits("n", 0))
    assert hint_of(plugin, CSI_NODE_UPDATED, pod, limits("n", 1), limits("n", 2))
    assert hint_of(plugin, CSI_NODE_UPDATED, pod, make_csi_node(), limits("n", 1))
    for after in (limits("n", 1), limits("n", 0), limits("n", None), make_csi_node()):
        assert not hint_of(plugin, CSI_NODE_UPDATED, pod, limits("n", 1), after)
    gone = make_pod("x", name="gone", namespace="other")
    assert not hint_of(plugin, POD_DELETED, pod, gone, None)
    assert hint_of(plugin, POD_DELETED, pod, make_pod("x", name="gone", node="n"), None)
    assert hint_of(plugin, POD_DELETED, pod, make_pod(ephemeral=["e"], nominated="n"), None)
    assert hint_of(plugin, POD_DELETED, pod, make_pod(volumes=[ebs("a")], node="n"), None)
    assert not hint_of(plugin, POD_DELETED, pod, make_pod(volumes=[Volume("token")], node="n"), None)
    assert hint_of(plugin, CLAIM_ADDED, pod, None, make_claim("c"))
    assert hint_of(plugin, CLAIM_ADDED, make_pod(ephemeral=["e"]), None, make_claim("p-e"))
    assert not hint_of(plugin, CLAIM_ADDED, pod, None, make_claim("d"))


def test_hint_of_a_detached_volume() -> None:
    plugin = NodeVolumeLimits(make_handle())
    gone, by_ebs = make_attachment("a", "n", "v"), make_attachment("a", "n", "v", EBS)
    assert hint_of(plugin, DETACHED, make_pod("c"), gone, None)
    assert not hint_of(plugin, DETACHED, make_pod(ephemeral=["e"]), gone, None)
    assert not hint_of(plugin, DETACHED, make_pod(), gone, None)
    assert hint_of(plugin, DETACHED, make_pod(volumes=[ebs("a")]), by_ebs, None)
    assert not hint_of(plugin, DETACHED, make_pod(volumes=[ebs("a")]), gone, None)
    bad = Volume("bad", azure_disk=AzureDisk("d", "/d", "Dedicated"))
    with pytest.raises(InputError):
        hint_of(plugin, DETACHED, make_pod(volumes=[bad]), gone, None)


def test_filter_works_without_pre_filter() -> None:
    handle = make_handle(make_node(), limits("n", 0), *claims("c"))
    plugin = NodeVolumeLimits(handle)
    assert plugin.filter(make_pod("c"), handle.table.info(0)) == FULL
    assert plugin.filter(make_pod(), handle.table.info(0)) is None
    assert plugin.filter_rows(make_pod(), handle.table.rows()) is None


@pytest.mark.parametrize("name", ["EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"])
@pytest.mark.parametrize(
    ("where", "profile"),
    [
        ("plugins.filter.enabled[0]", lambda entry: {"plugins": {"filter": {"enabled": [entry]}}}),
        ("plugins.multiPoint.enabled", lambda entry: {"plugins": {"multiPoint": {"enabled": [entry]}}}),
        ("pluginConfig[0]", lambda entry: {"pluginConfig": [entry]}),
    ],
)
def test_the_catalogue_refuses_removed_limit_plugins_with_their_successor(
    name: str, where: str, profile: Any
) -> None:
    config = configuration(profile({"name": name}))
    with pytest.raises(ConfigError) as caught:
        load_config(config)
    message = str(caught.value)
    assert name in message
    assert "NodeVolumeLimits" in message
    assert f"profiles[0].{where}" in message
