"""Queueing hints: an event that helps a pod is never passed over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import evolve

from ...api import Pod
from ...framework import Code
from ...queue import (
    EVERYTHING,
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
    ObjectEvent,
    QueueingHint,
    derive_object_events,
    matches,
    with_implied,
)
from ..worlds.steps import next_steps
from ..worlds.world import Change, World
from .contract import of_class, of_hook
from .probe import InvalidAnswer, Probe, Raised, Trouble
from .subject import Subject
from .violation import FILTERS, Check, Violation, having, having_any


def registrations_of(probe: Probe) -> tuple[EventRegistration, ...]:
    """Return the registrations, all events if there are none; :class:`InvalidAnswer` for wrong types."""
    if "events_to_register" not in probe.hooks:
        return EVERYTHING
    answer = probe.call("events_to_register")
    wanted = "a sequence of EventRegistration(ClusterEvent(resource, actions), hint)"
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise InvalidAnswer("events_to_register", answer, wanted)
    found = tuple(answer)
    for each in found:
        if (
            not isinstance(each, EventRegistration)
            or not isinstance(each.event, ClusterEvent)
            or not isinstance(each.event.actions, Action)
            or not each.event.actions
            or not each.event.resource
            or not (each.hint is None or callable(each.hint))
        ):
            raise InvalidAnswer("events_to_register", each, wanted)
    return with_implied(found)


def misses_nothing(subject: Subject, world: World) -> None:
    """A pod that was rejected and now would not be has got a hint that says Queue."""
    for pod in world.pods[:2]:
        _wait(subject, world, pod)
    for turn, pod in enumerate(world.pods[:2]):
        node = world.nodes[world.choice(turn) % len(world.nodes)]
        running = tuple(each for each in world.running if each.node_name == node.name)
        alone = evolve(world, nodes=(node,), running=running, pods=(pod,), changes=())
        if _opinion(Probe(subject, alone), pod) == "rejects":
            for change in next_steps(world, node, pod):
                if change.old != change.new:
                    _wait(subject, evolve(alone, changes=(change,)), pod)


def _wait(subject: Subject, world: World, pod: Pod) -> None:
    """Let *pod* wait while the changes of *world* happen."""
    waiting = pod
    probe = Probe(subject, world)
    registered = registrations_of(probe)
    if _opinion(probe, waiting) != "rejects":
        return
    for change in world.changes:
        own = _is_waiting(change, pod.key)
        if own and change.new is None:
            return
        probe.handle.apply(change)
        if own:
            waiting = change.new
        elif _is_waiting(change):
            continue
        events = derive_object_events(change.old, change.new)
        woken = any(
            _queues(each, (waiting, happened.old, happened.new))
            for happened in events
            for each in registered
            if matches(each.event, happened.event)
        )
        if _opinion(probe, waiting) != "accepts":
            continue
        if events and not woken:
            labels = ", ".join(str(happened.event) for happened in events)
            raise Violation(
                f"pod {pod.key} was rejected and would be accepted now, but no hint says Queue to {labels}: "
                f"the pod goes on waiting; {_fix(registered, events)}",
                world,
            )
        return


def _fix(registered: Iterable[EventRegistration], events: Iterable[ObjectEvent]) -> str:
    """Return what to change in events_to_register."""
    missing = [
        happened.event
        for happened in events
        if not any(matches(each.event, happened.event) for each in registered)
    ]
    if not missing:
        return "let the hint return QUEUE for such a change"
    event = missing[0]
    actions = " | ".join(f"Action.{action.name}" for action in event.actions)
    resource = EventResource(event.resource).name if event.resource in set(EventResource) else None
    named = repr(event.resource) if resource is None else f"EventResource.{resource}"
    return f"register EventRegistration(ClusterEvent({named}, {actions}))"


def _is_waiting(change: Change, key: str = "") -> bool:
    subject = change.subject
    return isinstance(subject, Pod) and not subject.node_name and key in ("", subject.key)


def _opinion(probe: Probe, pod: Pod) -> str:
    """``accepts``, ``rejects``, or ``fails`` where the plugin says Error: such a pod is retried anyway."""
    gate = probe.status("pre_enqueue", pod)
    if gate.code is Code.ERROR:
        return "fails"
    if gate.is_rejected:
        return "rejects"
    search = probe.search(pod)
    if search.status.code is Code.ERROR:
        return "fails"
    if search.status.is_rejected:
        return "rejects"
    if probe.filter_form is None or search.status.is_skip:
        return "accepts"
    names = search.node_names
    verdicts = search.by_name(probe.table.rows())
    if any(status.code is Code.ERROR for status in verdicts.values()):
        return "fails"
    passing = (name for name, status in verdicts.items() if status.is_success)
    return "accepts" if any(names is None or name in names for name in passing) else "rejects"


def _queues(registration: EventRegistration, arguments: tuple[Any, Any, Any]) -> bool:
    if registration.hint is None:
        return True
    try:
        return registration.hint(*arguments) in (QueueingHint.QUEUE, True)
    except Exception:  # noqa: BLE001 - the queue takes a failing hint for Queue; events_are_valid reports it
        return True


def events_are_valid(subject: Subject, world: World) -> None:
    """Registrations are well formed, the same every time, and hints answer what the queue understands."""
    probe = Probe(subject, world)
    try:
        registered = registrations_of(probe)
        again = registrations_of(probe)
    except Trouble as trouble:
        raise Violation(str(trouble)) from trouble
    if [each.event for each in registered] != [each.event for each in again]:
        raise Violation("events_to_register answers differently when it is called again")
    for change in world.changes:
        probe.handle.apply(change)
        for pod in world.pods[:2]:
            if _is_waiting(change) and not _is_waiting(change, pod.key):
                continue
            asked = change.new if _is_waiting(change, pod.key) and change.new is not None else pod
            for happened in derive_object_events(change.old, change.new):
                for each in registered:
                    if each.hint is not None and matches(each.event, happened.event):
                        _ask(each, happened.event, (asked, happened.old, happened.new))


def _ask(registration: EventRegistration, event: ClusterEvent, arguments: tuple[Any, Any, Any]) -> None:
    hint = registration.hint
    assert hint is not None
    name = getattr(hint, "__qualname__", repr(hint))
    pod = arguments[0]
    try:
        answer = hint(*arguments)
    except Exception as error:
        problem = Raised(f"hint {name}", error)
        raise Violation(f"{problem}, about {event} for pod {pod.key}") from error
    if not isinstance(answer, QueueingHint | bool):
        problem_found = InvalidAnswer(f"hint {name}", answer, "a QueueingHint or a bool")
        raise Violation(f"{problem_found}; it was about {event} for pod {pod.key}")


CHECKS = (
    Check("events_are_valid", of_class("events"), events_are_valid, having("events_to_register")),
    Check(
        "hints_miss_nothing",
        of_hook(
            "events_to_register",
            "the cluster events, with hints, that may make a pod schedulable that this plugin rejected",
        ),
        misses_nothing,
        having_any(*FILTERS, "pre_filter", "pre_enqueue"),
    ),
)
