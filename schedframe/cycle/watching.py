"""The watches of a scheduler: what it follows of the cluster, more when plugins read more kinds."""

from __future__ import annotations

from functools import partial

from attrs import field

from .._base.value import record
from ..cluster import RemoteCluster, Subscription
from .core import Core
from .handlers import EventHandlers
from .runtime.interrupts import letting_through


@record(eq=False)
class Watching:
    """Follows the kinds that the handlers name. Core only."""

    core: Core
    handlers: EventHandlers
    begun: bool = field(default=False, init=False)
    """Whether anything is followed."""
    _kinds: frozenset[str] = frozenset()
    _subscriptions: list[Subscription] = field(factory=list)

    def follow(self) -> None:
        """Follow the kinds that are not followed yet; their objects arrive in the inbox."""
        more = tuple(kind for kind in self.handlers.kinds if kind not in self._kinds)
        if more:
            watch = partial(self.core.cluster.watch, self.core.inbox.put, more)
            # The first lists of a remote cluster may take minutes, and an interrupted watch closes itself.
            remote = isinstance(self.core.cluster, RemoteCluster)
            self._subscriptions.append(letting_through(watch) if remote else watch())
            self._kinds |= frozenset(more)
            self.begun = True

    def close(self) -> None:
        """Follow nothing any more. Safe to call twice."""
        for subscription in self._subscriptions:
            subscription.close()
        self._subscriptions.clear()
        self.begun = False
