"""VolumeBinding: bound claims need nodes that reach their volumes, others get volumes on the chosen node.

====================  ==================================================================================
``plugin``            the hooks
``claims``            classification of the claims of a pod; ``Storage``, shared by all profiles
``static_matching``   which existing volume an unbound claim gets on a node
``provisioning``      whether a volume can be created for a claim on a node
``filtering``         both of these, per node and by rows
``scoring``           score by storage capacity
``binding``           reserve and pre_bind: assume, write, wait
``hints``             which events may help a rejected pod
``assumed``           the assume cache: decisions that the cluster does not show yet
``volumes``           index of the volumes that claims can get
``topology_index``    numbers by the value of a node label, as an array
====================  ==================================================================================

A *pre-bound* volume has a claim reference. *Static matching* and *dynamic provisioning* are terms of
Kubernetes. See ``docs/explanation/volumes.md``.
"""

from __future__ import annotations

from .plugin import VolumeBinding

__all__ = ["VolumeBinding"]
