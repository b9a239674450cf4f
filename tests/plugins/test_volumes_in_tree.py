"""In-tree volume plugins: handles, drivers and topology after migration to CSI."""

from __future__ import annotations

import pytest

from plugins_builtin._volumes_in_tree import (
    BETA_REGION,
    BETA_ZONE,
    PLUGINS,
    REGION,
    ZONE,
    handle_of,
    migrated_plugins,
    plugin_named,
    plugin_of,
    translated_affinity,
)
from schedframe import InputError
from schedframe.api import (
    AWSElasticBlockStore,
    AzureDisk,
    AzureFile,
    CinderVolume,
    GCEPersistentDisk,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    PortworxVolume,
    Volume,
    VolumeNodeAffinity,
    VsphereVolume,
)
from tests.plugins.storage import affinity, make_csi_node, make_volume

EBS_ZONE = "topology.ebs.csi.aws.com/zone"
GCE_ZONE = "topology.gke.io/zone"


def disk(**source: object) -> PersistentVolume:
    return make_volume("v", csi=None, **source)


@pytest.mark.parametrize(
    ("volume", "plugin", "driver", "handle"),
    [
        (
            Volume("v", aws_elastic_block_store=AWSElasticBlockStore("vol-1")),
            "kubernetes.io/aws-ebs",
            "ebs.csi.aws.com",
            "vol-1",
        ),
        (
            Volume("v", aws_elastic_block_store=AWSElasticBlockStore("aws://us-east-1a/vol-1")),
            "kubernetes.io/aws-ebs",
            "ebs.csi.aws.com",
            "vol-1",
        ),
        (
            Volume("v", gce_persistent_disk=GCEPersistentDisk("pd")),
            "kubernetes.io/gce-pd",
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd",
        ),
        (
            Volume("v", cinder=CinderVolume("id")),
            "kubernetes.io/cinder",
            "cinder.csi.openstack.org",
            "id",
        ),
        (
            Volume("v", azure_disk=AzureDisk("d", "/disks/d", "Managed")),
            "kubernetes.io/azure-disk",
            "disk.csi.azure.com",
            "/disks/d",
        ),
        (
            Volume("v", portworx_volume=PortworxVolume("px")),
            "kubernetes.io/portworx-volume",
            "pxd.portworx.com",
            "px",
        ),
    ],
)
def test_inline_disks(volume: Volume, plugin: str, driver: str, handle: str) -> None:
    found = plugin_of(volume)
    assert found is not None
    assert (found.name, found.driver) == (plugin, driver)
    assert handle_of(found, volume) == handle


@pytest.mark.parametrize(
    ("volume", "driver"),
    [
        (Volume("v", azure_file=AzureFile("share", "secret")), "file.csi.azure.com"),
        (Volume("v", vsphere_volume=VsphereVolume("[ds] disk")), "csi.vsphere.vmware.com"),
    ],
)
def test_plugins_whose_volumes_are_not_translated(volume: Volume, driver: str) -> None:
    found = plugin_of(volume)
    assert found is not None
    assert found.driver == driver
    assert found.handle is None


def test_plugins_by_name() -> None:
    assert [plugin_named(plugin.name) for plugin in PLUGINS] == list(PLUGINS)
    assert plugin_named("disks.example.com") is None
    assert plugin_of(Volume("v")) is None
    assert plugin_of(make_volume("v")) is None


@pytest.mark.parametrize(
    ("labels", "handle"),
    [
        ({}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd"),
        ({ZONE: "us-east1-b"}, "projects/UNSPECIFIED/zones/us-east1-b/disks/pd"),
        ({ZONE: "x", BETA_ZONE: "us-east1-b"}, "projects/UNSPECIFIED/zones/us-east1-b/disks/pd"),
        ({ZONE: "us-east1-b__us-east1-c"}, "projects/UNSPECIFIED/regions/us-east1/disks/pd"),
    ],
)
def test_disks_of_gce_are_distinguished_by_zone(labels: dict[str, str], handle: str) -> None:
    volume = disk(gce_persistent_disk=GCEPersistentDisk("pd"), labels=labels)
    plugin = plugin_of(volume)
    assert plugin is not None
    assert handle_of(plugin, volume) == handle


@pytest.mark.parametrize(
    "volume",
    [
        disk(aws_elastic_block_store=AWSElasticBlockStore("aws://us-east-1a/disk-1")),
        disk(aws_elastic_block_store=AWSElasticBlockStore("aws://[/vol-1")),
        disk(gce_persistent_disk=GCEPersistentDisk("pd"), labels={ZONE: "us-east1-b__eu-west1-c"}),
        disk(gce_persistent_disk=GCEPersistentDisk("pd"), labels={ZONE: "a__b"}),
        disk(azure_disk=AzureDisk("d", "/d", "Dedicated")),
    ],
)
def test_disks_that_cannot_be_translated(volume: PersistentVolume) -> None:
    plugin = plugin_of(volume)
    assert plugin is not None
    with pytest.raises(InputError):
        handle_of(plugin, volume)
    with pytest.raises(InputError):
        translated_affinity(plugin, volume)


def test_migrated_plugins_are_listed_in_an_annotation() -> None:
    assert migrated_plugins(None) == frozenset()
    assert migrated_plugins(make_csi_node()) == frozenset()
    assert migrated_plugins(make_csi_node(migrated="a,b")) == {"a", "b"}


# ---- topology --------------------------------------------------------------------------------------------


def translated(**fields: object) -> NodeSelector | None:
    volume = disk(**{"aws_elastic_block_store": AWSElasticBlockStore("vol-1"), **fields})
    plugin = plugin_of(volume)
    assert plugin is not None
    return translated_affinity(plugin, volume)


def selector(*terms: dict[str, list[str]]) -> NodeSelector | None:
    return affinity(*terms).required


def test_zones_move_to_the_label_of_the_driver() -> None:
    assert translated(only={ZONE: ["a", "b"], "disk": ["ssd"]}) == selector(
        {EBS_ZONE: ["a", "b"], "disk": ["ssd"]}
    )
    assert translated(only={BETA_ZONE: ["a"]}) == selector({EBS_ZONE: ["a"]})
    assert translated(only={"disk": ["ssd"]}) == selector({"disk": ["ssd"]})
    assert translated() is None


def test_zones_of_the_labels_are_a_last_resort() -> None:
    assert translated(labels={ZONE: "b__a"}) == selector({EBS_ZONE: ["a", "b"]})
    assert translated(labels={BETA_ZONE: "a"}) == selector({EBS_ZONE: ["a"]})
    assert translated(labels={ZONE: "a"}, only={ZONE: ["b"]}) == selector({EBS_ZONE: ["b"]})
    assert translated(labels={ZONE: "a"}, only={"disk": ["ssd"]}) == selector(
        {"disk": ["ssd"], EBS_ZONE: ["a"]}
    )
    assert translated(labels={ZONE: " __"}) is None


def test_the_beta_region_becomes_the_stable_one() -> None:
    both = {BETA_ZONE: ["a"], BETA_REGION: ["eu"]}
    assert translated(only=both) == selector({EBS_ZONE: ["a"], REGION: ["eu"]})
    assert translated(only={BETA_REGION: ["eu"]}, labels={BETA_ZONE: "a"}) == selector(
        {REGION: ["eu"], EBS_ZONE: ["a"]}
    )


def test_every_term_gets_the_zone() -> None:
    two = affinity({"disk": ["ssd"]}, {"disk": ["hdd"]})
    assert translated(node_affinity=two, labels={ZONE: "a"}) == selector(
        {"disk": ["ssd"], EBS_ZONE: ["a"]}, {"disk": ["hdd"], EBS_ZONE: ["a"]}
    )


def test_an_expression_without_values_is_no_topology() -> None:
    term = NodeSelectorTerm((NodeSelectorRequirement(ZONE, "Exists"),))
    exists = VolumeNodeAffinity(NodeSelector((term,)))
    assert translated(node_affinity=exists) == exists.required


def test_azure_keeps_its_topology() -> None:
    volume = disk(azure_disk=AzureDisk("d", "/d"), only={ZONE: ["a"]})
    plugin = plugin_of(volume)
    assert plugin is not None
    assert translated_affinity(plugin, volume) == selector({ZONE: ["a"]})


def test_gce_uses_its_own_label() -> None:
    volume = disk(gce_persistent_disk=GCEPersistentDisk("pd"), labels={ZONE: "us-east1-b"})
    plugin = plugin_of(volume)
    assert plugin is not None
    assert translated_affinity(plugin, volume) == selector({GCE_ZONE: ["us-east1-b"]})
