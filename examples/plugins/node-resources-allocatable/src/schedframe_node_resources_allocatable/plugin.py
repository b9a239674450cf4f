"""NodeResourcesAllocatable: prefer small nodes, which keeps large ones free, or the reverse."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen, validators

from schedframe import MAX_SCORE, Depends, NodeInfo, Pod, Rows, hookimpl

Ints = npt.NDArray[np.int64]
LEAST: Final = "Least"
MOST: Final = "Most"


@frozen
class ResourceWeight:
    """Weight of one unit (milli-CPU, byte, piece) of a resource."""

    name: str = field(validator=validators.min_len(1))
    weight: int = field(default=1, validator=validators.gt(0))


@frozen
class AllocatableArgs:
    """Arguments: which size is preferred, and the resources that make up the size."""

    mode: str = field(default=LEAST, validator=validators.in_((LEAST, MOST)))
    resources: tuple[ResourceWeight, ...] = field(
        default=(ResourceWeight("cpu", 1 << 20), ResourceWeight("memory", 1)), validator=validators.min_len(1)
    )


@define(eq=False)
class NodeResourcesAllocatable:
    """Score the weighted mean of the allocatable resources; negated if smaller is better."""

    args: AllocatableArgs = field(factory=AllocatableArgs)

    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """Return a constant: the score does not depend on the pod."""
        return ()

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        """Return the signed size of the node; O(resources)."""
        allocatable = node_info.allocatable
        total = sum(allocatable.get(one.name, 0) * one.weight for one in self.args.resources)
        size = total // sum(one.weight for one in self.args.resources)
        return size if self.args.mode == MOST else -size

    @hookimpl
    def score_rows(self, rows: Rows) -> Ints:
        """As :meth:`score`; O(rows × resources)."""
        total = np.zeros(len(rows), np.int64)
        for one in self.args.resources:
            total += rows.take(rows.table.allocatable(one.name)) * one.weight
        total //= sum(one.weight for one in self.args.resources)
        return total if self.args.mode == MOST else -total

    @hookimpl
    def normalize_scores(self, scores: Ints) -> None:
        """Stretch to 0…100; all become 0 if they are equal."""
        if len(scores):
            lowest = scores.min()
            spread = int(scores.max() - lowest)
            scores -= lowest
            if spread:
                scores *= MAX_SCORE
                scores //= spread
