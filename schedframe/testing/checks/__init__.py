"""The checks of ``check_plugin`` in the order in which they run."""

from __future__ import annotations

from . import (
    add_remove_pod,
    caching,
    declarations,
    form_agreement,
    hints,
    hook_answers,
    purity,
    registration,
    reserve_unreserve,
    score_range,
)

CHECKS = (
    *registration.CHECKS,
    *purity.CHECKS[:1],  # before anything else, which a changed pod or node would confuse
    *reserve_unreserve.CHECKS,
    *hook_answers.CHECKS,
    *purity.CHECKS[1:],
    *form_agreement.CHECKS,
    *declarations.CHECKS,
    *add_remove_pod.CHECKS,
    *score_range.CHECKS,
    *hints.CHECKS,
    *caching.CHECKS,
)

__all__ = ["CHECKS"]
