"""Which plugins to ask about an event, and what their answers mean for a waiting pod."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, TypeAlias

from attrs import field, frozen

from ..api import Pod
from ..errors import PluginError
from .events import ClusterEvent, EventRegistration, HintFn, matches, with_implied
from .queued_pod import QueuedPodInfo, identity

PreEnqueueFn: TypeAlias = Callable[[Pod], Any]
"""``None`` or a status of success lets the pod in, any other answer (or an exception) holds it back."""

ReadAnswerFn: TypeAlias = Callable[[str, Any], Any]
"""``read_answer(plugin, answer)``: the rejection or error in an answer of pre_enqueue, ``None`` for success.

A value with an ``error`` that is an exception is reported as a fault of the plugin.
"""


def answer_as_given(plugin: str, answer: Any) -> Any:
    """Return *answer* unless it is a success: the default of ``QueueProfile.read_answer``."""
    return None if getattr(answer, "is_success", False) else answer


FaultFn: TypeAlias = Callable[[str, BaseException, Pod], None]
"""``on_fault(plugin, exception, pod)``: a hint or a pre_enqueue plugin failed."""

_log = logging.getLogger(__name__)


def log_fault(plugin: str, error: BaseException, pod: Pod) -> None:
    """Where faults go unless the queue is given something better: to the log, with the traceback."""
    _log.error("plugin %s failed for pod %s", plugin, pod.key, exc_info=error)


def _with_implied(
    events: Mapping[str, Iterable[EventRegistration]],
) -> dict[str, tuple[EventRegistration, ...]]:
    return {plugin: with_implied(registrations) for plugin, registrations in events.items()}


@frozen(eq=False)
class QueueProfile:
    """What the queue needs to know of a profile: plain callables by plugin name.

    ``pre_enqueue`` in the order of the profile; ``events`` are the registrations of each plugin, to which the
    implied ``Node/UpdateNodeTaint`` is added. A plugin that is not in ``events`` registered nothing: pods
    that it alone rejected wait for the timeout (see ``EVERYTHING`` for plugins that do not say what they
    want).
    """

    pre_enqueue: Sequence[tuple[str, PreEnqueueFn]] = ()
    events: Mapping[str, tuple[EventRegistration, ...]] = field(factory=dict, converter=_with_implied)
    read_answer: ReadAnswerFn = answer_as_given
    """Called for answers of pre_enqueue other than ``None``."""


class Strategy(IntEnum):
    """Whether and how a pod is queued again."""

    SKIP = 0
    AFTER_BACKOFF = 1
    """To a backoff pool while it is backing off, else to the active one."""
    IMMEDIATELY = 2
    """To the active pool: what it was pending on has happened."""


Plan: TypeAlias = tuple[tuple[str, HintFn | None, Strategy], ...]
"""Whom to ask about an event, in that order, and what to do at the first Queue; empty: nobody, so Skip."""

ALWAYS: Final[Plan] = (("", None, Strategy.AFTER_BACKOFF),)
"""Queue without asking."""

_MAX_REMEMBERED = 10_000
"""Plans kept; there are as many as combinations of rejectors times kinds of event, which is a few hundred."""


class HintTable:
    """The registrations of all profiles, looked up by event. Answers are remembered, so look-ups are O(1)."""

    __slots__ = ("_interest", "_on_fault", "_plans", "_profiles")

    def __init__(self, profiles: Mapping[str, QueueProfile], on_fault: FaultFn) -> None:
        self._profiles = profiles
        self._on_fault = on_fault
        self._interest: dict[Any, bool] = {}
        self._plans: dict[Any, Plan] = {}

    def is_of_interest(self, event: ClusterEvent) -> bool:
        """Whether some plugin of some profile wants *event*; the wildcard always is of interest."""
        known = self._interest.get(event)
        if known is None:
            known = event.is_wildcard or any(
                _registered(registrations, event)
                for profile in self._profiles.values()
                for registrations in profile.events.values()
            )
            self._remember(self._interest, event, known)
        return known

    def concerns(self, profile: str, plugin: str, event: ClusterEvent) -> bool:
        """Whether *plugin* of *profile* registered *event*: the only events that may open its gate."""
        question = (profile, plugin, event)
        known = self._interest.get(question)
        if known is None:
            known = profile in self._profiles and _registered(
                self._profiles[profile].events.get(plugin, ()), event
            )
            self._remember(self._interest, question, known)
        return known

    def plan(
        self, event: ClusterEvent, profile: str, unschedulable: frozenset[str], pending: frozenset[str]
    ) -> Plan:
        """Whom to ask about *event* for pods with these rejectors. Rejectors are told apart by their sets."""
        question = (event, profile, unschedulable, pending)
        plan = self._plans.get(question)
        if plan is None:
            plan = self._make_plan(event, profile, unschedulable, pending)
            self._remember(self._plans, question, plan)
        return plan

    def ask(self, plan: Plan, pod: Pod, old: Any, new: Any) -> Strategy:
        """Go through *plan* up to the first Queue. A hint that fails says Queue, and is reported."""
        for plugin, hint, strategy in plan:
            if hint is None or self._hint(plugin, hint, pod, old, new):
                return strategy
        return Strategy.SKIP

    def strategy(self, info: QueuedPodInfo, event: ClusterEvent, old: Any, new: Any) -> Strategy:
        """What *event* means for one pod, its gate left aside."""
        if not concerns_pod(event, new, info):
            return Strategy.SKIP
        plan = self.plan(event, info.profile, info.unschedulable_plugins, info.pending_plugins)
        return self.ask(plan, info.pod, old, new)

    def _make_plan(
        self, event: ClusterEvent, profile: str, unschedulable: frozenset[str], pending: frozenset[str]
    ) -> Plan:
        known = self._profiles.get(profile)
        if known is None or event.is_wildcard or not (unschedulable or pending):
            return ALWAYS
        plan: list[tuple[str, HintFn | None, Strategy]] = []
        for plugins, strategy in (
            (pending, Strategy.IMMEDIATELY),
            (unschedulable - pending, Strategy.AFTER_BACKOFF),
        ):
            asked = [
                (plugin, registration.hint, strategy)
                for plugin in sorted(plugins)
                for registration in known.events.get(plugin, ())
                if matches(registration.event, event)
            ]
            # one that needs no call settles the matter
            plan += [entry for entry in asked if entry[1] is None][:1] or asked
        return tuple(plan)

    def _hint(self, plugin: str, hint: HintFn, pod: Pod, old: Any, new: Any) -> bool:
        try:
            answer = hint(pod, old, new)
            if answer is None:
                raise PluginError(
                    f"a queueing hint of {plugin} returned None; return QueueingHint.QUEUE or SKIP"
                )
            return bool(answer)
        except Exception as error:  # noqa: BLE001  (whatever a plugin raises is its fault, and must not stop the queue)
            self._on_fault(plugin, error, pod)
            return True

    def _remember(self, table: dict[Any, Any], question: Any, answer: Any) -> None:
        if len(table) >= _MAX_REMEMBERED:
            table.clear()
        table[question] = answer


def concerns_pod(event: ClusterEvent, new: Any, info: QueuedPodInfo) -> bool:
    """Whether *event* is meant for that pod: a wildcard that comes with a pod is for this pod alone."""
    if new is None or not event.is_wildcard:
        return True
    # a pod without rejectors is tried again at any event
    rejected = info.unschedulable_plugins or info.pending_plugins
    return not rejected or (isinstance(new, Pod) and identity(new) == info.uid)


def _registered(registrations: Iterable[EventRegistration], event: ClusterEvent) -> bool:
    return any(matches(registration.event, event) for registration in registrations)
