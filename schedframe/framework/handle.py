"""The part of a scheduler that plugins may use."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from random import Random
from typing import Protocol, TypeVar

from ..api import ClusterObject, Pod
from ..cluster import ClusterPort
from ..config import FeatureGates
from ..state import GroupMembers, NodeInfo, NodeTable, ObjectStore, Rows, Snapshot
from .cycle_state import CycleState
from .extender import Extender
from .filtering import PreFilterOutcome
from .scoring import ScoreTable
from .status import Status
from .waiting import WaitingPod

R = TypeVar("R")
V = TypeVar("V")
Report = Callable[[CycleState, Pod, V], object]
"""Called with the state and the pod of a hook off the core, and what it learnt."""


class Nominations(Protocol):
    """Pods that are nominated to a node."""

    def nominated_pods_for_node(self, name: str) -> Iterable[Pod]:
        """Return the pods nominated to that node, in order of nomination."""
        ...

    @property
    def node_names(self) -> Iterable[str]:
        """Nodes with nominated pods."""
        ...

    @property
    def version(self) -> int:
        """Number of changes so far."""
        ...

    def changed_since(self, version: int) -> list[str] | None:
        """Return the nodes whose nominations changed after *version*; ``None`` if that is too long ago."""
        ...

    def node_of(self, pod: Pod) -> str | None:
        """Return the node that *pod* is nominated to."""
        ...

    @property
    def nominations(self) -> Mapping[str, str]:
        """By uid of a pod the node: a live view."""
        ...

    def __bool__(self) -> bool: ...


class PluginsRunner(Protocol):
    """Run the plugins of the profile, for plugins that try things out (preemption)."""

    def run_pre_filter(self, state: CycleState, pod: Pod, nodes: Rows | None = None) -> PreFilterOutcome:
        """pre_filter of all plugins."""
        ...

    def run_add_pod(self, state: CycleState, pod: Pod, other: Pod, info: NodeInfo) -> Status | None:
        """Tell *state* that *other* joined the node."""
        ...

    def run_remove_pod(self, state: CycleState, pod: Pod, other: Pod, info: NodeInfo) -> Status | None:
        """Tell *state* that *other* left the node."""
        ...

    def run_filters(self, state: CycleState, pod: Pod, info: NodeInfo) -> Status | None:
        """Run all filters for one node; return the first rejection, ``None`` if it passes."""
        ...

    def run_filters_with_nominated_pods(self, state: CycleState, pod: Pod, info: NodeInfo) -> Status | None:
        """Run all filters with and without the pods nominated to the node; ``None`` if it passes both."""
        ...

    def row_local_key(self, state: CycleState, pod: Pod) -> Hashable | None:
        """Return what the filters read of *pod* if none of them reads other rows; else ``None``."""
        ...

    def run_pre_score(self, state: CycleState, pod: Pod, rows: Rows) -> Status | None:
        """pre_score of all plugins."""
        ...

    def run_scores(self, state: CycleState, pod: Pod, rows: Rows) -> ScoreTable | Status:
        """Scores of the rows, or the error of a plugin."""
        ...


class WaitingPods(Protocol):
    """Pods that wait in permit."""

    def get(self, uid: str) -> WaitingPod | None:
        """Return the waiting pod of that uid."""
        ...

    def __iter__(self) -> Iterator[WaitingPod]: ...


class Handle(Protocol):
    """Given to every plugin when it is made. Narrow on purpose: reading, trying out, and a few requests.

    Everything here belongs to the core's thread but ``snapshot``, ``clock``, ``cluster``, ``activate``,
    ``record_event`` and what a :class:`WaitingPod` offers, which may be used from pre_bind and bind too.
    """

    @property
    def profile_name(self) -> str:
        """The profile's scheduler name."""
        ...

    @property
    def table(self) -> NodeTable:
        """The live columns. Core only."""
        ...

    @property
    def objects(self) -> ObjectStore:
        """Namespaces, services, claims and others, as of the last event. Core only."""
        ...

    @property
    def pending(self) -> Mapping[str, Pod]:
        """Pods of the scheduler's profiles that have no node, by key, as of the last event. Core only.

        Those that wait in permit or are being bound are among them. Not to be changed.
        """
        ...

    @property
    def nominator(self) -> Nominations:
        """Nominated pods. Core only."""
        ...

    @property
    def waiting_pods(self) -> WaitingPods:
        """Pods that wait in permit."""
        ...

    @property
    def runner(self) -> PluginsRunner:
        """The profile's plugins. Core only."""
        ...

    @property
    def extenders(self) -> tuple[Extender, ...]:
        """Extenders, in the order of their calls. Core only."""
        ...

    @property
    def cluster(self) -> ClusterPort:
        """The cluster that the scheduler works for."""
        ...

    @property
    def rng(self) -> Random:
        """The scheduler's seeded generator. Core only."""
        ...

    @property
    def pod_groups(self) -> GroupMembers:
        """Members of pod groups; empty unless the feature gate GenericWorkload is on. Core only."""
        ...

    @property
    def feature_gates(self) -> FeatureGates:
        """Return which features are on."""
        ...

    def snapshot(self) -> Snapshot:
        """Return an immutable copy of the nodes: of now in the core, of the hand-off elsewhere."""
        ...

    def clock(self) -> float:
        """Return seconds of the injected clock.

        In the core it stands still for as long as a pod is decided, and while what happened is taken in: two
        calls within a hook of the scheduling cycle return the same.
        """
        ...

    def deadline(self, seconds: float) -> Callable[[], bool]:
        """Return a function that returns whether *seconds* have passed since this call.

        For a search in a hook that has to end although ``clock`` stands still. Its answer depends on the
        machine, unless the clock is virtual.
        """
        ...

    def off_core(self, work: Callable[[], R], done: Callable[[R], None]) -> None:
        """Run *work* off the core, then ``done(result)`` in it; *work* must not raise. Core only."""
        ...

    def reporter(self, name: str, receive: Callable[[CycleState | None, V], object]) -> Report[V]:
        """Return a function by which pre_bind and bind, in any thread, let the core know what they learnt.

        ``report(state, pod, value)`` has ``receive(state, value)`` called in the core, before it learns how
        the hook ended; ``None`` in place of the state if the attempt is over. The plugins of several profiles
        that use one *name* share its receiver, that of the plugin made last. What pre_bind changes otherwise
        reaches the core beside its inbox, and a replay without threads does not have it.
        """
        ...

    def call_later(self, seconds: float, action: Callable[[], object]) -> None:
        """Call *action* in the core after *seconds*, before the next cycle for 0. Core only.

        For what must happen at a time, such as the end of a backoff. Raising is reported as a fault. During
        an evaluation (``evaluate``), which changes nothing, the call is never made. Raises
        :class:`InputError` unless *seconds* is a finite number.
        """
        ...

    def stop_binding(self, pod: Pod, reason: str) -> bool:
        """Let *pod*, which is being bound, give up its room and be tried again after its backoff. Core only.

        ``False``, and nothing done, if it is not being bound, or bind has begun: then only the cluster can
        remove it. A pre_bind that is at work is waited for.
        """
        ...

    def withdraw_nomination(self, pod: Pod) -> None:
        """Ask that pending *pod* no longer be nominated to any node. Core only."""
        ...

    def activate(self, pods: Iterable[Pod]) -> None:
        """Ask that these pending pods be tried again at once."""
        ...

    def record_event(self, obj: ClusterObject, reason: str, message: str, *, warning: bool = False) -> None:
        """Record a Kubernetes event about *obj*."""
        ...
