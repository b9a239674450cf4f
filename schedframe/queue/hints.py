"""Queueing hints: which ones run for an event, and what their answers mean for a waiting pod."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, TypeAlias

from attrs import field

from .._base.plugin_faults import fault_text, plugin_faults
from .._base.value import record
from ..api import Pod
from ..errors import PluginError
from .events import ClusterEvent, EventRegistration, HintFn, HintReads, matches, with_implied

PreEnqueueFn: TypeAlias = Callable[[Pod], Any]
"""``None`` or a status of success admits the pod; any other answer, or an exception, holds it back."""

ReadAnswerFn: TypeAlias = Callable[[str, Any], Any]
"""``read_answer(plugin, answer)``: the rejection or error in an answer of pre_enqueue, ``None`` for success.

A value with an ``error`` that is an exception is reported as a fault of the plugin.
"""


def answer_as_given(plugin: str, answer: Any) -> Any:
    """Return *answer* unless it is a success: the default of ``QueueProfile.read_answer``."""
    return None if getattr(answer, "is_success", False) else answer


FaultFn: TypeAlias = Callable[[str, BaseException, Pod], None]
"""``on_fault(plugin, exception, pod)``: a hint or a pre_enqueue plugin failed, or was interrupted.

The exception may be any, such as ``KeyboardInterrupt``. The queue is in the middle of a change then, so the
function should remember an interruption and raise it later.
"""

_log = logging.getLogger(__name__)


def log_fault(plugin: str, error: BaseException, pod: Pod) -> None:
    """Log a fault of a plugin with its traceback, raise an interruption: the default of ``on_fault``."""
    _log.error("plugin %s failed for pod %s: %s", plugin, pod.key, fault_text(error), exc_info=error)
    if not isinstance(error, plugin_faults()):
        raise error


def _with_implied(
    events: Mapping[str, Iterable[EventRegistration]],
) -> dict[str, tuple[EventRegistration, ...]]:
    return {plugin: with_implied(registrations) for plugin, registrations in events.items()}


@record(frozen=True, eq=False)
class QueueProfile:
    """The part of a profile that the queue uses: plain callables by plugin name.

    ``pre_enqueue`` in the order of the profile; ``events`` are the registrations of each plugin, to which the
    implied ``Node/UpdateNodeTaint`` is added. A plugin that is not in ``events`` registered nothing: pods
    that only it rejected wait for the timeout. For plugins without ``events_to_register`` see ``EVERYTHING``.
    """

    pre_enqueue: Sequence[tuple[str, PreEnqueueFn]] = ()
    events: Mapping[str, tuple[EventRegistration, ...]] = field(factory=dict, converter=_with_implied)
    group_gates: frozenset[str] = frozenset()
    """Plugins of ``pre_enqueue`` that read nothing of a pod but the pod group that it names.

    Events of the group itself and of its members make them answer again, other events do not.
    """
    read_answer: ReadAnswerFn = answer_as_given
    """Called for answers of pre_enqueue other than ``None``."""


class RequeueStrategy(IntEnum):
    """Place where a pod is queued again, if it is."""

    SKIP = 0
    AFTER_BACKOFF = 1
    """In a backoff pool while it backs off, else in the active pool."""
    IMMEDIATELY = 2
    """In the active pool: what it was pending on has happened."""


@record(frozen=True)
class HintPlan:
    """Hints to run for an event, in order; false without any, which means SKIP."""

    entries: tuple[tuple[str, HintFn | None, RequeueStrategy], ...]
    """(plugin, hint or ``None`` for always, strategy). The first one that returns QUEUE says the strategy."""
    reads: HintReads = HintReads.EVENT
    """What the hints together read."""

    def __bool__(self) -> bool:
        return bool(self.entries)


ALWAYS: Final = HintPlan((("", None, RequeueStrategy.AFTER_BACKOFF),))
"""Queue without running a hint."""

_MAX_CACHED = 10_000
"""Entries of each cache, beyond which it is cleared. Rejector sets × kinds of events are a few hundred."""


class HintTable:
    """The registrations of all profiles by event. Look-ups are cached and O(1).

    Pods of a profile that is not here are queued again after their backoff by any event that counts, so that
    none is lost: nothing says which events cannot help them. The reference does so if a profile has no hints.
    """

    __slots__ = ("_on_fault", "_plans", "_profiles", "_registered", "_unknown")

    def __init__(self, profiles: Mapping[str, QueueProfile], on_fault: FaultFn) -> None:
        self._profiles = profiles
        self._on_fault = on_fault
        self._registered: dict[Any, bool] = {}
        self._plans: dict[Any, HintPlan] = {}
        self._unknown: set[str] = set()

    def is_registered(self, event: ClusterEvent) -> bool:
        """Return whether any plugin of any profile registered *event*; always true for the wildcard.

        Where nothing is registered at all, as in a queue that was made without profiles, each event counts.
        """
        registered = self._registered.get(event)
        if registered is None:
            registered = (
                event.is_wildcard
                or not any(profile.events for profile in self._profiles.values())
                or any(
                    _any_matches(registrations, event)
                    for profile in self._profiles.values()
                    for registrations in profile.events.values()
                )
            )
            self._cache(self._registered, event, registered)
        return registered

    def is_registered_by(self, profile: str, plugin: str, event: ClusterEvent) -> bool:
        """Return whether *plugin* of *profile* registered *event*: only these events may open its gate."""
        key = (profile, plugin, event)
        registered = self._registered.get(key)
        if registered is None:
            registered = profile in self._profiles and _any_matches(
                self._profiles[profile].events.get(plugin, ()), event
            )
            self._cache(self._registered, key, registered)
        return registered

    def plan_for(
        self, event: ClusterEvent, profile: str, unschedulable: frozenset[str], pending: frozenset[str]
    ) -> HintPlan:
        """Return the hints to run for *event* and pods with these rejectors."""
        key = (event, profile, unschedulable, pending)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._make_plan(event, profile, unschedulable, pending)
            self._cache(self._plans, key, plan)
        return plan

    def run(self, plan: HintPlan, pod: Pod, old: Any, new: Any) -> RequeueStrategy:
        """Run the hints of *plan* up to the first QUEUE. A hint that fails counts as QUEUE, reported."""
        for plugin, hint, strategy in plan.entries:
            if hint is None or self._hint(plugin, hint, pod, old, new):
                return strategy
        return RequeueStrategy.SKIP

    def _make_plan(
        self, event: ClusterEvent, profile: str, unschedulable: frozenset[str], pending: frozenset[str]
    ) -> HintPlan:
        if event.is_wildcard or not (unschedulable or pending):
            return ALWAYS
        registrations = self._profiles.get(profile)
        if registrations is None:
            self._report_unknown(profile)
            return ALWAYS
        plan: list[tuple[str, EventRegistration, RequeueStrategy]] = []
        for plugins, strategy in (
            (pending, RequeueStrategy.IMMEDIATELY),
            (unschedulable - pending, RequeueStrategy.AFTER_BACKOFF),
        ):
            matching = [
                (plugin, registration, strategy)
                for plugin in sorted(plugins)
                for registration in registrations.events.get(plugin, ())
                if matches(registration.event, event)
            ]
            # A registration without a hint always queues: no other one needs to run.
            plan += [entry for entry in matching if entry[1].hint is None][:1] or matching
        entries = tuple([(plugin, registration.hint, strategy) for plugin, registration, strategy in plan])
        reads = [registration.reads_at(event) for _, registration, _ in plan]
        return HintPlan(entries, max(reads, default=HintReads.EVENT))

    def _report_unknown(self, profile: str) -> None:
        """Log, once for a profile, that it has no hints."""
        if profile not in self._unknown:
            self._unknown.add(profile)
            _log.error(
                "no queueing hints for profile %s (there are for: %s), so that each event queues its pods "
                "again; pass its QueueProfile in QueueOptions.profiles",
                profile,
                ", ".join(self._profiles) or "none",
            )

    def _hint(self, plugin: str, hint: HintFn, pod: Pod, old: Any, new: Any) -> bool:
        try:
            answer = hint(pod, old, new)
            if answer is None:
                raise PluginError(
                    f"a queueing hint of {plugin} returned None; return QueueingHint.QUEUE or SKIP"
                )
            return bool(answer)
        except BaseException as error:  # noqa: BLE001 - a pod must not be lost between two pools
            self._on_fault(plugin, error, pod)
            return True

    def _cache(self, table: dict[Any, Any], key: Any, answer: Any) -> None:
        if len(table) >= _MAX_CACHED:
            table.clear()
        table[key] = answer


def _any_matches(registrations: Iterable[EventRegistration], event: ClusterEvent) -> bool:
    return any(matches(registration.event, event) for registration in registrations)
