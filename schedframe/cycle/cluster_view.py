"""The view of a remote cluster as its last message describes it: stale kinds, and whether decisions wait."""

from __future__ import annotations

from attrs import field

from .._base.value import record
from ..cluster import ViewChange
from .runtime.clock import Clock


@record(frozen=True)
class StaleKind:
    """A kind that is known to be stale."""

    since: float
    """Seconds of the core's clock."""
    why: str
    """Such as the last failure to read it."""


@record(eq=False)
class ClusterView:
    """Stale kinds; a cluster that reports nothing is current. Core only, but for the metrics."""

    clock: Clock
    holds: bool = field(default=False, init=False)
    """Whether nothing new is sent to a node: no pod is popped, and no attempt begins to bind."""
    stale: dict[str, StaleKind] = field(factory=dict, init=False)
    """By kind."""
    held_since: float | None = field(default=None, init=False)
    _held_seconds: float = field(default=0.0, init=False)

    def take(self, change: ViewChange) -> None:
        """Take in what the cluster reports. O(kinds)."""
        now, before = self.clock(), self.stale
        self.stale = {
            kind: StaleKind(before[kind].since if kind in before else now, why)
            for kind, why in change.stale.items()
        }
        if self.held_since is not None and not change.holds:
            self._held_seconds += now - self.held_since
        if change.holds != self.holds:
            self.held_since = now if change.holds else None
        self.holds = change.holds

    def held_seconds(self) -> float:
        """Return the seconds so far for which decisions waited."""
        since = self.held_since
        return self._held_seconds + (0.0 if since is None else self.clock() - since)

    def description(self) -> str | None:
        """Return what is stale, since when and why, for people; ``None`` if nothing is."""
        if not self.stale:
            return None
        now = self.clock()
        kinds = (
            f"{kind} for {now - each.since:.1f} s: {each.why}" for kind, each in sorted(self.stale.items())
        )
        what = "pods wait for a current view" if self.holds else "pods are decided on a stale view"
        return f"{what} ({'; '.join(kinds)})"
