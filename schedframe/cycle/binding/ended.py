"""The end of an attempt, for observers."""

from __future__ import annotations

from time import perf_counter

from ...framework import Status
from ..core import Core
from ..outcomes import AttemptOutcome, AttemptResult
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
