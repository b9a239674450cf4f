"""NodeVolumeLimits: limits the number of volumes of each CSI driver on a node.

=================  =================================================================================
``plugin``         the hooks
``resolver``       which volume of which driver a volume of a pod is
``volume_counts``  volumes by driver per node, as columns that follow pods, claims and volumes
``attachments``    index of VolumeAttachment objects
``hints``          which events may help a rejected pod
=================  =================================================================================
"""

from __future__ import annotations

from .plugin import NodeVolumeLimits

__all__ = ["NodeVolumeLimits"]
