"""NodeResourcesAllocatable: small nodes first, and large ones stay free for large pods; or the reverse."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen, validators

from schedframe import MAX_SCORE, NodeInfo, Pod, Rows, hookimpl

Ints = npt.NDArray[np.int64]
LEAST: Final = "Least"
MOST: Final = "Most"


@frozen
class ResourceWeight:
    """How much one unit (milli-CPU, byte, piece) of a resource counts."""

    name: str = field(validator=validators.min_len(1))
    weight: int = field(default=1, validator=validators.gt(0))


@frozen
class AllocatableArgs:
    """What is preferred, and what size is."""

    mode: str = field(default=LEAST, validator=validators.in_((LEAST, MOST)))
    resources: tuple[ResourceWeight, ...] = field(
        default=(ResourceWeight("cpu", 1 << 20), ResourceWeight("memory", 1)), validator=validators.min_len(1)
    )


@define(eq=False)
class NodeResourcesAllocatable:
    """The weighted mean of what a node has of the resources; negative where less is better."""

    args: AllocatableArgs = field(factory=AllocatableArgs)

    row_local: ClassVar[bool] = True
    node_only: ClassVar[bool] = True

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """The pod plays no role."""
        return ()

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        """O(resources)."""
        allocatable = node_info.allocatable
        total = sum(allocatable.get(one.name, 0) * one.weight for one in self.args.resources)
        size = total // sum(one.weight for one in self.args.resources)
        return size if self.args.mode == MOST else -size

    @hookimpl
    def score_rows(self, rows: Rows) -> Ints:
        """O(rows × resources)."""
        total = np.zeros(len(rows), np.int64)
        for one in self.args.resources:
            total += rows.take(rows.table.allocatable(one.name)) * one.weight
        total //= sum(one.weight for one in self.args.resources)
        return total if self.args.mode == MOST else -total

    @hookimpl
    def normalize_scores(self, scores: Ints) -> None:
        """Stretched so that the best node has 100 and the worst 0; 0 for all if they are equal."""
        if len(scores):
            lowest = scores.min()
            spread = int(scores.max() - lowest)
            scores -= lowest
            if spread:
                scores *= MAX_SCORE
                scores //= spread
