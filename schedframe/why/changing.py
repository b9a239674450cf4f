"""Tries out changes in a fork of the cluster. A change is called helpful only after it was tried out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise

from attrs import Factory, field

from .._base.value import record
from ..api import ClusterObject, Pod
from ..fork import Fork
from ..simulate.evaluator import Evaluator
from .change import Change, ChangeKind, VerifiedChange
from .edits import ObjectEdit, object_edits
from .written import AS_STORED, Written


@record(eq=False)
class Budget:
    """Number of changes that may still be tried out, and that were."""

    left: int
    tried: int = 0

    def take(self) -> bool:
        """Take one change from the budget, and return whether there was one left."""
        if self.left <= 0:
            return False
        self.left -= 1
        self.tried += 1
        return True


@record(eq=False)
class ChangeTrial:
    """A pod that is pending in a fork of its cluster. Each change is undone after its evaluation."""

    fork: Fork
    evaluator: Evaluator
    pod: Pod
    """The pod with the changes that are applied already."""
    budget: Budget
    written: Written = AS_STORED
    """What people have written of the objects."""
    applied: tuple[Change, ...] = ()
    """The changes that are applied already, in order."""
    before: dict[tuple[str, str], ClusterObject | None] = field(factory=dict)
    """Kind and key → the object before these changes, ``None`` if there was none."""
    original: Pod = field(default=Factory(lambda self: self.pod, takes_self=True))
    """The pod before these changes."""

    def helps(self, change: Change) -> bool:
        """Return whether a node is feasible after *change*; ``False`` once the budget is spent."""
        if not self.budget.take():
            return False
        with self.after(change) as trial:
            return bool(self.evaluator.feasible(trial.pod))

    def verified(self, change: Change) -> VerifiedChange | None:
        """Return *change* with the nodes that are feasible after it; ``None`` if the cycle finds no node.

        Changes that are applied already are part of the result.
        """
        with self.after(change) as trial:
            evaluation = self.evaluator.evaluate(trial.pod)
            # Read before the change is undone: rows have other names afterwards.
            feasible, best = tuple(evaluation.feasible), evaluation.best
            if not best:
                return None
        edits = trial.edits()
        return None if edits is None else VerifiedChange(trial.applied, feasible, best[0], edits)

    def edits(self) -> tuple[ObjectEdit, ...] | None:
        """Return what the applied changes do to each object; ``None`` if an API server refuses that."""
        # of the changes, not of the cluster, which has set versions and times
        objects = {(obj.KIND, obj.key): obj for each in self.applied for obj in each.objects}
        pairs = [(old, objects[key]) for key, old in self.before.items() if key in objects]
        deleted = [pod for each in self.applied for pod in each.deleted]
        return object_edits([(self.original, self.pod), *pairs], deleted, self.written)

    def smallest(self, candidates: Iterable[Change], most: int) -> list[VerifiedChange]:
        """Return the smallest changes that help, one of each kind and at most *most*; smallest first."""
        helping: list[VerifiedChange] = []
        kinds: set[ChangeKind] = set()
        for change in in_order(candidates):
            if len(helping) >= most or self.budget.left <= 0:
                break
            if change.kind not in kinds and self.helps(change):
                verified = self.verified(change)
                if verified is not None:
                    kinds.add(change.kind)
                    helping.append(verified)
        return helping

    @contextmanager
    def after(self, change: Change) -> Iterator[ChangeTrial]:
        """Apply *change* within the context, which gives the trial with the changed pod and cluster."""
        cluster = self.fork.cluster
        written = (*change.objects, *change.follows)
        old = {(obj.KIND, obj.key): cluster.get(obj.KIND, obj.key) for obj in written}
        pod = change.pod if change.pod is not None else self.pod
        applied, before = (*self.applied, change), old | self.before
        trial = ChangeTrial(
            self.fork, self.evaluator, pod, self.budget, self.written, applied, before, self.original
        )
        with self.fork.trial():
            for gone in change.deleted:
                self.fork.remove(gone.KIND, gone.key)
            for obj in written:
                cluster.apply(obj)
            self.fork.scheduler.sync()
            yield trial


def in_order(changes: Iterable[Change]) -> Iterator[Change]:
    """Yield *changes*, the smallest first, without those that equal the one before; O(n log n)."""
    ordered = sorted(changes, key=lambda each: each.order)
    yield from ordered[:1]
    yield from (new for old, new in pairwise(ordered) if new.order != old.order)
