"""The capacity score: how much of the volumes that claims get, or of the storage for new ones, is asked for.

Off in the reference unless StorageCapacityScoring is on; here it is on if the arguments have a shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import PersistentVolumeClaim, Rows

from ..args import UtilizationShapePoint
from ..node_resources.strategies import curve
from .claims import PodClaims
from .judging import share_out
from .volumes import STORAGE, Labels, VolumeFiles
from .wishes import kinds_of_rows

_FULL: Final = 100


@define(eq=False)
class CapacityScore:
    """The mean over storage classes of a curve at what is asked for in percent of what there is."""

    shape: Sequence[UtilizationShapePoint]
    volumes: VolumeFiles
    _curve: list[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._curve = curve(self.shape).tolist()

    def node(self, claims: PodClaims, labels: Labels) -> int:
        """Score of a node with these *labels*; volumes that are there count, else those to be made."""
        bindings, provisions = share_out(claims, labels)
        sums: dict[str, tuple[int, int]] = {}
        for claim, name in bindings:
            volume = self.volumes.assumed.get(name)
            if volume is not None:
                asked, there = sums.get(volume.spec.storage_class_name, (0, 0))
                capacity = volume.spec.capacity.get(STORAGE)
                there += 0 if capacity is None else capacity.value()
                sums[volume.spec.storage_class_name] = (asked + _requested(claim), there)
        for provision in () if bindings else provisions:
            capacities = provision.capacities
            largest = None if capacities is None else capacities.largest(provision.size, labels)
            if largest is not None:
                # The storage is the same for all claims of a class.
                name = provision.claim.spec.storage_class_name or ""
                sums[name] = (sums.get(name, (0, 0))[0] + provision.size, largest)
        scores = [self._at(asked, there) for asked, there in sums.values()]
        return (2 * sum(scores) + len(scores)) // (2 * len(scores)) if scores else 0

    def rows(self, claims: PodClaims, rows: Rows) -> npt.NDArray[np.int64]:
        """Scores of rows, once for each set of labels that matters."""
        keys = set().union(*(wish.keys() for wish in claims.wishes))
        for provision in (*claims.provisions, *(provision for _, provision in claims.sent)):
            keys |= provision.capacities.keys() if provision.capacities is not None else set()
        kinds, of_row = kinds_of_rows(sorted(keys), rows)
        scores = np.zeros(len(kinds), np.int64)
        for kind, representative in enumerate(kinds.tolist()):
            node = rows.table.node_at(int(rows.positions[representative]))
            scores[kind] = 0 if node is None else self.node(claims, node.labels)
        return scores[of_row]

    def _at(self, asked: int, there: int) -> int:
        over = there == 0 or asked > there
        return self._curve[_FULL if over else asked * _FULL // there]


def _requested(claim: PersistentVolumeClaim) -> int:
    amount = claim.spec.resources.requests.get(STORAGE)
    return 0 if amount is None else amount.value()
