"""Calls the queueing hint of a plugin for a pod that it rejected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._base.checked import checked_except
from .._base.plugin_faults import fault_text, plugin_faults
from .._base.value import record
from ..api import AnyObject, AnyPod
from ..config import ConfigSource
from ..errors import InputError
from ..fork.decoding import as_object, as_pod
from ..framework import PluginsToPass
from ..queue import EVERYTHING, Action, ClusterEvent, EventRegistration, QueueingHint, matches, with_implied
from .simulation import Simulation


@record(frozen=True)
class HintAnswer:
    """The answer of a plugin: ``hint``, and ``error`` if a fault made it Queue."""

    hint: str
    """``Queue`` or ``Skip``."""
    error: str | None = None


@checked_except("plugins")
def queueing_hint(
    plugin: str,
    pod: AnyPod,
    event: ClusterEvent | str,
    old: AnyObject | None,
    new: AnyObject | None,
    objects: Iterable[AnyObject] = (),
    config: ConfigSource = None,
    *,
    plugins: PluginsToPass | None = None,
    allow_imports: str | Iterable[str] = (),
) -> HintAnswer:
    """Return whether *event* (*old* became *new*) makes the queue retry *pod*, which *plugin* rejected.

    *event* is a :class:`ClusterEvent` or ``Resource/Action`` in the reference's spelling (``Node/Add``);
    *objects* are the other objects of the cluster after the event. Everything may be API values or manifests;
    *plugins* and *allow_imports* as for :class:`Scheduler`. An event that the plugin did not register is a
    Skip. Raises :class:`InputError` if the plugin is not part of the profile.
    """
    waiting = as_pod(pod)
    wanted = event if isinstance(event, ClusterEvent) else _parse(event)
    before = as_object(old) if old is not None else None
    after = as_object(new) if new is not None else None
    with Simulation(objects, config, plugins=plugins, allow_imports=allow_imports) as simulation:
        framework = simulation.evaluator.framework_of(waiting)
        registered = framework.events() if framework is not None else {}
        if plugin not in registered:
            problem = f"{plugin!r} is not enabled in the profile"
            raise InputError("plugin", problem, "enable it, or ask about another")
        return _ask(with_implied(registered[plugin] or EVERYTHING), wanted, (waiting, before, after))


def _parse(event: str) -> ClusterEvent:
    resource, _, action = event.rpartition("/")
    if not resource:
        raise InputError("event", f"{event!r} names no resource", "write it as in Node/UpdateNodeTaint")
    try:
        return ClusterEvent(resource, Action.parse(action))
    except KeyError as error:
        raise InputError(
            "event", f"{event!r} names no action {error}", "write it as in Node/UpdateNodeTaint"
        ) from error


def _ask(
    registrations: Iterable[EventRegistration], event: ClusterEvent, arguments: tuple[Any, Any, Any]
) -> HintAnswer:
    for registration in registrations:
        if not matches(registration.event, event):
            continue
        if registration.hint is None:
            return HintAnswer("Queue")
        try:
            answer = registration.hint(*arguments)
        except plugin_faults() as error:  # the queue takes a failing hint for Queue, and so does this answer
            return HintAnswer("Queue", fault_text(error))
        if answer in (QueueingHint.QUEUE, True):
            return HintAnswer("Queue")
    return HintAnswer("Skip")
