"""Put an explanation together: ask, look at what is near, try out what might help."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from attrs import evolve

from ..api import Pod
from ..errors import InputError
from ..framework import Framework
from ..framework.registry import Factory
from ..simulate import Evaluation
from ..simulate.amounts import amount_text
from ..simulate.report import headline
from .change import VerifiedChange
from .comparison import compared
from .explanation import Explanation, Reason, Verdict
from .obstacles import PODS, NearMiss, near_misses
from .proposals import Case, Near, candidates
from .recorder import RecordedDecision, Recorder
from .situation import Situation, situation_of
from .trial import Trial
from .waiting import waiting_of


def explain(
    cluster: Any,
    pod: Any,
    config: Any = None,
    *,
    plugins: Mapping[str, Factory] | None = None,
    changes: int = 5,
    nearest: int = 5,
    budget: int = 400,
) -> Explanation:
    """Why *pod* has no node and what would help, or why it has the node it has.

    ``cluster``: a :class:`Scheduler` (to be asked in its thread, or while it stands still), a
    :class:`Simulation`, a cluster such as :class:`InMemoryCluster`, a :class:`Snapshot`, or a collection of
    API values or manifests. ``pod``: its name, ``namespace/name``, a :class:`Pod` or the manifest of one.
    ``config`` and ``plugins`` as for :class:`Simulation`; those of the scheduler without.
    ``changes``: how many kinds of changes to find, 0 for none; ``nearest``: how many nodes to tell of;
    ``budget``: how many changes to try out at most.

    Nothing is changed: changes are tried out in a copy, which costs O(cluster) to make and O(nodes) each.
    Raises :class:`InputError` for a pod or cluster that cannot be used, :class:`ConfigError` for a
    configuration that is refused.
    """
    for name, number in (("changes", changes), ("nearest", nearest), ("budget", budget)):
        if number < 0:
            raise InputError(name, f"{number} is below 0", "give a number from 0")
    situation = situation_of(cluster, pod, config, plugins)
    if situation.pod.node_name:
        return _placed(situation)
    evaluation = situation.live.evaluate(situation.pod)
    framework = situation.live.framework_of(situation.pod)
    return _pending(situation, evaluation, framework, changes, nearest, budget)


AS_OF_NOW = "scores are those of the cluster as it is now, without the pod"


# ---- a pod with a node -------------------------------------------------------------------------------------


def _placed(situation: Situation) -> Explanation:
    """As if it were to be placed now, with all others where they are."""
    pod, node = situation.pod, situation.pod.node_name
    situation.trial.remove_pod(pod.key)
    pending = evolve(pod.with_node_name(""), status=evolve(pod.status, nominated_node_name=""))
    evaluation = situation.trial.evaluate(pending)
    comparison = compared(evaluation, node)
    return Explanation(
        pod.key,
        Verdict.PLACED,
        f"is on {node}: {_message(evaluation) if evaluation.skipped else comparison.reason}",
        waiting=waiting_of(None, None, pod, situation.scheduler),
        comparison=comparison,
        history=_history(situation),
        notes=(AS_OF_NOW,),
        evaluation=evaluation,
    )


# ---- a pod without -----------------------------------------------------------------------------------------


def _pending(
    situation: Situation,
    evaluation: Evaluation,
    framework: Framework | None,
    changes: int,
    nearest: int,
    budget: int,
) -> Explanation:
    pod, decision = situation.pod, evaluation.decision
    near: list[NearMiss] = []
    if framework is not None and decision is not None and decision.diagnosis is not None:
        near = near_misses(framework, decision)
    verdict = _verdict(evaluation)
    helping: list[VerifiedChange] = []
    notes: list[str] = []
    tried = 0
    if changes and verdict is not Verdict.FITS and not pod.is_terminating:
        trial = Trial(situation.trial, pod, budget)
        if situation.trial.evaluator.feasible(pod):
            notes.append(
                "a scheduler that starts now would place the pod: what the running one knows holds it back"
            )
        else:
            helping = trial.smallest(candidates(_case(situation, near, trial)), changes)
        tried = trial.tried
        if trial.budget <= 0:
            notes.append(f"not everything was tried: the budget of {budget} changes is spent")
    best = evaluation.best
    found = evaluation.preemption
    return Explanation(
        pod.key,
        verdict,
        _message(evaluation),
        _reasons(evaluation, near),
        tuple(near[:nearest]),
        tuple(helping),
        tried,
        found.chosen.node_name if found is not None and found.chosen is not None else None,
        waiting_of(framework, evaluation, pod, situation.scheduler),
        compared(evaluation, best[0]) if best else None,
        _history(situation),
        tuple(notes),
        evaluation,
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
    return headline(evaluation).removeprefix(f"{evaluation.pod.key} ")


def _case(situation: Situation, near: list[NearMiss], trial: Trial) -> Case:
    core = situation.trial.scheduler.core
    table = core.cache.table
    rows = [(miss, table.live_row(miss.node)) for miss in near]
    nodes = [Near(miss, table.info(row).clone()) for miss, row in rows if row is not None]
    if not near:
        # Nobody looked at nodes: whatever stands in the way, one of these may do once it is gone.
        nodes = [
            Near(NearMiss(info.name, ()), info.clone())
            for info, _ in zip(table.rows(), range(3), strict=False)
        ]
    return Case(
        situation.pod,
        tuple(nodes),
        situation.trial.cluster,
        tuple(core.frameworks),
        trial.works,
        core.queue.nominator.nominated_pods_for_node,
    )


def _history(situation: Situation) -> tuple[RecordedDecision, ...]:
    recorder = situation.scheduler.recorder if situation.scheduler is not None else None
    return recorder.of(situation.pod.uid) if isinstance(recorder, Recorder) else ()


# ---- reasons with numbers ----------------------------------------------------------------------------------


def _reasons(evaluation: Evaluation, near: Iterable[NearMiss]) -> tuple[Reason, ...]:
    """What the message counts, by plugin, most nodes first."""
    decision = evaluation.decision
    if evaluation.pre_enqueue is not None:
        gate = evaluation.pre_enqueue
        return tuple(Reason(gate.plugin, reason, 0) for reason in gate.reasons)
    if decision is None or decision.diagnosis is None:
        return ()
    diagnosis = decision.diagnosis
    found: dict[tuple[str, str], int] = {}
    for status, count in diagnosis.verdicts.counts():
        for reason in status.reasons:
            key = (status.plugin, reason)
            found[key] = found.get(key, 0) + count
    absent = diagnosis.absent
    missing = diagnosis.num_nodes - len(diagnosis)
    if absent is not None and missing > 0:
        for reason in absent.reasons:
            found[absent.plugin, reason] = found.get((absent.plugin, reason), 0) + missing
    reasons = [
        Reason(plugin, reason, count, _numbers(evaluation, plugin, reason))
        for (plugin, reason), count in found.items()
    ]
    return tuple(sorted(reasons, key=lambda each: (-each.nodes, each.plugin, each.reason)))


def _numbers(evaluation: Evaluation, plugin: str, reason: str) -> str:
    """``needs 4 cpu, most free 3.2 on n17``: over the nodes that are rejected for that reason."""
    decision = evaluation.decision
    if decision is None or decision.verdicts is None:
        return ""
    verdicts, words = decision.verdicts, set(reason.split())
    wanted = [
        i + 1
        for i, status in enumerate(verdicts.statuses)
        if status.plugin == plugin and reason in status.reasons
    ]
    rows = verdicts.rows.select(np.flatnonzero(np.isin(verdicts.codes, wanted)))
    if not len(rows):
        return ""
    parts = []
    for resource, needed in (*_demands(evaluation.pod), (PODS, 1)):
        if resource not in words:
            continue
        table = rows.table
        taken = rows.take(table.pod_count if resource == PODS else table.requested(resource))
        room = rows.take(table.allowed_pods if resource == PODS else table.allocatable(resource))
        free = room - taken
        most = int(free.max())
        names = rows.select(np.flatnonzero(free == most)).names()
        if most < needed:
            need, left = amount_text(resource, needed), amount_text(resource, most)
            parts.append(f"needs {need} {resource}, most free {left} on {min(names)}")
    return ", ".join(parts)


def _demands(pod: Pod) -> list[tuple[str, int]]:
    return [(resource, amount) for resource, amount in pod.requests.items() if amount > 0]
