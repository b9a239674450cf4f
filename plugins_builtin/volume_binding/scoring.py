"""Score by storage capacity: the requested share of the matched volumes, or of the storage for new ones.

The feature gate StorageCapacityScoring gives the arguments a shape; without one nothing is scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import Rows
from schedframe.api import STORAGE, PersistentVolumeClaim

from ..args import UtilizationShapePoint
from ..node_resources.strategies import curve
from .claims import PodClaims
from .filtering import assign_claims
from .static_matching import label_classes
from .volumes import Labels, VolumeIndex

_FULL: Final = 100


@define(eq=False)
class CapacityScore:
    """Mean over storage classes of the shape's value at the requested percentage of the capacity."""

    shape: Sequence[UtilizationShapePoint]
    volumes: VolumeIndex
    _curve: list[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._curve = curve(self.shape).tolist()

    def node(self, claims: PodClaims, labels: Labels) -> int:
        """Return the score of a node with these *labels*.

        Volumes to be provisioned count only if no claim gets an existing one.
        """
        bindings, requests = assign_claims(claims, labels)
        sums: dict[str, tuple[int, int]] = {}
        for claim, name in bindings:
            volume = self.volumes.assumed.get(name)
            if volume is not None:
                requested, total = sums.get(volume.spec.storage_class_name, (0, 0))
                capacity = volume.spec.capacity.get(STORAGE)
                total += 0 if capacity is None else capacity.value()
                sums[volume.spec.storage_class_name] = (requested + _requested(claim), total)
        for request in () if bindings else requests:
            capacities = request.capacities
            largest = None if capacities is None else capacities.largest(request.size, labels)
            if largest is not None:
                # All claims of a class use the same storage, so its capacity counts once.
                name = request.claim.spec.storage_class_name or ""
                sums[name] = (sums.get(name, (0, 0))[0] + request.size, largest)
        scores = [self._at(requested, total) for requested, total in sums.values()]
        return (2 * sum(scores) + len(scores)) // (2 * len(scores)) if scores else 0

    def rows(self, claims: PodClaims, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`node` for many rows, evaluated once for each label class of nodes."""
        keys = set().union(*(match.keys() for match in claims.matches))
        for request in (*claims.requests, *(request for _, request in claims.selected)):
            keys |= request.capacities.keys() if request.capacities is not None else set()
        representatives, class_of_row = label_classes(sorted(keys), rows)
        scores = np.zeros(len(representatives), np.int64)
        for label_class, position in enumerate(representatives.tolist()):
            node = rows.table.node_at(int(rows.positions[position]))
            scores[label_class] = 0 if node is None else self.node(claims, node.labels)
        return scores[class_of_row]

    def _at(self, requested: int, total: int) -> int:
        exceeded = total == 0 or requested > total
        return self._curve[_FULL if exceeded else requested * _FULL // total]


def _requested(claim: PersistentVolumeClaim) -> int:
    amount = claim.spec.resources.requests.get(STORAGE)
    return 0 if amount is None else amount.value()
