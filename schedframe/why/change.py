"""A single change of a pod or its cluster, and how large it is."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from math import log2
from typing import Any, Final

from attrs import field

from .._base.value import record
from ..api import Pod
from .edits import Edit, ObjectEdit


class ChangeKind(StrEnum):
    """Kind of a change. Changes of equal size come in this order."""

    WAIT_FOR_DELETION = "wait-for-deletion"
    """Wait until a pod that is being deleted is gone."""
    WAIT_FOR_POD = "wait-for-pod"
    """Wait until another pending pod has a node, to which this one has an affinity."""
    REMOVE_GATE = "remove-gate"
    """Remove a scheduling gate of the pod."""
    SET_SCHEDULER_NAME = "set-scheduler-name"
    """Name a profile that exists."""
    LOWER_REQUEST = "lower-request"
    """Lower a resource request of the pod."""
    CORRECT_LABEL = "correct-label"
    """Correct a label value that the pod selects by."""
    TOLERATE_TAINT = "tolerate-taint"
    """Add a toleration to the pod."""
    RAISE_MAX_SKEW = "raise-max-skew"
    """Raise maxSkew of a spread constraint."""
    RELAX_NODE_SELECTION = "relax-node-selection"
    """Drop or widen a node selector or a required node affinity."""
    DROP_SPREADING = "drop-spread-constraint"
    """Drop a spread constraint."""
    DROP_POD_AFFINITY = "drop-pod-affinity"
    """Drop a required affinity or anti-affinity to pods."""
    DROP_HOST_PORT = "drop-host-port"
    """Drop a host port."""
    UNCORDON = "uncordon-node"
    """Make a cordoned node schedulable."""
    LABEL_NODE = "label-node"
    """Label a node."""
    REMOVE_TAINT = "remove-taint"
    """Remove a taint from a node."""
    CREATE_CLAIM = "create-claim"
    """Create a missing claim."""
    CREATE_VOLUME = "create-volume"
    """Create a volume for a claim."""
    ADD_POD = "add-pod"
    """Add a pod that the pod has an affinity to."""
    DROP_VOLUME = "drop-volume"
    """Drop a volume of the pod."""
    DROP_CLAIM = "drop-claim"
    """Drop a resource claim of the pod."""
    DELETE_POD = "delete-pod"
    """Delete a pod."""
    ADD_NODE = "add-node"
    """Add a node like one that is there."""


WEIGHTS: Final[Mapping[ChangeKind, float]] = {
    ChangeKind.WAIT_FOR_DELETION: 0.5,
    ChangeKind.WAIT_FOR_POD: 0.5,
    ChangeKind.REMOVE_GATE: 1,
    ChangeKind.SET_SCHEDULER_NAME: 1,
    ChangeKind.LOWER_REQUEST: 1,
    ChangeKind.CORRECT_LABEL: 1,
    ChangeKind.TOLERATE_TAINT: 1,
    ChangeKind.RAISE_MAX_SKEW: 1,
    ChangeKind.RELAX_NODE_SELECTION: 1.5,
    ChangeKind.DROP_SPREADING: 2,
    ChangeKind.DROP_POD_AFFINITY: 2,
    ChangeKind.DROP_HOST_PORT: 2,
    ChangeKind.UNCORDON: 2,
    ChangeKind.LABEL_NODE: 2,
    ChangeKind.REMOVE_TAINT: 2,
    ChangeKind.CREATE_CLAIM: 2,
    ChangeKind.CREATE_VOLUME: 2,
    ChangeKind.ADD_POD: 3,
    ChangeKind.DROP_VOLUME: 4,
    ChangeKind.DROP_CLAIM: 4,
    ChangeKind.DELETE_POD: 6,
    ChangeKind.ADD_NODE: 8,
}
"""The size of one step of each kind; changes of equal size come in the order of :class:`ChangeKind`."""

_ORDER: Final = {kind: i for i, kind in enumerate(ChangeKind)}


@record(frozen=True, eq=False)
class Change:
    """A change that might help, with the objects as they are after it."""

    kind: ChangeKind
    description: str
    """An imperative: ``tolerate the taint team=ml:NoSchedule``."""
    steps: float = 1.0
    """Number of steps: 1 for each entry that is added or removed, log2 of the ratio for an amount."""
    pod: Pod | None = field(default=None, repr=False)
    """The pod after the change, ``None`` if the change is to other objects."""
    objects: tuple[Any, ...] = field(default=(), repr=False)
    """Objects that the change creates or replaces."""
    follows: tuple[Any, ...] = field(default=(), repr=False)
    """Objects as controllers change them after that."""
    deleted: tuple[Pod, ...] = field(default=(), repr=False)
    rank: tuple[Any, ...] = ()
    """Sort key among changes of one kind and size."""

    @property
    def size(self) -> float:
        """The weight of the kind (:data:`WEIGHTS`) times the number of steps."""
        return round(WEIGHTS[self.kind] * self.steps, 6)

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key: smallest change first."""
        return (self.size, _ORDER[self.kind], self.rank, self.description)


@record(frozen=True, eq=False)
class VerifiedChange:
    """A change, or a pair of changes, after which the pod can run: verified in a copy of the cluster."""

    parts: tuple[Change, ...]
    """The changes, in the order in which they were applied."""
    nodes: tuple[str, ...]
    """The nodes that are feasible after the change, sorted."""
    best: str
    """The best of these nodes; the first by name if several are."""
    object_edits: tuple[ObjectEdit, ...] = ()
    """What the change does to each object."""

    @property
    def change(self) -> Change:
        """The change; the first one of a pair."""
        return self.parts[0]

    @property
    def kind(self) -> ChangeKind:
        """The kind of the change; of the first one of a pair."""
        return self.change.kind

    @property
    def size(self) -> float:
        """The sum of the sizes."""
        return round(sum(each.size for each in self.parts), 6)

    @property
    def description(self) -> str:
        """The description of the change, an imperative."""
        return ", and ".join(each.description for each in self.parts)

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The changed fields."""
        return tuple(edit for each in self.object_edits for edit in each.edits)

    def to_dict(self) -> dict[str, Any]:
        """Return the change and its effect in plain types.

        ``operations`` are for programs: a JSON Patch, a manifest to create, or an object to delete.
        """
        document: dict[str, Any] = {
            "kind": str(self.kind),
            "description": self.description,
            "size": self.size,
            "edits": [edit.to_dict() for edit in self.edits],
            "operations": [each.to_dict() for each in self.object_edits],
            "feasible_then": len(self.nodes),
            "node_then": self.best,
        }
        if len(self.parts) > 1:
            document["kinds"] = [str(each.kind) for each in self.parts]
        return document

    def __str__(self) -> str:
        return f"{self.description}: then it runs on {self.best}"


def doublings(larger: float, smaller: float) -> float:
    """Return log2(*larger* / *smaller*), at least 0.01 so that no change has size 0; 10 if *smaller* is 0."""
    return max(0.01, log2(larger / smaller)) if smaller > 0 else 10.0
