"""In-tree volume plugins, and the CSI drivers that replaced them.

On nodes whose CSINode lists a plugin as migrated, its disks are volumes of the CSI driver, and their topology
uses the labels of the driver. Source of the rules: k8s.io/csi-translation-lib.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit

from attrs import evolve, frozen

from schedframe import InputError
from schedframe.api import (
    IN,
    CSINode,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    Volume,
)

MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
"""Annotation of a CSINode with the plugins that are migrated on the node."""
_ZONES_SEPARATOR: Final = "__"
_UNKNOWN: Final = "UNSPECIFIED"

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"

_Source: TypeAlias = Any
"""Value of the plugin's field in a volume of a pod or in a volume object."""


@frozen
class InTreePlugin:
    """An in-tree plugin, its field in volumes, and the driver that replaced it."""

    name: str
    field: str
    driver: str
    topology_key: str = ""
    """Zone label of the driver; empty if the topology of volumes is not translated."""
    handle: Callable[[_Source, str], str] | None = None
    """Return the driver's handle of a disk in the given zones (joined by two underscores; empty if unknown).

    ``None`` if scheduling does not translate volumes of the plugin.
    """


_NO_PLUGINS: Final[frozenset[str]] = frozenset()


def migrated_plugins(csi_node: CSINode | None) -> frozenset[str]:
    """Return the names of the plugins that are migrated on that node."""
    text = "" if csi_node is None else csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "")
    return frozenset(text.split(",")) if text else _NO_PLUGINS


def migration_text(csi_node: CSINode) -> str:
    """Return the annotation that lists the migrated plugins; empty without one."""
    return csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "")


# ---- handles ---------------------------------------------------------------------------------------------


def _ebs_handle(source: _Source, zones: str) -> str:
    """Return ``vol-1``, also for ``aws://<zone>/vol-1``."""
    volume_id: str = source.volume_id
    if not volume_id.startswith("aws://"):
        return volume_id
    try:
        path = unquote(urlsplit(volume_id).path).strip("/")
    except ValueError as error:
        raise InputError("", f"invalid disk name ({volume_id}): {error}") from error
    if not re.fullmatch(r"vol-[^/]*", path):
        raise InputError("", f"invalid format for AWS volume ({volume_id})", "write it as aws://<zone>/vol-…")
    return path


def _gce_handle(source: _Source, zones: str) -> str:
    names = zones.split(_ZONES_SEPARATOR)
    if len(names) == 1:
        return f"projects/{_UNKNOWN}/zones/{names[0] or _UNKNOWN}/disks/{source.pd_name}"
    regions = {zone.rpartition("-")[0] for zone in names}
    if len(regions) != 1 or any(zone.count("-") != 2 for zone in names):
        raise InputError("", f"zones {', '.join(names)} are not of one region", "write them as us-east1-b")
    return f"projects/{_UNKNOWN}/regions/{regions.pop()}/disks/{source.pd_name}"


def _azure_handle(source: _Source, zones: str) -> str:
    if source.kind is not None and source.kind.lower() != "managed":
        raise InputError("", f"kind({source.kind}) is not supported in csi migration", "use a managed disk")
    uri: str = source.disk_uri
    return uri


def _volume_id(source: _Source, zones: str) -> str:
    volume_id: str = source.volume_id
    return volume_id


PLUGINS: Final = (
    InTreePlugin(
        "kubernetes.io/aws-ebs",
        "aws_elastic_block_store",
        "ebs.csi.aws.com",
        "topology.ebs.csi.aws.com/zone",
        _ebs_handle,
    ),
    InTreePlugin(
        "kubernetes.io/gce-pd",
        "gce_persistent_disk",
        "pd.csi.storage.gke.io",
        "topology.gke.io/zone",
        _gce_handle,
    ),
    InTreePlugin(
        "kubernetes.io/cinder",
        "cinder",
        "cinder.csi.openstack.org",
        "topology.cinder.csi.openstack.org/zone",
        _volume_id,
    ),
    InTreePlugin("kubernetes.io/azure-disk", "azure_disk", "disk.csi.azure.com", "", _azure_handle),
    InTreePlugin("kubernetes.io/portworx-volume", "portworx_volume", "pxd.portworx.com", "", _volume_id),
    InTreePlugin("kubernetes.io/azure-file", "azure_file", "file.csi.azure.com"),
    InTreePlugin("kubernetes.io/vsphere-volume", "vsphere_volume", "csi.vsphere.vmware.com"),
)
_BY_NAME: Final = {plugin.name: plugin for plugin in PLUGINS}


def plugin_named(name: str) -> InTreePlugin | None:
    """Return the plugin of that name, which storage classes use as provisioner; ``None`` if unknown."""
    return _BY_NAME.get(name)


def plugin_of(volume: Volume | PersistentVolume) -> InTreePlugin | None:
    """Return the in-tree plugin of a pod's volume or a volume object; ``None`` if it has none."""
    source = volume.spec if isinstance(volume, PersistentVolume) else volume
    for plugin in PLUGINS:
        if getattr(source, plugin.field) is not None:
            return plugin
    return None


def handle_of(plugin: InTreePlugin, volume: Volume | PersistentVolume) -> str:
    """Return the driver's handle of the disk. Raises :class:`InputError` if it cannot be translated."""
    assert plugin.handle is not None
    if isinstance(volume, PersistentVolume):
        labels = volume.labels
        source, zones = getattr(volume.spec, plugin.field), labels.get(BETA_ZONE) or labels.get(ZONE, "")
    else:
        source, zones = getattr(volume, plugin.field), ""
    return plugin.handle(source, zones)


# ---- topology --------------------------------------------------------------------------------------------


def translated_affinity(plugin: InTreePlugin, volume: PersistentVolume) -> NodeSelector | None:
    """Return the selector of the nodes that can use the volume where its plugin is migrated.

    Zones of the node affinity are moved to the label of the driver; without any, the zones of the volume's
    label are added. Raises :class:`InputError` if the volume cannot be translated.
    """
    handle_of(plugin, volume)
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    if not plugin.topology_key:
        return required
    terms = required.terms if required is not None else ()
    zone, region = _topology_labels(terms, volume)
    if _values(terms, zone):
        terms = _renamed(terms, zone, plugin.topology_key)
    elif zone in volume.labels:
        terms = _with_zones(terms, plugin.topology_key, volume.labels[zone].split(_ZONES_SEPARATOR))
    if region == BETA_REGION and _values(terms, region):
        terms = _renamed(terms, region, REGION)
    return NodeSelector(terms) if terms or required is not None else None


def _topology_labels(terms: Sequence[NodeSelectorTerm], volume: PersistentVolume) -> tuple[str, str]:
    """Return the labels for zone and region that the volume uses; the beta ones only if it has no others."""
    keys = {expression.key for expression in _expressions(terms)}
    for present in (keys, volume.labels):
        if ZONE in present:
            break
        if BETA_ZONE in present:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _expressions(terms: Sequence[NodeSelectorTerm]) -> Iterator[NodeSelectorRequirement]:
    return (expression for term in terms for expression in term.match_expressions)


def _values(terms: Sequence[NodeSelectorTerm], key: str) -> bool:
    return any(expression.values for expression in _expressions(terms) if expression.key == key)


def _renamed(terms: Sequence[NodeSelectorTerm], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        evolve(
            term,
            match_expressions=tuple(
                evolve(each, key=new) if each.key == old else each for each in term.match_expressions
            ),
        )
        for term in terms
    )


def _with_zones(
    terms: Sequence[NodeSelectorTerm], key: str, zones: Sequence[str]
) -> tuple[NodeSelectorTerm, ...]:
    names = sorted({zone.strip() for zone in zones} - {""})
    if not names:
        return tuple(terms)
    requirement = NodeSelectorRequirement(key, IN, tuple(names))
    return tuple(
        evolve(term, match_expressions=(*term.match_expressions, requirement))
        for term in terms or (NodeSelectorTerm(),)
    )
