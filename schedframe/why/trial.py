"""Tries out changes in a copy of the cluster. A change is called helpful only after it was tried out."""

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
    """A pod that is pending in a copy of its cluster. Each change is undone after its evaluation."""

    simulation: Simulation
    pod: Pod
    budget: int
    """Number of changes that may still be tried out."""
    tried: int = 0

    def helps(self, change: Change) -> bool:
        """Return whether a node is feasible after *change*; ``False`` once the budget is spent."""
        if self.budget <= 0:
            return False
        self.budget -= 1
        self.tried += 1
        with self.applied(change) as pod:
            return bool(self.simulation.evaluator.feasible(pod))

    def verified(self, change: Change) -> VerifiedChange | None:
        """Return *change* with the nodes that are feasible after it; ``None`` if the cycle finds no node."""
        with self.applied(change) as pod:
            evaluation = self.simulation.evaluator.evaluate(pod)
            # Read before the change is undone: rows have other names afterwards.
            feasible, best = tuple(evaluation.feasible), evaluation.best
        return VerifiedChange(change, feasible, best[0]) if best else None

    def smallest(self, candidates: Iterable[Change], most: int) -> list[VerifiedChange]:
        """Return the smallest changes that help, one of each kind and at most *most*; smallest first."""
        helping: list[VerifiedChange] = []
        kinds: set[ChangeKind] = set()
        for change in _distinct(sorted(candidates, key=lambda each: each.order)):
            if len(helping) >= most or self.budget <= 0:
                break
            if change.kind not in kinds and self.helps(change):
                verified = self.verified(change)
                if verified is not None:
                    kinds.add(change.kind)
                    helping.append(verified)
        return helping

    @contextmanager
    def applied(self, change: Change) -> Iterator[Pod]:
        """Apply *change* within the context, which gives the changed pod."""
        cluster, sync = self.simulation.cluster, self.simulation.scheduler.sync
        before = [(obj, cluster.get(obj.KIND, obj.key)) for obj in change.objects]
        try:
            for pod in change.deleted:
                # With finalizers the pod would only be marked as terminating.
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
    """Yield *changes* without those that equal the one before."""
    yield from changes[:1]
    yield from (new for old, new in pairwise(changes) if new.order != old.order)
