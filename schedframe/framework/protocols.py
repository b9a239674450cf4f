"""Protocols that a plugin class may inherit from, so that type checkers and editors know its hooks.

A protocol for each extension point, with the hooks and the types of :class:`~.hookspecs.Hookspecs`. Plugins
need none of them: a method marked with ``@hookimpl`` is enough, and may then name fewer arguments. A class
that inherits names all arguments; a wrong type, a wrong name and a missing hook are errors for type checkers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..api import Pod
    from ..queue import EventRegistration, QueuedPodInfo
    from ..state import NodeInfo, Rows
    from .cycle_state import CycleState
    from .hookspecs import Comparable, Scores
    from .results import PostFilterResult, PreFilterResult, RowVerdicts
    from .status import Status


class PreEnqueuePlugin(Protocol):
    """Decides whether a pod may wait in the active queue."""

    __slots__ = ()

    @abstractmethod
    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Return ``None`` to let the pod into the active queue, or a rejection that gates it."""
        ...


class QueueSortPlugin(Protocol):
    """Orders the queue by a key."""

    __slots__ = ()

    @abstractmethod
    def queue_sort_key(self, pod_info: QueuedPodInfo) -> Comparable:
        """Return a value with an order; the pod with the smallest is scheduled first."""
        ...


class EventsPlugin(Protocol):
    """Names the cluster events after which pods that it rejected are tried again."""

    __slots__ = ()

    @abstractmethod
    def events_to_register(self) -> Sequence[EventRegistration]:
        """Return the events, with hints, that may make a pod schedulable that this plugin rejected."""
        ...


class PreFilterPlugin(Protocol):
    """Precomputes for a pod, rejects it, or names the only candidates."""

    __slots__ = ()

    @abstractmethod
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Rows) -> Status | PreFilterResult | None:
        """Precompute into *state* once for each pod; reject, skip, or name the only candidates."""
        ...


class PreFilterUpdatesPlugin(Protocol):
    """Keeps what pre_filter precomputed up to date in dry runs."""

    __slots__ = ()

    @abstractmethod
    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: Pod, node_info: NodeInfo) -> Status | None:
        """Update *state* as if *pod_to_add* ran on that node."""
        ...

    @abstractmethod
    def remove_pod(
        self, state: CycleState, pod: Pod, pod_to_remove: Pod, node_info: NodeInfo
    ) -> Status | None:
        """Update *state* as if *pod_to_remove* had left that node."""
        ...


class FilterPlugin(Protocol):
    """Decides whether a pod can run on a node."""

    __slots__ = ()

    @abstractmethod
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Return ``None`` if the pod can run on this node, or a rejection."""
        ...


class FilterRowsPlugin(Protocol):
    """Decides that for many nodes in one call."""

    __slots__ = ()

    @abstractmethod
    def filter_rows(self, state: CycleState, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """Return the rejected rows with their statuses, or ``None`` if all pass."""
        ...


class PostFilterPlugin(Protocol):
    """Makes room when no node is feasible."""

    __slots__ = ()

    @abstractmethod
    def post_filter(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> tuple[PostFilterResult | None, Status | None] | PostFilterResult | Status | None:
        """Make room for the pod; *statuses* maps nodes to why they were rejected."""
        ...


class PreScorePlugin(Protocol):
    """Precomputes for score."""

    __slots__ = ()

    @abstractmethod
    def pre_score(self, state: CycleState, pod: Pod, nodes: Rows) -> Status | None:
        """Precompute into *state*, with the feasible rows; may skip the score of this plugin."""
        ...


class ScorePlugin(Protocol):
    """Scores a node."""

    __slots__ = ()

    @abstractmethod
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        """Return a score from 0 to 100, or any number if the plugin normalises."""
        ...


class ScoreRowsPlugin(Protocol):
    """Scores many nodes in one call."""

    __slots__ = ()

    @abstractmethod
    def score_rows(self, state: CycleState, pod: Pod, rows: Rows) -> Scores:
        """Return the scores of *rows*, int64."""
        ...


class NormalizePlugin(Protocol):
    """Brings raw scores into 0 to 100."""

    __slots__ = ()

    @abstractmethod
    def normalize_scores(self, state: CycleState, pod: Pod, scores: Scores, nodes: Rows) -> Scores | None:
        """Bring the scores of all feasible rows into 0 to 100, in place or as a new array."""
        ...


class SignaturePlugin(Protocol):
    """Says which pods get equal answers, so that answers are cached."""

    __slots__ = ()

    @abstractmethod
    def pod_signature(self, pod: Pod) -> Hashable:
        """Return all that filter and score of this plugin read of *pod*."""
        ...


class ReservePlugin(Protocol):
    """Claims something on the chosen node, and gives it back."""

    __slots__ = ()

    @abstractmethod
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Claim what the pod needs on the chosen node."""
        ...

    @abstractmethod
    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Undo reserve; also called if reserve failed or never ran."""
        ...


class PermitPlugin(Protocol):
    """Allows, rejects or delays the binding of a pod."""

    __slots__ = ()

    @abstractmethod
    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Return ``None``, a rejection, or ``Status.wait(seconds)``."""
        ...


class PreBindPlugin(Protocol):
    """Prepares the outside world for a pod."""

    __slots__ = ()

    @abstractmethod
    def pre_bind(
        self, state: CycleState, pod: Pod, node_name: str
    ) -> Status | Awaitable[Status | None] | None:
        """Prepare the outside world, off the core; may be ``async``."""
        ...


class BindPlugin(Protocol):
    """Binds a pod."""

    __slots__ = ()

    @abstractmethod
    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | Awaitable[Status | None] | None:
        """Bind the pod, off the core; ``Status.skip()`` leaves it to the next plugin."""
        ...


class PostBindPlugin(Protocol):
    """Cleans up after a bind."""

    __slots__ = ()

    @abstractmethod
    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Clean up after a successful bind."""
        ...
