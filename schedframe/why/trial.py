"""Try changes out in a copy of the cluster: the only way in which a change gets to be called a help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise

from attrs import define, evolve

from ..api import Pod
from ..simulate.simulation import Simulation
from .change import Change, ChangeKind, VerifiedChange


@define(eq=False)
class Trial:
    """A pod that is pending in a copy of its cluster; each change is undone after it was looked at."""

    simulation: Simulation
    pod: Pod
    budget: int
    """How many changes may still be tried."""
    tried: int = 0

    def works(self, change: Change) -> bool:
        """Whether the pod can run somewhere after *change*; no once the budget is spent."""
        if self.budget <= 0:
            return False
        self.budget -= 1
        self.tried += 1
        with self.applied(change) as pod:
            return bool(self.simulation.evaluator.feasible(pod))

    def verified(self, change: Change) -> VerifiedChange | None:
        """*change* with where the pod runs then; ``None`` if it does not help after all."""
        with self.applied(change) as pod:
            evaluation = self.simulation.evaluator.evaluate(pod)
            # Read here: an evaluation tells of rows, whose names are those of the moment.
            feasible, best = tuple(evaluation.feasible), evaluation.best
        return VerifiedChange(change, feasible, best[0]) if best else None

    def smallest(self, candidates: Iterable[Change], most: int) -> list[VerifiedChange]:
        """The smallest changes that help, one of each kind, at most *most*; smallest first."""
        found: list[VerifiedChange] = []
        kinds: set[ChangeKind] = set()
        for change in _distinct(sorted(candidates, key=lambda each: each.order)):
            if len(found) >= most or self.budget <= 0:
                break
            if change.kind not in kinds and self.works(change):
                verified = self.verified(change)
                if verified is not None:
                    kinds.add(change.kind)
                    found.append(verified)
        return found

    @contextmanager
    def applied(self, change: Change) -> Iterator[Pod]:
        """The world with *change* while inside; gives the pod as it is there."""
        cluster, sync = self.simulation.cluster, self.simulation.scheduler.sync
        before = [(obj, cluster.get(obj.KIND, obj.key)) for obj in change.objects]
        try:
            for pod in change.deleted:
                # A pod with finalizers would only be marked; in the end it goes all the same.
                cluster.apply(evolve(pod, metadata=evolve(pod.metadata, finalizers=())))
                cluster.delete("Pod", pod.key)
            for obj in change.objects:
                cluster.apply(obj)
            sync()
            yield change.pod if change.pod is not None else self.pod
        finally:
            for obj, old in reversed(before):
                if old is not None:
                    cluster.apply(old)
                else:
                    cluster.delete(obj.KIND, obj.key)
            for pod in change.deleted:
                cluster.apply(pod)
            sync()


def _distinct(changes: list[Change]) -> Iterator[Change]:
    """Without those that say what the one before says."""
    yield from changes[:1]
    yield from (new for old, new in pairwise(changes) if new.order != old.order)
