"""The events that a pod waits for, and the time until it is tried again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._base.value import record
from ..api import Pod
from ..cycle import Scheduler
from ..framework import Framework
from ..queue import Action, ClusterEvent, EventOf, Pool, with_implied
from ..simulate import Evaluation


@record(frozen=True)
class WaitedEvents:
    """The events that a plugin registered, after which a pod that it rejected is tried again."""

    plugin: str
    events: tuple[str, ...]
    """``Node: Add, UpdateNodeTaint``; ``every event`` for a plugin that registered none."""

    def __str__(self) -> str:
        return f"{self.plugin}: {'; '.join(self.events)}"


@record(frozen=True)
class Waiting:
    """Place where the pod waits. Times are seconds from now, ``None`` if only an event ends the wait."""

    place: str
    """``unschedulable``, ``backoff``, ``gated``, ``permit``, ``binding``; empty without a scheduler."""
    until_s: float | None = None
    attempts: int = 0
    plugins: tuple[str, ...] = ()
    """The plugins that the pod waits for."""
    events: tuple[WaitedEvents, ...] = ()
    node: str = ""
    """The node of a pod that is not bound yet, empty if it has none."""
    failure: str = ""
    """What failed at the last attempt, with the plugin; empty unless that ended with an error."""
    stale_view: str = ""
    """Why no pod is decided now, ``Node for 3.2 s: …``; empty unless the view of the cluster is stale."""

    def to_dict(self) -> dict[str, Any]:
        """Return the wait in plain types."""
        return {
            "place": self.place,
            "until_s": self.until_s,
            "attempts": self.attempts,
            "plugins": list(self.plugins),
            "events": {each.plugin: list(each.events) for each in self.events},
            "node": self.node,
            "failure": self.failure,
            "stale_view": self.stale_view,
        }

    def lines(self) -> list[str]:
        """Return the wait as lines for people."""
        until = f", until {self.until_s:g} s from now" if self.until_s is not None else ""
        lines = []
        if self.place:
            on = f" on {self.node}" if self.node else ""
            by = f" ({', '.join(self.plugins)})" if self.plugins else ""
            tried = f", tried {self.attempts} time{'s' * (self.attempts != 1)}" if self.attempts else ""
            lines.append(f"{self.place}{on}{by}{until}{tried}")
        if self.failure:
            lines.append(f"the last attempt failed: {self.failure}")
        if self.stale_view:
            lines.append(self.stale_view)
        return lines + [str(each) for each in self.events]


def waiting_of(
    framework: Framework | None, evaluation: Evaluation | None, pod: Pod, scheduler: Scheduler | None
) -> Waiting | None:
    """Return where *pod* waits and for what, ``None`` if it does not wait; O(pods of the queue)."""
    if scheduler is not None:
        on_node = _on_its_node(scheduler, pod)
        if on_node is not None:
            return on_node
    plugins = _rejecting(evaluation)
    events = _events(framework, plugins)
    queued = None
    if scheduler is not None:
        queued = next((each for each in scheduler.core.queue.pending() if each.uid == pod.uid), None)
    if queued is None or scheduler is None:
        return Waiting("", plugins=plugins, events=events) if plugins else None
    view = scheduler.core.view
    stale = (view.description() or "") if view.holds else ""
    until = None if queued.wake_at is None else _from_now(scheduler, queued.wake_at)
    holding = (queued.gating_plugin,) if queued.pool is Pool.GATED else queued.unschedulable_plugins
    events = _events(framework, holding) or events
    return Waiting(str(queued.pool), until, queued.attempts, holding, events, "", queued.failure, stale)


def _on_its_node(scheduler: Scheduler, pod: Pod) -> Waiting | None:
    """Return the wait of a pod in permit or in binding, ``None`` for another pod."""
    core = scheduler.core
    waiting = core.waiting.get(pod.uid)
    if waiting is not None:
        until = _from_now(scheduler, min(waiting.deadlines.values()))
        return Waiting("permit", until, plugins=waiting.pending_plugins, node=waiting.node_name)
    paused = core.paused.get(pod.uid)
    if paused is not None:
        node = paused.attempt.node_name
        if paused.held:
            return Waiting("binding, held", node=node, stale_view=core.view.description() or "")
        place = "binding, to be verified" if paused.verify else "binding, paused"
        events = (WaitedEvents("binding", _labels(paused.events)),) if paused.events else ()
        until = _from_now(scheduler, paused.deadline)
        return Waiting(place, until, events=events, node=node)
    attempt = core.binding.get(pod.uid)
    return Waiting("binding", node=attempt.node_name) if attempt is not None else None


def _from_now(scheduler: Scheduler, moment: float) -> float:
    return round(max(0.0, moment - scheduler.core.clock()), 3)


def _rejecting(evaluation: Evaluation | None) -> tuple[str, ...]:
    if evaluation is None:
        return ()
    if evaluation.pre_enqueue is not None:
        return (evaluation.pre_enqueue.plugin,)
    decision = evaluation.decision
    if decision is None or decision.diagnosis is None:
        return ()
    diagnosis = decision.diagnosis
    return tuple(sorted(diagnosis.unschedulable_plugins | diagnosis.pending_plugins))


def _events(framework: Framework | None, plugins: Iterable[str]) -> tuple[WaitedEvents, ...]:
    registered = framework.events() if framework is not None else {}
    waited = []
    for plugin in plugins:
        if plugin in registered:
            own = registered[plugin]
            labels: tuple[str, ...] = ("every event",)
            if own is not None:
                implied = {each.event for each in with_implied(own)} - {each.event for each in own}
                labels = _labels(each.event for each in own)
                labels += tuple(f"{label} (implied by Add)" for label in _labels(implied))
            waited.append(WaitedEvents(plugin, labels))
    return tuple(waited)


def _labels(events: Iterable[ClusterEvent | EventOf]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_label, events)))


def _label(event: ClusterEvent | EventOf) -> str:
    if isinstance(event, EventOf):
        return f"{_label(event.event)} of {event.key}"
    actions = event.actions
    if not actions.label:
        whole = [Action.UPDATE] if actions & Action.UPDATE == Action.UPDATE else []
        rest = actions & ~Action.UPDATE if whole else actions
        return f"{event.resource}: {', '.join(each.label for each in (*rest, *whole))}"
    return f"{event.resource}: {actions.label}"
