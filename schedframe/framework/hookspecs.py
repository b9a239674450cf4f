"""The contract: every extension point, in the order in which a pod meets them.

An implementation is a method marked with ``@hookimpl`` and may name fewer arguments than its specification.
Common to all: an exception is a fault of the plugin (reported with its name, the pod is retried); pods, nodes
and node infos must not be changed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from .._base.value import record
from .markers import hookspec

if TYPE_CHECKING:
    from ..api import Pod
    from ..queue import EventRegistration, QueuedPodInfo
    from ..state import NodeInfo, NodeTable, Rows
    from .cycle_state import CycleState
    from .placements import CanRun, GroupPlacement, GroupPreemption, PodGroupInfo
    from .results import GroupScores, GroupVerdicts, PostFilterResult, PreFilterResult, RowVerdicts
    from .status import Status

Scores = npt.NDArray[np.int64]
"""Scores of rows, aligned with them."""


class Comparable(Protocol):
    """A value with an order, such as a number, a text or a tuple of these."""

    def __lt__(self, other: Any, /) -> bool: ...


class Tier(Enum):
    """Readers who need a hook; each tier is a page of the reference."""

    ESSENTIAL = "essential"
    """What an author begins with."""
    FAST = "fast"
    """Answers that can be kept or are given for many rows at once, and hooks that few plugins need."""
    KERNEL = "kernel"
    """Prepared and grouped forms, for plugins that every pod of a large cluster passes."""


@record(frozen=True)
class Spec:
    """Facts of a hook's specification besides its arguments and its docstring."""

    ATTRIBUTE: ClassVar[str] = "schedframe_hook"

    points: tuple[str, ...]
    """Extension points as profiles name them, the main one first; empty: any."""
    tier: Tier
    hot: bool
    """Runs for every pod or node, so wrappers are refused."""
    auxiliary: bool
    """Does not make a plugin implement its points."""
    form_of: str
    """The hook of which this is another form: both must agree."""
    needs: tuple[str, ...]
    """Without one of these hooks it would never be called, and is refused."""


_Function = TypeVar("_Function", bound=Callable[..., Any])
_FILTERS = ("filter", "filter_rows")
_SCORES = ("score", "score_rows")


def _hook(
    *points: str,
    tier: Tier = Tier.ESSENTIAL,
    hot: bool = False,
    auxiliary: bool = False,
    form_of: str = "",
    needs: tuple[str, ...] = (),
) -> Callable[[_Function], _Function]:
    """Mark a specification. Validation, plan, kit and reference are derived from this by :mod:`.points`."""
    spec = Spec(points, tier, hot, auxiliary, form_of, needs)

    def mark(function: _Function) -> _Function:
        setattr(function, Spec.ATTRIBUTE, spec)
        return hookspec(function)

    return mark


class Hookspecs(Protocol):
    """All extension points. Hooks of the scheduling cycle run in the core, one pod at a time."""

    # ---- queue -----------------------------------------------------------------------------------------

    @_hook("preEnqueue")
    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Decide whether a pod may wait in the active queue.

        ``None`` lets it in; a rejection gates the pod until an event that this plugin registered. Must be
        idempotent and quick: it runs at every attempt to activate the pod.
        """

    @_hook("queueSort")
    def queue_sort_key(self, pod_info: QueuedPodInfo) -> Comparable:
        """Return a comparable value; the pod with the smallest one is scheduled first.

        Computed once per enqueueing. Exactly one plugin of a profile sorts, by key or by less.
        """

    @_hook("queueSort", tier=Tier.FAST)
    def queue_sort_less(self, first: QueuedPodInfo, second: QueuedPodInfo) -> bool:
        """Return whether *first* goes before *second*: a strict weak order. Slower than a key."""

    @_hook(auxiliary=True)
    def events_to_register(self) -> Sequence[EventRegistration]:
        """Return the cluster events, with hints, that may make a pod schedulable that this plugin rejected.

        Called once. Pods rejected by a plugin without this hook are tried again at every event. As in
        kube-scheduler, a plugin that registers new nodes (``Action.ADD``) and no changes of taints gets these
        as well, without a hint: a node may become ready for a pod by the loss of a taint alone. Register
        ``Action.UPDATE_NODE_TAINT`` with a hint of your own to prevent that.
        """

    # ---- scheduling cycle ------------------------------------------------------------------------------

    @_hook("preFilter", "filter", "preScore", "score", tier=Tier.FAST, hot=True, auxiliary=True)
    def pod_signature(self, pod: Pod) -> Hashable:
        """Return all that this plugin's filter and score read of *pod*, as a hashable value.

        Two pods with equal signatures must get equal verdicts and scores on every node. With this hook, and
        with ``depends_on`` other than ``Depends.CLUSTER``, the answers of the plugin are cached and shared
        by pods with equal signatures. A plugin without either is called for every pod, while the answers of
        the other plugins in the profile are cached all the same. ``None`` means "this pod cannot be
        compared": nothing is cached for it, and all plugins are called.
        """

    @_hook("preFilter", hot=True)
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Rows) -> Status | PreFilterResult | None:
        """Precompute into *state*, reject the pod outright, or name the only candidates.

        Runs once per pod, before filter. ``None`` goes on, ``Status.skip()`` leaves the plugin's filter out,
        a :class:`PreFilterResult` restricts the nodes, a rejection ends the cycle (post_filter still runs).
        """

    @_hook(
        "preFilter", "preScore", tier=Tier.FAST, hot=True, auxiliary=True, needs=("pre_filter", "pre_score")
    )
    def skip_reads(self, pod: Pod) -> Sequence[str] | None:
        """Return the inputs, other than *pod*, on which a Skip of pre_filter and pre_score depends.

        Each is a kind of objects, or "Node" for what nodes have in common, "Image" for which nodes have which
        images, "PodAffinity" for pods with terms about other pods. ``()``: a Skip depends on *pod* alone.
        ``None``: unknown, so the plugin is called for every pod. After a Skip at both, the plugin is not
        called for pods with the same spec, namespace, labels, annotations and owners until one of these
        inputs changes. Its reserve, pre_bind_pre_flight and pre_bind are left out as well, so implement this
        hook only if these have nothing to do whenever filter and score have nothing to do.
        """

    @_hook("preFilter")
    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: Pod, node_info: NodeInfo) -> Status | None:
        """Update what pre_filter precomputed as if *pod_to_add* ran on that node; inverse of remove_pod.

        Runs on clones, in dry runs. Anything but success is an error.
        """

    @_hook("preFilter")
    def remove_pod(
        self, state: CycleState, pod: Pod, pod_to_remove: Pod, node_info: NodeInfo
    ) -> Status | None:
        """Update what pre_filter precomputed as if *pod_to_remove* had left that node."""

    @_hook("filter", hot=True)
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Return ``None`` if the pod can run on this node, else the rejection.

        Pure in (state, pod, node_info). Must agree with ``filter_rows`` where the plugin has both. It is not
        called for every node: a plugin with this form alone is called until the best node is known.
        """

    @_hook("filter", tier=Tier.FAST, hot=True)
    def filter_rows(self, state: CycleState, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """Return the rejections of many rows in one call; ``None`` means that all of them pass.

        Pure in (state, pod, rows) and free of side effects: called for rows that other plugins rejected too.
        """

    @_hook("filter", tier=Tier.KERNEL, hot=True, form_of="filter", needs=_FILTERS)
    def prepare_filter(
        self, states: Sequence[CycleState], pods: Sequence[Pod], table: NodeTable
    ) -> Callable[[int], RowVerdicts | Sequence[Status | None] | None] | None:
        """Return the filter of one row for a batch of *pods*, each with its state: a function of the row.

        For plugins whose answer depends on the resources of a row alone. Return :class:`RowVerdicts` with a
        code for each pod, or a list with a status for each; ``None`` from the function: all pods pass;
        ``None`` from the hook: use ``filter``, with which this must agree. The function may hold columns of
        *table*: the hook runs again when ``table.layout`` changes. What it works out for the row should serve
        all pods of the batch. An object that has a method ``rejects(row)``, too, is called by that where no
        reasons are needed: a boolean array, true for each pod that is rejected, or ``None`` if all pass.
        """

    @_hook("filter", tier=Tier.KERNEL, hot=True, form_of="filter", needs=_FILTERS)
    def filter_groups(self, state: CycleState, pod: Pod, table: NodeTable) -> GroupVerdicts | None:
        """Return which rows pass, by group of rows, where few numbers decide that.

        As ``score_groups`` is for scores: it must agree with ``filter_rows``, and ``None`` means to use that,
        which is better where most often all rows pass. No reasons are needed for rows that do not pass.
        """

    @_hook("postFilter")
    def post_filter(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> tuple[PostFilterResult | None, Status | None] | PostFilterResult | Status | None:
        """Try to make room (preemption).

        Runs after no node was feasible. *statuses* maps node names to why they were rejected and is lazy:
        iterating it costs O(nodes). ``None`` means unschedulable without a reason. The first plugin that
        answers success or an error ends the point.
        """

    @_hook("preScore", hot=True)
    def pre_score(self, state: CycleState, pod: Pod, nodes: Rows) -> Status | None:
        """Precompute into *state*, with the feasible rows.

        Runs once per pod, before score. ``Status.skip()`` leaves the plugin's score out; any other status but
        success is an error.
        """

    @_hook("score", hot=True)
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        """Return how good this node is, 0 to 100 unless normalised. Pure in (state, pod, node_info)."""

    @_hook("score", tier=Tier.FAST, hot=True)
    def score_rows(self, state: CycleState, pod: Pod, rows: Rows) -> Scores:
        """Return the scores of many rows in one call: int64, shape ``(len(rows),)``."""

    @_hook("score", tier=Tier.KERNEL, hot=True, form_of="score", needs=_SCORES)
    def prepare_score(
        self, states: Sequence[CycleState], pods: Sequence[Pod], table: NodeTable
    ) -> Callable[[int], Sequence[int] | Scores] | None:
        """Return the score of one row for a batch of *pods*, each with its state: a function of the row.

        The function returns a score for each pod: a list or, better for large batches, a fresh int64 array.
        The scores of pods that a filter rejects on that row are not used.
        """

    @_hook("score", tier=Tier.KERNEL, hot=True, form_of="score", needs=_SCORES)
    def score_groups(self, state: CycleState, pod: Pod, table: NodeTable) -> GroupScores | None:
        """Return the normalised scores of all feasible rows by group, where few numbers decide them.

        For plugins that depend on other rows, such as those that look at topology domains. It must agree
        with ``score_rows`` and ``normalize_scores``; ``None`` means to use these. Where there are few groups,
        the framework follows the best rows of each, and no row is scored by itself.
        """

    @_hook("score", hot=True, needs=_SCORES)
    def normalize_scores(self, state: CycleState, pod: Pod, scores: Scores, nodes: Rows) -> Scores | None:
        """Bring the raw scores of all feasible rows into 0 to 100, aligned with *nodes*.

        Change *scores* in place (``None``) or return an array of the same shape.
        """

    @_hook("reserve")
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Claim what the pod needs on the chosen node.

        On anything but success the plugins after this one do not run, and every plugin's unreserve runs.
        """

    @_hook("reserve")
    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Undo reserve.

        Runs in reverse order of plugins, also for those whose reserve failed or never ran. Must be idempotent
        and must not fail.
        """

    @_hook("permit")
    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Allow (``None``), reject or delay (``Status.wait(seconds)``) the binding of the pod.

        A rejection or an error ends the point, and every plugin's unreserve runs.
        """

    # ---- binding cycle (off the core) ------------------------------------------------------------------

    @_hook("preBind", tier=Tier.FAST, needs=("pre_bind",))
    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Return ``Status.skip()`` if pre_bind has nothing to do for this pod. Runs in the core."""

    @_hook("preBind")
    def pre_bind(
        self, state: CycleState, pod: Pod, node_name: str
    ) -> Status | Awaitable[Status | None] | None:
        """Prepare the outside world for the pod (attach, provision). Off the core; may be ``async``.

        ``None`` goes on; ``Status.wait(seconds, events=…)`` asks to be called again after one of the events,
        at the latest at the deadline; any other status fails the attempt.
        """

    @_hook("bind")
    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | Awaitable[Status | None] | None:
        """Bind the pod. Off the core; may be ``async``. ``Status.skip()`` leaves it to the next plugin."""

    @_hook("postBind")
    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Clean up after a successful bind. Runs in the core; informational."""

    # ---- groups of pods, behind the feature gate GenericWorkload -----------------------------------------

    @_hook("placementGenerate", tier=Tier.FAST)
    def placement_generate(
        self, state: CycleState, group: PodGroupInfo, nodes: Rows
    ) -> Sequence[GroupPlacement] | Status:
        """Return the sets of nodes in which *group* may be placed, such as topology domains.

        Runs once in an attempt for a group. No placements, or a rejection, make the group unschedulable. Only
        the first plugin of the profile that implements this is called.
        """

    @_hook("placementScore", tier=Tier.FAST)
    def placement_score(
        self, state: CycleState, group: PodGroupInfo, placement: GroupPlacement, placed: Sequence[Pod]
    ) -> int:
        """Return how good *placement* is for a group with *placed* members: 0 to 100 unless normalised.

        Called only if several placements are feasible, with the members on their nodes in the table of the
        handle no more.
        """

    @_hook("placementScore", tier=Tier.FAST, needs=("placement_score",))
    def normalize_placement_scores(
        self, state: CycleState, group: PodGroupInfo, scores: Sequence[int]
    ) -> Sequence[int]:
        """Return the scores of all feasible placements brought into 0 to 100, aligned with *scores*."""

    @_hook("postFilter", tier=Tier.FAST, auxiliary=True)
    def post_filter_group(
        self, state: CycleState, group: PodGroupInfo, can_run: CanRun
    ) -> GroupPreemption | Status:
        """Try to make room for *group*, which is unschedulable; behind WorkloadAwarePreemption.

        ``can_run()`` tries the group on the table as it is: uid → node of the members that would be placed,
        or why it cannot run. Pods may be taken off the table within a trial (``mark`` and ``rollback``).
        """

    @_hook("placementGenerate", "placementScore", "permit", tier=Tier.FAST, auxiliary=True)
    def placement_feasible(
        self, state: CycleState, group: PodGroupInfo, placed: Sequence[Pod], left: int
    ) -> Status | None:
        """Return ``None`` if the group can still run, with *placed* on nodes and *left* members to be tried.

        Runs before and after each member. A rejection ends the attempt in this placement: the members that
        are left are not tried, and the group is unschedulable for that reason.
        """

    # ---- explanations ----------------------------------------------------------------------------------

    @_hook("filter", tier=Tier.FAST, auxiliary=True, needs=_FILTERS)
    def explain(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> str | None:
        """Return the cause of this plugin's rejection of that node, for people, as one short line.

        Optional. Called by evaluations (``evaluate``, ``explain``), never by the scheduler: once for each
        node that this plugin's filter rejected, right after filter and with its *state*. ``None``: there is
        nothing to add to the reason of the status. Name the obstacle (a pod, a count) and do not repeat the
        reason. Results that nodes share may be kept in *state*. Raising is reported in place of the line.
        """

    @_hook("filter", "score", tier=Tier.FAST, auxiliary=True)
    def explain_pod(self, state: CycleState, pod: Pod) -> Sequence[str]:
        """Return what this plugin knows of the cluster as a whole, for people, such as counts by domain.

        Optional. Called once, when the search is over and before post_filter; *state* lacks what pre_filter
        or pre_score of this plugin did not write, for example because they answered Skip. Nothing to say is
        an empty sequence. Raising is reported in place of the lines.
        """

    # ---- life of the plugin ----------------------------------------------------------------------------

    @_hook(auxiliary=True)
    def close(self) -> None:
        """Release threads, connections, files. Runs when the scheduler stops, or a reload drops the plugin.

        An instance that the program passed is closed when the scheduler stops. Must be idempotent.
        """
