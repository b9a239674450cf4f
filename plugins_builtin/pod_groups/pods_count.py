"""PodGroupPodsCount: the placement in which the most members of a group run is the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from attrs import define

from schedframe import MAX_SCORE, Pod, hookimpl
from schedframe.framework import PodGroupInfo


@define(eq=False)
class PodGroupPodsCount:
    """Count the members that would run, and compare with the placement that has most of them."""

    reads_no_nodes_of_members: ClassVar = True

    @hookimpl
    def placement_score(self, group: PodGroupInfo, placed: Sequence[Pod]) -> int:
        """Return the number of members with a node, those of earlier attempts included."""
        return len(group.scheduled) + len(placed)

    @hookimpl
    def normalize_placement_scores(self, scores: Sequence[int]) -> Sequence[int]:
        """Return each number as a share of the largest one, in percent."""
        most = max(scores)
        return [MAX_SCORE * score // most if most else 0 for score in scores]
