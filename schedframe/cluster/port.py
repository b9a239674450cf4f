"""The port to the outside world: what the scheduler reads from a cluster and what it writes there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from .._base.value import record
from ..api import ClusterObject, ObjectLookup, Pod, PodCondition
from ..errors import ClusterError

if TYPE_CHECKING:
    import asyncio

K = TypeVar("K", bound=ClusterObject)
EventType = Literal["ADDED", "MODIFIED", "DELETED"]
"""What happened to an object."""


class NotFound(ClusterError):
    """The object is not there (any more)."""


class Conflict(ClusterError):
    """The object is not what the request takes it for: another uid, another version, already there."""


class BindRefused(ClusterError):
    """A pod was not bound, for certain; it may be scheduled again at once."""


class BindNotFound(BindRefused, NotFound):
    """A pod was not bound because it is gone."""


class BindConflict(BindRefused, Conflict):
    """A pod was not bound because it is another pod, being deleted, or bound elsewhere."""


class OutcomeUnknown(ClusterError):
    """No answer came: the request may have taken effect or not; only later events will tell."""


@record(frozen=True, weakref_slot=False)
class WatchEvent:
    """A change of one object, as one watcher gets to know it.

    ``old`` is what this watcher got before, so it is None exactly for ``ADDED``; ``new`` is None exactly
    for ``DELETED``. A watcher that was away gets the difference: an object deleted and created again under
    its name is one ``MODIFIED`` with two uids, and ``old_is_stale`` marks a deletion whose ``old`` may not
    be the last state.
    """

    type: EventType
    kind: str
    old: Any
    new: Any
    old_is_stale: bool = False


@record(frozen=True)
class ViewChange:
    """Kinds of a remote cluster that are known to be stale from now on.

    It comes behind the events that it follows: when a kind is no longer in ``stale``, everything that
    happened to it was handed over before.
    """

    stale: Mapping[str, str]
    """Kind → why it is known to be stale, such as the last failure."""
    holds: bool
    """Whether decisions wait for that: nothing new is sent to a node."""


WatchHandler = Callable[[WatchEvent], None]
"""Called with one event after another, never at the same time, from whatever thread changed something."""


class Subscription(Protocol):
    """A watch that goes on until it is closed."""

    def close(self) -> None:
        """No event is delivered that was not already under way. Closing twice is harmless."""
        ...


@runtime_checkable
class ClusterPort(ObjectLookup, Protocol):
    """A cluster. All methods may be called from any thread.

    Besides what is named, each may raise :class:`~schedframe.errors.ClusterError` for a failure of its own,
    and those that write :class:`OutcomeUnknown` when no answer came.
    """

    def watch(self, handler: WatchHandler, kinds: Iterable[str] | None = None) -> Subscription:
        """Call *handler* with the present state, an ``ADDED`` for each object, and then with every change.

        *kinds* None is all kinds. The events of an object come in the order of its changes.
        """
        ...

    def bind(self, pod: Pod, node_name: str) -> Awaitable[None] | None:
        """Bind *pod*, told by namespace, name and uid, to the node. Raises :class:`BindRefused`.

        Nothing is returned, but by a :class:`RemoteCluster` on the thread of its loop.

        Binding to the node where the pod already is does nothing, so a bind of unknown outcome can be
        repeated.
        """
        ...

    def patch_pod_status(
        self, pod: Pod, *, condition: PodCondition | None = None, nominated_node_name: str | None = None
    ) -> Awaitable[None] | None:
        """Set a condition (replacing the one of its type) and the nominated node of *pod*.

        None leaves alone, an empty node name clears. Nothing is written if nothing would change. Raises
        :class:`NotFound`, and :class:`Conflict` if another pod has the name now.
        """
        ...

    def evict(self, pod: Pod, *, condition: PodCondition | None = None) -> Awaitable[None] | None:
        """Delete *pod* after setting the condition that says why.

        Raises :class:`NotFound` if it is gone, :class:`Conflict` if another pod has the name now. Evicting a
        pod that is being deleted does nothing.
        """
        ...

    def create(self, obj: K) -> K:
        """Add an object that plugins make (a claim), and return it as stored, named if it had no name.

        Raises :class:`Conflict` if its key is taken.
        """
        ...

    def update(self, obj: K) -> K:
        """Replace an object, status included, and return it as stored.

        Raises :class:`NotFound`, and :class:`Conflict` if *obj* has a uid or resource version and the stored
        one another: read it again and repeat the change.
        """
        ...

    def delete(self, obj: ClusterObject) -> None:
        """Delete an object. Raises :class:`NotFound`, and :class:`Conflict` if another has the name now."""
        ...

    def record_event(
        self,
        obj: ClusterObject,
        type: Literal["Normal", "Warning"],
        reason: str,
        message: str,
        action: str = "",
    ) -> None:
        """Note for people what happened to *obj*. Best effort: nothing may depend on it."""
        ...


@runtime_checkable
class RemoteCluster(ClusterPort, Protocol):
    """A cluster behind a network, whose requests run on an event loop in a thread of its own.

    Its methods block the calling thread, as those of any other cluster. On the thread of the loop, which must
    not be blocked, ``bind``, ``patch_pod_status``, ``evict`` and ``update`` return an awaitable in place of
    waiting.
    Kinds that are not asked for in ``watch`` are not followed.
    """

    on_limit_change: Callable[[int], None] | None = None
    """To be called with ``binding_limit`` when it has changed, in any thread; the scheduler sets it."""

    on_view_change: Callable[[ViewChange], None] | None = None
    """To be called in the thread of the watch events, behind those that it follows; the scheduler sets it.

    A cluster that never calls it is taken for current at all times."""

    nomination_delay: float = 0.0
    """Seconds for which the node of a pod that is being bound is not written to its status.

    A write costs a remote cluster a request, and a pod that is bound within that time needs none."""

    @property
    def binding_limit(self) -> int:
        """Binds that may be under way at a time."""
        ...

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that the requests run on."""
        ...

    def check_may_write(self) -> None:
        """Raise :class:`ClusterError` if nothing may be written now, by others on its behalf either.

        Waits while the view of the cluster is known to be stale; not to be called on the thread of the loop.
        A cluster without leader election whose view is never stale has nothing to check.
        """
        return

    def unreadable(self) -> Mapping[str, int]:
        """Return by kind how many objects there are whose present version cannot be read. Any thread."""
        return {}

    def get_latest(self, kind: str, key: str) -> Any | None:
        """Return the object as the server has it now, where ``get`` may answer from the watch."""
        ...
