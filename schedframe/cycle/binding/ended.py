"""The end of an attempt, for metrics, observers and traces."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from ...framework import Status
from ..core import Core
from ..outcomes import AttemptOutcome, AttemptResult
from ..tracing import AttemptEnd
from .attempt import Attempt


def observe(core: Core, attempt: Attempt, result: AttemptResult, rejected_by: tuple[str, ...] = ()) -> None:
    """Call the observers with the end of *attempt*, once for each attempt; *rejected_by* is sorted."""
    info, started = attempt.info, attempt.started
    attempt.started = 0.0
    if not core.observers:
        return
    first = info.initial_attempt
    outcome = AttemptOutcome(
        info.key,
        info.uid,
        attempt.framework.profile.scheduler_name,
        result,
        perf_counter() - started,
        attempt.searched - started,
        info.attempts,
        core.clock() - first if first is not None else 0.0,
        rejected_by,
    )
    for observer in core.observers:
        try:
            observer.attempt_ended(outcome)
        except Exception as error:  # noqa: BLE001 - counting must not stop the scheduler
            core.report(Status.from_error(error), attempt.pod, "observer")
        except BaseException as error:  # noqa: BLE001 - the attempt has ended, so this is raised after the step
            core.inbox.interrupt(error)


def callback_of_bound(core: Core) -> Callable[[Attempt, float], None]:
    """Return what counts, observes and traces the attempts that bind their pods."""
    meter = core.meter
    if meter is not None and not core.observers and core.tracing is None:
        return meter.bound  # the usual case: one call for each pod

    def bound(attempt: Attempt, now: float) -> None:
        if meter is not None:
            meter.bound(attempt, now)
        if core.observers:
            observe(core, attempt, AttemptResult.SCHEDULED)
        if attempt.trace is not None:
            attempt.trace.ended(AttemptEnd(AttemptResult.SCHEDULED, attempt.node_name))

    return bound
