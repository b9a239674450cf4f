"""Answers to events: for pods that wait, alone or together, and those whose attempts just failed."""

from __future__ import annotations

from typing import Any

from ..api import Pod
from .events import ClusterEvent, EventResource, HintReads
from .hints import HintPlan, HintTable, RequeueStrategy
from .in_flight import InFlight
from .pools import Pools
from .queued_pod import QueuedPodInfo, identity
from .together.cohort import cohort_of


def concerns_one_pod(event: ClusterEvent, new: Any) -> bool:
    """Return whether *event* may be for the waiting pod *new* alone."""
    return new is not None and (event.is_wildcard or event.resource == EventResource.UNSCHEDULABLE_POD)


def applies_to(event: ClusterEvent, new: Any, info: QueuedPodInfo) -> bool:
    """Return whether *event* is for that pod: a wildcard with a pod as its object is for this pod alone."""
    if new is None or not event.is_wildcard:
        return True
    # A pod without rejectors is tried again at any event.
    rejected = info.unschedulable_plugins or info.pending_plugins
    return not rejected or (isinstance(new, Pod) and identity(new) == info.uid)


def strategy_for(
    hints: HintTable, info: QueuedPodInfo, event: ClusterEvent, old: Any, new: Any
) -> RequeueStrategy:
    """Return what *event* means for one pod, its gate left aside."""
    if not applies_to(event, new, info):
        return RequeueStrategy.SKIP
    plan = hints.plan_for(event, info.profile, info.unschedulable_plugins, info.pending_plugins)
    return hints.run(plan, info.pod, old, new)


def strategy_since_pop(
    hints: HintTable, in_flight: InFlight, info: QueuedPodInfo
) -> tuple[RequeueStrategy, bool]:
    """Return what the events since its pop ask for, and whether only old news does (see ``move_all``)."""
    uid = info.uid
    if uid not in in_flight or not (info.unschedulable_plugins or info.pending_plugins):
        return RequeueStrategy.AFTER_BACKOFF, False
    best, held = RequeueStrategy.SKIP, True
    enough = RequeueStrategy.IMMEDIATELY if info.pending_plugins else RequeueStrategy.AFTER_BACKOFF
    for event, old, new, rolled_back in in_flight.events_since_pop(uid):
        is_old_news = rolled_back is not None and info.popped <= rolled_back
        if is_old_news and best >= enough:
            continue
        strategy = strategy_for(hints, info, event, old, new)
        best = max(best, strategy)
        held &= is_old_news or not strategy
        if best >= enough and not held:
            break
    return best, held


Answers = list[tuple[QueuedPodInfo, RequeueStrategy]]


def answers_of(
    pools: Pools, hints: HintTable, plan: HintPlan, info: QueuedPodInfo, old: Any, new: Any
) -> Answers:
    """Return what to queue again of *info*: a pod, a cohort, or the parts of it that the hints tell apart.

    Hints run once for a cohort, once for each of its lines or once for each of its pods, as they declare.
    """
    cohort = cohort_of(info)
    if cohort is None or plan.reads is HintReads.EVENT:
        strategy = hints.run(plan, info.pod, old, new)
        return [(info, strategy)] if strategy else []
    if plan.reads is HintReads.POD:
        alone = [(pod, hints.run(plan, pod.pod, old, new)) for pod in pools.part(cohort)]
        return [(pod, strategy) for pod, strategy in alone if strategy]
    by_line = {line.pod_class: hints.run(plan, line.head.pod, old, new) for line in cohort.lines.values()}
    strategies = set(by_line.values())
    if len(strategies) == 1:
        strategy = strategies.pop()
        return [(info, strategy)] if strategy else []
    found: Answers = []
    for strategy in sorted(strategies - {RequeueStrategy.SKIP}):
        # Some lines stay: of the cohort itself, if none has SKIP, those of the last strategy.
        pod_classes = {pod_class for pod_class, answer in by_line.items() if answer is strategy}
        part = pools.split(cohort, pod_classes) if len(pod_classes) < len(cohort.lines) else cohort
        found.append((part.history, strategy))
    return found
