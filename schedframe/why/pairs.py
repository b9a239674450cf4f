"""Pairs of changes, for a pod that no single change helps.

The first change is applied in the copy of the cluster. The nearest nodes are examined again, and changes are
proposed for the changed pod: each that helps then completes a pair. Pairs are verified as single changes are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from attrs import field

from .._base.value import record
from .change import Change, ChangeKind, VerifiedChange
from .changing import ChangeTrial, in_order
from .near_misses import NearMiss

_FIRST_CHANGES: Final = 40
"""First changes of pairs, smallest first. The examination after each costs O(plugins × nodes)."""
_FIRST_OF_KIND: Final = 4
"""First changes of one kind."""
_SECOND_CHANGES: Final = 40
"""Changes that are tried after a first one, smallest first."""

Examine = Callable[[ChangeTrial], tuple[list[NearMiss], Iterable[Change]]]
"""Return the nearest nodes of a trial and the changes that are proposed for it."""


@record(eq=False)
class PairSearch:
    """Searches for the smallest pairs that help, one for each pair of kinds."""

    examine: Examine
    most: int
    """Number of pairs to find."""
    _pairs: dict[frozenset[ChangeKind], VerifiedChange] = field(factory=dict)

    def smallest(
        self, trial: ChangeTrial, near: Sequence[NearMiss], candidates: Iterable[Change]
    ) -> list[VerifiedChange]:
        """Return the smallest pairs that help, smallest first; none of *candidates* helps alone."""
        for change in _first_changes(candidates):
            if trial.budget.left <= 0:
                break
            with trial.after(change) as changed:
                after, proposed = self.examine(changed)
                if _closer(near, after):
                    self._complete(changed, change, proposed)
        pairs = sorted(self._pairs.values(), key=lambda pair: (pair.size, pair.description))
        return pairs[: self.most]

    def _complete(self, changed: ChangeTrial, first: Change, proposed: Iterable[Change]) -> None:
        """Try *proposed* changes after *first*, as long as they make smaller pairs than those found."""
        for second, _ in zip(in_order(proposed), range(_SECOND_CHANGES), strict=False):
            kinds, size = frozenset((first.kind, second.kind)), first.size + second.size
            if second.kind is ChangeKind.ADD_NODE or size >= self._limit(kinds):
                continue
            if changed.helps(second):
                verified = changed.verified(second)
                if verified is not None:
                    self._pairs[kinds] = verified

    def _limit(self, kinds: frozenset[ChangeKind]) -> float:
        """Return the size that a pair of these kinds has to undercut."""
        if kinds in self._pairs:
            return self._pairs[kinds].size
        sizes = sorted(pair.size for pair in self._pairs.values())
        return sizes[self.most - 1] if len(sizes) >= self.most else float("inf")


def _first_changes(candidates: Iterable[Change]) -> Iterator[Change]:
    """Yield the smallest changes, a few of each kind; no new nodes, which seldom need a second change."""
    counts: Counter[ChangeKind] = Counter()
    for change in in_order(candidates):
        if counts.total() >= _FIRST_CHANGES:
            return
        if change.kind is not ChangeKind.ADD_NODE and counts[change.kind] < _FIRST_OF_KIND:
            counts[change.kind] += 1
            yield change


def _closer(before: Sequence[NearMiss], after: Sequence[NearMiss]) -> bool:
    """Return whether a node has fewer obstacles than before; also if none was examined before."""
    obstacles = {miss.node: len(miss.obstacles) for miss in before}
    return not before or any(
        len(miss.obstacles) < obstacles.get(miss.node, len(miss.obstacles) + 1) for miss in after
    )
