"""Permit of waiting pods: allowed or rejected through the inbox, or timed out."""

from __future__ import annotations

from attrs import evolve

from ...config import Duration
from ...framework import Status, WaitingPod
from ..core import Core
from ..messages import Verdict
from .attempt import Attempt
from .bind import reject, start_binding


class PermitDesk:
    """Resolves the permits of waiting pods."""

    def __init__(self, core: Core) -> None:
        self._core = core
        core.waiting.post = self._post

    def _post(self, uid: str, plugin: str, rejection: Status | None) -> None:
        self._core.inbox.put(Verdict(uid, plugin, rejection))

    def decide(self, verdict: Verdict) -> None:
        """Bind the pod if it was the last permission that it waits for; after a rejection, requeue it."""
        uid, plugin, rejection = verdict.uid, verdict.plugin, verdict.rejection
        room = self._core.waiting
        if rejection is None:
            waiting = room.allow(uid, plugin)
            if waiting is not None:
                self._ended(waiting, None)
                start_binding(self._core, waiting.ticket)
            else:
                self._report_unknown(room.get(uid), plugin)
            return
        waiting = room.leave(uid)
        if waiting is not None:
            self._ended(waiting, rejection)
            attempt = waiting.ticket
            if all(entry.name != plugin for entry in attempt.framework.plan.permit):
                # Preempted, for example: no event of that plugin will help, so time must bring the pod back.
                rejection = evolve(rejection, plugin="")
            reject(self._core, attempt, rejection)

    def _report_unknown(self, waiting: WaitingPod[Attempt] | None, plugin: str) -> None:
        """Report a permission that no pod can wait for: with a wrong name, *waiting* would time out."""
        if waiting is None:
            return
        attempt = waiting.ticket
        names = [entry.name for entry in attempt.framework.plan.permit]
        if plugin not in names:
            profile = attempt.framework.profile_name
            problem = (
                f"no permit plugin of profile {profile} is named {plugin}; pods wait for: {', '.join(names)}"
            )
            self._core.report(Status.from_error(problem).with_plugin(plugin), waiting.pod, "allow")

    def expire(self, now: float) -> None:
        """Reject the pods whose time to wait for a plugin is over."""
        for waiting, plugin, seconds in self._core.waiting.expired(now):
            self._time_out(waiting, plugin, seconds)

    def _time_out(self, waiting: WaitingPod[Attempt], plugin: str, seconds: float) -> None:
        waited = Duration.of(round(seconds, 3))
        reason = f"rejected due to timeout after waiting {waited} at plugin {plugin}"
        status = Status.unschedulable(reason).with_plugin(plugin)
        self._ended(waiting, status)
        reject(self._core, waiting.ticket, status)

    def _ended(self, waiting: WaitingPod[Attempt], status: Status | None) -> None:
        core = self._core
        if core.observers.permit_ended is not None:
            core.observers.permit_ended(waiting.ticket, status, core.now - waiting.since)
