"""The end of an attempt, for observers."""

from __future__ import annotations

from time import perf_counter

from ..core import Core
from ..outcomes import AttemptOutcome
from .attempt import Attempt


def end(core: Core, attempt: Attempt, outcome: AttemptOutcome) -> None:
    """Call the observers with the end of a timed *attempt* that did not bind its pod, once for each."""
    if attempt.is_over:
        return
    attempt.is_over, attempt.ended = True, perf_counter()
    if core.observers.attempt_ended is not None:
        core.observers.attempt_ended(attempt, outcome)
