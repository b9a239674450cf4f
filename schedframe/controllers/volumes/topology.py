"""Nodes from which a new volume can be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ..._base.value import record
from ...api import (
    IN,
    CSINode,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    StorageClass,
    TopologySelectorTerm,
    VolumeNodeAffinity,
)
from ..lookup import Lookup
from .drivers import TIED_BY, driver_of, is_known

Labels = Mapping[str, str]


@record(frozen=True)
class Place:
    """Values of node labels that tie a volume; without any it can be used from every node."""

    labels: tuple[tuple[str, str], ...] = ()
    is_certain: bool = True
    """Whether the driver is known, or says itself what ties its volumes."""

    def affinity(self) -> VolumeNodeAffinity | None:
        """Return the node affinity of a volume there."""
        if not self.labels:
            return None
        wanted = tuple(NodeSelectorRequirement(key, IN, (value,)) for key, value in self.labels)
        return VolumeNodeAffinity(NodeSelector((NodeSelectorTerm(match_expressions=wanted),)))

    def __str__(self) -> str:
        return ", ".join(f"{key}={value}" for key, value in self.labels) or "any node"


def place_on(node: Node, made_by: StorageClass, cluster: Lookup) -> Place:
    """Return the place of a volume that is made for *node*."""
    driver = driver_of(made_by.provisioner)
    keys = _keys(driver, node.name, cluster)
    if keys is None:
        allowed = {each.key for term in made_by.allowed_topologies for each in term.match_label_expressions}
        keys = sorted(allowed)
    return Place(_values(keys, node.labels), bool(keys) or is_known(driver))


def place_for_immediate(made_by: StorageClass, cluster: Lookup) -> Place:
    """Return the place of a volume that is made before its pod is scheduled.

    That with the most nodes that the class allows; of several, the first by its text. A real provisioner
    draws one at random.
    """
    nodes = [node for node in cluster.list(Node.KIND) if _is_allowed(node, made_by.allowed_topologies)]
    places = Counter(place_on(node, made_by, cluster) for node in nodes)
    tied = [(-count, str(place), place) for place, count in places.items()]
    return (
        min(tied, key=lambda each: each[:2])[2]
        if tied
        else Place((), is_known(driver_of(made_by.provisioner)))
    )


def _keys(driver: str, node_name: str, cluster: Lookup) -> Iterable[str] | None:
    """Return the labels that tie volumes of *driver* made on that node; ``None`` if nothing says it."""
    csi_node: CSINode | None = cluster.get(CSINode.KIND, node_name)
    for each in () if csi_node is None else csi_node.spec.drivers:
        if each.name == driver:
            return each.topology_keys
    return (TIED_BY[driver],) if driver in TIED_BY else None


def _values(keys: Iterable[str], labels: Labels) -> tuple[tuple[str, str], ...]:
    return tuple((key, labels[key]) for key in keys if key in labels)


def _is_allowed(node: Node, terms: Iterable[TopologySelectorTerm]) -> bool:
    labels = node.labels
    given = [term for term in terms if term.match_label_expressions]
    return not given or any(
        all(labels.get(each.key) in each.values for each in term.match_label_expressions) for term in given
    )
