"""Versions of everything that answers may depend on besides the pod and the row."""

from __future__ import annotations

from ...state import NodeTable, ObjectStore

Stamp = tuple[int, int, int]
Versions = tuple[int, ...]


def change_stamp(table: NodeTable, objects: ObjectStore) -> Stamp:
    """Return a value that is equal as long as the :func:`dependency_versions` of anything are; O(1)."""
    return objects.changes, table.node_log.version, table.affinity_changes


def dependency_versions(kinds: tuple[str, ...], table: NodeTable, objects: ObjectStore) -> Versions:
    """Return a value that differs as soon as an object of one of these *kinds* changes; O(kinds).

    "Node" is what nodes have in common, "Image" which of them have which images and, if any has one, how many
    nodes there are, "PodAffinity" the pods with terms about other pods and, if there are any, the nodes.
    """
    versions: list[int] = []
    for kind in kinds:
        if kind == "Node":
            versions += (table.num_nodes, table.images.version)
        elif kind == "Image":
            versions += (table.images.version, table.num_nodes if len(table.images) else 0)
        elif kind == "PodAffinity":
            versions += (table.affinity_changes, table.node_log.version if table.pods_with_affinity else 0)
        else:
            versions.append(objects.version(kind))
    return tuple(versions)
