"""Builds an explanation: evaluate the pod, examine the nearest nodes, try out what might help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import evolve, field

from .._base.checked import checked_except
from .._base.validators import number
from .._base.value import record
from ..api import AnyPod, Pod, Strict, group_of
from ..config import ConfigSource, FeatureGates
from ..controllers import Without
from ..cycle import Decision
from ..fork import Fork
from ..fork.sources import ForkSource
from ..framework import Framework, PluginsToPass
from ..simulate import Evaluation, Simulation
from ..simulate.evaluator import Evaluator
from .alike import alike_pods
from .change import Change, ChangeKind, VerifiedChange
from .changing import Budget, ChangeTrial
from .comparison import compare_scores
from .explanation import Explanation, Verdict
from .groups import GroupExplanation, explain_group
from .near_misses import NearMiss, near_misses
from .pairs import PairSearch
from .proposals import Case, NearNode, candidates
from .reasons import reasons_of
from .recorder import RecordedDecision, Recorder
from .selection import missing_labels
from .subject import Subject, SubjectOptions, subject_of, with_nomination
from .waiting import waiting_of
from .written import Written

_UNFILTERED_NODES: Final = 3
"""Nodes for which changes are proposed if pre_filter or pre_enqueue rejected the pod."""

_SHARE_OF_PAIRS: Final = 4
"""The budget divided by this is kept for pairs of changes."""

NOTE_CURRENT_SCORES: Final = "scores are those of the cluster as it is now, without the pod"
NOTE_GROUPS_OFF: Final = "the pod names a pod group, which counts only with the feature gate GenericWorkload"
NOTE_HELD_BACK: Final = (
    "a scheduler that starts now would place the pod: what the running one knows holds it back"
)


@checked_except("cluster", "config", "plugins", "pod", "changes", "nearest", "budget", "feature_gates")
def explain(
    cluster: ForkSource,
    pod: AnyPod | str,
    config: ConfigSource = None,
    *,
    plugins: PluginsToPass | None = None,
    allow_imports: str | Iterable[str] = (),
    changes: int = 5,
    nearest: int = 5,
    budget: int = 400,
    strict: Strict = True,
    after: bool = False,
    seed: int = 0,
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    without: Without = (),
) -> Explanation:
    """Return why *pod* has no node and what would help, or why it has the node it has.

    ``cluster``: a :class:`Scheduler` (called in its thread, or while it is stopped), a :class:`Simulation`,
    a cluster such as :class:`InMemoryCluster`, a :class:`Snapshot`, or a collection of API values or
    manifests. ``pod``: its name, ``namespace/name``, a :class:`Pod` or the manifest of one; or a workload, as
    ``deployment/web``, of which a pending pod is explained, or else one that has a node. ``config``,
    ``plugins`` and ``allow_imports``: as for :class:`Simulation`; the default is those of the scheduler.
    ``changes``: number of kinds of changes to find, 0 for none. ``nearest``: number of nodes to report.
    ``feature_gates``: as for :class:`Simulation`; with those for pod groups, a member is explained with its
    group. ``budget``: number of changes that are tried out at most. ``strict``: as for :func:`from_manifest`.
    ``after``: first place the pending pods in the fork, as :meth:`Simulation.schedule` does, with ties broken
    by ``seed``, and explain the pod in the cluster after that. ``without``: as for :class:`Simulation`.

    Nothing is changed: changes are tried out in a fork, which costs O(cluster) to make and O(nodes) for each
    change. Raises :class:`InputError` for a pod or cluster that cannot be used, :class:`ConfigError` for a
    configuration that is refused.
    """
    options = SubjectOptions(config, plugins, allow_imports, strict, after, seed, feature_gates, without)
    return explain_in(cluster, pod, options, changes, nearest, budget)


def explain_in(
    cluster: ForkSource, pod: Any, options: SubjectOptions, changes: int, nearest: int, budget: int = 400
) -> Explanation:
    """As :func:`explain`, with all that concerns the fork in *options*."""
    limits = _Limits(changes, nearest, budget)
    return _explained(subject_of(cluster, pod, options), limits)


def explain_pending(
    simulation: Simulation, pods: Iterable[Pod], changes: int = 5, nearest: int = 5, budget: int = 400
) -> Iterator[Explanation]:
    """Yield the explanation of each of the pending *pods* of *simulation*, which is forked once."""
    limits, subject = _Limits(changes, nearest, budget), None
    for pod in pods:
        subject = subject_of(simulation, pod.key) if subject is None else subject
        there = subject.fork.cluster.get("Pod", pod.key) or pod
        yield _explained(evolve(subject, pod=with_nomination(subject.fork, there)), limits)


def explain_in_fork(
    fork: Fork, pod: Pod, changes: int = 5, nearest: int = 5, budget: int = 400
) -> Explanation:
    """Return the explanation of *pod*, which waits in *fork*; what is tried out there is taken back."""
    written, evaluator = Written(fork.given, fork.cluster.get), Evaluator(fork.scheduler.core)
    subject = Subject(with_nomination(fork, pod), fork, evaluator, written=written)
    return _PendingPod(subject, _Limits(changes, nearest, budget)).explain()


def _explained(subject: Subject, limits: _Limits) -> Explanation:
    return _explain_placed(subject) if subject.pod.node_name else _PendingPod(subject, limits).explain()


def _explain_placed(subject: Subject) -> Explanation:
    """Explain the node of a pod as if the pod were placed now, with all other pods where they are."""
    pod, node = subject.pod, subject.pod.node_name
    subject.fork.remove("Pod", pod.key)
    pending = evolve(pod.with_node_name(""), status=evolve(pod.status, nominated_node_name=""))
    evaluation = subject.evaluator.evaluate(pending)
    comparison = compare_scores(evaluation, node)
    reason = _message(evaluation) if evaluation.skipped else comparison.reason
    if subject.fork.cluster.get("Node", node) is None:
        reason = "there is no such node in the cluster"
    return Explanation(
        pod.key,
        Verdict.PLACED,
        f"is on {node}: {reason}",
        waiting=waiting_of(None, None, pod, subject.scheduler),
        comparison=comparison,
        history=_history(subject),
        notes=(NOTE_CURRENT_SCORES,),
        evaluation=evaluation,
    )


@record(frozen=True)
class _Limits:
    changes: int
    nearest: int
    budget: int

    def __attrs_post_init__(self) -> None:
        for name in ("changes", "nearest", "budget"):
            number(name, getattr(self, name), "give a number from 0", whole=True, least=0)


@record(frozen=True)
class _Help:
    """Changes that were found to help."""

    changes: tuple[VerifiedChange, ...] = ()
    pairs: tuple[VerifiedChange, ...] = ()
    notes: tuple[str, ...] = ()
    tried: int = 0


@record(eq=False)
class _PendingPod:
    """A pod without a node that is explained."""

    subject: Subject
    limits: _Limits
    evaluation: Evaluation = field(init=False)
    framework: Framework | None = field(init=False)
    near: list[NearMiss] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.evaluation = self.subject.live.evaluate(self.subject.pod)
        self.framework = self.subject.live.framework_of(self.subject.pod)
        self.near = _near_misses(self.framework, self.evaluation.decision)

    def explain(self) -> Explanation:
        evaluation, pod = self.evaluation, self.subject.pod
        best, preemption = evaluation.best, evaluation.preemption
        verdict, message = _verdict(evaluation), _message(evaluation)
        wanted = self.limits.changes and verdict is not Verdict.FITS and not pod.is_terminating
        helping = self._help() if wanted else _Help()
        group = _group_explanation(self.subject)
        if verdict is Verdict.FITS and group is not None and not group.can_run:
            verdict, message = Verdict.PENDING, f"waits for its group {group.key}: {group.message}"
        cluster = self.subject.fork.cluster
        return Explanation(
            pod.key,
            verdict,
            message,
            reasons_of(evaluation),
            tuple(self.near[: self.limits.nearest]),
            helping.changes,
            helping.tried,
            preemption.chosen.node_name if preemption is not None and preemption.chosen is not None else None,
            waiting_of(self.framework, evaluation, pod, self.subject.scheduler),
            compare_scores(evaluation, best[0]) if best else None,
            _history(self.subject),
            helping.notes + _notes_of_group(self.subject),
            evaluation,
            pairs=helping.pairs,
            labels=() if best else tuple(missing_labels(pod, cluster.list("Node"))),
            alike=() if best else alike_pods(pod, self.subject.fork.pending()),
            group=group,
        )

    def _help(self) -> _Help:
        """Search for single changes that help, and for pairs if there is none but a new node."""
        if self.subject.evaluator.feasible(self.subject.pod):
            return _Help(notes=(NOTE_HELD_BACK,))
        budget = Budget(self.limits.budget - self.limits.budget // _SHARE_OF_PAIRS)
        trial = ChangeTrial(
            self.subject.fork, self.subject.evaluator, self.subject.pod, budget, self.subject.written
        )
        proposed = list(candidates(case_of(self.subject, self.near, trial)))
        single = trial.smallest(proposed, self.limits.changes)
        pairs: list[VerifiedChange] = []
        if all(each.kind is ChangeKind.ADD_NODE for each in single):
            budget.left += self.limits.budget // _SHARE_OF_PAIRS
            pairs = PairSearch(self._examine, self.limits.changes).smallest(trial, self.near, proposed)
        notes: tuple[str, ...] = ()
        if budget.left <= 0:
            notes = (f"not everything was tried: the budget of {self.limits.budget} changes is spent",)
        return _Help(tuple(single), tuple(pairs), notes, budget.tried)

    def _examine(self, trial: ChangeTrial) -> tuple[list[NearMiss], Iterable[Change]]:
        """Return the nearest nodes after the changes of *trial*, and changes that are proposed then."""
        evaluator = self.subject.evaluator
        near = _near_misses(evaluator.framework_of(trial.pod), evaluator.decide(trial.pod))
        return near, candidates(case_of(self.subject, near, trial))


def _notes_of_group(subject: Subject) -> tuple[str, ...]:
    scheduler = subject.scheduler or subject.fork.scheduler
    return (NOTE_GROUPS_OFF,) if scheduler.groups is None and group_of(subject.pod) else ()


def _group_explanation(subject: Subject) -> GroupExplanation | None:
    """Return what the group of the pod waits for; ``None`` without a group, or if groups are off."""
    scheduler, key = subject.scheduler or subject.fork.scheduler, group_of(subject.pod)
    if not key or scheduler.groups is None:
        return None
    if all(subject.pod.key != pod.key for pod in scheduler.core.members.unscheduled(key)):
        return None
    return explain_group(scheduler, key)


def _near_misses(framework: Framework | None, decision: Decision | None) -> list[NearMiss]:
    if framework is None or decision is None or decision.diagnosis is None:
        return []
    return near_misses(framework, decision)


def case_of(subject: Subject, near: Sequence[NearMiss], trial: ChangeTrial) -> Case:
    """Return the input of the proposals for the pod of *trial*."""
    core = subject.fork.scheduler.core
    table = core.cache.table
    rows = [(miss, table.live_row(miss.node)) for miss in near]
    nodes = [NearNode(miss, table.info(row).clone()) for miss, row in rows if row is not None]
    if not near:
        # No node was filtered. One of the first may be feasible once the obstacle is removed.
        first = zip(table.rows(), range(_UNFILTERED_NODES), strict=False)
        nodes = [NearNode(NearMiss(info.name, ()), info.clone()) for info, _ in first]
    return Case(
        trial.pod,
        tuple(nodes),
        subject.fork.cluster,
        tuple(core.frameworks),
        trial.helps,
        1 + len(alike_pods(trial.original, subject.fork.pending())),
        core.queue.nominator.nominated_pods_for_node,
        subject.evaluator.feasible,
    )


def _verdict(evaluation: Evaluation) -> Verdict:
    if evaluation.skipped:
        return Verdict.IGNORED
    if evaluation.pre_enqueue is not None:
        return Verdict.GATED
    if evaluation.best:
        return Verdict.FITS
    decision = evaluation.decision
    if decision is not None and decision.error is not None and decision.error.plugin:
        return Verdict.FAILED
    return Verdict.PENDING


def _message(evaluation: Evaluation) -> str:
    return evaluation.headline.removeprefix(f"{evaluation.pod.key} ")


def _history(subject: Subject) -> tuple[RecordedDecision, ...]:
    observers = subject.scheduler.observers if subject.scheduler is not None else ()
    recorders = [each for each in observers if isinstance(each, Recorder)]
    return recorders[0].of(subject.pod.uid) if recorders else ()
