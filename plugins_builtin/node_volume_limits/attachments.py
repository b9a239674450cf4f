"""Index of VolumeAttachment objects: volumes that are attached to a node, or about to be."""

from __future__ import annotations

from attrs import define, field

from schedframe import ObjectStore
from schedframe.api import PersistentVolume, VolumeAttachment


@define(eq=False)
class AttachmentIndex:
    """Attachments by node and by volume object; O(1) for each change."""

    objects: ObjectStore
    _of_node: dict[str, dict[str, tuple[str, str]]] = field(factory=dict)
    """Node → key of the attachment → attacher, name of the volume object."""
    _indexed: dict[str, tuple[str, str]] = field(factory=dict)
    """Key of the attachment → node, name of the volume object."""
    _nodes_of_volume: dict[str, dict[str, int]] = field(factory=dict)

    def on_node(self, name: str) -> dict[str, str]:
        """Return the volumes attached to that node, unique name → driver.

        Attachments whose volume object does not exist are left out.
        """
        attached = {}
        for attacher, volume_name in self._of_node.get(name, {}).values():
            volume: PersistentVolume | None = self.objects.get("PersistentVolume", volume_name)
            if volume is not None and volume.spec.csi is not None:
                attached[f"{attacher}/{volume.spec.csi.volume_handle}"] = attacher
        return attached

    def nodes_of_volume(self, name: str) -> tuple[str, ...]:
        """Return the nodes to which that volume object is attached."""
        return tuple(self._nodes_of_volume.get(name, ()))

    def keys(self) -> list[str]:
        """Return the keys of the indexed attachments."""
        return list(self._indexed)

    def update(self, key: str) -> set[str]:
        """Read the attachment of that key again; return the nodes that it affects."""
        nodes = set()
        if key in self._indexed:
            nodes.add(self._remove(key))
        attachment: VolumeAttachment | None = self.objects.get("VolumeAttachment", key)
        if attachment is not None:
            spec = attachment.spec
            volume_name = spec.source.persistent_volume_name
            if spec.attacher and spec.node_name and volume_name is not None:
                nodes.add(spec.node_name)
                self._of_node.setdefault(spec.node_name, {})[key] = (spec.attacher, volume_name)
                self._indexed[key] = (spec.node_name, volume_name)
                counts = self._nodes_of_volume.setdefault(volume_name, {})
                counts[spec.node_name] = counts.get(spec.node_name, 0) + 1
        return nodes

    def _remove(self, key: str) -> str:
        node, volume_name = self._indexed.pop(key)
        of_node, counts = self._of_node[node], self._nodes_of_volume[volume_name]
        del of_node[key]
        if not of_node:
            del self._of_node[node]
        counts[node] -= 1
        if not counts[node]:
            del counts[node]
        if not counts:
            del self._nodes_of_volume[volume_name]
        return node
